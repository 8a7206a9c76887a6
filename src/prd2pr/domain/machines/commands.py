"""The table of all slash commands: arguments, required permission, help and examples.

States and help come from the tables of the two state machines. The docs page, `/tdd help` and the parser use this
table.

A command that changes something, spends money or runs the repository's code needs `write`. A read-only command needs
`triage` rather than `read`: in a public repository everybody has `read` and could flood it with replies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.forge import PermissionLevel
from prd2pr.domain.machines.project_machine import PROJECT_COMMANDS
from prd2pr.domain.machines.story_machine import CYCLE_COMMANDS

Machine = Literal["project", "cycle"]
SlotKind = Literal["story", "stories", "text", "number", "code", "command", "circuit", "question"]


@dataclass(frozen=True)
class Slot:
    """One argument of a command.

    A `text` argument is always the last one: quoted, or the rest of an unambiguous line.
    """

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
    "question": "QUESTION",
}


@dataclass(frozen=True)
class CommandSpec:
    name: str  # such as "tdd next", "sprint pause" or "approve"
    machine: Machine
    slots: tuple[Slot, ...]
    help: str
    examples: tuple[str, ...]
    needs: PermissionLevel  # the lowest permission level that may use it
    reads: bool  # read-only: the command gets a reply and makes no commit

    @property
    def shown(self) -> str:
        return f"/{self.name}"

    @property
    def usage(self) -> str:
        return " ".join((self.shown, *(slot.shown for slot in self.slots)))


_STORY, _REQUIRED_STORY, _STORIES = Slot("story"), Slot("story", required=True), Slot("stories")
_REASON, _TEXT = Slot("text"), Slot("text", required=True)

# The arguments of each command. Commands that are not listed have none.
_SLOTS: dict[str, tuple[Slot, ...]] = {
    "epic": (_TEXT,),
    "approve": (_STORIES,),
    "sprint plan": (_STORIES,),
    "suggest_fix": (_TEXT,),
    "skip_task": (_STORY, _REASON),
    "request_changes": (_TEXT,),
    "feedback": (_TEXT,),
    "backlog add_story": (_TEXT,),
    "backlog prioritize": (_REQUIRED_STORY, Slot("number", required=True)),
    "backlog remove": (_REQUIRED_STORY, _REASON),
    "tdd start": (_REQUIRED_STORY,),
    **{f"tdd {name}": (_STORY,) for name in ("next", "run")},
    **{f"tdd {name}": (_STORY, _REASON) for name in ("design", "test", "code", "refactor")},  # advice for the role
    **{f"tdd {name}": (_STORY,) for name in ("commit-tests", "commit-code", "commit-refactor", "commit")},
    **{f"tdd {name}": (_STORY, _REASON) for name in ("abort", "skip_phase", "undo", "retry", "pause", "resume")},
    "tdd halt_all": (_REASON,),
    "tdd reset": (Slot("circuit"),),
    "tdd answer": (Slot("question", required=True), _TEXT),
    **{f"tdd {name}": (_STORY,) for name in ("status", "logs", "metrics", "run_tests", "verify")},
    "tdd explain": (Slot("code", required=True),),
    "tdd help": (Slot("command"),),
}

READ_ONLY_COMMANDS = frozenset(
    {"sprint status", "backlog view", "state", "project register"}
    | {f"tdd {name}" for name in ("status", "overview", "logs", "metrics", "run_tests", "verify", "explain")}
    | {"tdd budget", "tdd help"}
)
# Read-only commands that run the repository's code or explain how to set up a repository that spends money.
_READ_ONLY_FOR_WRITERS = frozenset({"tdd run_tests", "tdd verify", "project register"})

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


def _build_spec(name: str, machine: Machine, text: str, example: str) -> CommandSpec:
    reads = name in READ_ONLY_COMMANDS
    needs: PermissionLevel = "triage" if reads and name not in _READ_ONLY_FOR_WRITERS else "write"
    examples = (example, *_MORE_EXAMPLES.get(name, ()))
    return CommandSpec(name, machine, _SLOTS.get(name, ()), text, examples, needs, reads)


COMMANDS: dict[str, CommandSpec] = {
    spec.name: spec
    for spec in (
        *(_build_spec(each.name, "project", each.help, each.example) for each in PROJECT_COMMANDS.values()),
        *(_build_spec(f"tdd {each.name}", "cycle", each.help, each.example) for each in CYCLE_COMMANDS.values()),
    )
}

# The first word of every command, without the slash: tdd, epic, approve, sprint and so on.
FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(name.split()[0] for name in COMMANDS))
