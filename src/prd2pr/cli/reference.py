"""Generate the reference pages of docs/ from the tables in the code: `python -m prd2pr.cli.reference`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prd2pr.agents.roles import ROLES, Role
from prd2pr.cli.table import COMMANDS, TableCommand
from prd2pr.config_schema import build_json_schema, list_config_rows
from prd2pr.domain.costs.profiles import ROLE_EXECUTORS
from prd2pr.domain.machines.project_machine import (
    PROJECT_COMMANDS,
    PROJECT_EVENTS,
    ProjectCommand,
    render_project_mermaid,
)
from prd2pr.domain.machines.story_machine import CYCLE_COMMANDS, NO_CYCLE, CycleCommand, render_cycle_mermaid
from prd2pr.domain.records import CycleState, ProjectState
from prd2pr.error_table import render_errors_page
from prd2pr.github.commands.help import render_comment_commands_page
from prd2pr.github.setup.app_permissions import make_app_page_url
from prd2pr.github.setup.workflow_file import SHARED_PATH, render_inner_action, render_shared_workflow
from prd2pr.languages.capability_page import render_languages_page
from prd2pr.server.settings import list_server_settings as server_rows
from prd2pr.verification.findings import render_finding_pages, render_findings_page

CHECKOUT = Path(__file__).resolve().parents[3]
GENERATED_NOTICE = "<!-- Generated from the code by `python -m prd2pr.cli.reference`; do not edit. -->\n\n"


def render_state_diagrams() -> dict[str, str]:
    return {"project": render_project_mermaid(), "cycle": render_cycle_mermaid()}


def render_machines_page() -> str:
    diagrams = render_state_diagrams()
    parts = [
        "# The two state machines\n",
        "A command that is not allowed changes nothing; the reply lists the allowed ones.\n",
        "## The project\n",
        _fenced(diagrams["project"]),
        _table("allowed in → result", (_project_row(command) for command in PROJECT_COMMANDS.values())),
        "Events, which happen automatically and are not commands:\n",
        "".join(
            f"- *{event.name}*: {_states(event.allowed, ProjectState)} → `{event.result}`. {event.help}\n"
            for event in PROJECT_EVENTS.values()
        ),
        "## The cycle of a story\n",
        "A phase with a gate is passed only by an accepted verdict of that gate.\n",
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


def render_reference_pages() -> dict[str, str]:
    """Return the text of each page by its path in the repository."""
    return {
        "docs/commands.md": GENERATED_NOTICE + render_comment_commands_page(),
        "docs/languages.md": GENERATED_NOTICE + render_languages_page(),
        "docs/roles.md": GENERATED_NOTICE + render_roles_page(),
        "docs/reference/commands.md": GENERATED_NOTICE + render_commands_page(),
        "docs/reference/config.md": GENERATED_NOTICE + render_config_page(),
        "docs/reference/server.md": GENERATED_NOTICE + render_server_page(),
        "docs/reference/app.md": GENERATED_NOTICE + make_app_page_url(),
        "docs/reference/findings.md": GENERATED_NOTICE + render_findings_page(),
        **{f"docs/findings/{code}.md": GENERATED_NOTICE + page for code, page in render_finding_pages().items()},
        "docs/reference/errors.md": GENERATED_NOTICE + render_errors_page(),
        "docs/reference/machines.md": GENERATED_NOTICE + render_machines_page(),
        "docs/prd2pr.schema.json": json.dumps(build_json_schema(), indent=2) + "\n",
        SHARED_PATH: render_shared_workflow(),
        "action/action.yml": render_inner_action((CHECKOUT / "action.yml").read_text(encoding="utf-8")),
    }


ROLES_INTRO = """# Roles

What each role does, and when. A model is called only where judgment is needed; rules are checked by code, and no role
can bypass a gate. `profile` in `.prd2pr.yml` chooses which roles run, and thereby the cost:

- `quick`: one call for the plan, then tests and code. Nothing else.
- `standard`, the default: also hidden examples, a refactoring if the code gives reason for one, and the Debugger before
  the last attempt.
- `full`: every role that is marked so below.

Which roles write tests and code is chosen by `strategy`: the programmer with `conversation`, the default, or for
workers that edit files one call for each story; architect, tester and builder with `strict`, and always with `full`.

Each answer is stored with the state, as `.orch-state/prds/<prd>/pipeline/<role>.json` or, for one story,
`.orch-state/prds/<prd>/pipeline/<story>/<role>.json`, in the commit of the step that it belongs to. A role that only
advises is optional: if its answer is unusable, or a transcript has none, this is reported and the work continues. A
role that may stop the work asks a person instead. `models.roles.<role>` sets the model of one role. Later
changes of a PRD are planned by the planner alone.

| role | when | does | may stop | quick | standard | full | tools | model |
|---|---|---|---|---|---|---|---|---|
"""


def render_roles_page() -> str:
    return ROLES_INTRO + "".join(map(render_role_row, ROLES.values()))


def render_role_row(role: Role[Any]) -> str:
    tools = "reads, writes, runs tests" if role.can_write else "reads" if role.tools else "none"
    runs = " | ".join(each or "–" for each in ROLE_EXECUTORS[role.name])
    model = f"`models.{role.tier}`" if role.uses_model else "none"
    stops = escape_cell(role.blocks_when) or "nothing"
    summary = escape_cell(role.summary)
    return f"| `{role.name}` | {role.moment.value} | {summary} | {stops} | {runs} | {tools} | {model} |\n"


def render_commands_page() -> str:
    intro = "# Commands\n\nEvery read command has `--json`. A bug exits with status 3 and prints a report to paste.\n\n"
    rows = "".join(f"| [`{each.name}`](#{each.name}) | {each.help} | {each.exits} |\n" for each in COMMANDS)
    table = "| command | does | exit status |\n|---|---|---|\n" + rows
    return intro + table + "".join(render_command_section(each) for each in COMMANDS)


def render_command_section(command: TableCommand) -> str:
    lines = [f"\n## {command.name}\n", f"{command.help}.\n"]
    if command.example:
        lines.append(f"```console\n{command.example}\n```\n")
    lines += [f"- `{', '.join(option.names)}`: {option.help}" for option in command.options]
    return "\n".join(lines) + "\n"


def render_config_page() -> str:
    intro = (
        "# Configuration\n\n`.prd2pr.yml` at the root of the base branch; every key is optional. "
        "Unknown keys are errors.\n"
        "For completion in editors, use [the JSON Schema](../prd2pr.schema.json).\n\n"
        "| key | type | default | meaning |\n|---|---|---|---|\n"
    )
    return intro + "".join(
        f"| `{key}` | {escape_cell(kind)} | {escape_cell(default)} | {escape_cell(text)} |\n"
        for key, kind, default, text in list_config_rows()
    )


def render_server_page() -> str:
    intro = (
        "# Settings of the server\n\n`prd2pr serve` reads its settings from the file given with `--config`, from the "
        "environment and from options; later sources take precedence.\n"
        "Each variable also exists with the suffix `_FILE`, which names a file that contains the value. Secrets are "
        "read only from the environment or from such a file.\n\n"
        "| key | variable | default | meaning |\n|---|---|---|---|\n"
    )
    return intro + "".join(
        f"| `{key}` | `{variable}` | {escape_cell(default)} | {escape_cell(text)} |\n"
        for key, variable, default, text in server_rows()
    )


def escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    for name, text in render_reference_pages().items():
        path = CHECKOUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
