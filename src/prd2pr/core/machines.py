"""The two machines on one page, for people: made from their tables."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.cycle_machine import CYCLE_COMMANDS, NO_CYCLE, CycleCommand, cycle_mermaid
from prd2pr.core.project_machine import PROJECT_COMMANDS, PROJECT_EVENTS, ProjectCommand, project_mermaid
from prd2pr.core.records import CycleState, ProjectState


def mermaid() -> dict[str, str]:
    return {"project": project_mermaid(), "cycle": cycle_mermaid()}


def machines_page() -> str:
    diagrams = mermaid()
    parts = [
        "# The two state machines\n",
        "A command that is not allowed changes nothing, and the answer says what is.\n",
        "## The project\n",
        _fenced(diagrams["project"]),
        _table("allowed in → result", (_project_row(command) for command in PROJECT_COMMANDS.values())),
        "What happens by itself, and cannot be typed:\n",
        "".join(
            f"- *{event.name}*: {_states(event.allowed, ProjectState)} → `{event.result}`. {event.help}\n"
            for event in PROJECT_EVENTS.values()
        ),
        "## The cycle of a story\n",
        "A phase with a gate is left by an accepted verdict of that gate alone.\n",
        _fenced(diagrams["cycle"]),
        _table("allowed in", (_cycle_row(command) for command in CYCLE_COMMANDS.values())),
    ]
    return "\n".join(parts)


def _fenced(diagram: str) -> str:
    return f"```mermaid\n{diagram}```\n"


def _table(column: str, rows: Iterable[str]) -> str:
    return f"| command | {column} | does | example |\n|---|---|---|---|\n" + "".join(rows)


def _project_row(command: ProjectCommand) -> str:
    result = f" → `{command.result}`" if command.result else ""
    allowed = _states(command.allowed, ProjectState)
    return f"| `{command.shown}` | {allowed}{result} | {command.help} | `{command.example}` |\n"


def _cycle_row(command: CycleCommand) -> str:
    gates = f" Gates: {', '.join(gate.value.upper() for gate in command.gates)}." if command.gates else ""
    allowed = _states(command.allowed, CycleState)
    return f"| `{command.shown}` | {allowed} | {command.help}{gates} | `{command.example}` |\n"


def _states(allowed: Iterable[ProjectState | CycleState | None], order: type[ProjectState] | type[CycleState]) -> str:
    given = set(allowed)
    if given >= set(order):
        return "any"
    names = [f"`{state}`" for state in order if state in given]
    return ", ".join([*([NO_CYCLE] if None in given else []), *names])
