"""`human`: a person does the work of a phase in the workspace with their own tools. The same gate checks it."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, TextIO

import yaml

from prd2pr.agents.models.base import SUBMIT, Block, Message, Reply, Request, Text, Tool, ToolResult, ToolUse
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.records import Spend
from prd2pr.errors import ModelProblem

REPORT_FIELDS = frozenset({"status", "explanation"})
BLANKS: dict[str, object] = {"string": "", "array": [], "object": {}, "integer": 0, "number": 0, "boolean": False}


@dataclass(frozen=True)
class TaskFiles:
    """The task, next to the workspace, and the answer, where it outlives a refusal and Ctrl-C."""

    task: Path
    answer: Path


class HumanModel:
    name = "human"

    def __init__(self, *, stdin: TextIO, stdout: TextIO, editor: str = "") -> None:
        self._in = stdin
        self._out = stdout
        self._editor = editor
        self._answers: dict[tuple[str, str, str], Path] = {}  # by role, subject and phase

    def reply(self, request: Request) -> Reply:
        if not self._in.isatty():
            raise ModelProblem(
                "The model `human` needs an interactive terminal",
                where=request.purpose.key(),
                remedy="Run it in a terminal, or choose another model with `--model`.",
            )
        files = write_task_files(request, self._choose_directory(request))
        self._say(format_summary(request, files))
        while True:
            line = self._ask(request)
            if line == "edit":
                self._edit(files.answer if needs_json(request) else files.task)
                continue
            block = self._understand(line, request, files)
            if block is not None:
                return Reply(
                    blocks=(block,),
                    spend=Spend(calls=1),
                    stop="tool_use" if isinstance(block, ToolUse) else "end",
                    model=self.name,
                )

    def estimate(self, request: Request | None) -> CallEstimate:  # noqa: ARG002 - a person is not billed by the token
        return CallEstimate(self.name)

    def _choose_directory(self, request: Request) -> Path:
        """Return the directory of the answer, which is the same one for later attempts."""
        key = (request.purpose.role, request.purpose.subject, request.purpose.phase)
        if key not in self._answers:
            self._answers[key] = Path(tempfile.mkdtemp(prefix="prd2pr-"))
        return self._answers[key]

    def _ask(self, request: Request) -> str:
        self._say("> ", end="")
        line = self._in.readline()
        if not line:
            raise ModelProblem(
                "The input ended before the work was submitted",
                where=request.purpose.key(),
                remedy="Run the same command again: it continues from here.",
            )
        return line.strip()

    def _understand(self, line: str, request: Request, files: TaskFiles) -> Block | None:
        """Return the answer as a block, or None after reporting an unknown answer."""
        word, _, rest = line.partition(" ")
        match word.rstrip(":").lower():
            case "" | "done" if not needs_json(request):
                return _report(request, "done", rest.strip() or "Done by a person.")
            case "" | "done":
                return self._read_answer(files.answer, request)
            case "nothing":
                return _report(request, "nothing_to_do", rest.strip() or "A person found nothing worth changing.")
            case "contradiction" if rest.strip():
                return _report(request, "contradiction", rest.strip())
            case "answer" if rest.strip():
                return self._read_answer(Path(rest.strip()).expanduser(), request)
        self._say("Unknown answer. Possible answers:\n" + format_choices(request))
        return None

    def _edit(self, path: Path) -> None:
        if not self._editor:
            self._say(f"$EDITOR is not set; open {path} yourself")
            return
        try:
            subprocess.run([*shlex.split(self._editor), str(path)], check=False)
        except (OSError, ValueError) as error:
            self._say(f"$EDITOR cannot be started: {error}")

    def _read_answer(self, path: Path, request: Request) -> Block | None:
        """Read YAML, or JSON, which is YAML too."""
        try:
            answer = yaml.safe_load(path.read_text(encoding="utf-8"))
            text = json.dumps(answer, ensure_ascii=False, default=str)
        except (OSError, ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
            self._say(f"{path} cannot be used: {error}")
            return None
        if not isinstance(answer, dict):
            self._say(f"{path} cannot be used: it has no fields")
            return None
        if _submit_tool(request) is not None:
            return ToolUse(f"human_{request.purpose.turn}", SUBMIT, json.loads(text))
        return Text(text)

    def _say(self, text: str, end: str = "\n") -> None:
        self._out.write(text + end)
        self._out.flush()


def write_task_files(request: Request, directory: Path) -> TaskFiles:
    """Write the whole task and, if fields are asked for, a skeleton of the answer, unless the person has begun one."""
    root = request.workspace.parent if request.workspace else directory
    files = TaskFiles(root / "TASK.md", directory / "answer.yaml")
    with files.task.open("a" if request.purpose.turn > 1 else "w", encoding="utf-8") as file:
        file.write(format_task(request))
    if needs_json(request) and not files.answer.exists():
        skeleton = yaml.safe_dump(_skeleton(_answer_schema(request)), sort_keys=False, allow_unicode=True)
        files.answer.write_text(skeleton, encoding="utf-8")
    return files


def format_summary(request: Request, files: TaskFiles) -> str:
    """Say in a few lines what to do, where and how to submit; in later turns, why the last answer was refused."""
    purpose = request.purpose
    lines = [
        f"{purpose.subject}: {purpose.phase}, as the {purpose.role} (attempt {purpose.attempt})",
        f"Read      {files.task}",
    ]
    if request.workspace is not None and request.writable:
        lines += [f"Work in   {request.workspace}", f"Change    {', '.join(request.writable)}"]
    if needs_json(request):
        lines.append(f"Fill in   {files.answer}")
    lines.append(format_choices(request))
    if purpose.turn > 1:
        lines += _latest_texts(request.messages)
    return _drop_control_characters("\n".join(lines))


def format_task(request: Request) -> str:
    """Format the task as Markdown: what to do, where, and which files may be written."""
    purpose = request.purpose
    parts = [f"# {purpose.subject}: {purpose.phase}, as the {purpose.role} (attempt {purpose.attempt})"]
    if purpose.turn == 1 and request.system:
        parts += ["## Rules", *(block.text for block in request.system)]
    parts += ["## What to do", *_latest_texts(request.messages)]
    if request.workspace is not None:
        writable = [f"- `{glob}`" for glob in request.writable] or ["- none: this step only needs an answer"]
        parts += ["## Where", f"Work in `{request.workspace}`. Files that may be written:", "\n".join(writable)]
    if needs_json(request):
        schema = json.dumps(_answer_schema(request), indent=2, ensure_ascii=False)
        parts += [
            "## The answer",
            "This step needs a file with YAML or JSON of this schema:",
            f"```json\n{schema}\n```",
        ]
    return _drop_control_characters("\n\n".join(part.strip() for part in parts)) + "\n"


def format_choices(request: Request) -> str:
    first = (
        "Enter                 the answer is filled in (or: answer FILE)"
        if needs_json(request)
        else "Enter                 the work is done"
    )
    return (
        f"{first}\n"
        f"edit                  open {'the answer' if needs_json(request) else 'the task'} in $EDITOR\n"
        "nothing               nothing is worth changing\n"
        "contradiction: WHY    the story, its tests or the code contradict each other"
    )


def needs_json(request: Request) -> bool:
    """Return whether the step requires fields that a plain "done" cannot provide."""
    if request.output_schema is not None:
        return True
    tool = _submit_tool(request)
    return tool is not None and not set(tool.schema.get("required", ())) <= REPORT_FIELDS


def _report(request: Request, status: str, explanation: str) -> Block:
    """Report the result by calling `submit` if the step has this tool, otherwise as plain text."""
    tool = _submit_tool(request)
    if tool is None or "status" not in tool.schema.get("properties", {}):
        return Text(explanation if status == "done" else f"{status}: {explanation}")
    blanks = {name: _blank_value(tool.schema["properties"].get(name, {})) for name in tool.schema.get("required", ())}
    answer = {**blanks, "status": status, "explanation": explanation}
    return ToolUse(f"human_{request.purpose.turn}", SUBMIT, answer)


def _blank_value(schema: Mapping[str, Any]) -> object:
    return BLANKS.get(str(schema.get("type")), "")


def _skeleton(schema: Mapping[str, Any]) -> object:
    """Return a value of the schema to fill in, with one example of each list's items."""
    options = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if options:
        return _skeleton(options[0])
    if schema.get("enum"):
        return schema["enum"][0]
    if "properties" in schema:
        return {name: _skeleton(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        return [_skeleton(schema["items"])]
    return _blank_value(schema)


def _submit_tool(request: Request) -> Tool | None:
    return next((tool for tool in request.tools if tool.name == SUBMIT), None)


def _answer_schema(request: Request) -> Mapping[str, Any]:
    if request.output_schema is not None:
        return dict(request.output_schema)
    tool = _submit_tool(request)
    return dict(tool.schema) if tool is not None else {}


def _latest_texts(messages: Iterable[Message]) -> list[str]:
    """List all texts since the person's last answer."""
    newest = takewhile(lambda message: message.role == "user", reversed(tuple(messages)))
    blocks = [block for message in reversed(list(newest)) for block in message.blocks]
    return [words for block in blocks if (words := _block_text(block))]


def _block_text(block: Block) -> str:
    match block:
        case Text(text=text):
            return text
        case ToolResult(content=content):
            return content
    return ""


def _drop_control_characters(text: str) -> str:
    """Drop control and direction characters, so that a PRD's text cannot control the terminal."""
    return "".join(character for character in text if character in "\n\t" or character.isprintable())
