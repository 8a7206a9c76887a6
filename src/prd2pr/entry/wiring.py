"""From options to a session: the one place where adapters are chosen."""

from __future__ import annotations

import argparse
import os
import secrets
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from prd2pr.config import Config
from prd2pr.core.approval import ApprovalMode
from prd2pr.core.budget import Limits
from prd2pr.core.crew import Crew
from prd2pr.core.gates import GatePolicy
from prd2pr.core.living.documents import living_paths
from prd2pr.core.records import Prd
from prd2pr.core.said.leaks import Secrets
from prd2pr.core.stacks.stack import Stack
from prd2pr.entry.ground import (
    Ground,
    SystemClock,
    open_ground,
    open_runner,
    path_rules,
    plain_runner,
    stacks_of,
)
from prd2pr.errors import UsageProblem
from prd2pr.flows.gather import Gathering
from prd2pr.flows.session import Hired, RunLog, Session
from prd2pr.flows.writers import LocalWriter
from prd2pr.models import edits_itself, open_model, recorded
from prd2pr.ports import BranchWriter, Camera, Progress
from prd2pr.repo.git import Git
from prd2pr.repo.journal import Journal
from prd2pr.repo.store import StateStore
from prd2pr.runners.cache import CachedRunner
from prd2pr.runners.camera import SandboxCamera
from prd2pr.runners.interpreter import find_python


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
    """One for each worker, and one alone where runs would be in each other's way. They believe what an earlier `verify`
    left in `store`, not what a run leaves there."""
    began, stacks = time.time_ns(), stacks_of(git, config, base)
    plain = [plain_runner(git, config, stacks, base, many=True)]
    if workers > 1 and plain[0].keeps_apart():
        plain += (plain_runner(git, config, stacks, base, many=True) for _ in range(workers - 1))
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
    opened = open_ground(options.repo, None if prd else options.prd, many=many)
    prd = prd or opened.prd
    assert prd is not None, "named by the options, or given"
    return session_on(opened.ground, prd, options, progress)


def session_on(ground: Ground, prd: Prd, options: argparse.Namespace, progress: Progress) -> Session:
    git, config = ground.git, ground.config
    if not ground.base_branch:
        progress.say("note", text=f"HEAD is detached: {ground.base_commit[:10]} is the base")
    warn_of_dirt(git, progress, prd)
    crew = crew_of(config, options.model)
    return session_of(
        ground,
        prd,
        progress,
        crew=crew,
        hire=hiring(config, crew, progress, record=options.record),
        writer=LocalWriter(git, progress),
        only_story=getattr(options, "story", None) or "",
    )


def session_of(
    ground: Ground,
    prd: Prd,
    progress: Progress,
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
    gathering = _gathering(git, ground.runner, config, ground.stacks)
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
        runner=gathering.runner,
        gathering=gathering,
        policy=gate_policy(config),
        crew=crew,
        hire=hire,
        clock=clock,
        progress=progress,
        journal=Journal(git.private, prd.id),
        log=RunLog(run_id(clock), clock.now(), clock.monotonic()),
        rules=path_rules(config),
        limits=limits_of(config),
        only_story=only_story,
        approval=approval,
        issue=issue,
        secrets=hidden or Secrets(),
        camera=camera_of(git, config),
        surveyor=ground.surveyor,
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
