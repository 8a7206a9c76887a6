"""What is over, or waits for a person's hand: nothing is done about it, and that is told, once.

What somebody closed, merged, deleted, forced back or wrote into the state by hand is found before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from prd2pr.core.hub import Issue, Pull
from prd2pr.core.outcome import Ending
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Status
from prd2pr.core.said.answers import Answer, Failed, NotNow
from prd2pr.core.said.markers import head_in, status_marker, waiting_marker
from prd2pr.core.said.over import as_over
from prd2pr.flows import hand_edits
from prd2pr.flows.host import Host
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.orders import Heard
from prd2pr.flows.remote_writers import follow
from prd2pr.flows.rewritten import rewritten
from prd2pr.flows.session import Session
from prd2pr.flows.show_over import show_halted, show_over, way_on
from prd2pr.flows.start import begun_after_merge
from prd2pr.flows.subjects import Subject, has_label, why_not_wanted
from prd2pr.flows.telling import tell_once
from prd2pr.flows.unheeded import answer_heard, last_refused, looked_up
from prd2pr.repo.store import BranchState, StateStore


@dataclass(frozen=True)
class OnHost:
    """A PRD as it stands on the code host; the branch here is where it is there."""

    host: Host
    subject: Subject
    head: str | None
    pull: Pull | None

    @property
    def branch(self) -> str:
        return self.host.branch_of(self.subject.id)

    @property
    def open_pull(self) -> Pull | None:
        return self.pull if self.pull and self.pull.open else None

    def state(self, at: str) -> BranchState:
        return StateStore(self.host.git, self.subject.id, self.branch).load(at)

    @cached_property
    def shown(self) -> str:
        """The head of which people were told last."""
        pull = self.open_pull
        status = self.host.hub.comment_marked(pull.number, status_marker(self.subject.id)) if pull else None
        return head_in(status.body) if status else ""

    @cached_property
    def issue(self) -> Issue | None:
        """That the PRD was made from."""
        return self.host.hub.issue(self.subject.issue) if self.subject.issue is not None else None


def on_host(host: Host, subject: Subject) -> OnHost:
    branch = host.branch_of(subject.id)
    head = follow(host.git, host.remote, branch)
    return OnHost(host, subject, head, host.hub.pull_of(branch, host.base_branch))


# --- whether it is over -----------------------------------------------------------------------------------------------


def over_already(found: OnHost) -> Ending | None:
    """What somebody closed, deleted or put back is not brought back against them."""
    host, subject, head, pull = found.host, found.subject, found.head, found.pull
    if pull is None and head is None:
        return None if subject.starts else Ending("nothing-to-do", f"{subject.id} has no branch here")
    if pull is not None and not pull.merged and not pull.open:
        reason = f"#{pull.number} was closed; nothing is done until somebody opens it again"
        return Ending("waiting", reason, way_on(host, subject, pull, head))
    if pull is not None and pull.merged:
        over = merged(found, pull)
        if over is not None or head is None:
            return over
    if head is None:
        assert pull is not None, "without either, it is begun"
        reason = f"{found.branch} was deleted, and is not made again"
        return Ending("waiting", reason, f"restore the branch of #{pull.number}, or close it")
    there = found.open_pull
    moved = there and (given_another_base(found, head, there) or put_back(found, head, there))
    return moved or by_hand(found, head) or without_plan(found, head)


def merged(found: OnHost, pull: Pull) -> Ending | None:
    """What it says now may begin anew, from where the base branch is; its old branch is not ours to delete."""
    host, subject, head = found.host, found.subject, found.head
    if head is not None and begun_after_merge(host.git, head, host.base_commit, pull):
        return None
    if not subject.starts or subject.prd is None:
        return Ending("done", f"#{pull.number} is merged", way_on(host, subject, pull, head))
    if head is None:
        return None
    planned = found.state(head).prd
    if planned is not None and planned.blob == subject.prd.blob:
        return Ending("done", f"#{pull.number} is merged", way_on(host, subject, pull, head))
    reason = f"{subject.prd.path} has changed since #{pull.number} was merged, and its branch is still there"
    return Ending(
        "refused", reason, f"delete the branch {found.branch}, then start the workflow again for {subject.id}"
    )


def given_another_base(found: OnHost, head: str, pull: Pull) -> Ending | None:
    """Nothing was planned or proved for where it goes now. A second pull request beside it would help nobody."""
    if pull.base == found.host.base_branch:
        return None
    begun_for = found.state(head).project.base_branch
    if pull.base == begun_for:
        return None
    reason = f"#{pull.number} goes into {pull.base} since somebody changed its base, and was begun for {begun_for}"
    return Ending("waiting", reason, f"give #{pull.number} the base {begun_for} again, or close it")


def put_back(found: OnHost, head: str, pull: Pull) -> Ending | None:
    """The status comment names the last step that was pushed. A branch without it was forced back by somebody."""
    git, last = found.host.git, found.shown
    if not last or last == head or (git.has_commit(last) and git.is_ancestor(last, head)):
        return None
    reason = f"{found.branch} no longer holds {last[:10]}, which was pushed last: somebody forced it back"
    remedy = f"Push {last[:10]} again to go on from there"
    if rewritten(git, head) is None:  # else its steps are no longer what they were proved as
        remedy += f"; or delete prd2pr's status comment to go on from {head[:10]}"
    remedy += "."
    failed = Failed("this run", reason, found.branch, remedy)
    tell_once(found.host.hub, pull.number, failed, waiting_marker(found.subject.id, f"forced/{head}"))
    return Ending("waiting", reason, remedy)


def by_hand(found: OnHost, head: str) -> Ending | None:
    """Nothing that somebody wrote into the bot's state is obeyed: neither an order, nor a cursor, nor a verdict."""
    commit = hand_edits.edited_by_hand(found.host.git, found.host.base_commit, head)
    if commit is None:
        return None
    problem = hand_edits.by_hand(commit, found.branch)
    if found.open_pull is not None:
        marker = waiting_marker(found.subject.id, f"by-hand/{commit.sha}")
        tell_once(found.host.hub, found.open_pull.number, Failed.of("this run", problem), marker)
    return Ending("waiting", problem.what, problem.remedy)


def without_plan(found: OnHost, head: str) -> Ending | None:
    """Somebody's branch that is only called like ours."""
    if found.subject.prd is not None or found.state(head).planned:
        return None
    return Ending(
        "nothing-to-do", f"{found.branch} holds no plan, so it is left alone", "delete it or call it otherwise"
    )


def not_wanted(found: OnHost) -> Ending | None:
    """An issue whose label was taken away, or that was closed, half-way: somebody does not want it any more.

    One that `/epic` began never had the label.
    """
    host, issue = found.host, found.issue
    reason = why_not_wanted(host, issue) if issue is not None else ""
    label = host.config.labels.trigger
    if issue is None or not reason or (issue.open and host.hub.label_given(issue.number, label) is None):
        return None
    give = f"give #{issue.number} the label `{label}`"
    if has_label(host, issue):
        give = f"take the label `{label}` off #{issue.number} and give it again"
    remedy = give if issue.open else f"open #{issue.number} again"
    return Ending("waiting", f"{reason} (#{issue.number})", f"To go on, {remedy}; or close the pull request.")


# --- telling it -------------------------------------------------------------------------------------------------------


def left_alone(found: OnHost, over: Ending, heard: Heard, *, asked: bool) -> Ending:
    """Told once: what a later run finds unchanged is no news, and nobody's red job."""
    host, subject, pull = found.host, found.subject, found.pull
    closed = pull is not None and not pull.open
    if heard:
        told = answer_over(found, heard, over)
        over = told if closed else over  # else it waits for a person to mend it
    news = False
    if pull is not None and closed:
        news = show_over(host, subject, pull, found.head)
    elif pull is not None and over.ended == "waiting":
        news = show_halted(host, subject, pull, over)
    if not (news or asked or heard) and over.ended in ("waiting", "done"):
        over = replace(over, ended="nothing-to-do")
    return replace(over, prd=subject.id, branch=found.branch, pull=pull.url if pull else "", news=news)


def answer_over(found: OnHost, heard: Heard, over: Ending) -> Ending:
    """Whoever commands what is over is told why nothing happens, and what would help; who asks gets his answer."""
    status = found.state(found.head).status if found.head else Status()
    reader = reader_of(found)

    def told(ordered: Ordered) -> Answer:
        if found.head is None and ordered.command.name == "tdd verify":
            return NotNow(ordered.command.shown, f"{over.reason}, and its steps went with the branch")
        if reader is not None and ordered.command.reads:
            return as_over(looked_up(found.host, reader, ordered), over.next)
        return NotNow(ordered.command.shown, over.reason, NextStep(over.next))

    refused = last_refused(answer_heard(found.host, heard, status, told, pull=found.pull))
    return replace(over, ended="refused", reason=refused) if refused else over


def reader_of(found: OnHost) -> Session | None:
    """Of the branch, or of what was merged where it was deleted since. What was written by hand tells nothing."""
    host, at = found.host, found.head or found.host.base_commit
    prd = found.state(at).prd
    if prd is None or hand_edits.edited_by_hand(host.git, host.base_commit, at) is not None:
        return None
    return host.open_session(prd, found.subject.issue)
