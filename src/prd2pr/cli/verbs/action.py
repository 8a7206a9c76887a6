"""`prd2pr action`: entry point of the GitHub Action. `cli/ignored_events.py` filters out irrelevant events earlier."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial

from prd2pr.cli.actions_job import ActionsJob, Mode, mask_secret, read_job, write_workflow_command
from prd2pr.cli.context import RepositoryContext, SystemClock, open_repository, read_config
from prd2pr.cli.process_hardening import hide_process
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import make_model_opener, make_model_selection, make_session
from prd2pr.config import CONFIG_PATH, Config
from prd2pr.domain.secrets import Secrets
from prd2pr.domain.wording import end_sentence
from prd2pr.errors import ConfigInvalid, HubProblem, NotFoundThere, Prd2prError, Stopped
from prd2pr.github.branch_writer import GitPushWriter, LocalCommitReader, StoryPushWriter, SyncedApiWriter
from prd2pr.github.client.commits import ApiWriter
from prd2pr.github.client.factory import make_token_source, open_hub
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import TokenSource
from prd2pr.github.config_errors import ConfigErrorContext, report_config_error
from prd2pr.github.context import Deadline, GitHubContext, Handoff, JobContext
from prd2pr.github.events.events import Event, EventIgnored, read_event
from prd2pr.github.jobs.story_job import run_story_job
from prd2pr.github.notifications import send_notices
from prd2pr.github.outcome import PrdOutcome, get_worst_outcome
from prd2pr.github.run import continue_wave, handle_event
from prd2pr.github.setup.app_permissions import STORY_ACCESS, WORK_ACCESS
from prd2pr.state.archive import ARCHIVES
from prd2pr.state.finished_records import lacks_records
from prd2pr.state.git import Git
from prd2pr.state.identity import make_account_identity
from prd2pr.state.remote import Remote
from prd2pr.workflow.interfaces import BranchWriter, Progress

CANCEL_SIGNALS = (signal.SIGINT, signal.SIGTERM)
CANCELLED_HINT = "To resume now, comment `/tdd run`. Otherwise the schedule resumes it; `/tdd halt_all` prevents that."


HANDOFF_BY_MODE: dict[Mode, Handoff] = {"work": "", "plan": "to jobs", "story": "", "integrate": "to a run"}


def main(options: argparse.Namespace) -> int:  # noqa: ARG001 - all verbs share a signature
    job = read_job()
    hide_process()
    for signal_number in CANCEL_SIGNALS:
        signal.signal(signal_number, raise_cancelled)
    try:
        return run_job(job)
    except Stopped as error:
        outcome = PrdOutcome("waiting", error.what, error.remedy)
        job.write_outputs({"outcome": outcome.status, "report": job.write_report((outcome,))})
        raise
    except Exception:
        job.write_outputs({"outcome": "error"})
        raise


def raise_cancelled(*_: object) -> None:
    """Interrupt the run at the first signal of a cancelled job, and ignore further ones.

    A runner sends SIGINT, then SIGTERM after 7.5 s, and kills the job 2.5 s later. That time is used for reporting.
    """
    for signal_number in CANCEL_SIGNALS:
        signal.signal(signal_number, signal.SIG_IGN)
    raise Stopped("this run was cancelled; all proved steps are kept", remedy=CANCELLED_HINT)


def run_job(job: ActionsJob) -> int:
    event = read_event(job.event_name, job.read_payload())
    if isinstance(event, EventIgnored):
        return report_outcomes(job, (PrdOutcome("nothing-to-do", event.reason),))
    secrets = Secrets.from_values(job.secrets())
    tokens = make_token_source(
        job.env,
        job.repository,
        permissions=STORY_ACCESS if job.mode == "story" else WORK_ACCESS,
        api_url=job.api_url,
        on_minted=partial(hide_token, secrets),
    )
    with (
        Terminal(sys.stdout) as progress,
        closing(open_job_hub(job, tokens, progress, secrets)) as hub,
        open_repository(job.workspace) as git,
    ):
        try:
            context = make_github_context(job, hub, tokens, git, progress, secrets=secrets)
        except ConfigInvalid as problem:
            remote = git.remote(job.git_url, tokens.token)
            report_config_error(
                ConfigErrorContext(hub, git, remote, SystemClock(), read_config_text(git)), event, problem
            )
            raise
        outcomes = scrub_outcomes(run_mode(job, context, event), secrets)
        send_notices(context.config.notify, job.env, outcomes, progress)
        return report_outcomes(job, outcomes)


def run_mode(job: ActionsJob, context: GitHubContext, event: Event) -> tuple[PrdOutcome, ...]:
    """Run the job in its mode.

    The job in mode `plan` has checked who started the run. The jobs in other modes execute its decisions.
    """
    if job.mode == "story":
        return (run_story_job(context, job.story_input),)
    return continue_wave(context, job.wave) if job.mode == "integrate" else handle_event(context, event)


def open_job_hub(job: ActionsJob, tokens: TokenSource, progress: Progress, secrets: Secrets) -> GitHubHub:
    return open_hub(
        job.repository,
        token=tokens,
        api_url=job.api_url,
        graphql_url=job.graphql_url,
        say=lambda text: progress.say("note", text=text),
        secrets=secrets,
    )


def read_config_text(git: Git) -> str:
    return (git.read(git.rev("HEAD"), CONFIG_PATH) or b"").decode("utf-8", "replace")


def hide_token(secrets: Secrets, token: str) -> None:
    mask_secret(token)
    secrets.learn(token)


def scrub_outcomes(outcomes: tuple[PrdOutcome, ...], secrets: Secrets) -> tuple[PrdOutcome, ...]:
    """Remove secrets from reasons, which may quote other programs and appear in annotations, outputs and messages."""
    return tuple(replace(each, reason=secrets.scrub(each.reason), next=secrets.scrub(each.next)) for each in outcomes)


def make_github_context(
    job: ActionsJob, hub: GitHubHub, tokens: TokenSource, git: Git, progress: Progress, *, secrets: Secrets
) -> GitHubContext:
    remote = git.remote(job.git_url, tokens.token)
    base_branch = hub.default_branch()
    base = remote.head(base_branch)
    if base is None:
        raise NotFoundThere(f"the default branch {base_branch} does not exist", where=job.git_url)
    if not git.has_commit(base):
        remote.fetch(base, base_branch)
    config = read_config(git, base)
    if config.base_branch not in ("", base_branch):
        base_branch, base = config.base_branch, fetch_base(git, remote, config.base_branch)
    with suppress(Prd2prError):  # the living docs then stay as they are
        if lacks_records(git, base):
            remote.fetch_ref(f"{ARCHIVES}/*")
    hub.only_tdd_commands = not config.generic_commands
    secrets.learn(job.env.get(config.notify.urls_from, ""))
    git.committer.account = lambda: make_account_identity(hub.me().login, hub.me().id, job.server_url)
    clock = SystemClock()
    opened = RepositoryContext(git, config, base, base_branch, many=True)
    selection = make_model_selection(config)
    select_model = make_model_opener(config, selection, progress)
    writer = make_writer(config, hub, git, remote, progress)
    minutes = min((m for m in (job.minutes, config.budget.minutes_per_run) if m is not None), default=None)
    return GitHubContext(
        hub=hub,
        git=git,
        remote=remote,
        config=config,
        repository=job.repository,
        base_branch=base_branch,
        base_commit=base,
        open_session=lambda prd, issue: make_session(
            opened,
            prd,
            progress,
            selection=selection,
            select_model=select_model,
            writer=writer,
            approval=config.approval,
            issue=issue,
            hidden=secrets,
        ),
        progress=progress,
        deadline=Deadline(clock, None if minutes is None else clock.monotonic() + minutes * 60),
        job=JobContext(
            handoff=HANDOFF_BY_MODE[job.mode],
            workflow=job.workflow,
            run_url=job.run_url,
            write_summary=lambda text: job.write_summary(secrets.scrub(text)),
        ),
        server_url=job.server_url,
    )


def fetch_base(git: Git, remote: Remote, branch: str) -> str:
    """Fetch the configured base branch and return its head."""
    head = remote.head(branch)
    if head is None:
        raise NotFoundThere(
            f"the branch {branch} does not exist",
            where=f"base_branch in {CONFIG_PATH}",
            remedy="push it, or correct the setting on the default branch",
        )
    if not git.has_commit(head):
        remote.fetch(head, branch)
    return head


def make_writer(config: Config, hub: GitHubHub, git: Git, remote: Remote, progress: Progress) -> BranchWriter:
    writer = (
        SyncedApiWriter(ApiWriter(hub.api, LocalCommitReader(git)), git, remote)
        if config.commit == "api"
        else GitPushWriter(git, remote)
    )
    every_phase = config.push == "phase"
    on_changed_code = partial(start_ci_workflows, hub, config.ci_workflows, progress)
    return StoryPushWriter(writer, git, remote, config.branch_prefix, every_phase, on_changed_code)


def start_ci_workflows(hub: GitHubHub, workflows: tuple[str, ...], progress: Progress, branch: str) -> None:
    """Start the project's own checks. A failure is only logged, because the push itself succeeded."""
    for name in workflows:
        try:
            hub.dispatch(name, branch, {})
        except HubProblem as problem:
            progress.say("note", text=f"{name} could not be started on {branch}: {problem.what}")


def report_outcomes(job: ActionsJob, outcomes: tuple[PrdOutcome, ...]) -> int:
    """Write outputs and annotations and return the exit status: 1 if a person has to look into this run."""
    last = get_worst_outcome(outcomes)
    job.write_outputs(
        {
            "outcome": last.status,
            "pr": last.pull,
            "branch": last.branch,
            "story": last.story,
            "phase": last.phase,
            "prd": last.prd,
            "wave": last.wave.matrix_json() if last.wave else "",
            "cost": "" if last.usd is None else f"{sum(each.usd or 0 for each in outcomes):.4f}",
            "report": job.write_report(outcomes),
        }
    )
    for each in outcomes:
        message = f"{each.prd or 'prd2pr'}: {each.status}: {end_sentence(each.reason)}"
        message += f" Next: {each.next}" if each.next else ""
        write_workflow_command("error" if each.failed else "notice", message, each.where)
    return 1 if any(each.failed for each in outcomes) else 0
