"""aider: the same tests and code as SEARCH/REPLACE blocks.

aider shows a map of the repository and the files in the chat. A story that only adds files is one answer. One that
changes a file takes two: the first asks for that file by name, as aider's prompt requires, and `--yes-always` adds it.
It makes no commits, because their messages would be extra calls; its test run (`--auto-test`) passes the first time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from story import Done

Json = dict[str, Any]
ENVIRONMENT = {"ANTHROPIC_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True", "AIDER_ANALYTICS": "false"}


def script(story: Done) -> list[list[Json]]:
    changed = [path for path in story.green if path in story.before]
    asked = [_says(f"Please add these files to the chat, so that I can change them: {', '.join(changed)}")]
    blocks = [_block(path, story.before.get(path, ""), text) for path, text in {**story.tests, **story.green}.items()]
    return [*(asked if changed else []), _says("The tests, then the code.\n\n" + "\n".join(blocks))]


def command(program: Path, url: str, task: str, *, python: str) -> list[str]:
    return [
        str(program), "--model", "anthropic/claude-sonnet-4-20250514", "--set-env", f"ANTHROPIC_API_BASE={url}",
        "--edit-format", "diff", "--cache-prompts", "--no-show-model-warnings", "--no-analytics", "--no-check-update",
        "--no-show-release-notes", "--no-auto-commits", "--no-gitignore", "--no-stream", "--yes-always",
        "--auto-test", "--test-cmd", f"{python} -m pytest -q", "--message", task,
    ]  # fmt: skip


def _says(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


def _block(path: str, before: str, after: str) -> str:
    """Return one block over the lines that differ; the search part of a new file is empty."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[len(old) - 1 - end] == new[len(new) - 1 - end]:
        end += 1
    start, end = max(0, start - 1), max(0, end - 1)  # a line of context, so that it matches once
    search = "".join(old[start : len(old) - end])
    replace = "".join(new[start : len(new) - end])
    return f"{path}\n```python\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n```\n"
