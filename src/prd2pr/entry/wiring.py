"""From options to a session: the one place where adapters are chosen."""

from __future__ import annotations

import argparse
import difflib
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.agents.roles import ASKED
from prd2pr.config import CONFIG_PATH, Config, configured_stacks, load_config
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.budget import Limits
from prd2pr.core.crew import Crew
from prd2pr.core.findings import UNSWITCHABLE
from prd2pr.core.gates import GatePolicy
from prd2pr.core.isolation import missing, remedy
from prd2pr.core.living.documents import living_paths
from prd2pr.core.paths import PathRules
from prd2pr.core.prd import MAX_PRD_BYTES, decode_prd, parse_prd
from prd2pr.core.records import Prd
from prd2pr.core.said.leaks import Secrets
from prd2pr.core.stacks.stack import PYTHON, Stack, is_python
from prd2pr.errors import ConfigInvalid, NotARepository, PrdInvalid, SetupProblem, UsageProblem
from prd2pr.flows.gather import Gathering
from prd2pr.flows.session import Hired, RunLog, Session
from prd2pr.flows.stacks import stacks_in, with_setup
from prd2pr.flows.writers import LocalWriter
from prd2pr.models import edits_itself, open_model, recorded
from prd2pr.ports import BranchWriter, Camera, Progress
from prd2pr.repo.git import Git
from prd2pr.repo.journal import Journal
from prd2pr.repo.store import StateStore
from prd2pr.runners.cache import CachedRunner, IdentifiedRunner
from prd2pr.runners.camera import SandboxCamera
from prd2pr.runners.interpreter import find_python
from prd2pr.runners.pytest_runner import PytestRunner
from prd2pr.runners.sandbox import Sandbox, find_sandbox

if TYPE_CHECKING:
    from prd2pr.runners.toolchain import Toolchain


class SystemClock:
    def now(self) -> str:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def monotonic(self) -> float:
        return time.monotonic()


def open_repository(path: str) -> Git:
    """A repository with at least one commit."""
    git = Git.open(Path(path))
    if git.is_unborn():
        raise NotARepository(
            "the repository has no commit yet, so there is nothing to start from",
            where=str(git.workdir or git.common_dir),
            remedy="git add -A && git commit -m 'First commit'",
        )
    return git


def read_config(git: Git, base: str) -> Config:
    """From the base commit: what a pull request changes of its own policy is not in force."""
    data = git.read(base, CONFIG_PATH)
    text = None if data is None else data.decode("utf-8", "replace")
    config = load_config(text, CONFIG_PATH, unswitchable=UNSWITCHABLE)
    for role in config.models.roles:
        if role not in ASKED:
            near = difflib.get_close_matches(role, ASKED, n=1)
            meant = f"did you mean `{near[0]}`? " if near else ""
            raise ConfigInvalid(
                f"there is no role `{role}` that a model is asked for",
                where=f"{CONFIG_PATH}: models.roles",
                remedy=f"{meant}the roles are {', '.join(ASKED)}",
            )
    return config


def read_prd(git: Git, name: str) -> Prd:
    """The file as it is now, pinned by its blob."""
    path = Path(name)
    shown = relative_path(git, path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise PrdInvalid("a PRD is a plain file, and this is none", where=name, remedy="name a PRD file")
        with path.open("rb") as file:
            data = file.read(MAX_PRD_BYTES + 1)
    except IsADirectoryError:
        raise PrdInvalid("a PRD is one file, and this is a directory", where=name, remedy="name the file") from None
    except FileNotFoundError:
        raise PrdInvalid("there is no such file", where=name, remedy="name a PRD: prds/my-feature.md") from None
    except OSError as error:
        raise PrdInvalid(f"the file cannot be read: {error.strerror}", where=name) from None
    return parse_prd(decode_prd(data, name), shown, blob=git.write_blob(data))


def relative_path(git: Git, path: Path) -> str:
    if git.workdir is None:
        return path.name
    try:
        return path.resolve().relative_to(git.workdir.resolve()).as_posix()
    except ValueError:
        raise PrdInvalid(
            "the PRD lies outside of the repository",
            where=str(path),
            remedy=f"put it below {git.workdir}, for example into prds/, or name the repository with --repo",
        ) from None


def path_rules(config: Config) -> PathRules:
    return PathRules(source=config.paths.source, tests=config.paths.tests, protected=config.paths.protected)


def gate_policy(config: Config) -> GatePolicy:
    return GatePolicy(
        severities=dict(config.gates.severity),
        allow_manifest=config.gates.allow_manifest,
        require_sandbox=config.sandbox == "required",
        mutation_ratio=config.gates.mutation_ratio,
        compare=config.gates.compare,
    )


def limits_of(config: Config) -> Limits:
    return Limits(**config.budget.model_dump())


def open_runner(git: Git, config: Config, base: str, *, cached: bool, many: bool = False) -> CachedRunner:
    """`cached`: results are kept in the repository's private directory; else only while the program runs.

    `many`: run will follow run.
    """
    runner = plain_runner(git, config, stacks_of(git, config, base), base, many=many)
    return CachedRunner(runner, git.private / "cache" / "runs" if cached else None)


def stacks_of(git: Git, config: Config, base: str) -> tuple[Stack, ...]:
    """What the configuration names, else what the files of the base commit show."""
    return with_setup(git, base, configured_stacks(config) or stacks_in(git, base), config.setup)


def plain_runner(
    git: Git, config: Config, stacks: tuple[Stack, ...], base: str, *, many: bool = False
) -> IdentifiedRunner:
    if stacks == (PYTHON,):
        return python_runner(git, config, many=many)
    from prd2pr.runners.several import SeveralRunners, other_runner, prepared_python

    def opened(stack: Stack) -> IdentifiedRunner:
        if is_python(stack):
            made = None
            if stack.setup:
                refuse_two_pythons(config)
                given = ((path, git.read(base, stack.outside(path))) for path in stack.manifests)
                made = prepared_python(git.private / "cache", stack, {path: data for path, data in given if data})
            return python_runner(git, config, stack, made, many=many)
        find_tools(stack)  # before anything is paid for: no model can mend a machine
        if config.sandbox == "required":
            refuse_without_sandbox(find_sandbox(Path(sys.executable)))
        return other_runner(git.export, git.private / "cache", stack, config.test, sandboxed=config.sandbox != "off")

    alone = len(stacks) == 1 and not stacks[0].judged_inside
    return opened(stacks[0]) if alone else SeveralRunners(stacks, opened, git.subtree)


def find_tools(stack: Stack) -> Toolchain:
    """Of a language beside Python. Raises where they are not installed."""
    from prd2pr.core.other.runner import runner_kind
    from prd2pr.runners.toolchain import toolchain_of

    return toolchain_of(runner_kind(stack.runner), stack)


def refuse_two_pythons(config: Config) -> None:
    if config.test.python:
        raise SetupProblem(
            "both `test.python` and `setup` name an interpreter for the tests",
            where=CONFIG_PATH,
            remedy="leave one of them out",
        )


def python_runner(
    git: Git, config: Config, stack: Stack = PYTHON, made: Path | None = None, *, many: bool = False
) -> PytestRunner:
    """`made`: the interpreter that the set-up made."""
    if config.test.command:
        raise SetupProblem(
            "test.command is set, and this version runs pytest only",
            where=CONFIG_PATH,
            remedy="leave test.command out; test.python and test.args are honoured",
        )
    python = made or find_python(git.workdir, config.test.python, within=stack.within)
    if config.sandbox == "required":
        refuse_without_sandbox(find_sandbox(python))
    return PytestRunner(git.export, python, config.test, many=many, sandboxed=config.sandbox != "off")


def refuse_without_sandbox(found: Sandbox) -> None:
    """No model can mend a machine: what every gate would refuse is said before anything is paid for."""
    if found.complete:
        return
    refused = [refusal.why for refusal in found.refusals]
    lacking = ", ".join(missing(found.had)) if found.door else "there is none"
    raise SetupProblem(
        f"sandbox: required is set, and this machine does not give all of it: {lacking}",
        where="; ".join(f"{refusal.door}: {refusal.why}" for refusal in found.refusals) or CONFIG_PATH,
        remedy=f"{remedy(refused)}. Or set sandbox: preferred, and every verdict will say what is missing",
    )


def gathering_of(git: Git, config: Config, base: str, *, cached: bool, many: bool = False) -> Gathering:
    """`base`: the commit whose files show what the project is made of, as its configuration is read from there."""
    runner = open_runner(git, config, base, cached=cached, many=many)
    return _gathering(git, runner, config, stacks_of(git, config, base))


def _gathering(git: Git, runner: CachedRunner, config: Config, stacks: tuple[Stack, ...]) -> Gathering:
    rules = path_rules(config)
    docs = living_paths(config.docs.directory, rules) if config.docs.enabled else ()
    return Gathering(
        git, runner, rules, config.gates.mutants, config.gates.compare, docs, config.docs.directory, stacks
    )


def proving(git: Git, config: Config, base: str, store: Path | None, workers: int) -> list[Gathering]:
    """One for each worker. They believe what an earlier `verify` left in `store`, not what a run leaves there."""
    began, stacks = time.time_ns(), stacks_of(git, config, base)
    plain = (plain_runner(git, config, stacks, base, many=True) for _ in range(workers))
    return [_gathering(git, CachedRunner(each, store, believed_until=began), config, stacks) for each in plain]


def crew_of(config: Config, model: str | None = None) -> Crew:
    models = config.models
    return Crew(models.default, models.strong, models.roles, for_all=model or os.environ.get("PRD2PR_MODEL") or "")


def hiring(
    config: Config, crew: Crew, progress: Progress, *, record: str | None = None
) -> Callable[[str, bool], Hired]:
    one_at_a_time = threading.Lock()  # two threads must not open one model twice

    @cache
    def hire(spec: str) -> Hired:
        opened = open_model(
            spec,
            prices=config.prices,
            on_retry=lambda retry: progress.say("retry", why=retry.why, seconds=retry.seconds),
        )
        alone = edits_itself(spec, opened)
        if record and alone:
            raise UsageProblem(
                f"{spec} works on files by itself, which a transcript cannot hold",
                where="--record",
                remedy="leave --record out, or record a model that answers with tool calls",
            )
        if record:
            opened = recorded(opened, Path(record))
        # A transcript must hold every answer, and one that is read costs nothing.
        remembers = not record and not spec.startswith("replay:")
        return Hired(opened, edits_itself=alone, remembers=remembers)

    def hired(role: str, strong: bool) -> Hired:
        with one_at_a_time:
            return hire(crew.model(role, strong=strong))

    return hired


def open_session(
    options: argparse.Namespace, progress: Progress, prd: Prd | None = None, *, many: bool = False
) -> Session:
    """`many`: more than one phase will be worked on."""
    git = open_repository(options.repo)
    base = git.rev("HEAD")
    base_branch = git.head_branch()
    config = read_config(git, base)
    prd = prd or read_prd(git, options.prd)
    if base_branch is None:
        progress.say("note", text=f"HEAD is detached: {base[:10]} is the base")
    warn_of_dirt(git, progress, prd)
    crew = crew_of(config, options.model)
    return session_of(
        Ground(git, config, base, base_branch or "", progress, many=many),
        prd,
        crew=crew,
        hire=hiring(config, crew, progress, record=options.record),
        writer=LocalWriter(git, progress),
        only_story=getattr(options, "story", None) or "",
    )


@dataclass(frozen=True)
class Ground:
    """What every session in one repository shares."""

    git: Git
    config: Config
    base_commit: str
    base_branch: str
    progress: Progress
    many: bool = False

    @cached_property
    def gathering(self) -> Gathering:
        return gathering_of(self.git, self.config, self.base_commit, cached=True, many=self.many)


def session_of(
    ground: Ground,
    prd: Prd,
    *,
    crew: Crew,
    hire: Callable[[str, bool], Hired],
    writer: BranchWriter,
    approval: ApprovalMode = "given",
    issue: int | None = None,
    only_story: str = "",
    hidden: Secrets | None = None,
) -> Session:
    clock = SystemClock()
    config, git = ground.config, ground.git
    branch = f"{config.branch_prefix}{prd.id}"
    return Session(
        git=git,
        store=StateStore(git, prd.id, branch),
        writer=writer,
        config=config,
        prd=prd,
        branch=branch,
        base_branch=ground.base_branch,
        base_commit=ground.base_commit,
        runner=ground.gathering.runner,
        gathering=ground.gathering,
        policy=gate_policy(config),
        crew=crew,
        hire=hire,
        clock=clock,
        progress=ground.progress,
        journal=Journal(git.private, prd.id),
        log=RunLog(run_id(clock), clock.now(), clock.monotonic()),
        rules=path_rules(config),
        limits=limits_of(config),
        only_story=only_story,
        approval=approval,
        issue=issue,
        secrets=hidden or Secrets(),
        camera=camera_of(git, config),
        goes_on=ground.many,
    )


def camera_of(git: Git, config: Config) -> Camera | None:
    """Only where the project has a page."""
    if not config.page.command:
        return None
    python = find_python(git.workdir, config.test.python)
    return SandboxCamera(git.export, python, sandboxed=config.sandbox != "off")


def run_id(clock: SystemClock) -> str:
    stamp = clock.now().replace("-", "").replace(":", "")
    return f"{stamp}-{secrets.token_hex(3)}"


def warn_of_dirt(git: Git, progress: Progress, prd: Prd) -> None:
    """Work goes from commits. What is not committed is neither seen nor touched, and nobody should wonder about it."""
    dirty = [path for path in git.dirty_paths() if path != prd.path]
    if dirty:
        shown = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
        progress.say("note", text=f"not committed, so not part of this run, and left as it is: {shown}")
