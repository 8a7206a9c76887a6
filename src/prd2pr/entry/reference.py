"""The reference pages, made from the tables in the code. `python -m prd2pr.entry.reference` writes them anew."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from prd2pr.config import json_schema, reference_rows
from prd2pr.core.command_help import comment_commands_page
from prd2pr.core.error_kinds import errors_page
from prd2pr.core.findings import finding_pages, findings_page
from prd2pr.core.machines import machines_page
from prd2pr.entry.cli import COMMANDS, Command

MADE = "<!-- Made from the code by `python -m prd2pr.entry.reference`. Edits here are lost. -->\n\n"


def pages() -> dict[str, str]:
    """Path in the repository → text."""
    return {
        "docs/commands.md": MADE + comment_commands_page(),
        "docs/reference/commands.md": MADE + commands_page(),
        "docs/reference/config.md": MADE + config_page(),
        "docs/reference/findings.md": MADE + findings_page(),
        **{f"docs/findings/{code}.md": MADE + page for code, page in finding_pages().items()},
        "docs/reference/errors.md": MADE + errors_page(),
        "docs/reference/machines.md": MADE + machines_page(),
        "docs/prd2pr.schema.json": json.dumps(json_schema(), indent=2) + "\n",
    }


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
