"""A check for each commit that passed a gate, with findings as annotations."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.evidence import Finding
from prd2pr.domain.forge import Annotation, CheckRun, Conclusion
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.wording import clean_line, clip, count, escape_invisible
from prd2pr.views.models import StepView, StoryView, Tone
from prd2pr.views.pull_request.models import PullRequestView

MAX_ANNOTATIONS = 100
ANNOTATION_LEVELS: dict[str, Literal["warning", "failure"]] = {"error": "failure", "warning": "warning"}
CONCLUSIONS: dict[Tone, Conclusion] = {"proven": "success", "quiet": "neutral"}
GATED_NAMES = frozenset(phase.value for phase in GATED)

FileReader = Callable[[str], str | None]  # returns the text of a file at the commit


@dataclass(frozen=True)
class CheckView:
    """The content of a check's page: the step, and the findings that belong to no line."""

    story: StoryView
    step: StepView
    check: str  # the command that verifies the branch
    placed: int
    unplaced: tuple[Finding, ...] = ()
    left_out: int = 0


def list_steps_to_check(pull_view: PullRequestView) -> Iterator[tuple[StoryView, StepView]]:
    for story in pull_view.stories:
        for step in story.steps:
            if step.commit and step.phase in GATED_NAMES:
                yield story, step


def check_name(story: str, phase: str) -> str:
    return f"prd2pr / {phase}({clip(clean_line(story), 60)})"


def build_phase_check(
    prd: str,
    story: StoryView,
    step: StepView,
    summary: str,
    annotations: tuple[Annotation, ...],
    *,
    refused: str = "",
) -> CheckRun:
    """Build the check of a step. `refused` is the reason why the step is not proved, if any."""
    failed = bool(refused) or any(annotation.level == "failure" for annotation in annotations)
    return CheckRun(
        key=f"{prd}/{story.id}/{step.n}",
        name=check_name(story.id, step.phase),
        sha=step.commit,
        conclusion="failure" if failed else CONCLUSIONS.get(step.tone, "failure"),
        title=clip(clean_line(f"{story.id}: {refused or step.outcome}"), 200),
        summary=summary,
        annotations=annotations,
    )


def build_whole_check(pull_view: PullRequestView, sha: str, summary: str, *, refuted: bool = False) -> CheckRun:
    """Build the check on the head of the branch, which branch protection can require."""
    done: dict[Tone, Conclusion] = {"proven": "success", "blocked": "action_required", "unproven": "failure"}
    unclaimed: Conclusion | None = "action_required" if pull_view.unproven else None
    proven = pull_view.figures[0]
    return CheckRun(
        key=f"{pull_view.prd}/whole",
        name=f"prd2pr / {pull_view.prd}",
        sha=sha,
        conclusion="failure" if refuted else unclaimed or done.get(pull_view.tone, "neutral"),
        title=f"{pull_view.state}: {proven.value} {proven.label}"
        + (f", {count(len(pull_view.unproven), 'commit')} without proof" if pull_view.unproven else ""),
        summary=summary,
    )


# --- lines of findings ------------------------------------------------------------------------------------------------


def place_findings(
    findings: Iterable[Finding], read: FileReader, patch: str
) -> tuple[tuple[Annotation, ...], tuple[Finding, ...]]:
    """Split findings into annotations, whose line is at least 1, and findings without a file."""
    placed: list[Annotation] = []
    unplaced: list[Finding] = []
    for finding in findings:
        path = finding.path or finding.test.partition("::")[0]
        if not path or "\n" in path:
            unplaced.append(finding)
            continue
        line = (
            finding.line or find_test_line(read(path) or "", finding.test) or find_first_changed_line(patch, path) or 1
        )
        placed.append(build_annotation(finding, path, line))
    return tuple(placed), tuple(unplaced)


def build_annotation(finding: Finding, path: str, line: int) -> Annotation:
    return Annotation(
        path=escape_invisible(path),
        line=line,
        level=ANNOTATION_LEVELS[finding.severity],
        message=clip(clean_line(finding.message), 2000) or finding.code,
        title=clip(clean_line(f"{finding.code} {finding.test.partition('::')[2]}"), 200),
    )


def find_test_line(source: str, test: str) -> int:
    """Return the line where the test is declared, or 0 if it is not found."""
    names = test.partition("[")[0].split("::")[1:]
    if not names:
        return 0
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    found = 0
    for name in names:
        node = next((each for each in body if isinstance(each, DECLARATIONS) and each.name == name), None)
        if node is None:
            return 0
        body, found = node.body, node.lineno
    return found


DECLARATIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def find_first_changed_line(patch: str, path: str) -> int:
    """Return the first line of the file that the commit changed, or 0 if there is none."""
    here, line = False, 0
    for text in patch.split("\n"):
        if text.startswith("diff --git "):
            here, line = text.endswith(f" b/{path}"), 0
        elif here and (hunk := HUNK.match(text)):
            line = int(hunk[1])
        elif here and line and text[:1] in ("+", "-"):
            return max(1, line)
        elif here and line:
            line += 1
    return 0
