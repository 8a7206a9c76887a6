"""The tools of all roles, in one table. A wrong call is answered with a text that says how to call it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prd2pr.agents.answers import plain_schema, told_schema
from prd2pr.agents.run_text import run_text
from prd2pr.agents.workspace import Told, Workspace
from prd2pr.core.evidence import RunReport
from prd2pr.core.policy import path_problem
from prd2pr.errors import CannotJudge
from prd2pr.ports import SUBMIT, Tool, ToolUse


@dataclass(frozen=True)
class TestsTried:
    """What came of a run, and which tests it was of, where that was not asked for by name."""

    __test__ = False  # no class of tests, whatever its name begins with
    report: RunReport
    note: str = ""


RunTests = Callable[[tuple[str, ...], bool], TestsTried]  # files or directories; whether all are wanted


@dataclass
class Desk:
    """What a role has before it during one attempt."""

    workspace: Workspace
    run_tests: RunTests | None = None
    runs_left: int = 6
    runs_done: int = 0


class Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ReadFile(Arguments):
    path: str
    start_line: int = Field(1, ge=1)
    end_line: int = Field(0, ge=0)


class ListFiles(Arguments):
    directory: str = ""


class Search(Arguments):
    text: str
    directory: str = ""


class WriteFile(Arguments):
    path: str
    content: str


class EditFile(Arguments):
    path: str
    old: str
    new: str


class RunTestsNow(Arguments):
    paths: tuple[str, ...] = ()
    all: bool = False


@dataclass(frozen=True)
class ToolKind:
    description: str
    arguments: type[Arguments]
    handle: Callable[[Desk, Any], str]


def _run_tests(desk: Desk, call: RunTestsNow) -> str:
    if desk.run_tests is None or desk.runs_left <= 0:
        raise Told("no more test runs in this attempt: finish the work and submit; the gate runs the tests anyway.")
    files = tuple(dict.fromkeys(path.partition("::")[0].rstrip("/") for path in call.paths))
    for path in files:
        if problem := path_problem(path):  # it becomes an argument of the test runner
            raise Told(f"{path!r} cannot be run: {problem}.")
        if not (desk.workspace.root / path).exists():
            raise Told(f"{path} does not exist.")
    desk.runs_left -= 1
    desk.runs_done += 1
    try:
        tried = desk.run_tests(files, call.all)
    except CannotJudge as problem:
        raise Told(f"the tests could not be run: {problem.what}") from problem
    return "\n".join(filter(None, (run_text(tried.report), tried.note)))


TOOLS: dict[str, ToolKind] = {
    "read_file": ToolKind(
        "Read a file.",
        ReadFile,
        lambda desk, call: desk.workspace.read(call.path, call.start_line, call.end_line),
    ),
    "list_files": ToolKind(
        "List files.",
        ListFiles,
        lambda desk, call: desk.workspace.list_files(call.directory),
    ),
    "search": ToolKind(
        "Find lines with a plain text.",
        Search,
        lambda desk, call: desk.workspace.search(call.text, call.directory),
    ),
    "write_file": ToolKind(
        "Create or replace a whole file.",
        WriteFile,
        lambda desk, call: desk.workspace.write(call.path, call.content),
    ),
    "edit_file": ToolKind(
        "Replace `old`, which must occur once, by `new`.",
        EditFile,
        lambda desk, call: desk.workspace.edit(call.path, call.old, call.new),
    ),
    "run_tests": ToolKind(
        "Run tests as the gate will; no paths: those that your changes reach.",
        RunTestsNow,
        _run_tests,
    ),
}


@dataclass(frozen=True)
class Answer:
    text: str
    failed: bool = False
    misunderstood: bool = False  # not a call at all: unknown tool, or arguments of the wrong form


def tools_for(names: Collection[str], submit: Mapping[str, Any]) -> tuple[Tool, ...]:
    """The definitions that a model is given: the named tools, and `submit` with this schema."""
    kinds = ((name, TOOLS[name]) for name in names)
    last = Tool(SUBMIT, "Hand in your work. Optional fields only if your step names them.", told_schema(submit))
    return (*(Tool(name, kind.description, told_schema(plain_schema(kind.arguments))) for name, kind in kinds), last)


def call_tool(desk: Desk, use: ToolUse, allowed: Collection[str]) -> Answer:
    if use.name not in allowed:
        names = ", ".join([*allowed, SUBMIT])
        what = f"{use.name} is not for your step" if use.name in TOOLS else f"there is no tool {use.name!r}"
        return Answer(f"{what}; you have {names}.", failed=True, misunderstood=True)
    kind = TOOLS[use.name]
    try:
        return Answer(kind.handle(desk, kind.arguments.model_validate(dict(use.input))))
    except ValidationError as problem:
        return Answer(f"wrong arguments for {use.name}: {what_is_wrong(problem)}", failed=True, misunderstood=True)
    except Told as problem:
        return Answer(str(problem), failed=True)


def what_is_wrong(problem: ValidationError, limit: int = 6) -> str:
    """`criteria.0.text: Field required; …`: names the field and never repeats the value."""
    errors = problem.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{'.'.join(map(str, error['loc'])) or 'the answer'}: {error['msg']}" for error in errors[:limit]]
    more = [f"and {len(errors) - limit} more"] if len(errors) > limit else []
    return "; ".join([*shown, *more])
