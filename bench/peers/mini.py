"""mini-swe-agent: the same tests and code as bash commands.

There are two scripts. `merged` combines commands where possible: list and read the set-up, read modules and tests,
write the tests and see them fail, write the code and run everything, submit. `step_by_step` does one thing at a time,
as its prompt recommends ("This workflow should be done step-by-step"): it separates reading modules from reading tests
and writing from running. Neither reads an unneeded file, reads anything twice, or makes a mistake.
"""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath
from typing import Any

from story import Done

Json = dict[str, Any]
CONFTEST, A_TEST = "tests/conftest.py", "tests/test_cart.py"
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "none",
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def merged(story: Done) -> list[list[Json]]:
    return [
        _bash("Let me see what is here.", "git ls-files && cat README.md pyproject.toml"),
        _bash("What it builds on, and how tests are written.", f"cat {_modules(story)} {CONFTEST} {A_TEST}"),
        _bash("The tests first; they have to fail.", f"{_written(story.tests)}{_pytest(story.tests)}"),
        _bash("Now the code, and the whole suite.", f"{_written(story.green)}{_pytest()}"),
        _bash("All tests pass. I hand it in.", SUBMIT),
    ]


def step_by_step(story: Done) -> list[list[Json]]:
    return [
        _bash("Let me see what is here.", "git ls-files && cat README.md pyproject.toml"),
        _bash("The modules that it builds on.", f"cat {_modules(story)}"),
        _bash("How tests are written here.", f"cat {CONFTEST} {A_TEST}"),
        _bash("The tests first.", _written(story.tests)),
        _bash("They have to fail.", _pytest(story.tests)),
        _bash("Now the code.", _written(story.green)),
        _bash("The whole suite has to pass.", _pytest()),
        _bash("All tests pass. I hand it in.", SUBMIT),
    ]


def command(program: Path, url: str, task: str, trajectory: Path) -> list[str]:
    return [
        str(program), "-m", "anthropic/claude-sonnet-5-5", "-t", task, "-y", "--exit-immediately", "-c", "mini.yaml",
        "-c", f"model.model_kwargs.api_base={url}", "-o", str(trajectory),
    ]  # fmt: skip


def _bash(why: str, command: str) -> list[Json]:
    return [{"type": "text", "text": why}, {"type": "tool_use", "name": "bash", "input": {"command": command}}]


def _modules(story: Done) -> str:
    """Return the existing modules that tests and code import or change: those that an efficient agent would read."""
    trees = [ast.parse(text) for text in (*story.tests.values(), *story.green.values())]
    imported = {node.module for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    paths = (path for path in story.before if path.startswith("src/") and path.endswith(".py"))
    return " ".join(path for path in paths if path in story.green or _module(path) in imported)


def _module(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


def _written(files: dict[str, str]) -> str:
    """Return commands that write whole files, as its prompt shows; its only other way is sed."""
    commands = (
        f"mkdir -p {PurePosixPath(path).parent} && cat <<'EOF' > {path}\n{text.rstrip()}\nEOF\n"
        for path, text in files.items()
    )
    return "".join(commands)


def _pytest(tests: dict[str, str] | None = None) -> str:
    return f"python -m pytest -q {' '.join(tests or ())}".strip()
