"""aider: the same tests and code as SEARCH/REPLACE blocks, in one answer.

The files that the task names are in the chat; everything else is new. It makes no commits, because their messages would
be extra calls; its test run (`--auto-test`) passes the first time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mini

Json = dict[str, Any]
ENVIRONMENT = {"ANTHROPIC_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "AIDER_ANALYTICS": "false"}


def script(tests: dict[str, str]) -> list[list[Json]]:
    files = {**tests, **mini.code()}
    blocks = (
        f"{path}\n```python\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n```\n" for path, text in files.items()
    )
    return [[{"type": "text", "text": "The tests, then the code.\n\n" + "\n".join(blocks)}]]


def command(program: Path, url: str, task: str, *, python: str) -> list[str]:
    return [
        str(program), "--model", "anthropic/claude-sonnet-4-20250514", "--set-env", f"ANTHROPIC_API_BASE={url}",
        "--edit-format", "diff", "--cache-prompts", "--no-show-model-warnings", "--no-analytics", "--no-check-update",
        "--no-show-release-notes", "--no-auto-commits", "--no-gitignore", "--no-stream", "--yes-always",
        "--auto-test", "--test-cmd", f"{python} -m pytest -q", "--message", task,
    ]  # fmt: skip
