"""The state machine of a project: tables of commands and events per state. All other rules are derived from them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from prd2pr.domain.machines.refusal import CommandRefusal, find_closest_command
from prd2pr.domain.records import ProjectState, Status, Transition

S = ProjectState
ANY = frozenset(S)
KEPT_TRANSITIONS = 20


@dataclass(frozen=True)
class ProjectCommand:
    name: str
    allowed: frozenset[ProjectState]
    result: ProjectState | None  # None if the state does not change
    help: str
    example: str

    @property
    def shown(self) -> str:
        return f"/{self.name}"


@dataclass(frozen=True)
class ProjectEvent:
    """A change that no command triggers, so that no comment can forge it."""

    name: str
    allowed: frozenset[ProjectState]
    result: ProjectState
    help: str
    clause: str = ""  # the event as a clause, if people can wait for it

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
            "Plan stories for an epic.",
            '/epic "Gift cards"',
        ),
        _command(
            "approve", {S.BACKLOG_READY}, None, "Approve stories; without ids, all pending ones.", "/approve auth-2"
        ),
        _command(
            "sprint plan", {S.BACKLOG_READY}, S.SPRINT_PLANNED, "Choose the sprint's stories.", "/sprint plan auth-1"
        ),
        _command("sprint start", {S.SPRINT_PLANNED}, S.SPRINT_ACTIVE, "Start the sprint.", "/sprint start"),
        _command(
            "sprint status",
            {S.SPRINT_ACTIVE, S.SPRINT_PAUSED, S.BLOCKED},
            None,
            "Show the progress of the sprint.",
            "/sprint status",
        ),
        _command("sprint pause", {S.SPRINT_ACTIVE}, S.SPRINT_PAUSED, "Pause after the current step.", "/sprint pause"),
        _command("sprint resume", {S.SPRINT_PAUSED}, S.SPRINT_ACTIVE, "Resume a paused sprint.", "/sprint resume"),
        _command(
            "suggest_fix",
            {S.BLOCKED, S.SPRINT_ACTIVE},
            S.SPRINT_ACTIVE,
            "Give advice for the next attempt.",
            '/suggest_fix "round half up"',
        ),
        _command(
            "skip_task",
            {S.BLOCKED, S.SPRINT_ACTIVE},
            S.SPRINT_ACTIVE,
            "Permanently skip a story that is out of attempts or was aborted by `/tdd abort`, and record it.",
            "/skip_task",
        ),
        _command(
            "request_changes",
            {S.SPRINT_REVIEW},
            S.BACKLOG_READY,
            "Request changes; they become stories.",
            '/request_changes "show the balance"',
        ),
        _command(
            "feedback",
            {S.SPRINT_REVIEW},
            S.IDLE,
            "Close the sprint; the text becomes its retrospective.",
            '/feedback "good"',
        ),
        *(
            _command(f"backlog {verb}", ANY - {S.SPRINT_REVIEW}, None, text, example)
            for verb, text, example in (
                ("view", "Show the backlog.", "/backlog view"),
                ("add_story", "Add a story.", '/backlog add_story "Refund points"'),
                ("prioritize", "Set the priority of a story, 1 is first.", "/backlog prioritize auth-3 1"),
                ("remove", "Remove a story that is not in progress.", "/backlog remove auth-3"),
            )
        ),
        _command("state", ANY, None, "Show the state and the allowed commands.", "/state"),
        _command("project register", ANY, None, "Set up a repository with a pull request.", "/project register"),
    )
}

PROJECT_EVENTS: dict[str, ProjectEvent] = {
    event.name: event
    for event in (
        ProjectEvent(
            "all stories done",
            frozenset({S.SPRINT_ACTIVE, S.BACKLOG_READY, S.SPRINT_PLANNED}),
            S.SPRINT_REVIEW,
            "Every story is integrated, or the last open one was removed.",
            "all stories are done",
        ),
        ProjectEvent(
            "sprint done",
            frozenset({S.SPRINT_ACTIVE}),
            S.SPRINT_REVIEW,
            "Every story that `/sprint plan` chose is integrated, and others are open.",
        ),
        ProjectEvent(
            "stories left",
            frozenset({S.IDLE}),
            S.BACKLOG_READY,
            "The sprint is closed, and the backlog has open stories.",
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
            "All approved stories are done, or the plan has changed.",
        ),
        ProjectEvent(
            "the PRD changed",
            frozenset({S.SPRINT_REVIEW, S.IDLE}),
            S.BACKLOG_READY,
            "There are new stories.",
        ),
    )
}


def apply_project_command(state: ProjectState, command: str) -> ProjectState | CommandRefusal:
    """Return the state after a command, or why it is not allowed."""
    name = command.strip().removeprefix("/")
    known = PROJECT_COMMANDS.get(name)
    if known is None:
        meant = find_closest_command(name, PROJECT_COMMANDS)
        return CommandRefusal(
            f"/{name}", state, list_project_commands(state), did_you_mean=f"/{meant}" if meant else ""
        )
    if state not in known.allowed:
        return _refuse(state, known)
    return known.result or state


def apply_project_event(state: ProjectState, event: str) -> ProjectState | CommandRefusal:
    """Return the state after an event, or why it is refused, for example because the project was paused meanwhile."""
    known = PROJECT_EVENTS[event]
    return known.result if state in known.allowed else _refuse(state, known)


def list_project_commands(state: ProjectState) -> tuple[str, ...]:
    return tuple(command.shown for command in PROJECT_COMMANDS.values() if state in command.allowed)


def _refuse(state: ProjectState, known: ProjectCommand | ProjectEvent) -> CommandRefusal:
    path = find_moves_to(state, known.allowed)
    remedy = f"it is allowed after {', then '.join(path)}" if path else "it is no longer allowed"
    return CommandRefusal(
        known.shown, state, list_project_commands(state), tuple(s for s in S if s in known.allowed), remedy
    )


def find_moves_to(start: ProjectState, goals: frozenset[ProjectState]) -> tuple[str, ...]:
    """Return the shortest sequence of commands and events from `start` to one of the goals, in words."""
    ways: dict[ProjectState, tuple[str, ...]] = {start: ()}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        if here in goals:
            return ways[here]
        for label, source, target in iter_project_moves():
            text = PROJECT_EVENTS[label].clause if label in PROJECT_EVENTS else label
            if source == here and target not in ways and text:
                ways[target] = (*ways[here], text)
                queue.append(target)
    return ()


def iter_project_moves() -> Iterator[tuple[str, ProjectState, ProjectState]]:
    """Yield every state change in the table as label, source and target."""
    for command in PROJECT_COMMANDS.values():
        for state in S:
            if state in command.allowed and command.result not in {None, state}:
                yield f"`{command.shown}`", state, command.result or state
    for event in PROJECT_EVENTS.values():
        for state in S:
            if state in event.allowed:
                yield event.name, state, event.result


def record_transition(status: Status, after: ProjectState, *, command: str, by: str, at: str, why: str = "") -> Status:
    """Return the status in its new state, keeping the last 20 transitions."""
    made = Transition(at=at, by=by, command=command, before=status.state, after=after, why=why)
    return status.model_copy(update={"state": after, "transitions": (*status.transitions, made)[-KEPT_TRANSITIONS:]})


def render_project_mermaid() -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {S.IDLE}"]
    lines += [f"    {source} --> {target}: {label.strip('`')}" for label, source, target in iter_project_moves()]
    return "\n".join(lines) + "\n"
