"""Everything that can be wrong with a plan: one table, from which messages and docs are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.evidence import Finding


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
    PlanProblemKind(
        "PLN115",
        "in more than one stack",
        "A repository may hold several stacks, each with its root, language and runner. A story is proved by the tests "
        "of one of them, so its source files lie in one; what is needed in another is a story of its own.",
    ),
    PlanProblemKind(
        "PLN201",
        "story too large",
        "A story is one cycle of tests and code: 5 to 20 tests, less than 100 lines, at most three source files, a "
        "complexity of at most 6. What is larger is split again, at most twice; then the plan asks a person about it.",
    ),
    PlanProblemKind(
        "PLN202",
        "requirement of another cycle",
        "Each cycle of the plan has its own requirements. A story that serves none of its cycle's belongs elsewhere.",
    ),
    PlanProblemKind(
        "PLN203",
        "requirement of the cycle in no story",
        "Every requirement of a cycle is fulfilled by one of its stories, or is said to be left out, and why. What is "
        "neither after two more attempts is named on the pull request as not covered.",
    ),
    PlanProblemKind(
        "PLN204",
        "outside of the PRD's module structure",
        "Where the PRD says which modules there are to be, new source files are these modules or lie below them. What "
        "does not after two more attempts is asked about.",
    ),
    PlanProblemKind(
        "PLN205",
        "criteria contradict each other",
        "Two criteria have the same GIVEN and WHEN and say different things of the same outcome. Of criteria that "
        "stand in the PRD a person is asked which one holds; nothing is guessed.",
    ),
    PlanProblemKind(
        "PLN206",
        "answer does not fit the question",
        "Criteria are asked for by the keys of stories: each of these stories gets its own, and no other.",
    ),
    PlanProblemKind(
        "PLN207",
        "not covered, and nobody asked",
        "A requirement for which nothing is planned is named in a question, so that a person knows of it.",
    ),
    PlanProblemKind(
        "PLN208",
        "nothing to verify",
        "A story that only verifies depends on the story that builds what it verifies.",
    ),
    PlanProblemKind(
        "PLN209",
        "no usable answer",
        "A model's answer could not be read as what it was asked for. It is asked again, a bounded number of times.",
    ),
)


def findings_of(problems: Iterable[PlanProblem]) -> tuple[Finding, ...]:
    """As a role is told of them."""
    return tuple(
        Finding(code=each.code, severity="error", message=f"{_about(each)}{each.message}") for each in problems
    )


def _about(problem: PlanProblem) -> str:
    return f"story {problem.story}: " if problem.story else ""


PLAN_PROBLEMS: dict[str, PlanProblemKind] = {kind.code: kind for kind in _KINDS}
