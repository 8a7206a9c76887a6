"""The project machine: one table says what may be done in which state; everything else is read off it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.core.records import ProjectState, Status, Transition
from prd2pr.core.refusal import Refusal, closest

S = ProjectState
ANY = frozenset(S)
KEPT_TRANSITIONS = 20


@dataclass(frozen=True)
class ProjectCommand:
    name: str
    allowed: frozenset[ProjectState]
    result: ProjectState | None  # None: the state stays
    help: str
    example: str

    @property
    def shown(self) -> str:
        return f"/{self.name}"


@dataclass(frozen=True)
class ProjectEvent:
    """What happens by itself. No person can say it, so no comment can forge it."""

    name: str
    allowed: frozenset[ProjectState]
    result: ProjectState
    help: str
    clause: str = ""  # as part of a sentence, where it makes sense to tell somebody to wait for it

    @property
    def shown(self) -> str:
        return self.name


def _command(
    name: str,
    allowed: frozenset[ProjectState] | set[ProjectState],
    result: ProjectState | None,
    text: str,
    example: str,
) -> ProjectCommand:
    return ProjectCommand(name, frozenset(allowed), result, text, example)


PROJECT_COMMANDS: dict[str, ProjectCommand] = {
    command.name: command
    for command in (
        _command(
            "epic",
            {S.IDLE, S.BACKLOG_READY},
            S.BACKLOG_READY,
            "Plan an epic: it becomes stories.",
            '/epic "Gift cards"',
        ),
        _command(
            "approve", {S.BACKLOG_READY}, None, "Approve stories; without ids, all pending ones.", "/approve auth-2"
        ),
        _command(
            "sprint plan", {S.BACKLOG_READY}, S.SPRINT_PLANNED, "Choose the sprint's stories.", "/sprint plan auth-1"
        ),
        _command(
            "sprint start", {S.SPRINT_PLANNED}, S.SPRINT_ACTIVE, "Start: each story gets its cycle.", "/sprint start"
        ),
        _command(
            "sprint status",
            {S.SPRINT_ACTIVE, S.SPRINT_PAUSED, S.BLOCKED},
            None,
            "Show how far the sprint is.",
            "/sprint status",
        ),
        _command("sprint pause", {S.SPRINT_ACTIVE}, S.SPRINT_PAUSED, "Pause after the running step.", "/sprint pause"),
        _command("sprint resume", {S.SPRINT_PAUSED}, S.SPRINT_ACTIVE, "Go on where it was paused.", "/sprint resume"),
        _command(
            "suggest_fix",
            {S.BLOCKED},
            S.SPRINT_ACTIVE,
            "Give advice; it reaches the next attempt.",
            '/suggest_fix "round half up"',
        ),
        _command(
            "skip_task",
            {S.BLOCKED, S.SPRINT_ACTIVE},
            S.SPRINT_ACTIVE,
            "Leave a story out for good, on record: one that is out of attempts, or that `/tdd abort` gave up.",
            "/skip_task",
        ),
        _command(
            "request_changes",
            {S.SPRINT_REVIEW},
            S.BACKLOG_READY,
            "Ask for changes; they become stories.",
            '/request_changes "show the balance"',
        ),
        _command(
            "feedback",
            {S.SPRINT_REVIEW},
            S.IDLE,
            "Close the sprint; this becomes its retrospective.",
            '/feedback "good"',
        ),
        *(
            _command(f"backlog {verb}", ANY - {S.SPRINT_REVIEW}, None, text, example)
            for verb, text, example in (
                ("view", "Show the backlog.", "/backlog view"),
                ("add_story", "Add a story.", '/backlog add_story "Refund points"'),
                ("prioritize", "Set the priority of a story, 1 is first.", "/backlog prioritize auth-3 1"),
                ("remove", "Remove a story that nobody works on.", "/backlog remove auth-3"),
            )
        ),
        _command("state", ANY, None, "Show the state and what can be done.", "/state"),
        _command("project register", ANY, None, "Set a repository up by a pull request.", "/project register"),
    )
}

PROJECT_EVENTS: dict[str, ProjectEvent] = {
    event.name: event
    for event in (
        ProjectEvent(
            "all stories done",
            frozenset({S.SPRINT_ACTIVE}),
            S.SPRINT_REVIEW,
            "Every story is integrated.",
            "all stories are done",
        ),
        ProjectEvent(
            "story out of attempts",
            frozenset({S.SPRINT_ACTIVE}),
            S.BLOCKED,
            "A person has to decide.",
            "a story is out of attempts",
        ),
        ProjectEvent(
            "CI failed three times",
            frozenset({S.SPRINT_ACTIVE}),
            S.BLOCKED,
            "A person has to decide.",
            "CI has failed three times",
        ),
        ProjectEvent(
            "stories wait for approval",
            frozenset({S.SPRINT_ACTIVE}),
            S.BACKLOG_READY,
            "What was approved is done, or the plan has changed since.",
        ),
        ProjectEvent(
            "the PRD changed",
            frozenset({S.SPRINT_REVIEW, S.IDLE}),
            S.BACKLOG_READY,
            "There are stories again.",
        ),
    )
}


def apply_project(state: ProjectState, command: str) -> ProjectState | Refusal:
    name = command.strip().removeprefix("/")
    known = PROJECT_COMMANDS.get(name)
    if known is None:
        meant = closest(name, PROJECT_COMMANDS)
        return Refusal(f"/{name}", state, allowed_project(state), did_you_mean=f"/{meant}" if meant else "")
    if state not in known.allowed:
        return _refused(state, known)
    return known.result or state


def apply_event(state: ProjectState, event: str) -> ProjectState | Refusal:
    """An event that comes late, of a run that a person has paused meanwhile, changes nothing."""
    known = PROJECT_EVENTS[event]
    return known.result if state in known.allowed else _refused(state, known)


def allowed_project(state: ProjectState) -> tuple[str, ...]:
    return tuple(command.shown for command in PROJECT_COMMANDS.values() if state in command.allowed)


def _refused(state: ProjectState, known: ProjectCommand | ProjectEvent) -> Refusal:
    path = way_to(state, known.allowed)
    hint = f"it is allowed after {', then '.join(path)}" if path else "it is not allowed from here on"
    return Refusal(known.shown, state, allowed_project(state), tuple(s for s in S if s in known.allowed), hint)


def way_to(start: ProjectState, goals: frozenset[ProjectState]) -> tuple[str, ...]:
    """The fewest moves that lead to one of the states, as people would say them."""
    ways: dict[ProjectState, tuple[str, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here in goals:
            return ways[here]
        for label, source, target in moves():
            said = PROJECT_EVENTS[label].clause if label in PROJECT_EVENTS else label
            if source == here and target not in ways and said:
                ways[target] = (*ways[here], said)
                queue.append(target)
    return ()


def moves() -> Iterator[tuple[str, ProjectState, ProjectState]]:
    """Every change of state that the table holds: label, from, to."""
    for command in PROJECT_COMMANDS.values():
        for state in S:
            if state in command.allowed and command.result not in {None, state}:
                yield f"`{command.shown}`", state, command.result or state
    for event in PROJECT_EVENTS.values():
        for state in S:
            if state in event.allowed:
                yield event.name, state, event.result


def record_transition(status: Status, after: ProjectState, *, command: str, by: str, at: str, why: str = "") -> Status:
    """The status in its new state; the last 20 transitions are kept."""
    made = Transition(at=at, by=by, command=command, before=status.state, after=after, why=why)
    return status.model_copy(update={"state": after, "transitions": (*status.transitions, made)[-KEPT_TRANSITIONS:]})


def project_mermaid() -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {S.IDLE}"]
    lines += [f"    {source} --> {target}: {label.strip('`')}" for label, source, target in moves()]
    return "\n".join(lines) + "\n"
