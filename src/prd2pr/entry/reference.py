"""The reference pages, made from the tables in the code. `python -m prd2pr.entry.reference` writes them anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from prd2pr.agents.roles import ROLES, Role
from prd2pr.config import json_schema, reference_rows
from prd2pr.core.app_needs import app_page
from prd2pr.core.command_help import comment_commands_page
from prd2pr.core.error_kinds import errors_page
from prd2pr.core.findings import finding_pages, findings_page
from prd2pr.core.machines import machines_page
from prd2pr.core.profiles import STAFF
from prd2pr.core.stacks.page import languages_page
from prd2pr.entry.cli import COMMANDS, Command
from prd2pr.server.settings import reference_rows as server_rows

MADE = "<!-- Made from the code by `python -m prd2pr.entry.reference`. Edits here are lost. -->\n\n"


def pages() -> dict[str, str]:
    """Path in the repository → text."""
    return {
        "docs/commands.md": MADE + comment_commands_page(),
        "docs/languages.md": MADE + languages_page(),
        "docs/roles.md": MADE + roles_page(),
        "docs/reference/commands.md": MADE + commands_page(),
        "docs/reference/config.md": MADE + config_page(),
        "docs/reference/server.md": MADE + server_page(),
        "docs/reference/app.md": MADE + app_page(),
        "docs/reference/findings.md": MADE + findings_page(),
        **{f"docs/findings/{code}.md": MADE + page for code, page in finding_pages().items()},
        "docs/reference/errors.md": MADE + errors_page(),
        "docs/reference/machines.md": MADE + machines_page(),
        "docs/prd2pr.schema.json": json.dumps(json_schema(), indent=2) + "\n",
    }


ROLES_INTRO = """# Roles

Who is asked for what, and when. A model is asked only where judgement is needed; what rules can decide, code decides,
and no role leads past a gate. `profile` in `.prd2pr.yml` chooses which roles run, and so what it costs:

- `quick`: one call for the plan and one for each story, tests and code together. Nothing else is asked.
- `standard`, the default: design, tests and code by a call each, a refactoring where the code gives a reason, and the
  Debugger before the last attempt.
- `full`: every role below.

Each answer is kept beside the state, as `.orch-state/prds/<prd>/pipeline/<role>.json` or, about one story,
`.orch-state/prds/<prd>/pipeline/<story>/<role>.json`, in the commit of the step that it belongs to. A role that only
advises can be missing: where its answer cannot be used, or a transcript has none, that is told, and the work goes on.
One that may stop the work asks a person instead. `models.roles.<role>` gives a role a model of its own. What a changed
PRD or a wish adds later is planned by the planner alone.

| role | when | does | may stop | quick | standard | full | tools | model |
|---|---|---|---|---|---|---|---|---|
"""


def roles_page() -> str:
    return ROLES_INTRO + "".join(map(role_row, ROLES.values()))


def role_row(role: Role[Any]) -> str:
    tools = "reads, writes, runs tests" if role.writes else "reads" if role.tools else "none"
    runs = " | ".join(each or "–" for each in STAFF[role.name])
    model = f"`models.{role.tier}`" if role.asked else "none"
    stops = cell(role.stops) or "nothing"
    return f"| `{role.name}` | {role.moment.value} | {cell(role.does)} | {stops} | {runs} | {tools} | {model} |\n"


def commands_page() -> str:
    intro = "# Commands\n\nEvery reading command has `--json`. A bug exits with 3 and a report to paste.\n\n"
    rows = "".join(f"| [`{each.name}`](#{each.name}) | {each.help} | {each.exits} |\n" for each in COMMANDS)
    table = "| command | does | exit status |\n|---|---|---|\n" + rows
    return intro + table + "".join(command_section(each) for each in COMMANDS)


def command_section(command: Command) -> str:
    lines = [f"\n## {command.name}\n", f"{command.help[0].upper()}{command.help[1:]}.\n"]
    if command.example:
        lines.append(f"```console\n{command.example}\n```\n")
    lines += [f"- `{', '.join(option.names)}`: {option.help}" for option in command.options]
    return "\n".join(lines) + "\n"


def config_page() -> str:
    intro = (
        "# Configuration\n\n`.prd2pr.yml` at the root of the base branch; every key is optional. "
        "An unknown one is an error.\n"
        "Editors complete it with [the JSON Schema](../prd2pr.schema.json).\n\n"
        "| key | type | default | meaning |\n|---|---|---|---|\n"
    )
    return intro + "".join(
        f"| `{key}` | {cell(kind)} | {cell(default)} | {cell(text)} |\n"
        for key, kind, default, text in reference_rows()
    )


def server_page() -> str:
    intro = (
        "# Settings of the server\n\nOf `prd2pr serve`: from the file that `--config` names, from the environment, "
        "from options; what comes later counts.\n"
        "Each variable also exists with `_FILE` behind it, which names a file that holds the value. Secrets come from "
        "the environment or such a file alone.\n\n"
        "| key | variable | default | meaning |\n|---|---|---|---|\n"
    )
    return intro + "".join(
        f"| `{key}` | `{variable}` | {cell(default)} | {cell(text)} |\n"
        for key, variable, default, text in server_rows()
    )


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    root = Path(__file__).resolve().parents[3]
    for name, text in pages().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
