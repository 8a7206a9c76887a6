"""All commands of both machines in one table: what each takes, who may give it, its help and example.

States and help come from the machines' own tables; here stands what a comment may add. The docs page, `/tdd help` and
the parser are made from this.

Who may: what changes something, spends money or runs the repository's code needs `write`. Reading needs `triage`, not
`read`: in a public repository everybody has `read`, and an answer to everybody is a flood that others can order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.core.cycle_machine import CYCLE_COMMANDS
from prd2pr.core.hub import Level
from prd2pr.core.project_machine import PROJECT_COMMANDS

Machine = Literal["project", "cycle"]
SlotKind = Literal["story", "stories", "text", "number", "code", "command", "circuit"]


@dataclass(frozen=True)
class Slot:
    """One argument. `text` is always the last one: quoted, or, where it cannot be mistaken, the rest of the line."""

    kind: SlotKind
    required: bool = False

    @property
    def shown(self) -> str:
        name = SLOT_NAMES[self.kind]
        return name if self.required else f"[{name}]"


SLOT_NAMES: dict[SlotKind, str] = {
    "story": "STORY",
    "stories": "STORY…",
    "text": '"TEXT"',
    "number": "NUMBER",
    "code": "CODE",
    "command": "COMMAND",
    "circuit": "CIRCUIT",
}


@dataclass(frozen=True)
class CommandSpec:
    name: str  # "tdd next", "sprint pause", "approve"
    machine: Machine
    slots: tuple[Slot, ...]
    help: str
    examples: tuple[str, ...]
    needs: Level  # this level or a higher one
    reads: bool  # changes nothing, so it is answered and makes no commit

    @property
    def shown(self) -> str:
        return f"/{self.name}"

    @property
    def usage(self) -> str:
        return " ".join((self.shown, *(slot.shown for slot in self.slots)))


_STORY, _A_STORY, _STORIES = Slot("story"), Slot("story", required=True), Slot("stories")
_WHY, _TEXT = Slot("text"), Slot("text", required=True)

# What each command takes. A command that is not named here takes nothing.
_SLOTS: dict[str, tuple[Slot, ...]] = {
    "epic": (_TEXT,),
    "approve": (_STORIES,),
    "sprint plan": (_STORIES,),
    "suggest_fix": (_TEXT,),
    "skip_task": (_STORY, _WHY),
    "request_changes": (_TEXT,),
    "feedback": (_TEXT,),
    "backlog add_story": (_TEXT,),
    "backlog prioritize": (_A_STORY, Slot("number", required=True)),
    "backlog remove": (_A_STORY, _WHY),
    "tdd start": (_A_STORY,),
    **{f"tdd {name}": (_STORY,) for name in ("next", "run")},
    **{f"tdd {name}": (_STORY, _WHY) for name in ("design", "test", "code", "refactor")},  # advice for the role
    **{f"tdd {name}": (_STORY,) for name in ("commit-tests", "commit-code", "commit-refactor", "commit")},
    **{f"tdd {name}": (_STORY, _WHY) for name in ("abort", "skip_phase", "undo", "retry", "pause", "resume")},
    "tdd halt_all": (_WHY,),
    "tdd reset": (Slot("circuit"),),
    **{f"tdd {name}": (_STORY,) for name in ("status", "logs", "metrics", "run_tests", "verify")},
    "tdd explain": (Slot("code", required=True),),
    "tdd help": (Slot("command"),),
}

READING = frozenset(
    {"sprint status", "backlog view", "state", "project register"}
    | {f"tdd {name}" for name in ("status", "overview", "logs", "metrics", "run_tests", "verify", "explain")}
    | {"tdd budget", "tdd help"}
)
# They change nothing, but they run the repository's code, or tell how to set one up for spending.
_READING_FOR_WRITERS = frozenset({"tdd run_tests", "tdd verify", "project register"})

_MORE_EXAMPLES: dict[str, tuple[str, ...]] = {
    "approve": ("/approve",),
    "sprint plan": ("/sprint plan",),
    "skip_task": ('/skip_task "we buy this instead"',),
    "tdd abort": ('/tdd abort auth-2 "no longer wanted"',),
    "tdd code": ('/tdd code auth-2 "round half up"',),
    "tdd status": ("/tdd status",),
    "tdd reset": ("/tdd reset",),
    "tdd run": ("/tdd run auth-2",),
    "tdd next": ("/tdd next auth-2",),
    "tdd help": ("/tdd help sprint plan",),
}


def _spec(name: str, machine: Machine, text: str, example: str) -> CommandSpec:
    reads = name in READING
    needs: Level = "triage" if reads and name not in _READING_FOR_WRITERS else "write"
    examples = (example, *_MORE_EXAMPLES.get(name, ()))
    return CommandSpec(name, machine, _SLOTS.get(name, ()), text, examples, needs, reads)


COMMANDS: dict[str, CommandSpec] = {
    spec.name: spec
    for spec in (
        *(_spec(each.name, "project", each.help, each.example) for each in PROJECT_COMMANDS.values()),
        *(_spec(f"tdd {each.name}", "cycle", each.help, each.example) for each in CYCLE_COMMANDS.values()),
    )
}

# The words that a line must begin with to be ours, without the slash: tdd, epic, approve, sprint …
FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS))
