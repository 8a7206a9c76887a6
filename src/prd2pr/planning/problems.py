"""The table of planning rules: codes, titles and explanations for messages and docs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.evidence import Finding


@dataclass(frozen=True)
class PlanProblemKind:
    code: str
    title: str
    explanation: str


@dataclass(frozen=True)
class PlanProblem:
    code: str
    message: str
    story: str = ""  # the key in the draft; empty for the whole plan

    def __str__(self) -> str:
        return f"{self.code} {self.story}: {self.message}" if self.story else f"{self.code} {self.message}"


_KINDS = (
    PlanProblemKind(
        "PLN101",
        "no stories, or too many",
        "A plan needs at least one story, and no more than the limit, or it cannot be reviewed. Split the PRD.",
    ),
    PlanProblemKind(
        "PLN102",
        "key missing or used twice",
        "Each story and each epic has a unique key; dependencies refer to stories by this key.",
    ),
    PlanProblemKind("PLN103", "unknown epic", "A story belongs to an epic of the same plan, or the plan has no epics."),
    PlanProblemKind("PLN104", "unknown dependency", "`depends_on` names a key that no story of the plan has."),
    PlanProblemKind(
        "PLN105",
        "circular dependency",
        "Stories that wait for each other can never start. The message names the cycle; remove one dependency, or "
        "merge two of the stories.",
    ),
    PlanProblemKind(
        "PLN106",
        "requirement not covered",
        "Every requirement of the PRD belongs to at least one story, so that none is dropped silently. An acceptance "
        "criterion is also covered by its requirement; a requirement is covered if all its parts are; a non-functional "
        "one may be named in an assumption instead.",
    ),
    PlanProblemKind("PLN107", "unknown requirement", "The plan names a requirement that the PRD does not have."),
    PlanProblemKind(
        "PLN108",
        "too few or too many acceptance criteria",
        "A story that is proved by tests has one to five criteria: without criteria there is nothing to prove, with "
        "more it should be split. Stories of kind docs, config or chore need none.",
    ),
    PlanProblemKind("PLN109", "criterion empty or repeated", "Each criterion is a separate, testable sentence."),
    PlanProblemKind(
        "PLN110", "too many source files", "A story changes a few source files; split one that needs more."
    ),
    PlanProblemKind(
        "PLN111",
        "invalid path",
        "Paths are relative to the repository, without `..`, and outside of `.git`, `.github` and `.orch-state`.",
    ),
    PlanProblemKind(
        "PLN112",
        "source and test mixed up",
        "`source_paths` contains no tests, and no path is in both lists: they are written in different phases.",
    ),
    PlanProblemKind("PLN113", "invalid title", "A title is one line that fits into a commit subject."),
    PlanProblemKind(
        "PLN114",
        "story not requested",
        "After a change to the PRD, new stories may only cover what changed: the rest of the plan is kept.",
    ),
    PlanProblemKind(
        "PLN115",
        "files in more than one stack",
        "A repository may have several stacks, each with its root, language and runner. A story is proved by the tests "
        "of one stack, so all its source files must be in that stack. Make a separate story for each stack.",
    ),
    PlanProblemKind(
        "PLN116",
        "requirement classified twice or without a reason",
        "A requirement that no story builds is classified once: already met (where), contradictory (with what), not "
        "testable (why) or not a requirement (why).",
    ),
    PlanProblemKind(
        "PLN117",
        "already met, but no file is named",
        "A requirement is already met by code that exists, so its note names a file of the repository.",
    ),
    PlanProblemKind(
        "PLN118",
        "story of acceptance criteria only",
        "Acceptance criteria that belong to no requirement describe behavior that stories build: their ids belong in "
        "the criteria of these stories, and not in a separate story.",
    ),
    PlanProblemKind(
        "PLN201",
        "story too large",
        "A story is one cycle of tests and code: 5 to 20 tests, fewer than 100 lines, at most three source files, a "
        "complexity of at most 6. The planner must split a larger one; if it is still too large, a person is asked.",
    ),
    PlanProblemKind(
        "PLN204",
        "outside of the PRD's module structure",
        "If the PRD lists modules, each new source file must belong to one of them. If a further attempt does not fix "
        "this, a person is asked.",
    ),
    PlanProblemKind(
        "PLN205",
        "criteria contradict each other",
        "Two criteria have the same GIVEN and WHEN but different outcomes. If both are in the PRD, a person decides "
        "which one is valid.",
    ),
    PlanProblemKind(
        "PLN207",
        "not covered, and no question asks about it",
        "A requirement without a story is named in a question, so that a person knows about it.",
    ),
    PlanProblemKind(
        "PLN208",
        "nothing to verify",
        "A verify-only story depends on the story whose result it verifies, or verifies requirements that are met.",
    ),
    PlanProblemKind(
        "PLN209",
        "no usable answer",
        "The model's answer did not have the required form. The request is repeated once, to the stronger model.",
    ),
)


def problems_to_findings(problems: Iterable[PlanProblem]) -> tuple[Finding, ...]:
    """Convert problems to findings for the planning role."""
    return tuple(
        Finding(code=each.code, severity="error", message=f"{_story_prefix(each)}{each.message}") for each in problems
    )


def _story_prefix(problem: PlanProblem) -> str:
    return f"story {problem.story}: " if problem.story else ""


PLAN_PROBLEMS: dict[str, PlanProblemKind] = {kind.code: kind for kind in _KINDS}
