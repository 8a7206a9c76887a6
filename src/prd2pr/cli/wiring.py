"""Build sessions from options. This is the only place where adapters are chosen."""

from __future__ import annotations

import argparse
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from prd2pr.agents.models import is_self_editing, open_model, record_model
from prd2pr.cli.context import (
    RepositoryContext,
    SystemClock,
    find_stacks,
    make_runner,
    open_context,
    open_runner,
)
from prd2pr.config import Config
from prd2pr.config_file import list_deprecated_settings
from prd2pr.domain.costs.model_selection import ModelSelection
from prd2pr.domain.documents import list_living_paths
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.records import Prd
from prd2pr.domain.secrets import Secrets
from prd2pr.domain.stack import Stack
from prd2pr.errors import UsageProblem
from prd2pr.state.git import Git
from prd2pr.state.journal import Journal
from prd2pr.state.store import StateStore
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.program.camera import SandboxCamera
from prd2pr.verification.program.checkout import ProgramSandbox, run_smoke
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.verification.verdict import GatePolicy
from prd2pr.workflow.interfaces import BranchWriter, Progress
from prd2pr.workflow.session import Constraints, HostState, RoleModel, RunLog, Services, Session, Target


@dataclass(frozen=True)
class LocalWriter:
    git: Git
    progress: Progress

    def move(self, branch: str, new: str, old: str | None) -> str:
        note = self.git.update_branch(branch, new, old)
        if note:
            self.progress.say("note", text=note)
        return new

    def release(self, branch: str) -> str | None:
        return self.git.branch_head(branch)


def make_gate_policy(config: Config) -> GatePolicy:
    return GatePolicy(
        severities=dict(config.gates.severity),
        allow_manifest=config.gates.allow_manifest,
        require_sandbox=config.sandbox == "required",
        mutation_ratio=config.gates.mutation_ratio,
        compare=config.gates.compare,
    )


def make_gathering(git: Git, config: Config, base: str, *, cached: bool, many: bool = False) -> GatherContext:
    """Build the context that gathers evidence.

    `base` is the commit from which the configuration and stacks are read.
    """
    runner = open_runner(git, config, base, cached=cached, many=many)
    return _make_gathering(git, runner, config, find_stacks(git, config, base))


def _make_gathering(git: Git, runner: CachedRunner, config: Config, stacks: tuple[Stack, ...]) -> GatherContext:
    rules = config.path_rules
    docs = list_living_paths(config.docs.directory, rules) if config.docs.enabled else ()
    return GatherContext(
        git, runner, rules, config.gates.mutants, config.gates.compare, docs, config.docs.directory, stacks
    )


def make_verify_gatherings(
    git: Git, config: Config, base: str, store: Path | None, workers: int
) -> list[GatherContext]:
    """Build one gathering context per worker, or a single one if parallel runs would interfere.

    The contexts use results that an earlier `verify` left in `store`, but none that are written during this run.
    """
    started, stacks = time.time_ns(), find_stacks(git, config, base)
    runners = [make_runner(git, config, stacks, base, many=True)]
    if workers > 1 and runners[0].isolates_runs():
        runners += (make_runner(git, config, stacks, base, many=True) for _ in range(workers - 1))
    return [_make_gathering(git, CachedRunner(each, store, trusted_until=started), config, stacks) for each in runners]


def make_model_selection(config: Config, model: str | None = None) -> ModelSelection:
    models = config.models
    return ModelSelection(
        models.default, models.strong, models.roles, for_all=model or os.environ.get("PRD2PR_MODEL") or ""
    )


def make_model_opener(
    config: Config, selection: ModelSelection, progress: Progress, *, record: str | None = None
) -> Callable[[str, bool], RoleModel]:
    """Return a function that opens a role's model. Each model is opened at most once."""
    lock = threading.Lock()  # two threads must not open the same model twice

    @cache
    def open_spec(spec: str) -> RoleModel:
        model = open_model(
            spec,
            prices=config.prices,
            permissions=config.permissions,
            on_retry=lambda retry: progress.say("retry", why=retry.why, seconds=retry.seconds),
        )
        edits_files = is_self_editing(spec, model)
        if record and edits_files:
            raise UsageProblem(
                f"{spec} edits files itself, which a transcript cannot record",
                where="--record",
                remedy="omit --record, or use a model that replies with tool calls",
            )
        if record:
            model = record_model(model, Path(record))
        # A transcript must contain every reply, and replaying one costs nothing.
        is_cacheable = not record and not spec.startswith("replay:")
        return RoleModel(model, edits_itself=edits_files, remembers=is_cacheable)

    def open_role_model(role: str, strong: bool) -> RoleModel:
        with lock:
            return open_spec(selection.select_model(role, strong=strong))

    return open_role_model


def open_session(
    options: argparse.Namespace, progress: Progress, prd: Prd | None = None, *, many: bool = False
) -> Session:
    """Open a local session. `many` announces that more than one phase will run."""
    context = open_context(options.repo, None if prd else options.prd, many=many)
    prd = prd or context.prd
    assert prd is not None, "named in the options, or given"
    return make_local_session(context.repository, prd, options, progress)


def make_local_session(
    repository: RepositoryContext, prd: Prd, options: argparse.Namespace, progress: Progress
) -> Session:
    git, config = repository.git, repository.config
    if not repository.base_branch:
        progress.say("note", text=f"HEAD is detached; the base is {repository.base_commit[:10]}")
    warn_uncommitted(git, progress, prd)
    selection = make_model_selection(config, options.model)
    return make_session(
        repository,
        prd,
        progress,
        selection=selection,
        select_model=make_model_opener(config, selection, progress, record=options.record),
        writer=LocalWriter(git, progress),
        only_story=getattr(options, "story", None) or "",
    )


def make_session(
    repository: RepositoryContext,
    prd: Prd,
    progress: Progress,
    *,
    selection: ModelSelection,
    select_model: Callable[[str, bool], RoleModel],
    writer: BranchWriter,
    approval: ApprovalMode = "given",
    issue: int | None = None,
    only_story: str = "",
    hidden: Secrets | None = None,
) -> Session:
    clock = SystemClock()
    config, git = repository.config, repository.git
    for warning in list_deprecated_settings(config):
        progress.say("note", text=warning)
    git.committer.signs_off = config.sign_off
    gathering = _make_gathering(git, repository.runner, config, repository.stacks)
    branch = f"{config.branch_prefix}{prd.id}"
    programs = ProgramSandbox(git.export, repository.find_python, sandboxed=config.sandbox != "off")
    return Session(
        git=git,
        store=StateStore(git, prd.id),
        config=config,
        prd=prd,
        clock=clock,
        progress=progress,
        log=RunLog(make_run_id(clock), clock.now(), clock.monotonic()),
        target=Target(branch, repository.base_branch, repository.base_commit, story=only_story, issue=issue),
        services=Services(
            writer=writer,
            runner=gathering.runner,
            gathering=gathering,
            journal=Journal(git.private, prd.id),
            models=selection,
            select_model=select_model,
            camera=SandboxCamera(programs) if repository.runs_tests and config.page.command else None,
            surveyor=repository.surveyor,
            meter=repository.meter if repository.runs_tests else None,
            describe_library=repository.describe_library if repository.runs_tests else lambda _: "",
            run_smoke=partial(run_smoke, programs) if repository.runs_tests else None,
        ),
        constraints=Constraints(
            gate_policy=make_gate_policy(config),
            paths=config.path_rules,
            limits=config.usage_limits,
            approval=approval,
            secrets=hidden or Secrets(),
        ),
        host=HostState(continues=repository.many),
    )


def make_run_id(clock: SystemClock) -> str:
    stamp = clock.now().replace("-", "").replace(":", "")
    return f"{stamp}-{secrets.token_hex(3)}"


def warn_uncommitted(git: Git, progress: Progress, prd: Prd) -> None:
    """Report uncommitted files, since runs start from commits and neither see nor change them."""
    dirty = [path for path in git.dirty_paths() if path != prd.path]
    if dirty:
        shown = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
        progress.say("note", text=f"uncommitted changes are not part of this run and stay untouched: {shown}")
