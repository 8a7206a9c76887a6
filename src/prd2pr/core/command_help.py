"""What `/tdd help` and the docs page say about the commands, made from their table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.command_table import COMMANDS, CommandSpec
from prd2pr.core.cycle_machine import CYCLE_COMMANDS
from prd2pr.core.project_machine import PROJECT_COMMANDS
from prd2pr.core.records import CycleState, ProjectState
from prd2pr.core.said.readings import HelpRow

ORDERS = frozenset({"next", "run"})
# What a role does for a story, or a gate: the project has to be at work too, whatever the story's own machine says.
WORK = {
    **dict.fromkeys((*ORDERS, "start"), frozenset({ProjectState.SPRINT_ACTIVE})),
    **dict.fromkeys(
        ("design", "test", "commit-tests", "code", "commit-code", "refactor", "commit-refactor", "commit"),
        frozenset({ProjectState.SPRINT_ACTIVE, ProjectState.BLOCKED}),
    ),
}


@dataclass(frozen=True)
class Now:
    """Where both machines are: the project's, and that of the story which a command is about."""

    project: ProjectState
    cycle: CycleState | None = None
    halted: bool = False


def help_rows(now: Now, about: str = "") -> tuple[HelpRow, ...]:
    """All commands, or those that `about` names: one (`sprint plan`) or a family (`sprint`)."""
    return tuple(
        HelpRow(spec.usage, spec.help, spec.examples[0], spec.needs, now=allowed_now(spec, now))
        for spec in COMMANDS.values()
        if not about or spec.name == about or spec.name.startswith(f"{about} ")
    )


def allowed_now(spec: CommandSpec, now: Now) -> bool:
    """By both machines. What stands in the way of one story, as a dependency does, is told when it is asked for."""
    if spec.machine == "project":
        return now.project in PROJECT_COMMANDS[spec.name].allowed
    name = spec.name.removeprefix("tdd ")
    if now.halted and (name == "resume" or name in WORK):
        return name == "resume"
    if name in ORDERS and now.project is ProjectState.BACKLOG_READY:
        return True  # the order approves the plan first
    return now.cycle in CYCLE_COMMANDS[name].allowed and now.project in WORK.get(name, frozenset(ProjectState))


def commands_now(now: Now) -> tuple[str, ...]:
    """Those of both machines that an answer lists: what only asks about stories can always be asked."""
    return tuple(
        spec.shown
        for spec in COMMANDS.values()
        if allowed_now(spec, now) and (spec.machine == "project" or not spec.reads)
    )


def comment_commands_page() -> str:
    project = [spec for spec in COMMANDS.values() if spec.machine == "project"]
    cycle = [spec for spec in COMMANDS.values() if spec.machine == "cycle"]
    return "\n".join((_INTRO, "## The project\n", _table(project), "## The cycle of a story\n", _table(cycle), _WHO))


_INTRO = """# Commands in comments

Write a command at the beginning of a line in a new comment under the pull request, under the issue that the PRD came
from, or under the tracking issue. A comment may hold several; they are carried out in order, at most 20 of them.

- What is written in a review, or at a line of the diff, is not read: write it as a comment of its own.
- Capitals do not matter, and `-` and `_` are the same.
- What stands in a quote, a list, a heading, a table, code, HTML or a link is not a command. Nor is it in a comment that
  was edited: write a new one.
- `STORY` is a story's id, as in `auth-2`. Left out, it means the story that is worked on now.
- `TEXT` stands in quotes, straight or typographic, or is the rest of the line. A reason that may be left out is quoted,
  or stands after a story's id.
- A command with words that it does not know is not carried out; the answer says which word.
- An order to work (`/tdd next`, `/tdd run`) on a plan that waits for approval approves it first, by its own commit:
  the whole plan, or with `approval: story` the one story. The order itself is another commit, and goes no further than
  it says: `/tdd run auth-2` approves the plan and builds `auth-2`. An order that is refused approves nothing.
- An approval is for the branch as the status comment showed it. Where somebody has pushed since, nothing is approved:
  the answer names both commits, and the next approval is for what it shows.
- `/skip_task` is allowed in an active sprint too, not only in a blocked project: a story that was given up there would
  keep the sprint from ending. A story that can still be worked on is never skipped by it.
- A command that the state does not allow changes nothing; the answer says what is allowed.
  [The two machines](reference/machines.md) show when each is.
"""

_WHO = """## Who may

The permission that the repository gives the author decides, asked anew for each comment.

| permission | may |
|---|---|
| `write`, `maintain`, `admin` | give every command, and start the work by the label |
| `triage` | ask: the commands whose permission is `triage` |
| `read` and none | nothing, and there is no answer: in a public repository everybody can read |

Bots are never obeyed. Who wrote a pull request, from a fork or not, counts for nothing here.
"""


def _table(specs: Iterable[CommandSpec]) -> str:
    head = "| command | does | needs | examples |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{spec.usage}` | {spec.help} | `{spec.needs}` | {', '.join(f'`{each}`' for each in spec.examples)} |\n"
        for spec in specs
    )
