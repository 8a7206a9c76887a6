"""`prd2pr action`: the Action's entry. What is irrelevant never comes here (see `entry/door.py`)."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial

from prd2pr.config import CONFIG_PATH
from prd2pr.core.events import Event, Ignored, read_event
from prd2pr.core.outcome import Ending, worst
from prd2pr.core.said.leaks import Secrets
from prd2pr.core.wording import stopped
from prd2pr.entry.actions import Job, Mode, command, job_of, mask
from prd2pr.entry.ground import Ground, SystemClock, open_repository, read_config
from prd2pr.entry.hiding import hide_process
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.wiring import crew_of, hiring, session_of
from prd2pr.errors import ConfigInvalid, NotFoundThere, Stopped
from prd2pr.flows.config_problem import Told, tell_config_problem
from prd2pr.flows.github_run import go_on_with, handle
from prd2pr.flows.host import Deadline, HandsOn, Host
from prd2pr.flows.notice import send_notices
from prd2pr.flows.remote_writers import CommitsHere, FollowingWriter, PushingWriter
from prd2pr.flows.story_job import work_on_one_story
from prd2pr.forges.github.commits import ApiWriter
from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.open import open_hub, token_source
from prd2pr.forges.github.tokens import TokenSource
from prd2pr.forges.guarded import GuardedHub
from prd2pr.ports import BranchWriter, Progress
from prd2pr.repo.git import Git
from prd2pr.repo.remote import Remote

CANCELLED_BY = (signal.SIGINT, signal.SIGTERM)
AFTER_CANCELLING = (
    "To go on at once, comment `/tdd run`. Else the schedule goes on with what was ordered; `/tdd halt_all` stops that."
)


HANDS_ON: dict[Mode, HandsOn] = {"work": "", "plan": "to jobs", "story": "", "integrate": "to a run"}


def main(options: argparse.Namespace) -> int:  # noqa: ARG001 - every verb has the same form
    job = job_of()
    hide_process()
    for sent in CANCELLED_BY:
        signal.signal(sent, cancelled)
    try:
        return work(job)
    except Stopped as problem:
        ending = Ending("waiting", problem.what, problem.remedy)
        job.put({"outcome": ending.ended, "report": job.report((ending,))})
        raise
    except Exception:
        job.put({"outcome": "error"})
        raise


def cancelled(*_: object) -> None:
    """A runner that cancels a job sends SIGINT, 7.5 s later SIGTERM, 2.5 s later it kills. One is enough to be heard:
    the rest of the time is for telling."""
    for sent in CANCELLED_BY:
        signal.signal(sent, signal.SIG_IGN)
    raise Stopped("this run was cancelled; all that was proved is on the branch", remedy=AFTER_CANCELLING)


def work(job: Job) -> int:
    event = read_event(job.event_name, job.payload())
    if isinstance(event, Ignored):
        return finish(job, (Ending("nothing-to-do", event.reason),))
    secrets = Secrets.of(job.secrets())
    tokens = token_source(job.env, job.repository, api_url=job.api_url, on_minted=partial(minted, secrets))
    with (
        Terminal(sys.stdout) as progress,
        closing(hub_of(job, tokens, progress)) as hub,
        open_repository(job.workspace) as git,
    ):
        try:
            host = host_of(job, hub, tokens, git, progress, secrets=secrets)
        except ConfigInvalid as problem:
            remote = git.remote(job.git_url, tokens.token)
            told = Told(GuardedHub(hub, secrets), git, remote, SystemClock(), config_here(git))
            tell_config_problem(told, event, problem)
            raise
        endings = clean(asked_for(job, host, event), secrets)
        send_notices(host.config.notify, job.env, endings, progress)
        return finish(job, endings)


def asked_for(job: Job, host: Host, event: Event) -> tuple[Ending, ...]:
    """Who may start this was asked by the job in mode plan: the others go on with what that one decided."""
    if job.mode == "story":
        return (work_on_one_story(host, job.order),)
    return go_on_with(host, job.wave) if job.mode == "integrate" else handle(host, event)


def hub_of(job: Job, tokens: TokenSource, progress: Progress) -> GitHubHub:
    return open_hub(
        job.repository,
        token=tokens,
        api_url=job.api_url,
        graphql_url=job.graphql_url,
        say=lambda text: progress.say("note", text=text),
    )


def config_here(git: Git) -> str:
    return (git.read(git.rev("HEAD"), CONFIG_PATH) or b"").decode("utf-8", "replace")


def minted(secrets: Secrets, token: str) -> None:
    mask(token)
    secrets.learn(token)


def clean(endings: tuple[Ending, ...], secrets: Secrets) -> tuple[Ending, ...]:
    """What others said is part of them, and they go into annotations, outputs and messages."""
    return tuple(
        replace(each, reason=secrets.scrub(each.reason).text, next=secrets.scrub(each.next).text) for each in endings
    )


def host_of(job: Job, hub: GitHubHub, tokens: TokenSource, git: Git, progress: Progress, *, secrets: Secrets) -> Host:
    remote = git.remote(job.git_url, tokens.token)
    base_branch = hub.default_branch()
    base = remote.head(base_branch)
    if base is None:
        raise NotFoundThere(f"the default branch {base_branch} is not there", where=job.git_url)
    if not git.has_commit(base):
        remote.fetch(base, base_branch)
    config = read_config(git, base)
    secrets.learn(job.env.get(config.notify.urls_from, ""))
    clock = SystemClock()
    ground = Ground(git, config, base, base_branch, many=True)
    crew = crew_of(config)
    hire = hiring(config, crew, progress)
    writer = writer_of(config.commit, hub, git, remote)
    minutes = min((m for m in (job.minutes, config.budget.minutes_per_run) if m is not None), default=None)
    return Host(
        hub=GuardedHub(hub, secrets),
        git=git,
        remote=remote,
        config=config,
        repository=job.repository,
        base_branch=base_branch,
        base_commit=base,
        open_session=lambda prd, issue: session_of(
            ground,
            prd,
            progress,
            crew=crew,
            hire=hire,
            writer=writer,
            approval=config.approval,
            issue=issue,
            hidden=secrets,
        ),
        progress=progress,
        deadline=Deadline(clock, None if minutes is None else clock.monotonic() + minutes * 60),
        hands_on=HANDS_ON[job.mode],
        workflow=job.workflow,
        run_url=job.run_url,
        server_url=job.server_url,
        summarise=lambda text: job.summarise(secrets.scrub(text).text),
    )


def writer_of(how: str, hub: GitHubHub, git: Git, remote: Remote) -> BranchWriter:
    if how == "api":
        return FollowingWriter(ApiWriter(hub.wire, CommitsHere(git)), git, remote)
    return PushingWriter(git, remote)


def finish(job: Job, endings: tuple[Ending, ...]) -> int:
    """Outputs, annotations, status. A job is green only where nobody has to look into it."""
    last = worst(endings)
    job.put(
        {
            "outcome": last.ended,
            "pr": last.pull,
            "branch": last.branch,
            "story": last.story,
            "phase": last.phase,
            "prd": last.prd,
            "wave": last.wave.as_matrix() if last.wave else "",
            "cost": "" if last.usd is None else f"{sum(each.usd or 0 for each in endings):.4f}",
            "report": job.report(endings),
        }
    )
    for each in endings:
        said = f"{each.prd or 'prd2pr'}: {each.ended}: {stopped(each.reason)}"
        said += f" Next: {each.next}" if each.next else ""
        command("error" if each.failed else "notice", said, each.where)
    return 1 if last.failed else 0
