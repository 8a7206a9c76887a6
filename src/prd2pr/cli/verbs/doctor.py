"""`prd2pr doctor`: check the set-up and suggest a fix for each problem."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from prd2pr.agents.models import open_model
from prd2pr.cli.active_prds import iter_active_prds
from prd2pr.cli.context import find_stacks, open_repository, open_runner, read_config, read_prd
from prd2pr.cli.doctor.checkup import Mark, SetupCheck, format_check, format_total, make_failed_check
from prd2pr.cli.doctor.ci_check import run_ci_check
from prd2pr.cli.doctor.github_checks import check_hosting
from prd2pr.cli.doctor.stack_checks import format_tool, inspect_stacks, list_stack_checks, run_unconfigured_checks
from prd2pr.cli.verify_cache import find_results_store
from prd2pr.config import CONFIG_PATH, Config, list_configured_stacks
from prd2pr.config_file import load_config
from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path
from prd2pr.domain.results.isolation import describe_risks, list_missing_protections, suggest_sandbox_remedy
from prd2pr.domain.stack import PYTHON
from prd2pr.domain.wording import count, format_pass_count
from prd2pr.errors import ConfigInvalid, Prd2prError, SetupProblem, Stopped
from prd2pr.languages.test_runner import RunRequest
from prd2pr.memory.index.file import IndexFile
from prd2pr.memory.index.index import INDEX_FILE_NAME
from prd2pr.sandbox.detection import find_sandbox
from prd2pr.sandbox.interpreter import find_python
from prd2pr.state.cache import find_cache_directory
from prd2pr.state.git import Git
from prd2pr.verification.findings import UNSWITCHABLE
from prd2pr.workflow.prd_files import list_checkout_prds, list_prd_paths


def main(options: argparse.Namespace) -> int:
    if options.clear_cache:
        return clear_caches(options.repo)
    checks = list(run_checks(options.repo))
    marks = Counter(check.mark for check in checks)
    if options.json:
        counts = {"wrong": marks["wrong"], "unchecked": marks["unchecked"]}
        report = {"checks": [asdict(check) for check in checks], "stacks": format_stacks_json(options.repo), **counts}
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        sys.stdout.write("".join(map(format_check, checks)) + format_total(checks))
    return 1 if marks["wrong"] else 0


def clear_caches(repo: str) -> int:
    """Delete caches and installed dependencies. They are created again when needed."""
    verified = find_results_store(os.environ)
    with open_repository(repo) as git:
        index = IndexFile(git.private / INDEX_FILE_NAME)
        index.lock_shared()
        left = [] if index.remove() else [index.path]
        index.unlock()
        directories = (find_cache_directory(git.private), *((verified.parent,) if verified else ()))
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
        if directory.exists():
            left.append(directory)
        else:
            sys.stdout.write(f"Deleted {directory}\n")
    if left:
        raise SetupProblem(
            "part of the cache could not be deleted",
            where=", ".join(map(str, left)),
            remedy="run this again when no other prd2pr process is running here, and check who owns the files",
        )
    return 0


def format_stacks_json(repo: str) -> list[dict[str, Any]]:
    """Return the stacks, or an empty list if a check reports why they cannot be read."""
    try:
        with open_repository(repo) as git:
            return [view.to_json() for view in inspect_stacks(git, read_config(git, git.rev("HEAD")))]
    except Stopped:
        raise
    except Prd2prError:
        return []


def run_checks(repo: str) -> Iterator[SetupCheck]:
    """Yield all checks in order. The list ends early if the repository or its configuration cannot be read."""
    try:
        git = open_repository(repo)
    except Prd2prError as error:
        yield make_failed_check("repository", error)
        return
    with git:
        yield SetupCheck("repository", "ok", str(git.workdir or git.common_dir))
        yield run_tree_check(git)
        try:
            config = read_config(git, git.rev("HEAD"))
        except Prd2prError as error:
            yield make_failed_check("config", error)
            return
        for check in CHECKS:
            try:
                yield check(git, config)
            except Stopped:
                raise
            except Prd2prError as error:
                yield make_failed_check(check.__name__.removeprefix("run_").removesuffix("_check"), error)
            if check is run_stacks_check:
                yield from check_stacks(git, config)
        yield run_ci_check(git)
        yield from check_hosting(git, config, os.environ)


def run_tree_check(git: Git) -> SetupCheck:
    branch = git.head_branch()
    if branch is None:
        return SetupCheck(
            "branch", "warning", "HEAD is detached", "switch to a branch, so that the pull request has a base"
        )
    dirty = git.dirty_paths()
    if dirty:
        return SetupCheck(
            "branch",
            "warning",
            f"{branch}, with {count(len(dirty), 'uncommitted file')}",
            "commit them if runs should see them: runs start from commits",
        )
    return SetupCheck("branch", "ok", branch)


def run_config_check(git: Git, config: Config) -> SetupCheck:
    committed = git.read("HEAD", CONFIG_PATH)
    local = git.workdir / CONFIG_PATH if git.workdir else None
    text = local.read_bytes() if local and local.is_file() else None
    if text is not None and text != committed:
        try:
            load_config(text.decode("utf-8", "replace"), CONFIG_PATH, unswitchable=UNSWITCHABLE)
        except ConfigInvalid as error:
            return replace(make_failed_check("config, not committed", error), mark="warning")
        old = "the defaults apply" if committed is None else "the committed version applies"
        return SetupCheck("config", "warning", f"{CONFIG_PATH} is not committed as it is here: {old}", "commit it")
    if committed is None:
        return SetupCheck("config", "warning", f"no {CONFIG_PATH} is committed: defaults apply", "run prd2pr init")
    return SetupCheck("config", "ok", f"{CONFIG_PATH}, strategy {config.strategy}")


def run_tests_check(git: Git, config: Config) -> SetupCheck:
    report = open_runner(git, config, git.rev("HEAD"), cached=True).run(RunRequest(code_tree=git.code_tree("HEAD")))
    passed = sum(result.outcome == "passed" for result in report.results)
    tools = format_tools_text(report.tools)
    found = f"{format_pass_count(passed, len(report.results), 'test')} with {tools}"
    if not report.honest:
        return SetupCheck(
            "tests",
            "wrong",
            f"the test run cannot be trusted: {report.problems[0]}",
            "run the tests by hand and fix this first",
        )
    if not report.results:
        return SetupCheck("tests", "warning", f"{tools} found no tests", "the first story adds some")
    if passed < len(report.results):
        return SetupCheck("tests", "warning", found, "existing failures count as baseline, not as RED")
    return SetupCheck("tests", "ok", found)


def format_tools_text(tools: Mapping[str, str]) -> str:
    if "pytest" in tools:
        return f"pytest {tools['pytest']} on Python {tools.get('python', '?')}"
    return ", ".join(format_tool(name, version) for name, version in tools.items())


def run_stacks_check(git: Git, config: Config) -> SetupCheck:
    """Report the project's stacks, and whether they are configured or detected."""
    found = find_stacks(git, config, git.rev("HEAD"))
    source = f"set in {CONFIG_PATH}" if list_configured_stacks(config) else "detected from the repository's files"
    if found == (PYTHON,) and not list_configured_stacks(config) and not has_python(git):
        source = "the default, since the repository has no known project files"
        if has_code(git):
            return SetupCheck("stacks", "warning", f"{found[0].name}, {source}", UNKNOWN_LANGUAGE_HINT)
    managers = {stack: f" ({stack.package_manager})" for stack in found if stack.setup and stack.package_manager}
    names = "; ".join(f"{stack.name}{managers.get(stack, '')}" for stack in found)
    return SetupCheck("stacks", "ok", f"{names}, {source}")


UNKNOWN_LANGUAGE_HINT = (
    "the language is not supported directly: configure a command that writes JUnit XML or TAP in .prd2pr.yml, "
    'for example stacks: [{runner: junit, command: [bundle, exec, rspec, -f, RspecJunitFormatter, -o, "{results}"]}]'
)


def has_code(git: Git) -> bool:
    kinds = {classify_path(entry.path) for entry in git.entries(git.code_tree("HEAD"))}
    return not kinds.isdisjoint({PathKind.SOURCE, PathKind.TEST})


def has_python(git: Git) -> bool:
    return any(entry.path.endswith((".py", ".toml", ".cfg", ".ini")) for entry in git.entries(git.code_tree("HEAD")))


def check_stacks(git: Git, config: Config) -> Iterator[SetupCheck]:
    try:
        yield from list_stack_checks(inspect_stacks(git, config))
        yield from run_unconfigured_checks(git, config)
    except SetupProblem:
        return  # reported by run_stacks_check


def run_model_check(_: Git, config: Config) -> SetupCheck:
    models = config.models
    for_all = os.environ.get("PRD2PR_MODEL")
    named = (for_all,) if for_all else (models.default, models.strong, *models.roles.values())
    opened = [open_model(spec, permissions=config.permissions) for spec in dict.fromkeys(named)]
    model = opened[0]
    priced = config.budget.model_dump(exclude_none=True)
    if any(name.startswith("usd") for name in priced) and not config.prices:
        return SetupCheck(
            "model",
            "wrong",
            f"{model.name}: a budget in dollars is set, but no price",
            "add the price of the model to `prices:` in .prd2pr.yml",
        )
    return SetupCheck("model", "ok", model.name)


def run_sandbox_check(git: Git, config: Config) -> SetupCheck:
    """Check the sandbox by actually starting one."""
    if config.sandbox == "off":
        return SetupCheck(
            "sandbox", "warning", "sandbox: off is set, so tests run with your permissions", "set sandbox: preferred"
        )
    python = Path(sys.executable) if config.setup else find_python(git.workdir, config.test.python)
    found = find_sandbox(python)
    if found.is_complete:
        return SetupCheck("sandbox", "ok", found.protections)
    mark: Mark = "wrong" if config.sandbox == "required" else "warning"
    refused = "; ".join(f"{refusal.privilege}: {refusal.why}" for refusal in found.refusals)
    lacking = list_missing_protections(found.protections)
    status = f"{found.protections}; missing: {', '.join(lacking)}" if found.privilege else "not available"
    status += f" ({refused})" if refused else ""
    fix = suggest_sandbox_remedy((refusal.why for refusal in found.refusals), linux=sys.platform == "linux")
    return SetupCheck("sandbox", mark, f"{status}; a test could {describe_risks(lacking)}", fix)


def run_prds_check(git: Git, config: Config) -> SetupCheck:
    found = list_checkout_prds(git, config.prds) if git.workdir else list_prd_paths(git, "HEAD", config.prds)
    if not found:
        return SetupCheck(
            "prds", "warning", f"there is no PRD under {', '.join(config.prds)}", "prd2pr init writes a template"
        )
    if git.workdir:
        for path in found:
            read_prd(git, str(git.workdir / path))  # raises an error with the reason and the remedy
    return SetupCheck("prds", "ok", ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else ""))


def run_state_check(git: Git, _: Config) -> SetupCheck:
    found = list(iter_active_prds(git))
    for each in found:
        for story in each.state.cycle_ids:
            each.state.cycle(story)
        each.state.check()
    return SetupCheck(
        "state", "ok", f"{count(len(found), 'PRD')} on branches, all readable" if found else "no PRD is in progress"
    )


CHECKS: tuple[Callable[[Git, Config], SetupCheck], ...] = (
    run_config_check,
    run_stacks_check,
    run_tests_check,
    run_model_check,
    run_sandbox_check,
    run_prds_check,
    run_state_check,
)
