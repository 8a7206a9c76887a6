"""Repository, configuration and test runner: the context that all verbs share.

It is imported before the rest of the program, so that the first test run can start during the remaining imports.
"""

from __future__ import annotations

import difflib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.config import CONFIG_PATH, Config, list_configured_stacks
from prd2pr.config_file import FORMER_ROLES, load_config
from prd2pr.domain.records import Phase, Prd
from prd2pr.domain.results.isolation import (
    describe_risks,
    list_actions_options,
    list_missing_protections,
    suggest_sandbox_remedy,
)
from prd2pr.domain.stack import PYTHON, Stack, is_python_stack
from prd2pr.errors import ConfigInvalid, NotARepository, PrdInvalid, SetupProblem
from prd2pr.languages.python.installed_libraries import describe_installed_library
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import RED_RERUN_SEEDS, CoverageMeter, PythonRunner, RunRequest, Surveyor
from prd2pr.prd.parser import MAX_PRD_BYTES, decode_prd, parse_prd
from prd2pr.sandbox.detection import Sandbox, find_sandbox
from prd2pr.sandbox.interpreter import find_interpreter_paths, find_python
from prd2pr.state.cache import find_cache_directory
from prd2pr.state.commit_message import read_step
from prd2pr.state.git import Git
from prd2pr.verification.findings import UNSWITCHABLE
from prd2pr.verification.run_cache import CachedRunner, IdentifiedRunner
from prd2pr.verification.stack_scope import apply_setup_commands, detect_stacks

if TYPE_CHECKING:
    from prd2pr.languages.project.toolchain import Toolchain


class SystemClock:
    def now(self) -> str:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def monotonic(self) -> float:
        return time.monotonic()


def open_repository(path: str) -> Git:
    """Open a repository that has at least one commit."""
    git = Git.open(Path(path))
    if git.is_unborn():
        raise NotARepository(
            "the repository has no commit yet, so there is nothing to start from",
            where=str(git.workdir or git.common_dir),
            remedy="git add -A && git commit -m 'First commit'",
        )
    return git


def read_config(git: Git, base: str) -> Config:
    """Read the configuration from the base commit, so that a pull request cannot change its own policy."""
    data = git.read(base, CONFIG_PATH)
    text = None if data is None else data.decode("utf-8", "replace")
    config = load_config(text, CONFIG_PATH, unswitchable=UNSWITCHABLE)
    if config.models.roles:
        refuse_unknown_roles(config)
    if config.sandbox == "auto":  # in Actions, other people's secrets are within reach of a test
        return config.model_copy(update={"sandbox": "required" if is_actions_job() else "preferred"})
    return config


def is_actions_job() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def refuse_unknown_roles(config: Config) -> None:
    from prd2pr.agents.roles import MODEL_ROLES  # slow to import, because it builds the schemas of all replies

    for role in config.models.roles:
        if role not in MODEL_ROLES and role not in FORMER_ROLES:
            near = difflib.get_close_matches(role, MODEL_ROLES, n=1)
            suggested = f"did you mean `{near[0]}`? " if near else ""
            raise ConfigInvalid(
                f"unknown role `{role}`",
                where=f"{CONFIG_PATH}: models.roles",
                remedy=f"{suggested}known roles: {', '.join(MODEL_ROLES)}",
            )


def read_prd(git: Git, name: str) -> Prd:
    """Read the PRD file with uncommitted changes, and record the blob of its content."""
    path = Path(name)
    shown = make_relative_path(git, path)
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise PrdInvalid("a PRD must be a plain file", where=name, remedy="name a PRD file")
        with path.open("rb") as file:
            data = file.read(MAX_PRD_BYTES + 1)
    except IsADirectoryError:
        raise PrdInvalid("a PRD must be a file, not a directory", where=name, remedy="name the file") from None
    except FileNotFoundError:
        raise PrdInvalid(
            "the PRD file does not exist", where=name, remedy="name a PRD, for example prds/my-feature.md"
        ) from None
    except OSError as error:
        raise PrdInvalid(f"the file cannot be read: {error.strerror}", where=name) from None
    return parse_prd(decode_prd(data, name), shown, blob=git.write_blob(data))


def make_relative_path(git: Git, path: Path) -> str:
    if git.workdir is None:
        return path.name
    try:
        return path.resolve().relative_to(git.workdir.resolve()).as_posix()
    except ValueError:
        raise PrdInvalid(
            "the PRD is outside the repository",
            where=str(path),
            remedy=f"move it below {git.workdir}, for example into prds/, or name the repository with --repo",
        ) from None


def open_runner(git: Git, config: Config, base: str, *, cached: bool, many: bool = False) -> CachedRunner:
    """Open the test runner.

    With `cached`, results are kept in the repository's private directory. `many` announces that several runs will
    follow.
    """
    runner = make_runner(git, config, find_stacks(git, config, base), base, many=many)
    return CachedRunner(runner, find_cache_directory(git.private) if cached else None)


def find_stacks(git: Git, config: Config, base: str) -> tuple[Stack, ...]:
    """Return the configured stacks, or those detected from the files of the base commit."""
    return apply_setup_commands(git, base, list_configured_stacks(config) or detect_stacks(git, base), config.setup)


def make_runner(
    git: Git, config: Config, stacks: tuple[Stack, ...], base: str, *, many: bool = False
) -> IdentifiedRunner:
    if stacks == (PYTHON,):
        return make_python_runner(git, config, many=many)
    from prd2pr.languages.runner import LanguageRunner
    from prd2pr.verification.stack_runners import MultiStackRunner, open_dependencies, prepare_python

    dependencies = open_dependencies(find_cache_directory(git.private), config, partial(git.read, base))

    def open_stack(stack: Stack) -> IdentifiedRunner:
        if is_python_stack(stack):
            interpreter = None
            if stack.setup:
                refuse_two_interpreters(config)
                given = ((path, git.read(base, stack.to_outer_path(path))) for path in stack.manifests)
                interpreter = prepare_python(dependencies, stack, {path: data for path, data in given if data})
            return make_python_runner(git, config, stack, interpreter, many=many)
        find_toolchain(stack)  # fail before any model call, since no model can fix the machine
        if config.sandbox == "required":
            refuse_without_sandbox(find_sandbox(Path(sys.executable)))
        return LanguageRunner(git.export, stack, dependencies, config.test, sandboxed=config.sandbox != "off")

    is_single = len(stacks) == 1 and not stacks[0].is_judged_inside
    return open_stack(stacks[0]) if is_single else MultiStackRunner(stacks, open_stack, git.subtree)


def find_toolchain(stack: Stack) -> Toolchain:
    """Find the tools of a language other than Python; raise SetupProblem if they are not installed."""
    from prd2pr.languages.project.toolchain import locate_toolchain
    from prd2pr.languages.registry import get_runner_kind

    return locate_toolchain(get_runner_kind(stack.runner), stack)


def refuse_two_interpreters(config: Config) -> None:
    if config.test.python:
        raise SetupProblem(
            "`test.python` and `setup` both choose an interpreter for the tests",
            where=CONFIG_PATH,
            remedy="remove one of them",
        )


def make_python_runner(
    git: Git, config: Config, stack: Stack = PYTHON, made: Path | None = None, *, many: bool = False
) -> PytestRunner:
    """Make the pytest runner. `made` is the interpreter that the set-up created."""
    if config.test.command:
        raise SetupProblem(
            "test.command is set, but only pytest is supported for Python",
            where=CONFIG_PATH,
            remedy="remove test.command; use test.python and test.args instead",
        )
    python = made or find_python(git.workdir, config.test.python, within=stack.within)
    if config.sandbox == "required":
        refuse_without_sandbox(find_sandbox(python))
    return PytestRunner(git.export, python, config.test, many=many, sandboxed=config.sandbox != "off")


def refuse_without_sandbox(found: Sandbox) -> None:
    """Raise SetupProblem before any model call if a required sandbox protection is missing.

    Without this check, every gate would refuse the run later.
    """
    if found.is_complete:
        return
    refused = [refusal.why for refusal in found.refusals]
    lacking = list_missing_protections(found.protections)
    missing_parts = ", ".join(lacking) if found.privilege else "no sandbox"
    without = f"Or set sandbox: preferred; a test could then {describe_risks(lacking)}"
    raise SetupProblem(
        f"tests must run in a sandbox here, but this machine does not provide all of it: {missing_parts}",
        where="; ".join(f"{refusal.privilege}: {refusal.why}" for refusal in found.refusals) or CONFIG_PATH,
        remedy=list_actions_options(lacking) if is_actions_job() else f"{suggest_sandbox_remedy(refused)}. {without}",
    )


def refuse_test_run(stack: Stack) -> IdentifiedRunner:
    raise SetupProblem(f"no tests run in this process, so {stack.name} has no runner", where="orders of the server")


@dataclass(frozen=True)
class RepositoryContext:
    """Objects shared by all sessions in one repository."""

    git: Git
    config: Config
    base_commit: str
    base_branch: str  # empty if HEAD is detached
    many: bool = False  # whether several test runs will follow
    runs_tests: bool = True

    @cached_property
    def stacks(self) -> tuple[Stack, ...]:
        return find_stacks(self.git, self.config, self.base_commit)

    @cached_property
    def _plain_runner(self) -> IdentifiedRunner:
        if not self.runs_tests:
            from prd2pr.verification.stack_runners import MultiStackRunner

            return MultiStackRunner(self.stacks, refuse_test_run, self.git.subtree)
        return make_runner(self.git, self.config, self.stacks, self.base_commit, many=self.many)

    @cached_property
    def runner(self) -> CachedRunner:
        return CachedRunner(self._plain_runner, find_cache_directory(self.git.private))

    @property
    def surveyor(self) -> Surveyor | None:
        return self._plain_runner if isinstance(self._plain_runner, Surveyor) else None

    @property
    def meter(self) -> CoverageMeter | None:
        return self._plain_runner if isinstance(self._plain_runner, CoverageMeter) else None

    def describe_library(self, name: str) -> str:
        """Describe the version of a library that is installed for the tests, or return an empty string."""
        try:
            return describe_installed_library(name, find_interpreter_paths(self.find_python()).paths)
        except SetupProblem:
            return ""  # without an interpreter, or one whose set-up fails, nothing is installed

    def find_python(self) -> Path:
        """Return the interpreter of the tests, or any that can run the project's program."""
        runner = self._plain_runner
        made = runner.python if isinstance(runner, PythonRunner) else None
        return made or find_python(self.git.workdir, self.config.test.python)


def open_context(repo: str, prd: str | None, *, many: bool) -> RunContext:
    """Open the repository, its configuration and, if given, the PRD."""
    git = open_repository(repo)
    head = git.rev("HEAD")
    config = read_config(git, head)
    name = config.base_branch or git.head_branch() or ""
    base = find_base_commit(git, config.base_branch) if config.base_branch else head
    repository = RepositoryContext(git, config, base, name, many=many)
    return RunContext(repository, read_prd(git, prd) if prd else None)


def find_base_commit(git: Git, branch: str) -> str:
    found = git.branch_head(branch) or git.remote_head(branch)
    if not found:
        raise SetupProblem(
            f"the branch {branch} does not exist in this clone",
            where=f"base_branch in {CONFIG_PATH}",
            remedy=f"git fetch origin {branch}:{branch}",
        )
    return found


class BackgroundTask:
    """Work done in a thread. `wait` re-raises the thread's exception."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as problem:  # noqa: BLE001 - re-raised by wait()
            self._problem = problem

    def succeeded(self) -> bool:
        self._thread.join()
        return self._problem is None

    def wait(self) -> None:
        self._thread.join()
        if self._problem:
            raise self._problem


@dataclass(frozen=True)
class RunContext:
    repository: RepositoryContext
    prd: Prd | None  # None for the only PRD in progress

    @contextmanager
    def start_suite(self) -> Iterator[Callable[[], None]]:
        """Start the suite run with which RED is compared, if RED is likely next. Yield a function that waits for it.

        The run starts in the background, because finding the interpreter and sandbox is mostly waiting. Call the
        yielded function before using the runner for anything else.
        """
        if (tree := self._guess_red_base()) is None:
            yield lambda: None
            return
        start = BackgroundTask(
            lambda: self.repository.runner.begin(RunRequest(tree, followed_by=(0,), later=RED_RERUN_SEEDS))
        )
        try:
            yield start.wait
        finally:
            if start.succeeded():
                self.repository.runner.discard_early_runs()

    def _guess_red_base(self) -> str | None:
        """Return the base tree of RED if the last commit suggests that RED is next, otherwise None."""
        git, config = self.repository.git, self.repository.config
        head = git.branch_head(f"{config.branch_prefix}{self.prd.id}") if self.prd else None
        step = read_step(git.commit_info(head).trailers) if head else None
        if head is None or step is None:
            return None
        near = (Phase.DESIGN, Phase.PLAN, Phase.INTEGRATED) if self.repository.many else (Phase.DESIGN,)
        return git.code_tree(head) if step.phase in near else None
