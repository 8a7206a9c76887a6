"""`prd2pr mcp`: offer `check`, `gate` and `explain` to coding agents over the Model Context Protocol (stdio).

Each call runs the command in a separate process, so that an agent gets exactly the same verdict as a person.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

from prd2pr import __version__
from prd2pr.errors import RunnerMissing

MAX_SECONDS = 1800
_INSTRUCTIONS = (
    "Before you say that a change is done, call `check`. If it is refused, repair what the findings name; `explain` "
    "says what a code means. Never weaken, skip or delete a test to get a change accepted."
)


def main(options: argparse.Namespace) -> int:
    try:
        from mcp.server import MCPServer
    except ImportError:
        raise RunnerMissing(
            "the library `mcp` is not installed", where="prd2pr mcp", remedy="pip install 'prd2pr[mcp]'"
        ) from None
    server = MCPServer("prd2pr", instructions=_INSTRUCTIONS, version=__version__)
    tools = CommandTools(Path(options.repo).resolve())
    for tool in (tools.check, tools.gate, tools.explain):
        server.tool()(tool)
    server.run("stdio")
    return 0


class CommandTools:
    """The tools of the MCP server. Agents see their docstrings."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository

    def check(self, base: str = "", refactoring: bool = False) -> dict[str, Any]:
        """Judge the branch with its uncommitted changes against `base` (default: the default branch).

        Tests must fail without the new source and pass with it, and no test may be weakened. Set `refactoring` only if
        the change keeps the behavior.
        """
        return self._run_command("check", *_make_option("--base", base), *(["--refactoring"] if refactoring else []))

    def gate(
        self, phase: Literal["red", "green", "refactor", "integrated"], base: str, head: str = "HEAD"
    ) -> dict[str, Any]:
        """Judge the change between two commits as one TDD phase: red adds failing tests only, green source only."""
        return self._run_command("gate", phase, f"--base={base}", f"--head={head}")

    def explain(self, code: str) -> str:
        """Explain a finding such as CHK203, with an example and what to do."""
        done = self._start("explain", code if not code.startswith("-") else "?")
        return done.stdout or done.stderr

    def _run_command(self, *arguments: str) -> dict[str, Any]:
        done = self._start(*arguments, f"--repo={self._repository}", "--json")
        try:
            report = json.loads(done.stdout)
        except ValueError:
            return {"verdict": "not judged", "error": done.stderr.strip()[-2000:], "exit_status": done.returncode}
        return report if isinstance(report, dict) else {"result": report}

    def _start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "prd2pr", *arguments]
        return subprocess.run(
            command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=MAX_SECONDS
        )


def _make_option(name: str, value: str) -> list[str]:
    return [f"{name}={value}"] if value else []
