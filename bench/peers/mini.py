"""mini-swe-agent: the same tests and code as bash commands.

There are two scripts. `merged` combines commands where possible: read everything, write everything and run the tests,
submit. `step_by_step` does one thing at a time, as its prompt recommends ("This workflow should be done step-by-step").
Neither reads anything twice or makes a mistake.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from eight_stories import PRD_PATH, WORK

Json = dict[str, Any]
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "none",
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def merged(tests: dict[str, str]) -> list[list[Json]]:
    return [
        _bash(
            "Let me see what is here.", f"git ls-files && cat README.md pyproject.toml {PRD_PATH} src/*/*.py tests/*.py"
        ),
        _bash("Tests and code.", f"{_write(tests)}{_write(code())}python -m pytest -q"),
        _bash("All tests pass. I hand it in.", SUBMIT),
    ]


def step_by_step(tests: dict[str, str]) -> list[list[Json]]:
    return [
        _bash("Let me see what is here.", "git ls-files && cat README.md pyproject.toml"),
        _bash("The PRD.", f"cat {PRD_PATH}"),
        _bash("How code and tests are written here.", "cat src/*/*.py tests/*.py"),
        _bash("The tests first.", _write(tests)),
        _bash("They have to fail.", "python -m pytest -q 2>&1 | tail -15"),
        _bash("Now the code.", _write(code())),
        _bash("The whole suite has to pass.", "python -m pytest -q"),
        _bash("All tests pass. I hand it in.", SUBMIT),
    ]


def code() -> dict[str, str]:
    return {each.source: each.code for each in WORK}


def command(program: Path, url: str, task: str, trajectory: Path) -> list[str]:
    return [
        str(program), "-m", "anthropic/claude-sonnet-5-5", "-t", task, "-y", "--exit-immediately", "-c", "mini.yaml",
        "-c", f"model.model_kwargs.api_base={url}", "-c", "environment.timeout=300", "-o", str(trajectory),
    ]  # fmt: skip


def _bash(why: str, command: str) -> list[Json]:
    return [{"type": "text", "text": why}, {"type": "tool_use", "name": "bash", "input": {"command": command}}]


def _write(files: dict[str, str]) -> str:
    """Return commands that write whole files, as its prompt shows; its only other way is sed."""
    folders = sorted({str(PurePosixPath(path).parent) for path in files})
    written = (f"cat <<'EOF' > {path}\n{text.rstrip()}\nEOF\n" for path, text in files.items())
    return f"mkdir -p {' '.join(folders)}\n" + "".join(written)
