"""Everything that can be wrong with a plan: one table, from which messages and docs are made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlanProblemKind:
    code: str
    title: str
    explanation: str


@dataclass(frozen=True)
class PlanProblem:
    code: str
    message: str
    story: str = ""  # the draft's key; empty when it is about the whole plan

    def __str__(self) -> str:
        return f"{self.code} {self.story}: {self.message}" if self.story else f"{self.code} {self.message}"


_KINDS = (
    PlanProblemKind(
        "PLN101",
        "no stories, or too many",
        "A plan has at least one story, and no more than the limit: beyond that nobody can review it. Split the PRD.",
    ),
    PlanProblemKind(
        "PLN102",
        "key missing or used twice",
        "Each story and each epic has a key of its own; dependencies point to stories by it.",
    ),
    PlanProblemKind("PLN103", "unknown epic", "A story belongs to an epic of the same plan, or the plan has no epics."),
    PlanProblemKind("PLN104", "unknown dependency", "`depends_on` names a key that no story of the plan has."),
    PlanProblemKind(
        "PLN105",
        "dependencies go in circles",
        "Stories that wait for each other can never begin. The message names the circle; remove one of its links, or "
        "make one story of the two.",
    ),
    PlanProblemKind(
        "PLN106",
        "requirement not covered",
        "Every requirement of the PRD belongs to at least one story, so that none is dropped in silence. An acceptance "
        "criterion is covered by its requirement as well; a requirement is covered when all of its parts are; a "
        "non-functional one may be named in an assumption instead.",
    ),
    PlanProblemKind("PLN107", "unknown requirement", "The plan names a requirement that the PRD does not have."),
    PlanProblemKind(
        "PLN108",
        "too few or too many acceptance criteria",
        "A story that is proved by tests has one to five criteria: with none there is nothing to prove, with more it "
        "is several stories. Stories of kind docs, config or chore may have none.",
    ),
    PlanProblemKind("PLN109", "criterion empty or said twice", "Each criterion is a sentence of its own, testable."),
    PlanProblemKind(
        "PLN110", "too many source files", "A story changes a few source files; one that needs more is several stories."
    ),
    PlanProblemKind(
        "PLN111",
        "path cannot be used",
        "Paths are relative to the repository, without `..`, and lie outside of `.git`, `.github` and `.orch-state`.",
    ),
    PlanProblemKind(
        "PLN112",
        "source and test mixed up",
        "`source_paths` holds no tests, and no path stands in both lists: the two are written in different phases.",
    ),
    PlanProblemKind("PLN113", "title cannot be used", "A title is one line that fits into a commit's subject."),
    PlanProblemKind(
        "PLN114",
        "story not asked for",
        "When a PRD has changed, stories are planned for what changed and for nothing else: the rest of the plan "
        "stands.",
    ),
)

PLAN_PROBLEMS: dict[str, PlanProblemKind] = {kind.code: kind for kind in _KINDS}
