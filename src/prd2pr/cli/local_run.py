"""Run a PRD of the local repository, write its page and report the result, for `prd2pr run` and `prd2pr next`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from prd2pr.agents.roles import MODEL_ROLES
from prd2pr.cli.active_prds import find_active_prd
from prd2pr.cli.context import RunContext, open_context, open_repository, read_config
from prd2pr.cli.forkserver import ForkServer, Workers
from prd2pr.cli.plan_text import format_backlog_text
from prd2pr.cli.story_worker import serve_stories
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import make_local_session, make_model_selection
from prd2pr.config import Config
from prd2pr.domain.costs.model_selection import ModelSelection
from prd2pr.domain.costs.role_costs import dump_role_costs, format_cost_lines, sum_role_costs
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.questions import number_questions
from prd2pr.domain.records import Backlog
from prd2pr.domain.scheduling import MAX_WORKERS, ONE_WORKER_NOTE, compute_pool_size
from prd2pr.errors import Stopped, UsageProblem
from prd2pr.views.blocked_story import BlockedView, build_blocked_view
from prd2pr.views.models import format_figures
from prd2pr.workflow.parallel.pool import open_shared_ledger, run_parallel, run_sequentially
from prd2pr.workflow.run import RunOutcome
from prd2pr.workflow.session import Session

if TYPE_CHECKING:
    from prd2pr.reports.pull_request import PublishedPull


def run_and_publish(options: argparse.Namespace, max_steps: int | None, opened: RunContext | None = None) -> RunOutcome:
    """Run the PRD and write its PR page. `opened` is the context if stories run one after the other."""
    # With --json, standard output is for programs, and progress goes to standard error.
    with Terminal(sys.stderr if options.json else sys.stdout) as progress, ExitStack() as resources:
        workers = count_workers(options, sequential=opened is not None)
        forkserver = resources.enter_context(ForkServer(partial(serve_stories, options))) if workers > 1 else None
        opened = opened or open_context(options.repo, options.prd, many=max_steps != 1)
        session = make_local_session(
            opened.repository, opened.prd or find_active_prd(opened.repository.git), options, progress
        )
        if not getattr(options, "yes", True) and asks_for_approval(session.config):
            confirmed = replace(session.constraints, confirm_plan=PlanPrompt(session, progress))
            session = replace(session, constraints=confirmed)
        if session.config.permissions.mode == "ask" and sys.stdin.isatty():
            asked = replace(session.constraints, confirm_edits=EditPrompt(session, progress))
            session = replace(session, constraints=asked)
        with session.git, session.git.lock(f"run-{session.prd.id}", what=session.prd.path):
            preload = threading.Thread(target=preload_publishing, daemon=True)
            preload.start()
            resources.callback(preload.join)  # an import fails noisily once the interpreter shuts down
            with explain_interruption(session):
                if forkserver is None or not can_run_in_parallel(opened, progress):
                    outcome = run_sequentially(session, max_steps)
                else:
                    outcome = run_in_parallel(session, forkserver, workers, progress)
            published = publish_local_page(session)
            report_run(session, outcome, published)
            delivered = deliver(session, published) if getattr(options, "pr", False) else ""
    if options.json:
        page = published.location if published else ""
        facts = build_run_json(session, outcome, page)
        sys.stdout.write(json.dumps({**facts, "pull": delivered} if delivered else facts) + "\n")
    else:
        sys.stdout.write(delivered)
    return outcome


@contextmanager
def explain_interruption(session: Session) -> Iterator[None]:
    """Say from where the next run continues if this one is interrupted."""
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        what = stop.what if isinstance(stop, Stopped) else "stopped by Ctrl-C"
        planned = session.git.branch_head(session.target.branch) is not None
        progress = "it resumes after the last proved phase" if planned else "nothing is planned yet"
        raise Stopped(what, remedy=f"run the same command again: {progress}") from None


def asks_for_approval(config: Config) -> bool:
    """Return whether a person approves the plan at the terminal.

    Without a terminal, this is so only if the settings require it.
    """
    return config.approval == "plan" and (sys.stdin.isatty() or "approval" in config.model_fields_set)


@dataclass
class PlanPrompt:
    """Shows a new plan and asks once whether to implement it."""

    session: Session
    progress: Terminal
    is_approved: bool = False

    def __call__(self, backlog: Backlog) -> NoAction | None:
        path = self.session.prd.path
        if not self.is_approved and sys.stdin.isatty():
            self.progress.close()
            sys.stderr.write(f"{format_backlog_text(backlog)}Build this plan? [y/N] ")
            sys.stderr.flush()
            self.is_approved = sys.stdin.readline().strip().lower() in ("y", "yes")
            return None if self.is_approved else self._stop("was not approved", "edit the PRD, or run it again")
        if self.is_approved:
            return None
        question = next(iter(number_questions(backlog)), None)
        first = f"prd2pr plan {path}" if question is None else f'prd2pr answer Q{question} "…" {path}'
        remedy = f"{first}, then prd2pr run {path} --yes"
        return self._stop("waits for approval, and prd2pr can ask only at a terminal", remedy)

    def _stop(self, why: str, remedy: str) -> NoAction:
        return NoAction("waiting", f"the plan of {self.session.prd.path} {why} (`approval: plan`)", remedy)


@dataclass
class EditPrompt:
    """Shows the edits of a worker that a gate accepted, and asks whether to commit them."""

    session: Session
    progress: Terminal

    def __call__(self, what: str, before: str, after: str) -> bool:
        self.progress.close()
        sys.stderr.write(f"{self.session.git.patch(before, after)}\nCommit {what}? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def count_workers(options: argparse.Namespace, *, sequential: bool) -> int:
    """Return how many stories may be worked on in parallel."""
    requested: int | None = getattr(options, "workers", None)
    if requested is not None and not 0 <= requested <= MAX_WORKERS:
        raise UsageProblem(f"--workers must be between 0 and {MAX_WORKERS}", where=f"--workers {requested}")
    if sequential:
        return 1
    with open_repository(options.repo) as git:
        config = read_config(git, git.rev("HEAD"))
    if uses_human(make_model_selection(config, options.model)) or config.permissions.mode == "ask":
        return 1
    return compute_pool_size(config.workers if requested is None else requested, os.cpu_count() or 1)


def can_run_in_parallel(context: RunContext, progress: Terminal) -> bool:
    """Return whether several workers can run tests at the same time on this machine."""
    is_isolated = context.repository.runner.isolates_runs()
    if not is_isolated:
        progress.say("note", text=ONE_WORKER_NOTE)
    return is_isolated


def uses_human(models: ModelSelection) -> bool:
    """Return whether a person takes any role, since a person can only do one thing at a time."""
    return any(models.select_model(role, strong=strong) == "human" for role in MODEL_ROLES for strong in (False, True))


def run_in_parallel(session: Session, forkserver: ForkServer, workers: int, progress: Terminal) -> RunOutcome:
    shared = open_shared_ledger(session)
    common = {"prd": session.prd.id, "branch": session.target.branch, "ledger": str(shared.path)}
    with Workers(forkserver, workers, common, progress) as story_workers:
        return run_parallel(replace(session, shared=shared), story_workers)


def preload_publishing() -> None:
    """Import the modules needed at the end of the run while models and tests are in progress."""
    from prd2pr.livingdocs import render
    from prd2pr.proof import verify  # noqa: F401
    from prd2pr.reports.rendering import compile_pr_templates

    render.load_docs_templates()
    compile_pr_templates()


def deliver(session: Session, published: PublishedPull | None) -> str:
    from prd2pr.cli.local_pull import deliver_pull_request

    return (
        deliver_pull_request(session, published) if published else "There is no branch to open a pull request from.\n"
    )


def publish_local_page(session: Session) -> PublishedPull | None:
    from prd2pr.reports.local_forge import LocalForge
    from prd2pr.reports.pull_request import publish_pull_request
    from prd2pr.workflow.next_action import find_branch_action

    if session.git.branch_head(session.target.branch) is None:
        return None
    next_action = find_branch_action(session, session.store.load(session.git.rev(session.target.branch)))
    forge, docs = LocalForge(session.git.private), session.services.gathering.living_docs
    return publish_pull_request(
        forge, session.store, session.target.branch, session.constraints.limits, next_action, living_docs=docs
    )


def report_run(session: Session, outcome: RunOutcome, published: PublishedPull | None) -> None:
    from prd2pr.memory.commit import make_retention_policy
    from prd2pr.proof.verify import count_intact_commits
    from prd2pr.state.branch_base import find_branch_start

    stop = outcome.stop
    session.progress.say(
        "costs", lines=format_cost_lines(sum_role_costs((*session.log.lines, *session.log.workers.lines)))
    )
    if stop.outcome == "done" and published:
        base, days = (
            find_branch_start(session.git, outcome.head).commit,
            make_retention_policy(session.config.retention),
        )
        proved, commits = count_intact_commits(session.git, base, outcome.head, days)
        view = published.view
        session.progress.say(
            "review",
            state=view.state,
            figures=format_figures(view.figures),
            warnings=tuple(each.sentence for each in view.warnings),
        )
        session.progress.say(
            "done", page=published.location, branch=session.target.branch, proved=proved, steps=commits
        )
        if proved < commits:
            text = f"{commits - proved} of {commits} commits are not proved steps; `prd2pr verify` lists them"
            session.progress.say("note", text=text)
    elif stop.outcome == "done":
        session.progress.say("note", text=f"nothing to do: {session.prd.id} is done and merged")
    else:
        blocked_story = find_blocked(session) if stop.outcome == "blocked" else None
        session.progress.say(
            "stopped", reason=stop.reason, next="" if blocked_story else stop.next, blocked=blocked_story
        )
        if published:
            session.progress.say("note", text=f"PR page: {published.location}")


def find_blocked(session: Session) -> BlockedView | None:
    from prd2pr.workflow.next_action import load_action_context

    state = session.store.load(session.git.rev(session.target.branch))
    return build_blocked_view(load_action_context(session, state), session.target.branch)


def build_run_json(session: Session, outcome: RunOutcome, page: str) -> dict[str, object]:
    stop: NoAction = outcome.stop
    blocked_story = find_blocked(session) if stop.outcome == "blocked" else None
    return {
        "outcome": stop.outcome,
        "reason": stop.reason,
        "next": stop.next,
        "steps": outcome.steps,
        "branch": session.target.branch,
        "head": outcome.head,
        "page": page,
        "spend": (session.log.spend + session.log.workers.spend).model_dump(),
        "blocked": asdict(blocked_story) if blocked_story else None,
        "roles": dump_role_costs(sum_role_costs((*session.log.lines, *session.log.workers.lines))),
    }
