"""Where a PRD stands, as the one status comment says it, and which label goes with that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from prd2pr.core.ahead import Due
from prd2pr.core.blocked import Blocked
from prd2pr.core.budget import PUT_THE_PRICE
from prd2pr.core.decide import Rest
from prd2pr.core.hub import Label
from prd2pr.core.picture_parts import Figure, NextStep, PullPicture, Refusal
from prd2pr.core.records import ProjectState, Status
from prd2pr.core.said.answers import Failed
from prd2pr.core.wording import count, first_capital, stopped
from prd2pr.errors import Stopped

Light = Literal["active", "waiting", "blocked", "done"]
Headline = Literal[
    "done",
    "working",
    "waiting",
    "paused",
    "blocked",
    "budget",
    "deadline",
    "stopped",
    "cancelled",
    "unproved",
    "unjudged",
    "partly",
]

SHOWN_REFUSALS = 3
SHOWN_COMMITS = 10


@dataclass(frozen=True)
class NotProved:
    sha: str
    subject: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refuted:
    """A branch that was proved again, and is not what its commits claim."""

    proved: int
    of: int
    commits: tuple[NotProved, ...]  # that are not proved
    by_records: bool = False  # seen without running a test: somebody has rewritten steps

    @property
    def shas(self) -> frozenset[str]:
        return frozenset(each.sha for each in self.commits)

    def sentence(self) -> str:
        named = ", ".join(f"{each.sha[:10]} ({', '.join(each.codes)})" for each in self.commits[:SHOWN_COMMITS])
        more = len(self.commits) - SHOWN_COMMITS
        rest = f" and {more} more" if more > 0 else ""
        proved = f"{self.proved} of {count(self.of, 'commit')} {'is' if self.proved == 1 else 'are'} proved"
        if self.by_records:
            return f"steps were rewritten: {self.proved} of {self.of} are what they were proved as; not: {named}{rest}"
        return f"proved again, {proved}; not proved: {named}{rest}"


@dataclass(frozen=True)
class StatusView:
    title: str
    headline: Headline
    reason: str
    figures: tuple[Figure, ...]
    next: NextStep
    refusals: tuple[Refusal, ...] = ()  # the last ones that no later attempt has made up for
    questions: tuple[str, ...] = ()
    problem: Failed | None = None
    notes: tuple[Failed, ...] = ()  # parts that could not be shown
    pull_url: str = ""
    run_url: str = ""
    tracking: int | None = None
    unproven: int = 0  # commits
    uncovered: tuple[str, ...] = ()  # requirements that no story builds
    blocked: Blocked | None = None
    alarms: tuple[str, ...] = ()


def status_view(
    picture: PullPicture,
    status: Status,
    rest: Rest | None,
    *,
    problem: Failed | None = None,
    notes: tuple[Failed, ...] = (),
    pull_url: str = "",
    run_url: str = "",
    tracking: int | None = None,
    refuted: Refuted | None = None,
) -> StatusView:
    headline = headline_of(picture, status, rest, problem, refuted)
    waiting = headline == "waiting" and status.state is ProjectState.BACKLOG_READY
    return StatusView(
        title=picture.title,
        headline=headline,
        reason=refuted.sentence() if refuted else reason_of(picture, status, headline, rest),
        figures=picture.figures,
        next=next_on_host(picture, rest, problem),
        refusals=tuple(each for each in picture.refusals if not each.crossed)[-SHOWN_REFUSALS:],
        questions=picture.questions if waiting else (),
        problem=problem,
        notes=notes,
        pull_url=pull_url,
        run_url=run_url,
        tracking=tracking,
        unproven=len(picture.unproven),
        uncovered=picture.uncovered,
        blocked=picture.blocked if headline == "blocked" else None,
        alarms=picture.alarms,
    )


def reason_of(picture: PullPicture, status: Status, headline: Headline, rest: Rest | None) -> str:
    """What the next step does not say."""
    if headline == "blocked":
        blocked = next((row for row in picture.board if row.tone == "blocked"), None)
        told = f"`{blocked.id}`: {blocked.reason}" if blocked and blocked.reason else ""
        return told or status.blocked_reason or "a story is out of attempts"
    return rest.reason if rest and headline == "budget" else ""


def headline_of(
    picture: PullPicture, status: Status, rest: Rest | None, problem: Failed | None, refuted: Refuted | None = None
) -> Headline:
    """`rest`: why the run stopped; None: it is at work."""
    if problem or refuted:
        return "unproved" if not problem else "cancelled" if problem.code == Stopped.code else "stopped"
    if picture.tone in ("proven", "unproven"):
        return "unjudged" if picture.unjudged else "partly" if picture.tone == "unproven" else "done"
    following = picture.ahead
    if isinstance(following, Rest) and following.outcome == "blocked":
        return "blocked"
    if rest is None or rest.outcome in RUN_HEADLINES:
        return RUN_HEADLINES[rest.outcome if rest else "at work"]
    if isinstance(following, Due):
        return "working" if status.order == "run" else "waiting"
    return "paused" if following.outcome == "paused" else "waiting"


RUN_HEADLINES: dict[str, Headline] = {
    "at work": "working",
    "budget": "budget",
    "deadline": "deadline",
    "handed-on": "working",
}


def next_on_host(picture: PullPicture, rest: Rest | None, problem: Failed | None) -> NextStep:
    """What the branch says is next, unless it was this run that something kept from going on."""
    if problem:
        return NextStep(problem.remedy or "Look at the run.")
    if picture.tone in ("proven", "unproven") or rest is None:
        return picture.next
    if rest.outcome == "budget":
        return out_of_money(rest.next)
    if rest.outcome == "handed-on":
        return NextStep(f"{stopped(first_capital(rest.reason))} Nothing for you to do.")
    return BY_RUN.get(rest.outcome, picture.next)


RAISE_THE_LIMIT = "Raise the limit under `budget` in `.prd2pr.yml` on the base branch"


def limit_helped(remedy: str) -> str:
    """What helps where a limit stopped the work: a limit in dollars that cannot be counted wants a price first."""
    return remedy.rstrip(" .") if remedy.startswith(PUT_THE_PRICE) else RAISE_THE_LIMIT


def out_of_money(remedy: str) -> NextStep:
    return NextStep(f"{limit_helped(remedy)}, then comment", "/tdd run")


BY_RUN = {"deadline": NextStep("Another run goes on by itself. Nothing for you to do.")}


# --- labels -----------------------------------------------------------------------------------------------------------


class LabelNames(Protocol):
    """`labels:` of the config."""

    @property
    def active(self) -> str: ...
    @property
    def waiting(self) -> str: ...
    @property
    def blocked(self) -> str: ...
    @property
    def done(self) -> str: ...


LIGHTS: dict[Headline, Light] = {
    "done": "done",
    "working": "active",
    "deadline": "active",
    "waiting": "waiting",
    "paused": "waiting",
    "budget": "waiting",
    "stopped": "blocked",
    "cancelled": "waiting",
    "unproved": "blocked",
    "unjudged": "waiting",
    "partly": "done",
    "blocked": "blocked",
}
# Colours that can be told apart in the dark and by people who see no red or green; the words say the rest.
LOOKS: dict[Light, tuple[str, str]] = {
    "active": ("1d76db", "prd2pr is at work; nothing for a person to do"),
    "waiting": ("fbca04", "prd2pr waits for a person"),
    "blocked": ("b60205", "prd2pr cannot go on; a person has to decide"),
    "done": ("0e8a16", "every story is settled; ready for review"),
}


def state_label(names: LabelNames, headline: Headline) -> Label:
    light = LIGHTS[headline]
    colour, words = LOOKS[light]
    return Label(getattr(names, light), colour, words)


def state_names(names: LabelNames) -> tuple[str, ...]:
    return names.active, names.waiting, names.blocked, names.done
