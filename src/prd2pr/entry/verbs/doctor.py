"""`prd2pr doctor`: a list of checks, each with what was found and how to mend it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from prd2pr.config import CONFIG_PATH, Config, configured_stacks
from prd2pr.core.evidence import PathKind
from prd2pr.core.isolation import missing, remedy
from prd2pr.core.paths import classify_path
from prd2pr.core.stacks.stack import PYTHON
from prd2pr.entry.checkup import Check, Mark, shown, total, wrong
from prd2pr.entry.github_checks import checks_in_checkout, checks_on_github
from prd2pr.entry.ground import open_repository, open_runner, read_config, stacks_of
from prd2pr.entry.stack_checks import stack_checks, stack_views, tool_words, unset_checks
from prd2pr.entry.under_way import branches_with_state
from prd2pr.errors import Prd2prError, SetupProblem, Stopped
from prd2pr.flows.prd_files import prd_paths
from prd2pr.models import open_model
from prd2pr.ports import RunRequest
from prd2pr.repo.git import Git
from prd2pr.runners.interpreter import find_python
from prd2pr.runners.sandbox import find_sandbox


def main(options: argparse.Namespace) -> int:
    checks = list(examine(options.repo))
    marks = Counter(check.mark for check in checks)
    if options.json:
        counts = {"wrong": marks["wrong"], "unchecked": marks["unchecked"]}
        told = {"checks": [asdict(check) for check in checks], "stacks": stacks_told(options.repo), **counts}
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        sys.stdout.write("".join(map(shown, checks)) + total(checks))
    return 1 if marks["wrong"] else 0


def stacks_told(repo: str) -> list[dict[str, Any]]:
    """None where the checks say why there is nothing to tell."""
    try:
        with open_repository(repo) as git:
            return [view.told() for view in stack_views(git, read_config(git, git.rev("HEAD")))]
    except Stopped:
        raise
    except Prd2prError:
        return []


def examine(repo: str) -> Iterator[Check]:
    """Later checks need the earlier ones, so the first thing that is wrong with the repository ends the list."""
    try:
        git = open_repository(repo)
    except Prd2prError as error:
        yield wrong("repository", error)
        return
    with git:
        yield Check("repository", "ok", str(git.workdir or git.common_dir))
        yield tree_check(git)
        try:
            config = read_config(git, git.rev("HEAD"))
        except Prd2prError as error:
            yield wrong("config", error)
            return
        for look in CHECKS:
            try:
                yield look(git, config)
            except Stopped:
                raise
            except Prd2prError as error:
                yield wrong(look.__name__.removesuffix("_check"), error)
            if look is stacks_check:
                yield from checks_of_stacks(git, config)
        yield from checks_in_checkout(git, config)
        yield from checks_on_github(git, config, os.environ)


def tree_check(git: Git) -> Check:
    branch = git.head_branch()
    if branch is None:
        return Check("branch", "warning", "HEAD is detached", "git switch to a branch, so that the PR has a base")
    dirty = git.dirty_paths()
    if dirty:
        return Check(
            "branch",
            "warning",
            f"{branch}, with {len(dirty)} uncommitted files",
            "runs start from commits and do not see them",
        )
    return Check("branch", "ok", branch)


def config_check(git: Git, config: Config) -> Check:
    if git.read("HEAD", CONFIG_PATH) is None:
        return Check("config", "warning", f"no {CONFIG_PATH} is committed: the defaults are in force", "prd2pr init")
    return Check("config", "ok", f"{CONFIG_PATH}, strategy {config.strategy}")


def tests_check(git: Git, config: Config) -> Check:
    report = open_runner(git, config, git.rev("HEAD"), cached=True).run(RunRequest(code_tree=git.code_tree("HEAD")))
    passed = sum(result.outcome == "passed" for result in report.results)
    by = run_by(report.tools)
    found = f"{passed} of {len(report.results)} tests pass with {by}"
    if not report.honest:
        return Check(
            "tests",
            "wrong",
            f"the test run cannot be trusted: {report.problems[0]}",
            "run the tests by hand and mend that first",
        )
    if not report.results:
        return Check("tests", "warning", f"no test was found by {by}", "the first story adds some")
    if passed < len(report.results):
        return Check("tests", "warning", found, "failures that were there before count as baseline, not as RED")
    return Check("tests", "ok", found)


def run_by(tools: Mapping[str, str]) -> str:
    if "pytest" in tools:
        return f"pytest {tools['pytest']} on Python {tools.get('python', '?')}"
    return ", ".join(tool_words(name, version) for name, version in tools.items())


def stacks_check(git: Git, config: Config) -> Check:
    """What the project is made of, and where that is known from."""
    found = stacks_of(git, config, git.rev("HEAD"))
    how = f"set in {CONFIG_PATH}" if configured_stacks(config) else "found from the repository's files"
    if found == (PYTHON,) and not configured_stacks(config) and not any_python(git):
        how = "since nothing in the repository says otherwise"
        if any_code(git):
            return Check("stacks", "warning", f"{found[0].name}, {how}", ANOTHER_LANGUAGE)
    managers = {stack: f" ({stack.package_manager})" for stack in found if stack.setup and stack.package_manager}
    told = "; ".join(f"{stack.name}{managers.get(stack, '')}" for stack in found)
    return Check("stacks", "ok", f"{told}, {how}")


ANOTHER_LANGUAGE = (
    "its code is of a language that prd2pr does not know: name a command that writes JUnit XML or TAP in .prd2pr.yml, "
    'such as stacks: [{runner: junit, command: [bundle, exec, rspec, -f, RspecJunitFormatter, -o, "{results}"]}]'
)


def any_code(git: Git) -> bool:
    kinds = {classify_path(entry.path) for entry in git.entries(git.code_tree("HEAD"))}
    return not kinds.isdisjoint({PathKind.SOURCE, PathKind.TEST})


def any_python(git: Git) -> bool:
    return any(entry.path.endswith((".py", ".toml", ".cfg", ".ini")) for entry in git.entries(git.code_tree("HEAD")))


def checks_of_stacks(git: Git, config: Config) -> Iterator[Check]:
    try:
        yield from stack_checks(stack_views(git, config))
        yield from unset_checks(git, config)
    except SetupProblem:
        return  # said of the stacks as a whole


def model_check(_: Git, config: Config) -> Check:
    model = open_model(os.environ.get("PRD2PR_MODEL") or config.models.default)
    priced = config.budget.model_dump(exclude_none=True)
    if any(name.startswith("usd") for name in priced) and not config.prices:
        return Check(
            "model",
            "wrong",
            f"{model.name}: a limit in dollars is set, but no price",
            "put the price under `prices:` in .prd2pr.yml",
        )
    return Check("model", "ok", model.name)


def sandbox_check(git: Git, config: Config) -> Check:
    """Tried, not guessed: a sandbox is set up and taken down again."""
    if config.sandbox == "off":
        return Check("sandbox", "warning", "sandbox: off is set: tests run with your rights", "set sandbox: preferred")
    python = Path(sys.executable) if config.setup else find_python(git.workdir, config.test.python)
    found = find_sandbox(python)
    if found.complete:
        return Check("sandbox", "ok", found.had)
    mark: Mark = "wrong" if config.sandbox == "required" else "warning"
    refused = "; ".join(f"{refusal.door}: {refusal.why}" for refusal in found.refusals)
    said = f"{found.had}; missing: {', '.join(missing(found.had))}" if found.door else "none can be had"
    mend = remedy((refusal.why for refusal in found.refusals), linux=sys.platform == "linux")
    return Check("sandbox", mark, f"{said} ({refused})" if refused else said, mend)


def prds_check(git: Git, config: Config) -> Check:
    found = prd_paths(git, "HEAD", config.prds)
    if not found:
        return Check(
            "prds", "warning", f"no PRD is committed under {', '.join(config.prds)}", "prd2pr init writes a template"
        )
    return Check("prds", "ok", ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else ""))


def state_check(git: Git, _: Config) -> Check:
    found = list(branches_with_state(git))
    for each in found:
        for story in each.state.cycle_ids:
            each.state.cycle(story)
        each.state.check()
    return Check("state", "ok", f"{len(found)} PRDs on branches, all readable" if found else "no PRD is under way")


CHECKS: tuple[Callable[[Git, Config], Check], ...] = (
    config_check,
    stacks_check,
    tests_check,
    model_check,
    sandbox_check,
    prds_check,
    state_check,
)
