"""What everything else stands on: the repository, its configuration and the runner of its tests.

Loaded before the rest of the program, which takes as long: the tests can begin meanwhile.
"""

from __future__ import annotations

import difflib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.config import CONFIG_PATH, Config, configured_stacks, load_config
from prd2pr.core.commit_message import read_step
from prd2pr.core.findings import UNSWITCHABLE
from prd2pr.core.isolation import missing, remedy
from prd2pr.core.paths import PathRules
from prd2pr.core.prd import MAX_PRD_BYTES, decode_prd, parse_prd
from prd2pr.core.records import Phase, Prd
from prd2pr.core.stacks.stack import PYTHON, Stack, is_python
from prd2pr.errors import ConfigInvalid, NotARepository, PrdInvalid, SetupProblem
from prd2pr.flows.stacks import stacks_in, with_setup
from prd2pr.ports import RED_AGAIN, RunRequest, Surveyor
from prd2pr.repo.git import Git
from prd2pr.runners.cache import CachedRunner, IdentifiedRunner
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
    if config.models.roles:
        refuse_unknown_roles(config)
    return config


def refuse_unknown_roles(config: Config) -> None:
    from prd2pr.agents.roles import ASKED  # with all that they may answer, which takes a while to load

    for role in config.models.roles:
        if role not in ASKED:
            near = difflib.get_close_matches(role, ASKED, n=1)
            meant = f"did you mean `{near[0]}`? " if near else ""
            raise ConfigInvalid(
                f"there is no role `{role}` that a model is asked for",
                where=f"{CONFIG_PATH}: models.roles",
                remedy=f"{meant}the roles are {', '.join(ASKED)}",
            )


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


def open_runner(git: Git, config: Config, base: str, *, cached: bool, many: bool = False) -> CachedRunner:
    """`cached`: results are kept in the repository's private directory; else only while the program runs.

    `many`: run will follow run.
    """
    runner = plain_runner(git, config, stacks_of(git, config, base), base, many=many)
    return CachedRunner(runner, runs_in(git) if cached else None)


def runs_in(git: Git) -> Path:
    return git.private / "cache" / "runs"


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


@dataclass(frozen=True)
class Ground:
    """What every session in one repository shares."""

    git: Git
    config: Config
    base_commit: str
    base_branch: str  # empty: HEAD is detached
    many: bool = False  # run will follow run

    @cached_property
    def stacks(self) -> tuple[Stack, ...]:
        return stacks_of(self.git, self.config, self.base_commit)

    @cached_property
    def _plain_runner(self) -> IdentifiedRunner:
        return plain_runner(self.git, self.config, self.stacks, self.base_commit, many=self.many)

    @cached_property
    def runner(self) -> CachedRunner:
        return CachedRunner(self._plain_runner, runs_in(self.git))

    @property
    def surveyor(self) -> Surveyor | None:
        return self._plain_runner if isinstance(self._plain_runner, Surveyor) else None


def open_ground(repo: str, prd: str | None, *, many: bool) -> Opened:
    git = open_repository(repo)
    base = git.rev("HEAD")
    ground = Ground(git, read_config(git, base), base, git.head_branch() or "", many=many)
    return Opened(ground, read_prd(git, prd) if prd else None)


class Background:
    """Something done by a thread, whose trouble is the trouble of whoever waits for it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._go)
        self._thread.start()

    def _go(self) -> None:
        try:
            self._work()
        except Exception as problem:  # noqa: BLE001 raised where it is waited for
            self._problem = problem

    def ended_well(self) -> bool:
        self._thread.join()
        return self._problem is None

    def wait(self) -> None:
        self._thread.join()
        if self._problem:
            raise self._problem


@dataclass(frozen=True)
class Opened:
    ground: Ground
    prd: Prd | None  # None: the one that is under way

    @contextmanager
    def suite_begun(self) -> Iterator[Callable[[], None]]:
        """RED is judged beside the suite as it was, so where RED is near, that run begins before anything else.

        In the background: to find interpreter and sandbox is mostly waiting. Before the runner is used otherwise, who
        is within calls what it is given, which waits until the run has begun.
        """
        if (tree := self._tree_before_red()) is None:
            yield lambda: None
            return
        beginning = Background(lambda: self.ground.runner.begin(RunRequest(tree, followed_by=(0,), later=RED_AGAIN)))
        try:
            yield beginning.wait
        finally:
            if beginning.ended_well():
                self.ground.runner.let_go()

    def _tree_before_red(self) -> str | None:
        """By what the last commit says of itself. It is a guess: where it was wrong, the run is given up."""
        git, config = self.ground.git, self.ground.config
        head = git.branch_head(f"{config.branch_prefix}{self.prd.id}") if self.prd else None
        step = read_step(git.commit_info(head).trailers) if head else None
        if head is None or step is None:
            return None
        near = (Phase.DESIGN, Phase.PLAN, Phase.INTEGRATED) if self.ground.many else (Phase.DESIGN,)
        return git.code_tree(head) if step.phase in near else None
