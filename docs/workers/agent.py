#!/usr/bin/env python3
"""Let a coding agent do prd2pr's work: `command:python3 tools/agent.py [--git] PROGRAM ARGUMENTS`.

In the arguments, `{prompt}` becomes the task and `{file}` the path of a file with it; without either, the task is the
program's standard input. The agent edits the current directory and writes its answer to PRD2PR_ANSWER.md there, which
prd2pr never sees as a file. --git makes the directory a git repository while the agent works.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ANSWER = Path("PRD2PR_ANSWER.md")
REPORT_FIELDS = {"status", "explanation"}
MAX_ARGUMENT = 120_000  # bytes; Linux allows 131,072 in one argument
EDIT = """# Where, and how to answer
The files are in the current directory. Edit them there with your own tools; those named above do not exist for you.
Do not commit. You may only write:
{writable}
"""
REPORT = """When you are done, write two or three sentences about what you did, and why, to the file PRD2PR_ANSWER.md.
If story, tests and code contradict each other, change nothing and write `contradiction: ` and why instead; if nothing
is worth changing, `nothing to do: ` and why.
"""
JSON_ANSWER = """The answer of this step is one JSON object of the following schema. Write it, and nothing else, to the
file PRD2PR_ANSWER.md.
{schema}
"""


def main() -> int:
    request = json.load(sys.stdin)
    arguments = sys.argv[1:]
    needs_git = arguments[:1] == ["--git"]
    before = {path.name for path in Path().iterdir()}
    try:
        if needs_git:
            start_repository()
        done = run_agent(arguments[needs_git:], describe_task(request))
        answer = ANSWER.read_text(encoding="utf-8") if ANSWER.is_file() else ""
    finally:
        remove_own_files(before)
    sys.stderr.write(done.stdout + done.stderr)
    if done.returncode:
        return done.returncode
    result = read_result(done.stdout)
    content = answer.strip() or result.get("result") or "The agent wrote no answer; its work is in the files."
    usage = {"usd": result["total_cost_usd"]} if "total_cost_usd" in result else None
    json.dump({"content": content, "usage": usage}, sys.stdout)
    return 0


def describe_task(request: dict[str, Any]) -> str:
    messages = [block for message in request["messages"] for block in message["content"]]
    texts = [block["text"] for block in (*request["system"], *messages) if block.get("type") == "text"]
    if request["workspace"]:
        writable = "\n".join(f"- {glob}" for glob in request["writable"]) or "- nothing: this step only needs an answer"
        texts.append(EDIT.format(writable=writable))
    schema = find_answer_schema(request)
    texts.append(JSON_ANSWER.format(schema=json.dumps(schema)) if schema else REPORT)
    return "\n\n".join(texts)


def find_answer_schema(request: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of an answer that has more fields than a report."""
    submit = next((tool["input_schema"] for tool in request["tools"] if tool["name"] == "submit"), None)
    if submit and set(submit.get("required", ())) <= REPORT_FIELDS:
        submit = None
    return request["output_schema"] or submit


def run_agent(command: list[str], prompt: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="task-") as place:
        file = Path(place) / "task.md"
        file.write_text(prompt, encoding="utf-8")
        short = prompt if len(prompt.encode()) <= MAX_ARGUMENT else f"Read {file} to its end: it is your task. Do it."
        given = [word.replace("{prompt}", short).replace("{file}", str(file)) for word in command]
        stdin = prompt if given == command else ""
        return subprocess.run(given, input=stdin, capture_output=True, text=True, errors="replace", check=False)


def start_repository() -> None:
    identity = ("-c", "user.name=prd2pr", "-c", "user.email=prd2pr@localhost")
    for command in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "--allow-empty", "-m", "Start")):
        subprocess.run(["git", *command], check=True, stdout=sys.stderr)


def remove_own_files(before: set[str]) -> None:
    """Remove the answer, and new hidden entries, which the agent keeps for itself: .git, .aider.chat.history.md …"""
    for path in Path().iterdir():
        if path == ANSWER or (path.name.startswith(".") and path.name not in before):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def read_result(output: str) -> dict[str, Any]:
    """Return the JSON object that `claude --output-format json` prints; empty for other output."""
    try:
        result = json.loads(output)
    except ValueError:
        return {}
    return result if isinstance(result, dict) else {}


if __name__ == "__main__":
    sys.exit(main())
