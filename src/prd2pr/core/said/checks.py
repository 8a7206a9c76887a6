"""A check for each commit that crossed a gate, with what was found at the lines that it is about."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Finding
from prd2pr.core.hub import Annotation, Check, Conclusion
from prd2pr.core.picture_parts import PullPicture, StepView, StoryView, Tone
from prd2pr.core.wording import clip, count, plain, visible

MOST_ANNOTATIONS = 100
ANNOTATION_LEVELS: dict[str, Literal["warning", "failure"]] = {"error": "failure", "warning": "warning"}
CONCLUSIONS: dict[Tone, Conclusion] = {"proven": "success", "quiet": "neutral"}
GATED_NAMES = frozenset(phase.value for phase in GATED)

ReadFile = Callable[[str], str | None]  # the text of a file at the commit


@dataclass(frozen=True)
class CheckView:
    """What a check's page says: the step, and the findings that stand at no line."""

    story: StoryView
    step: StepView
    check: str  # the command that proves it again
    placed: int
    unplaced: tuple[Finding, ...] = ()
    left_out: int = 0


def steps_to_check(picture: PullPicture) -> Iterator[tuple[StoryView, StepView]]:
    for story in picture.stories:
        for step in story.steps:
            if step.sha and step.phase in GATED_NAMES:
                yield story, step


def check_name(story: str, phase: str) -> str:
    return f"prd2pr / {phase}({clip(plain(story), 60)})"


def phase_check(  # noqa: PLR0917 what a check consists of
    prd: str, story: StoryView, step: StepView, summary: str, annotations: tuple[Annotation, ...], refused: str = ""
) -> Check:
    """`refused`: why the step is not proved, seen now; not every finding stands at a line."""
    failed = bool(refused) or any(annotation.level == "failure" for annotation in annotations)
    return Check(
        key=f"{prd}/{story.id}/{step.n}",
        name=check_name(story.id, step.phase),
        sha=step.sha,
        conclusion="failure" if failed else CONCLUSIONS.get(step.tone, "failure"),
        title=clip(plain(f"{story.id}: {refused or step.outcome}"), 200),
        summary=summary,
        annotations=annotations,
    )


def whole_check(picture: PullPicture, sha: str, summary: str, *, refuted: bool = False) -> Check:
    """On the branch's head: what a protected branch can ask for."""
    done: dict[Tone, Conclusion] = {"proven": "success", "blocked": "action_required", "unproven": "failure"}
    unclaimed: Conclusion | None = "action_required" if picture.unproven else None
    proven = picture.figures[0]
    return Check(
        key=f"{picture.prd}/whole",
        name=f"prd2pr / {picture.prd}",
        sha=sha,
        conclusion="failure" if refuted else unclaimed or done.get(picture.tone, "neutral"),
        title=f"{picture.state}: {proven.value} {proven.label}"
        + (f", {count(len(picture.unproven), 'commit')} without proof" if picture.unproven else ""),
        summary=summary,
    )


# --- where a finding stands -------------------------------------------------------------------------------------------


def placed_findings(
    findings: Iterable[Finding], read: ReadFile, patch: str
) -> tuple[tuple[Annotation, ...], tuple[Finding, ...]]:
    """Those with a line, and those that are about no file. A line is never guessed to be 0."""
    placed: list[Annotation] = []
    unplaced: list[Finding] = []
    for finding in findings:
        path = finding.path or finding.test.partition("::")[0]
        if not path or "\n" in path:
            unplaced.append(finding)
            continue
        line = finding.line or line_of_test(read(path) or "", finding.test) or changed_line(patch, path) or 1
        placed.append(annotation(finding, path, line))
    return tuple(placed), tuple(unplaced)


def annotation(finding: Finding, path: str, line: int) -> Annotation:
    return Annotation(
        path=visible(path),
        line=line,
        level=ANNOTATION_LEVELS[finding.severity],
        message=clip(plain(finding.message), 2000) or finding.code,
        title=clip(plain(f"{finding.code} {finding.test.partition('::')[2]}"), 200),
    )


def line_of_test(source: str, test: str) -> int:
    """Where the test of this id is declared; 0 where it is not."""
    names = test.partition("[")[0].split("::")[1:]
    if not names:
        return 0
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    found = 0
    for name in names:
        node = next((each for each in body if isinstance(each, DECLARED) and each.name == name), None)
        if node is None:
            return 0
        body, found = node.body, node.lineno
    return found


DECLARED = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def changed_line(patch: str, path: str) -> int:
    """The first line of the file that the commit changed; 0 where it did not."""
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
