"""One run on a code host: from an event to what people see. Any run does whatever is missing, whoever left it undone.

event → who may → which PRDs → the branch as it is there → the commands that wait, in order
      → phases, each committed and pushed → pull request, status comment, checks → how it ended
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.events import Commented, Dispatched, Event, Ignored, Labelled, Pushed, Scheduled, Stirred
from prd2pr.core.hub import Actor
from prd2pr.core.issue_ids import issue_prd_id
from prd2pr.core.outcome import Ended, Ending
from prd2pr.core.permission import NotAllowed, may_start
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Status
from prd2pr.core.said.answers import Failed, NotNow
from prd2pr.core.two_names import in_comments
from prd2pr.core.waves import Wave
from prd2pr.errors import Prd2prError, SpendLimit, Stopped
from prd2pr.flows.host import Host
from prd2pr.flows.orders import Heard
from prd2pr.flows.stirring import stirred
from prd2pr.flows.subjects import (
    About,
    Nobodys,
    NoPrd,
    StoryIssue,
    Subject,
    Unreadable,
    subject_under_way,
    subjects_of,
)
from prd2pr.flows.telling import complain
from prd2pr.flows.unheeded import answer_heard
from prd2pr.flows.without_prd import answer_without_prd
from prd2pr.flows.working_on import work_on


def handle(host: Host, event: Event) -> tuple[Ending, ...]:
    """What came of it, one ending for each PRD that it was about; at least one."""
    refusal = not_allowed(host, event)
    if refusal is not None:
        return (refusal,)
    if isinstance(event, Scheduled) and host.others_at_work():
        # It finds what was forgotten, and may not pay for what is being done: in which PRD, GitHub does not tell.
        return (Ending("nothing-to-do", "another run is at work; the next scheduled one looks again"),)
    abouts = tuple(stirred(host, event)) if isinstance(event, Stirred) else subjects_of(host, event)
    if len(abouts) > 1 and host.hands_on == "to jobs":
        host = replace(host, hands_on="to a run")  # the jobs of a run are about one PRD
    return told([attempted(host, event, about) for about in abouts])


def go_on_with(host: Host, wave: Wave) -> tuple[Ending, ...]:
    """The end of a wave: all that any run does, about the one PRD. That it may was decided when the wave began."""
    host = replace(host, wave_before=wave)
    return told([attempted(host, Dispatched({"prd": wave.prd}), subject_under_way(wave.prd))])


def told(found: list[Ending | Exception]) -> tuple[Ending, ...]:
    for each in found:
        if isinstance(each, Exception):
            raise each  # a bug of ours, reported as one once all others had their turn
    endings = [each for each in found if isinstance(each, Ending)]
    nothing = Ending("nothing-to-do", "the event is about no PRD")
    return tuple(replace(each, next=in_comments(each.next)) for each in endings or (nothing,))


def attempted(host: Host, event: Event, about: About) -> Ending | Exception:
    """One PRD that cannot be worked on does not keep the others from it."""
    try:
        return look_into(host, event, about)
    except Stopped:
        raise
    except Prd2prError as problem:
        host.progress.say("note", text=" ".join(problem.lines()))
        prd = about.id if isinstance(about, Subject) else ""
        how: Ended = "budget" if isinstance(problem, SpendLimit) else "error"
        branch = host.branch_of(prd) if prd else ""
        pull = pull_url(host, branch) if prd else ""
        return Ending(how, problem.what, problem.remedy, prd=prd, branch=branch, pull=pull, where=problem.where)
    except Exception as bug:  # noqa: BLE001 whatever it is, it is raised again
        return bug


def pull_url(host: Host, branch: str) -> str:
    """What keeps us from finding it must not hide what happened."""
    try:
        pull = host.hub.pull_of(branch, host.base_branch)
    except Prd2prError:
        return ""
    return pull.url if pull else ""


def not_allowed(host: Host, event: Event) -> Ending | None:
    if isinstance(event, Ignored):
        return Ending("nothing-to-do", event.reason)
    actor = getattr(event, "actor", None)
    level = host.hub.permission(actor.login) if isinstance(actor, Actor) and not actor.bot else "none"
    answer = may_start(event, level, host.hub.me())
    if not isinstance(answer, NotAllowed):
        return None
    # An insider's comment is answered below, command by command. What an outsider writes is not our red job.
    if isinstance(event, Commented) and not answer.silent:
        return None
    return Ending("nothing-to-do" if isinstance(event, Commented) else "refused", answer.reason)


def look_into(host: Host, event: Event, about: About) -> Ending:
    heard = heard_of(event, about)
    if isinstance(about, NoPrd):
        return Ending("nothing-to-do", f"{about.path} is no PRD: {about.reason}")
    if isinstance(about, Unreadable):
        return unreadable(host, about)
    if isinstance(about, StoryIssue):
        return commanded_elsewhere(host, about, heard)
    if isinstance(about, Nobodys):
        wanted = answer_without_prd(host, about.number, event if isinstance(event, Commented) else None, about.meant)
        if isinstance(wanted, Ending):
            return wanted
        about = wanted
    return work_on(host, about, heard, asked=isinstance(event, Pushed | Labelled | Dispatched))


def heard_of(event: Event, about: About) -> Heard:
    """Of orders, those for this PRD."""
    if isinstance(event, Stirred) and isinstance(about, Subject):
        orders = tuple(each for each in event.orders if each.prd == about.id)
        return Heard(orders=orders, sender=event.actor.login if event.actor else "")
    return Heard(event.comment if isinstance(event, Commented) else None)


def commanded_elsewhere(host: Host, about: StoryIssue, heard: Heard) -> Ending:
    """Whoever commands under a story's issue is told where commands are read."""
    pull = host.hub.pull_of(host.branch_of(about.prd), host.base_branch)
    place = f"#{pull.number}" if pull else "the pull request"
    reason = f"commands under #{about.number}, the issue of one story, are not read"
    answers = (
        answer_heard(
            host, heard, Status(), lambda it: NotNow(it.command.shown, reason, NextStep(f"Comment it under {place}."))
        )
        if heard
        else ()
    )
    return Ending("refused" if answers else "nothing-to-do", reason, f"comment under {place}", prd=about.prd)


def unreadable(host: Host, about: Unreadable) -> Ending:
    """Of a file, the job's annotation tells; of an issue, a comment below it."""
    if about.issue is not None:
        failed = Failed.of("this run", about.problem)
        complain(host.hub, about.issue, issue_prd_id(about.issue), failed, f"/{failed.digest}")
    return Ending("refused", f"{about.path}: {about.problem.what}", about.problem.remedy, where=about.problem.where)
