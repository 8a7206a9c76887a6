"""The text of `/tdd help` and of the commands page, generated from the command table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.machines.commands import COMMANDS, CommandSpec
from prd2pr.domain.machines.project_machine import PROJECT_COMMANDS
from prd2pr.domain.machines.story_machine import CYCLE_COMMANDS
from prd2pr.domain.records import CycleState, ProjectState
from prd2pr.github.messages.query_replies import HelpRow

MOST_USEFUL = ("approve", "tdd run", "tdd next", "tdd status")
RUN_COMMANDS = frozenset({"next", "run"})
# Work by a role or a gate also needs an active project, even if the story's state machine allows it.
WORK_STATES = {
    **dict.fromkeys((*RUN_COMMANDS, "start"), frozenset({ProjectState.SPRINT_ACTIVE})),
    **dict.fromkeys(
        ("design", "test", "commit-tests", "code", "commit-code", "refactor", "commit-refactor", "commit"),
        frozenset({ProjectState.SPRINT_ACTIVE, ProjectState.BLOCKED}),
    ),
}


@dataclass(frozen=True)
class MachineStates:
    """The state of the project and of the story that a command refers to."""

    project: ProjectState
    cycle: CycleState | None = None
    halted: bool = False


def list_help_rows(now: MachineStates, about: str = "") -> tuple[HelpRow, ...]:
    """Return all commands, the most useful ones first.

    With `about`, return only the named ones: `sprint plan`, or `sprint`.
    """
    return tuple(
        HelpRow(spec.usage, spec.help, spec.examples[0], spec.needs, now=is_allowed(spec, now))
        for spec in sorted(COMMANDS.values(), key=lambda spec: spec.name not in MOST_USEFUL)
        if not about or spec.name == about or spec.name.startswith(f"{about} ")
    )


def is_allowed(spec: CommandSpec, now: MachineStates) -> bool:
    """Return whether both state machines allow the command.

    Obstacles of a single story, such as a dependency, are reported only when the command is given.
    """
    if spec.machine == "project":
        return now.project in PROJECT_COMMANDS[spec.name].allowed
    name = spec.name.removeprefix("tdd ")
    if now.halted and (name == "resume" or name in WORK_STATES):
        return name == "resume"
    if name in RUN_COMMANDS and now.project is ProjectState.BACKLOG_READY:
        return True  # the command also approves the plan
    return now.cycle in CYCLE_COMMANDS[name].allowed and now.project in WORK_STATES.get(name, frozenset(ProjectState))


def list_allowed_commands(now: MachineStates) -> tuple[str, ...]:
    """List the allowed commands for a reply. Story queries are left out, because they are always allowed."""
    return tuple(
        spec.shown
        for spec in COMMANDS.values()
        if is_allowed(spec, now) and (spec.machine == "project" or not spec.reads)
    )


def render_comment_commands_page() -> str:
    project = [spec for spec in COMMANDS.values() if spec.machine == "project"]
    cycle = [spec for spec in COMMANDS.values() if spec.machine == "cycle"]
    return "\n".join((_INTRO, "## The project\n", _table(project), "## The cycle of a story\n", _table(cycle), _WHO))


_INTRO = """# Commands in comments

Write a command at the start of a line in a new comment below the pull request, the issue that the PRD came from, or the
tracking issue. A comment may contain up to 20 commands; they are executed in order.

- Commands in reviews and in comments on a line of the diff of prd2pr's pull request are executed too. A review that
  requests changes and has no command is input as a whole: `/request_changes` if all stories are done, `/suggest_fix`
  for the next attempt if not. An edited review is ignored.
- With `generic_commands: false` in `.prd2pr.yml`, only commands that begin with `/tdd` are read.
- Every command can also be written with `/tdd`, as in `/tdd approve` or `/tdd sprint plan`, which no other bot reads.
- Commands are case-insensitive, and `-` and `_` are the same.
- Commands in a quote, list, heading, table, code, HTML or link are ignored, as are those in an edited comment: write a
  new one.
- `STORY` is a story's id, as in `auth-2`. Without it, the command applies to the current story.
- `TEXT` is quoted (straight or typographic quotes) or the rest of the line. An optional reason is quoted or follows a
  story's id.
- A command with unexpected words is not executed; the reply names the word.
- `/tdd next` and `/tdd run` on a plan that waits for approval approve it first, in a separate commit: the whole plan,
  or with `approval: story` the one story. The command itself makes another commit and does nothing else:
  `/tdd run auth-2` approves the plan and builds `auth-2`. A refused command approves nothing.
- An approval is for the branch as the status comment showed it. If someone has pushed since, nothing is approved: the
  reply names both commits, and the next approval is for the state that it shows.
- `/suggest_fix` is also allowed in an active sprint: its text is for the next attempts, until the phase passes.
- `/skip_task` is also allowed in an active sprint, not only in a blocked project: an aborted story would otherwise keep
  the sprint from ending. It never skips a story that can still be worked on.
- A command that the state does not allow changes nothing; the reply lists what is allowed.
  [The two machines](reference/machines.md) show when each command is allowed.
"""

_WHO = """## Permissions

The author's permission on the repository decides; it is read again for each comment.

| permission | may |
|---|---|
| `write`, `maintain`, `admin` | give every command, and start work with the label |
| `triage` | use the queries: commands whose permission is `triage` |
| `read` and none | nothing, and there is no reply: in a public repository everyone can read |

Bots are ignored. The author of a pull request, from a fork or not, has no special rights.
"""


def _table(specs: Iterable[CommandSpec]) -> str:
    head = "| command | does | needs | examples |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{spec.usage}` | {spec.help} | `{spec.needs}` | {', '.join(f'`{each}`' for each in spec.examples)} |\n"
        for spec in specs
    )
