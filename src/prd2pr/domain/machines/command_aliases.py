"""Translate CLI commands to slash commands, for texts that are shown on a pull request."""

from __future__ import annotations

import re

from prd2pr.domain.machines.commands import FIRST_WORDS

# Other commands, such as `prd2pr init` and `prd2pr doctor`, exist only in the CLI.
SLASH_COMMANDS = {
    "plan": "/tdd run",
    "run": "/tdd run",
    "next": "/tdd next",
    "status": "/tdd overview",
    "logs": "/tdd logs",
    "verify": "/tdd verify",
    "explain": "/tdd explain",
    "reset": "/tdd reset",
}
SHORT_WORDS = "|".join(word for word in FIRST_WORDS if word != "tdd")
SHORT_COMMAND = re.compile(rf"(^|`)/({SHORT_WORDS})(?![\w/-])", re.MULTILINE)
CLI_COMMAND = re.compile(rf"`prd2pr ({'|'.join(SLASH_COMMANDS)})((?: [A-Z]+[0-9]*)?)`")


def to_slash_commands(text: str) -> str:
    """Replace `prd2pr explain RED104` by `/tdd explain RED104`. Commands with options are left unchanged."""
    return CLI_COMMAND.sub(lambda found: f"`{SLASH_COMMANDS[found[1]]}{found[2]}`", text)


def add_tdd_to_commands(text: str) -> str:
    """Write commands such as `/approve` as `/tdd approve`, where they begin a line or a code span."""
    return SHORT_COMMAND.sub(r"\1/tdd \2", text)
