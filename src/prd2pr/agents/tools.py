"""The table of the tools of all roles. An invalid call is answered with an explanation of the tool's arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prd2pr.agents.context import trim
from prd2pr.agents.findings_text import format_failure, format_failures
from prd2pr.agents.models.base import SUBMIT, Tool, ToolUse
from prd2pr.agents.outputs.story_roles import drop_schema_limits, inline_schema
from prd2pr.agents.workspace import ToolFailure, Workspace
from prd2pr.domain.evidence import RunReport
from prd2pr.domain.wording import limit_lines
from prd2pr.domain.write_policy import find_path_problem
from prd2pr.errors import CannotJudge

MAX_RUN_TEXT = 8_000


def format_test_run(report: RunReport) -> str:
    reported = {result.failure for result in report.results}
    lines = [
        _format_counts(report),
        *(f"The run is not valid: {problem}" for problem in report.problems),
        *(f"collection: {format_failure(failure)}" for failure in report.collect_errors if failure not in reported),
        *format_failures(report.results),
    ]
    return trim("\n".join(limit_lines(lines, MAX_RUN_TEXT)), MAX_RUN_TEXT)


def _format_counts(report: RunReport) -> str:
    if not report.results:
        return "No test was collected."
    counted = Counter(result.outcome for result in report.results)
    parts = ", ".join(f"{number} {outcome}" for outcome, number in counted.most_common())
    return f"{len(report.results)} tests: {parts}."


@dataclass(frozen=True)
class TestToolRun:
    """The report of a run, with a note about which tests were selected if no paths were given."""

    __test__ = False  # tells pytest that this is not a test class
    report: RunReport
    note: str = ""


RunTests = Callable[[tuple[str, ...], bool], TestToolRun]  # takes files or directories, and whether to run all tests


@dataclass
class Toolbox:
    """The workspace and test runs that a role's tools use during one attempt."""

    workspace: Workspace
    run_tests: RunTests | None = None
    runs_left: int = 6
    runs_done: int = 0


class ToolArguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ReadFile(ToolArguments):
    path: str
    start_line: int = Field(1, ge=1)
    end_line: int = Field(0, ge=0)


class ListFiles(ToolArguments):
    directory: str = ""


class Search(ToolArguments):
    text: str
    directory: str = ""


class WriteFile(ToolArguments):
    path: str
    content: str


class EditFile(ToolArguments):
    path: str
    old: str
    new: str


class RunTestsCall(ToolArguments):
    paths: tuple[str, ...] = ()
    all: bool = False


@dataclass(frozen=True)
class ToolKind:
    description: str
    arguments: type[ToolArguments]
    handle: Callable[[Toolbox, Any], str]


def _run_tests(toolbox: Toolbox, call: RunTestsCall) -> str:
    if toolbox.run_tests is None or toolbox.runs_left <= 0:
        raise ToolFailure(
            "no test runs are left in this attempt: finish the work and submit; the gate runs the tests anyway."
        )
    files = tuple(dict.fromkeys(path.partition("::")[0].rstrip("/") for path in call.paths))
    for path in files:
        if problem := find_path_problem(path):  # the path becomes an argument on the test runner's command line
            raise ToolFailure(f"{path!r} cannot be run: {problem}.")
        if not (toolbox.workspace.root / path).exists():
            raise ToolFailure(f"{path} does not exist.")
    toolbox.runs_left -= 1
    toolbox.runs_done += 1
    try:
        tried = toolbox.run_tests(files, call.all)
    except CannotJudge as problem:
        raise ToolFailure(f"the tests could not be run: {problem.what}") from problem
    return "\n".join(filter(None, (format_test_run(tried.report), tried.note)))


TOOLS: dict[str, ToolKind] = {
    "read_file": ToolKind(
        "Read a file.",
        ReadFile,
        lambda toolbox, call: toolbox.workspace.read(call.path, call.start_line, call.end_line),
    ),
    "list_files": ToolKind(
        "List files.",
        ListFiles,
        lambda toolbox, call: toolbox.workspace.list_files(call.directory),
    ),
    "search": ToolKind(
        "Find lines with a plain text.",
        Search,
        lambda toolbox, call: toolbox.workspace.search(call.text, call.directory),
    ),
    "write_file": ToolKind(
        "Create or replace a whole file.",
        WriteFile,
        lambda toolbox, call: toolbox.workspace.write(call.path, call.content),
    ),
    "edit_file": ToolKind(
        "Replace `old`, which must occur once, with `new`.",
        EditFile,
        lambda toolbox, call: toolbox.workspace.edit(call.path, call.old, call.new),
    ),
    "run_tests": ToolKind(
        "Run tests as the gate will; no paths: those that your changes reach.",
        RunTestsCall,
        _run_tests,
    ),
}


@dataclass(frozen=True)
class ToolAnswer:
    text: str
    failed: bool = False
    is_unusable: bool = False  # an unknown tool, or invalid arguments


def build_tools(names: Collection[str], submit: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Build the tool definitions for a model: the named tools, and `submit` with this schema."""
    kinds = ((name, TOOLS[name]) for name in names)
    last = Tool(
        SUBMIT, "Submit your work. Give optional fields only if your step names them.", drop_schema_limits(submit)
    )
    return (
        *(Tool(name, kind.description, drop_schema_limits(inline_schema(kind.arguments))) for name, kind in kinds),
        last,
    )


def call_tool(toolbox: Toolbox, use: ToolUse, allowed: Collection[str]) -> ToolAnswer:
    if use.name not in allowed:
        names = ", ".join([*allowed, SUBMIT])
        what = f"{use.name} is not available in your step" if use.name in TOOLS else f"there is no tool {use.name!r}"
        return ToolAnswer(f"{what}; you have {names}.", failed=True, is_unusable=True)
    kind = TOOLS[use.name]
    try:
        return ToolAnswer(kind.handle(toolbox, kind.arguments.model_validate(dict(use.input))))
    except ValidationError as problem:
        return ToolAnswer(
            f"wrong arguments for {use.name}: {format_validation_error(problem)}", failed=True, is_unusable=True
        )
    except ToolFailure as problem:
        return ToolAnswer(str(problem), failed=True)


def format_validation_error(problem: ValidationError, limit: int = 6) -> str:
    """Format the error as `criteria.0.text: Field required; …`, without the invalid values."""
    errors = problem.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{'.'.join(map(str, error['loc'])) or 'the answer'}: {error['msg']}" for error in errors[:limit]]
    more = [f"and {len(errors) - limit} more"] if len(errors) > limit else []
    return "; ".join([*shown, *more])
