"""What people see on the code host, derived from the branch: showing it twice changes nothing.

Pull request first, since all else hangs on it; then checks, the tracking issue and labels; then the status comment,
since it says what of these could not be shown; last what a person is asked. One part that fails does not keep the
others from being shown. While a run goes on from phase to phase, the tracking issue and the branch's own check wait for
its end: a job's token has a thousand calls an hour.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from prd2pr.config import Config
from prd2pr.core.decide import Rest
from prd2pr.core.hub import Comment, Issue, Pull, same_text
from prd2pr.core.picture_parts import SETTLED_TONES, PullPicture
from prd2pr.core.pr_text import BODY_LIMIT, NoRoom
from prd2pr.core.records import Phase, Prd
from prd2pr.core.said.answers import Failed
from prd2pr.core.said.description import described, taken
from prd2pr.core.said.markers import (
    checked_in,
    checked_marker,
    head_marker,
    proved_marker,
    shown_marker,
    status_marker,
    waiting_marker,
)
from prd2pr.core.said.status import (
    LIGHTS,
    Headline,
    Refuted,
    StatusView,
    headline_of,
    state_label,
    state_names,
    status_view,
)
from prd2pr.core.said.tracking import pull_title
from prd2pr.errors import Prd2prError, Stopped
from prd2pr.flows.outlook import what_is_ahead
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.publish import picture_of
from prd2pr.flows.session import Session
from prd2pr.flows.show_approval import ask_about_removed, ask_approval, show_plan
from prd2pr.flows.show_checks import show_checks
from prd2pr.flows.show_proof import as_refuted
from prd2pr.flows.show_tracking import show_tracking, titles_given
from prd2pr.flows.start import begun_after_merge
from prd2pr.forges.pull_pages import body
from prd2pr.forges.said import needed_text, status_text, summary_text
from prd2pr.ports import Hub
from prd2pr.repo.git import Git
from prd2pr.repo.store import BranchState

T = TypeVar("T")
RUN_LINK = re.compile(r"/actions/runs/\d+")
# Said only of a branch whose claims were proved again.
PROVED_FIRST: tuple[Headline, ...] = ("done", "unjudged", "partly")
SUMMARY_BYTES = 1_000_000  # GitHub takes 1 MiB


@dataclass(frozen=True)
class Shown:
    """What is shown, besides what the branch holds. The branch is pushed already."""

    session: Session
    rest: Rest | None = None  # why the run stopped; None: it is still at work
    problem: Prd2prError | None = None
    commit_url: str = ""  # https://github.com/octo/calc/commit/
    run_url: str = ""
    prove: Callable[[str], Refuted | None] = lambda _: None  # asked of a head whose stories are all settled
    held: Callable[[str], frozenset[str]] = lambda _: frozenset()  # merges of the base that the suite stands
    told: bool = False  # of the problem, in a comment of its own
    unasked: bool = False  # nobody wants anything of this run, and it has done nothing


@dataclass(frozen=True)
class Links:
    pull: Pull | None = None
    comment: Comment | None = None
    tracking: Issue | None = None
    notes: tuple[Failed, ...] = ()  # parts that could not be shown, and what to do about it


@dataclass
class Showing:
    """One showing: the branch is read once, the hub is asked as little as may be."""

    hub: Hub
    seen: Shown
    head: str
    state: BranchState
    prd: Prd
    picture: PullPicture
    refuted: Refuted | None = None
    notes: list[Failed] = field(default_factory=list)
    whole: bool = False  # checks and issues were shown as well
    more: bool = False  # than one run may make of checks or issues: the next one goes on with them

    @property
    def config(self) -> Config:
        return self.seen.session.config

    @property
    def git(self) -> Git:
        return self.seen.session.git

    @property
    def at_rest(self) -> bool:
        return self.headline != "working"

    @property
    def just_planned(self) -> bool:
        """The plan is the last step: before anything is built, people see it and its issues."""
        step = step_of(self.git.commit_info(self.head))
        return step is not None and step.phase is Phase.PLAN

    @property
    def headline(self) -> Headline:
        return headline_of(self.picture, self.state.status, self.seen.rest, self.problem, self.refuted)

    @property
    def issue(self) -> int | None:
        """The one that the PRD was made from."""
        return self.state.status.issue or self.seen.session.issue

    @property
    def problem(self) -> Failed | None:
        return Failed.of("this run", self.seen.problem) if self.seen.problem else None

    def view(self, pull: Pull | None, tracking: Issue | None = None) -> StatusView:
        return status_view(
            self.picture,
            self.state.status,
            self.seen.rest,
            problem=self.problem,
            notes=tuple(self.notes),
            pull_url=pull.url if pull else "",
            run_url=self.seen.run_url,
            tracking=tracking.number if tracking else None,
            refuted=self.refuted,
        )

    def attempt(self, part: str, act: Callable[[], T]) -> T | None:
        """A part that the token may not do, or that the host refuses now, is named with its remedy."""
        try:
            return act()
        except Stopped:
            raise
        except Prd2prError as problem:
            self.notes.append(Failed.of(part, problem))
            return None


def show(hub: Hub, seen: Shown) -> Links:
    showing = begin(hub, seen)
    pull = showing.attempt("the pull request", lambda: show_pull(showing))
    if pull is None or not pull.open:
        return Links(pull, notes=tuple(showing.notes))
    number = pull.number
    found = showing.attempt("the status comment", lambda: hub.comment_marked(number, status_marker(showing.prd.id)))
    if found is not None and is_fresh(showing, pull, found):
        showing.attempt("the labels", lambda: show_labels(showing, pull))
        showing.attempt("the request to a person", lambda: ask_person(showing, pull))
        return Links(pull, found, notes=tuple(showing.notes))
    checked = showing.attempt("the checks", lambda: show_checks(showing, checked_in(found.body) if found else ""))
    tracking = showing.attempt("the tracking issue", lambda: show_tracking(showing, number))
    showing.whole = showing.at_rest and not showing.notes and not showing.more
    showing.attempt("the labels", lambda: show_labels(showing, pull))
    comment = showing.attempt(
        "the status comment", lambda: show_status(showing, pull, tracking, found, checked or checked_before(found))
    )
    showing.attempt("the request to a person", lambda: ask_person(showing, pull))
    return Links(pull, comment, tracking, tuple(showing.notes))


def is_fresh(showing: Showing, pull: Pull, found: Comment) -> bool:
    """The status comment is the cache: it names the commit that was shown as a whole, and what was said of it.

    A run that nobody wants anything of then asks no further about checks and issues. Without the mark, with another
    head, with something else to say or proved on another base, all is looked up and shown anew.
    """
    marks = (shown_as_whole(showing, pull), proved_mark(showing))
    return showing.seen.unasked and showing.problem is None and all(mark in found.body for mark in marks)


def proved_mark(showing: Showing) -> str:
    """Empty: what is shown is not proved as a whole, or not yet."""
    if showing.headline not in PROVED_FIRST:
        return ""
    return proved_marker(showing.head, showing.seen.session.base_commit)


def shown_as_whole(showing: Showing, pull: Pull) -> str:
    said = without_run(status_text(showing.view(pull), marks=[]))
    return shown_marker(showing.head, hashlib.sha256(said.encode()).hexdigest()[:16])


def show_cancelled(hub: Hub, seen: Shown, tracking: Issue | None) -> None:
    """Seconds are left: the one comment that would go on saying that the bot is at work. Labels stay as they are."""
    showing = begin(hub, seen)
    pull = hub.pull_of(seen.session.branch, showing.picture.base)
    if pull is not None and pull.open:
        found = hub.comment_marked(pull.number, status_marker(showing.prd.id))
        show_status(showing, pull, tracking, found, checked_before(found))


def begin(hub: Hub, seen: Shown) -> Showing:
    session = seen.session
    head = session.git.rev(session.branch)
    state = session.store.load(head)
    assert state.prd is not None, "only a planned PRD is shown"
    made = pictured(session, state)
    if made.unproven and made.tone in SETTLED_TONES and seen.problem is None:
        made = pictured(session, state, held=seen.held(head))
    found = session.rewritten
    if found is not None:
        made = as_refuted(pictured(session, state, refuted=found), found)
    elif made.tone in SETTLED_TONES and seen.problem is not None:
        made = replace(made, tone="blocked")  # it may be the proof itself that failed: nothing is certified now
    elif made.tone in SETTLED_TONES:
        found = seen.prove(head)
        made = as_refuted(pictured(session, state, refuted=found), found) if found else made
    showing = Showing(hub, seen, head, state, state.prd, made, found)
    showing.picture = replace(made, next=showing.view(None).next)  # the same next step wherever it is named
    return showing


def pictured(
    session: Session, state: BranchState, *, held: frozenset[str] = frozenset(), refuted: Refuted | None = None
) -> PullPicture:
    return picture_of(
        session.store,
        session.branch,
        session.limits,
        head=state.commit,
        mode=session.approval,
        following=what_is_ahead(session, state),
        rules=session.rules,
        patches=False,
        held=held,
        refuted=refuted.shas if refuted else frozenset(),
        living_docs=session.gathering.living_docs,
    )


# --- the pull request -------------------------------------------------------------------------------------------------


def show_pull(showing: Showing) -> Pull | None:
    """Opened as a draft. One that somebody closed stays closed; a title that somebody changed stays changed."""
    hub, picture = showing.hub, showing.picture
    there = hub.pull_of(showing.seen.session.branch, picture.base)
    done = is_done(showing)
    if there is None or (there.merged and is_of_another_round(showing, there)):
        text = description(showing, "")
        return hub.open_pull(pull_title(picture), text, picture.head, picture.base, draft=not done)
    if there.open:
        title = pull_title(picture)
        if there.title != title and there.title in titles_given(showing):
            there = replace(there, title=title)
            hub.edit_pull(there, title=title)
        text = description(showing, there.body)
        if not same_text(there.body, text):
            hub.edit_pull(there, body=text)
        show_readiness(showing, there, done=done)
    return there


def description(showing: Showing, there: str) -> str:
    """Ours, between what people wrote. Where they left us too little room, theirs stays as it is."""
    room = BODY_LIMIT - taken(there)
    try:
        ours = body(showing.picture, commit_url=showing.seen.commit_url, closes=showing.issue, limit=room)
    except NoRoom:
        return there
    return described(there, ours)


def is_of_another_round(showing: Showing, merged: Pull) -> bool:
    return begun_after_merge(showing.git, showing.head, showing.seen.session.base_commit, merged)


def show_readiness(showing: Showing, pull: Pull, *, done: bool) -> None:
    """Ready once every story is settled, and a draft again when new ones come: at the change, not against a person."""
    was_done = showing.config.labels.done in pull.labels
    if done != was_done and pull.draft is done:
        showing.hub.set_draft(pull, draft=not done)


def is_done(showing: Showing) -> bool:
    return LIGHTS[showing.headline] == "done"


# --- labels and comments ----------------------------------------------------------------------------------------------


def show_labels(showing: Showing, pull: Pull) -> None:
    names = state_names(showing.config.labels)
    wanted = state_label(showing.config.labels, showing.view(pull).headline)
    if {name for name in pull.labels if name in names} != {wanted.name}:
        showing.hub.set_labels(pull.number, (wanted,), names)


def checked_before(found: Comment | None) -> str:
    return checked_in(found.body) if found else ""


def show_status(
    showing: Showing, pull: Pull, tracking: Issue | None, found: Comment | None, checked: str
) -> Comment | None:
    marker = status_marker(showing.prd.id)
    whole = shown_as_whole(showing, pull) if showing.whole and not showing.notes else ""
    marks = [marker, head_marker(showing.head), checked_marker(checked) if checked else "", proved_mark(showing), whole]
    if showing.seen.session.rewritten is not None:
        marks = [marker]  # no head that was accepted: whatever is there next time is looked at as a whole
    text = status_text(showing.view(pull, tracking), marks=[mark for mark in marks if mark])
    if found is None:
        return showing.hub.comment(pull.number, text, marker=marker)
    if not same_text(without_run(found.body), without_run(text)):
        showing.hub.edit_comment(found.id, text)
    return found


def without_run(text: str) -> str:
    """A run that changed nothing leaves the link to the one that did."""
    return RUN_LINK.sub("", text)


def ask_person(showing: Showing, pull: Pull) -> None:
    """A comment of its own, once for each thing that a person must do: an edited comment notifies nobody."""
    view = showing.view(pull)
    told = False
    if showing.seen.session.approval == "none" and (showing.just_planned or showing.at_rest):
        told = show_plan(showing, pull.number)
    if view.headline == "waiting":
        told = ask_approval(showing, pull.number) or told
    if showing.just_planned and not told:
        ask_about_removed(showing, pull.number)
    if view.headline == "waiting":
        return
    what = asked_about(showing, view)
    if what:
        marker = waiting_marker(showing.prd.id, what)
        showing.hub.comment(pull.number, needed_text(view, marker=marker), marker=marker)


def asked_about(showing: Showing, view: StatusView) -> str:
    """What names the occasion: the same one is asked about once, in however many runs."""
    if view.headline == "blocked":
        blocked = [row for row in showing.picture.board if row.tone == "blocked"]
        tries = sum(each.story == blocked[0].id for each in showing.picture.refusals) if blocked else 0
        return f"blocked/{blocked[0].id}/{tries}" if blocked else f"blocked/{showing.head}"
    if view.headline in ("budget", "unproved"):
        return f"{view.headline}/{showing.head}"
    if view.headline == "stopped" and showing.seen.problem and not showing.seen.told:
        return f"problem/{showing.seen.problem.code}/{showing.head}"
    return ""


# --- the job's summary ------------------------------------------------------------------------------------------------


def step_summary(seen: Shown, links: Links, hub: Hub) -> str:
    showing = begin(hub, seen)
    showing.notes.extend(links.notes)
    view = showing.view(links.pull, links.tracking)
    text = summary_text(view, body(showing.picture, commit_url=seen.commit_url, limit=400_000))
    return text if len(text.encode()) <= SUMMARY_BYTES else summary_text(view, body(showing.picture, limit=60_000))
