"""One job on a code host for one story: it works on the story's own branch, pushes each phase there, and nothing else.

What people see is left to the job that integrates. Between two phases the PRD's branch is read again, so a pause or
another plan is heeded by the next one. Which story it is was decided by the job that planned; whether there is still
anything to do, the branches say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from prd2pr.core.ahead import story_ahead
from prd2pr.core.commit_message import read_step
from prd2pr.core.decide import Rest
from prd2pr.core.issue_ids import issue_number
from prd2pr.core.outcome import Ended, Ending, ended
from prd2pr.core.records import SETTLED
from prd2pr.core.waves import StoryOrder, limited_to, named_for
from prd2pr.errors import Prd2prError, SpendLimit, Stopped
from prd2pr.flows.drive import head_of
from prd2pr.flows.host import Host
from prd2pr.flows.outlook import outlook
from prd2pr.flows.remote_writers import follow
from prd2pr.flows.session import Session
from prd2pr.flows.settling import is_begun, settle_up
from prd2pr.flows.story_branches import Worked, story_session, work_on_story
from prd2pr.repo.store import StateStore


@dataclass
class StoryRun:
    host: Host
    session: Session  # of the PRD's branch
    own: Session  # of the story's
    story: str
    steps: int = 0


def work_on_one_story(host: Host, order: StoryOrder) -> Ending:
    run = run_of(host, order)
    if isinstance(run, Ending):
        return run
    try:
        rest = until_rest(run)
    except SpendLimit as limit:
        rest = Rest("budget", limit.what, limit.remedy)
    except Stopped:
        settle(run)
        raise
    except Prd2prError as problem:
        settle(run)
        host.progress.say("note", text=" ".join(problem.lines()))
        return ending_of(run, "error", problem.what, problem.remedy)
    settle(run, out_of_budget=rest.outcome == "budget")
    return ending_of(run, ended(rest), rest.reason, rest.next)


def run_of(host: Host, order: StoryOrder) -> StoryRun | Ending:
    """Both branches as they stand on the code host. Where nothing is left to do, nothing is begun."""
    branch = host.branch_of(order.prd)
    head = follow(host.git, host.remote, branch)
    state = StateStore(host.git, order.prd, branch).load(head) if head else None
    if state is None or state.prd is None:
        return Ending("nothing-to-do", f"{branch} holds no plan", prd=order.prd, branch=branch)
    session = host.open_session(state.prd, issue_number(order.prd))
    session = replace(session, limits=limited_to(session.limits, order.share))
    own = story_session(session, order.story)
    own.log.id = named_for(own.log.id, host.run_number)
    there = follow(host.git, host.remote, own.branch)
    run = StoryRun(host, session, own, order.story)
    story = next((each for each in state.backlog.stories if each.id == order.story), None)
    if story is None or story.status in SETTLED:
        status = story.status if story else "not in the plan any more"
        return ending_of(run, "nothing-to-do", f"{order.story} is {status}")
    waits = story_ahead(outlook(session, state, order.story)) if there is None else None
    return ending_of(run, "nothing-to-do", waits.reason, waits.next) if isinstance(waits, Rest) else run


def until_rest(run: StoryRun) -> Rest:
    """One phase after the other. Every phase is pushed, so that nothing is lost where the job is."""
    host = run.host
    while True:
        late = host.deadline.passed()
        if late is not None:
            return late
        if follow(host.git, host.remote, run.session.branch) is None:
            return Rest("stopped", f"{run.session.branch} was deleted meanwhile")
        started = host.clock.monotonic()
        worked = work_on_story(run.own, run.story, max_steps=1)
        host.deadline.took(host.clock.monotonic() - started)
        run.steps += worked.steps
        if not worked.steps:
            return rest_of(worked)


def rest_of(worked: Worked) -> Rest:
    return Rest("done", f"{worked.story} waits to be integrated") if worked.ready else worked.rest


def settle(run: StoryRun, *, out_of_budget: bool = False) -> None:
    """The machine is thrown away: what was spent without a commit goes to the story's branch. That branch holds steps
    of its story alone, so what was spent before the first one goes to the PRD's."""
    own = run.own
    if is_begun(own.store.load(head_of(own)), run.story):
        settle_up(own, out_of_budget=out_of_budget)
        return
    there = follow(run.host.git, run.host.remote, run.session.branch)
    if there is not None:
        own.journal.follow(head_of(own), there)
        settle_up(replace(run.session, journal=own.journal, log=own.log), out_of_budget=out_of_budget)


def ending_of(run: StoryRun, how: Ended, reason: str, following: str = "") -> Ending:
    own, git = run.own, run.own.git
    head = git.branch_head(own.branch)
    step = read_step(git.commit_info(head).trailers) if head and run.steps else None
    return Ending(
        how,
        reason,
        following,
        prd=own.prd.id,
        branch=own.branch,
        story=run.story,
        phase=step.phase.value if step else "",
        steps=run.steps,
        usd=own.log.spend.usd,
        tokens=own.log.spend.tokens,
    )
