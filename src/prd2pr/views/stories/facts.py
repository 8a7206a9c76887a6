"""The records of a branch, and the facts derived from them that all parts of the views need."""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from sys import intern
from typing import cast

from prd2pr.domain.ci import StoryCi
from prd2pr.domain.evidence import Coverage, Finding, Proof, RunSummary
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.machines.story_transitions import drop_undone_steps
from prd2pr.domain.questions import format_questions
from prd2pr.domain.records import (
    UNTESTED_KINDS,
    Backlog,
    Criterion,
    Cycle,
    CycleState,
    LineCoverage,
    Phase,
    Prd,
    Requirement,
    Status,
    Step,
    Story,
)
from prd2pr.domain.role_record import RoleRecord
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.wording import clean_line, escape_invisible
from prd2pr.prd.parser import UnplannedItems, find_unplanned_items
from prd2pr.prd.requirement_ids import get_requirement_key, get_requirement_kind
from prd2pr.state.layout import PLAN_STORY
from prd2pr.views.models import Tone, TracedTest
from prd2pr.views.mutation_text import format_mutation_score
from prd2pr.views.stories.story_totals import PhaseTotal, StoryAccount, compute_step_cost, sum_by_phase

StepKey = tuple[str, int]  # story and number of the step, as in the trailer `Tdd-Step`


@dataclass(frozen=True, eq=False)
class StoryProgress:
    """Progress of a story in words. The constants below are the only instances; compare them by identity."""

    word: str
    tone: Tone


PROVEN = StoryProgress("done", "proven")  # its tests were proved RED and GREEN, and are integrated
UNTESTED = StoryProgress("done without tests", "quiet")
ALREADY_BUILT = StoryProgress("already built, verified", "proven")
UNPROVEN = StoryProgress("done without proof", "unproven")
SKIPPED = StoryProgress("skipped", "quiet")
ABORTED = StoryProgress("aborted", "quiet")
BLOCKED = StoryProgress("blocked", "blocked")
PAUSED = StoryProgress("paused", "waiting")
WORKING = StoryProgress("in progress", "working")
WAITING = StoryProgress("waiting", "waiting")

ACCOUNTED_PROGRESS = {
    each.word: each for each in (PROVEN, UNTESTED, ALREADY_BUILT, SKIPPED)
}  # proved, or no proof required
SETTLED_PROGRESS = (PROVEN, UNTESTED, ALREADY_BUILT, UNPROVEN, SKIPPED, ABORTED)


@dataclass(frozen=True, slots=True)
class CommitFacts:
    sha: str
    subject: str
    at: str = ""
    patch: str = ""
    files: tuple[str, ...] = ()
    proved_with: str = ""  # the step whose gate also checked this commit, for example `calc-1/2`
    base_merge: bool = False  # an unmodified merge of the base, with which the test suite passes
    join: bool = False  # a merge of a story's branch without other changes


@dataclass(frozen=True)
class RequirementCoverage:
    stories: tuple[str, ...]
    progress_counts: Counter[StoryProgress]


@dataclass(frozen=True, slots=True)
class MutationTotals:
    killed: int
    judged: int
    score: str  # for example `12 of 13 mutants killed`


@dataclass(frozen=True, slots=True)
class ProofSummary:
    """The part of a proof that views of a whole PRD need.

    The full evidence of ten thousand stories would take gigabytes of memory.
    """

    accepted: Phase | None  # the phase that a gate accepted
    warnings: tuple[Finding, ...]
    coverage: tuple[Coverage, ...]  # the tests that name each criterion
    has_changes: bool
    has_new_tree: bool
    outcomes: Mapping[str, str] | None  # outcomes of the story's tests in this step's run; None if there was no run
    mutation: MutationTotals | None


def summarize_proof(proof: Proof) -> ProofSummary:
    evidence, verdict = proof.evidence, proof.verdict
    run, mutation = evidence.head_run, evidence.bite
    return ProofSummary(
        accepted=evidence.phase if verdict.accepted and verdict.phase is evidence.phase else None,
        warnings=tuple(each for each in verdict.findings if each.severity == "warning"),
        coverage=evidence.coverage or (),
        has_changes=bool(evidence.changes),
        has_new_tree=evidence.base_tree != evidence.head_tree,
        outcomes={intern(result.id): result.outcome for result in run.story} if run else None,
        mutation=MutationTotals(mutation.killed, len(mutation.judged), format_mutation_score(mutation))
        if mutation
        else None,
    )


@dataclass(frozen=True)
class PrdFacts:
    prd: Prd
    backlog: Backlog
    status: Status
    cycles: Mapping[str, Cycle]
    proofs: Mapping[StepKey, Proof]
    commits: Mapping[StepKey, CommitFacts]
    files: Mapping[str, bytes] = field(default_factory=dict)  # screenshots by digest
    # totals of finished stories whose records are not read
    accounts: Mapping[str, StoryAccount] = field(default_factory=dict)
    repo: str = ""  # `owner/name`, or empty if unknown
    branch: str = ""
    roles: tuple[RoleRecord, ...] = ()
    ci: Mapping[str, StoryCi] = field(default_factory=dict)  # by story
    # cache, filled on demand
    summaries: dict[StepKey, ProofSummary] = field(default_factory=dict, repr=False, compare=False)

    def describe_ci(self, story: str, step: Step) -> tuple[str, ...]:
        """Return the result of the repository's own CI on a step's commit as a sentence, if it is recorded."""
        results = self.ci[story].results if story in self.ci else ()
        checks = next((each.checks for each in results if each.step == step.n), ())
        said = ", ".join(clean_line(f"{each.name} {each.conclusion}") for each in checks)
        return (f"The repository's CI: {said}.",) if said else ()

    @cached_property
    def roles_by_story(self) -> Mapping[str, tuple[RoleRecord, ...]]:
        found: dict[str, list[RoleRecord]] = {}
        for record in self.roles:
            found.setdefault(record.story, []).append(record)
        return {story: tuple(records) for story, records in found.items()}

    @cached_property
    def planned_at(self) -> str:
        """Return when the plan was first committed, or an empty string if unknown."""
        moments = [commit.at for (story, _), commit in self.commits.items() if story == PLAN_STORY and commit.at]
        return min(moments, default="")

    @cached_property
    def by_requirement(self) -> dict[str, list[Story]]:
        """Map the keys of requirements to the stories that name them."""
        found: dict[str, list[Story]] = {}
        for story in self.backlog.stories:
            for key in dict.fromkeys(map(get_requirement_key, story.requirements)):
                found.setdefault(key, []).append(story)
        return found

    @cached_property
    def criteria_by_requirement(self) -> dict[str, list[tuple[Story, Criterion]]]:
        """Map the keys of requirements to the criteria that come from them."""
        found: dict[str, list[tuple[Story, Criterion]]] = {}
        for story in self.backlog.stories:
            for criterion in story.criteria:
                for key in dict.fromkeys(map(get_requirement_key, self.criterion_requirements(story, criterion))):
                    found.setdefault(key, []).append((story, criterion))
        return found

    def criterion_requirements(self, story: Story, criterion: Criterion) -> tuple[str, ...]:
        """Return the requirements from which a criterion comes.

        If a plan's criteria name no ids, the requirement is known only for a story with a single requirement.
        """
        if criterion.requirements or any(each.requirements for each in story.criteria):
            return criterion.requirements
        direct = tuple(name for name in story.requirements if get_requirement_kind(name) != "acceptance")
        return (direct or story.requirements) if len(direct or story.requirements) == 1 else ()

    @cached_property
    def unplanned(self) -> UnplannedItems:
        return find_unplanned_items(self.prd)

    @cached_property
    def questions(self) -> tuple[str, ...]:
        """Return the plan's questions and those of the PRD, except those that the plan repeats."""
        asked = clean_line("\n".join(self.backlog.questions)).casefold()
        own = (each for each in self.unplanned.questions if clean_line(each.text).casefold() not in asked)
        return (*format_questions(self.backlog), *(f"{each.id}: {each.text}" if each.id else each.text for each in own))

    @cached_property
    def stories(self) -> dict[str, Story]:
        return {story.id: story for story in self.backlog.stories}

    @cached_property
    def _coverings(self) -> dict[frozenset[str], RequirementCoverage]:
        return {}

    def requirement_coverage(self, keys: frozenset[str]) -> RequirementCoverage:
        """Return the stories that cover one of these requirements. Cached, because there may be thousands."""
        if keys not in self._coverings:
            found = dict.fromkeys(story.id for key in sorted(keys) for story in self.by_requirement.get(key, ()))
            self._coverings[keys] = RequirementCoverage(
                tuple(found), Counter(map(self.progress_by_story.__getitem__, found))
            )
        return self._coverings[keys]

    def with_details(self, commits: Mapping[StepKey, CommitFacts], files: Mapping[str, bytes]) -> PrdFacts:
        """Return a copy with the diffs of some commits and with screenshots.

        The copy shares the derived facts, which do not depend on these details.
        """
        _ = self.progress_by_story, self.stories, self.by_requirement, self.parts, self._coverings, self._not_passed
        _ = self.planned_at, self.roles_by_story, self.criteria_by_requirement, self._criterion_tests
        over = ChainMap(dict(commits), cast("dict[StepKey, CommitFacts]", self.commits))
        copy, own = replace(self, commits=over, files=files), {each.name for each in fields(self)}
        vars(copy).update({name: value for name, value in vars(self).items() if name not in own})
        return copy

    @cached_property
    def parts(self) -> dict[str, list[Requirement]]:
        """Map the key of each requirement to the requirements that are parts of it."""
        found: dict[str, list[Requirement]] = {}
        for each in self.prd.requirements:
            if each.parent:
                found.setdefault(get_requirement_key(each.parent), []).append(each)
        return found

    def steps(self, story: str) -> tuple[Step, ...]:
        return self.cycles[story].steps if story in self.cycles else ()

    def kind(self, story: str) -> str:
        return self.stories[story].kind if story in self.stories else ""

    def effective_steps(self, story: str) -> tuple[Step, ...]:
        """Return the story's steps, except those that were undone."""
        return drop_undone_steps(self.steps(story))

    def last_step(self, story: str, phase: Phase) -> Step | None:
        return next((step for step in reversed(self.effective_steps(story)) if step.phase is phase), None)

    def all_steps(self) -> Iterator[tuple[str, Step]]:
        for story in self.started_stories():
            for step in self.steps(story.id):
                yield story.id, step

    def started_stories(self) -> Iterator[Story]:
        """Yield the stories that have a cycle on this branch."""
        return (story for story in self.backlog.stories if story.id in self.cycles)

    @cached_property
    def totals_by_phase(self) -> Mapping[str, PhaseTotal]:
        """Return cost and time by phase, over all stories."""
        here = StoryAccount("", costs=tuple(compute_step_cost(step) for _, step in self.all_steps()))
        return sum_by_phase((here, *self.accounts.values()))

    @cached_property
    def line_coverages(self) -> tuple[tuple[str, str, LineCoverage], ...]:
        """Return time, story and line coverage of the integrated stories, in the order of integration."""
        measured = ((each, cycle.line_coverage) for each, cycle in self.cycles.items() if cycle.line_coverage)
        known = ((self.last_step(story, Phase.INTEGRATED), story, found) for story, found in measured)
        return tuple(
            sorted(((step.at, story, found) for step, story, found in known if step), key=lambda each: each[:2])
        )

    def find_line_coverage(self, story: str) -> list[LineCoverage]:
        """Return the line coverage after the story and, if known, the one before it."""
        coverages = self.line_coverages
        place = next((n for n, (_, each, _) in enumerate(coverages) if each == story), -1)
        return [each for _, _, each in reversed(coverages[max(place - 1, 0) : place + 1])]

    def proof(self, story: str, step: Step) -> Proof | None:
        return self.proofs.get((story, step.n))

    def proof_summary(self, story: str, step: Step) -> ProofSummary | None:
        key = (story, step.n)
        if key not in self.summaries and (proof := self.proofs.get(key)):
            self.summaries[key] = summarize_proof(proof)
        return self.summaries.get(key)

    def sha(self, story: str, step: Step) -> str:
        commit = self.commits.get((story, step.n))
        return commit.sha if commit else ""

    def warnings(self, story: Story, cycle: Cycle) -> int:
        """Count the warnings in the verdicts that accepted the story's steps."""
        proofs = (self.proof_summary(story.id, step) for step in cycle.steps)
        return sum(len(proof.warnings) for proof in proofs if proof)

    def is_proved(self, story: str, step: Step) -> bool:
        """Return whether the gate of the step's own phase accepted the step."""
        proof = self.proof_summary(story, step)
        return proof is not None and proof.accepted is step.phase

    def is_unproven(self, story: str, step: Step) -> bool:
        """Return whether the step should have been judged by a gate but has no proof.

        Without a commit, a refactoring needs none.
        """
        if step.phase not in GATED or self.is_proved(story, step):
            return False
        return step.phase is not Phase.REFACTOR or bool(self.sha(story, step))

    @cached_property
    def _progress_cache(self) -> dict[str, StoryProgress]:
        return {}

    def progress(self, story: Story) -> StoryProgress:
        """Return the progress of a story. Cached."""
        if story.id not in self._progress_cache:
            self._progress_cache[story.id] = self._compute_progress(story)
        return self._progress_cache[story.id]

    @cached_property
    def progress_by_story(self) -> dict[str, StoryProgress]:
        return {story.id: self.progress(story) for story in self.backlog.stories}

    def _compute_progress(self, story: Story) -> StoryProgress:
        if story.id in self.accounts:
            return ACCOUNTED_PROGRESS[self.accounts[story.id].progress]
        cycle = self.cycles.get(story.id)
        if story.status == "skipped":
            return SKIPPED
        if story.status == "blocked" or (cycle and cycle.blocked):
            return BLOCKED
        if cycle is None:
            return WAITING if story.status != "done" else UNPROVEN
        if cycle.state is CycleState.COMMIT or story.status == "done":
            return self._finished(story, cycle)
        return self._unfinished(cycle)

    def _unfinished(self, cycle: Cycle) -> StoryProgress:
        if cycle.state is CycleState.ABORTED:
            return ABORTED
        if cycle.paused:
            return PAUSED
        return WORKING if cycle.steps or cycle.refused else WAITING

    def _finished(self, story: Story, cycle: Cycle) -> StoryProgress:
        untested = story.kind in UNTESTED_KINDS
        needed = {Phase.INTEGRATED} if untested or cycle.pre_implemented else {Phase.RED, Phase.GREEN, Phase.INTEGRATED}
        proved = {step.phase for step in self.effective_steps(story.id) if self.is_proved(story.id, step)}
        if needed - proved or any(self.is_unproven(story.id, step) for step in cycle.steps):
            return UNPROVEN
        if untested:
            return UNTESTED
        return ALREADY_BUILT if cycle.pre_implemented else PROVEN

    @cached_property
    def latest_run(self) -> RunSummary | None:
        """Return the latest full test run in any story, which shows the tests that pass now."""
        steps = [(story, step) for story in self.cycles for step in self.effective_steps(story)]
        for story, step in sorted(steps, key=lambda each: each[1].at, reverse=True):
            proof = self.proof(story, step)
            if proof and proof.evidence.head_run:
                return proof.evidence.head_run
        return None

    def last_run_at(self, story: str) -> str:
        """Return the time of the story's latest test run, or an empty string if there was none."""
        return max((step.at for step, _ in self._runs(story)), default="")

    def _runs(self, story: str) -> Iterator[tuple[Step, Mapping[str, str]]]:
        """Yield the valid steps that have a test run, with the outcomes of the story's tests."""
        for step in self.effective_steps(story):
            proof = self.proof_summary(story, step)
            if proof and proof.outcomes is not None:
                yield step, proof.outcomes

    @cached_property
    def _not_passed(self) -> dict[str, str]:
        return {result.id: result.outcome for result in (self.latest_run.others_not_passed if self.latest_run else ())}

    def tests(self, story: str) -> tuple[TracedTest, ...]:
        """Return the story's tests with the outcome in its last run, or in a later run in which they failed."""
        cycle = self.cycles.get(story)
        *_, last = (None, *self._runs(story))
        if cycle is None or last is None:
            return ()
        step, seen = last
        tests = _expand_cases(cycle.tests, seen)
        return tuple(_trace_test(test, self._not_passed.get(test) or seen.get(test), step.phase) for test in tests)

    @cached_property
    def _criterion_tests(self) -> dict[str, Mapping[str, tuple[TracedTest, ...]]]:
        return {}

    def criterion_tests(self, story: str) -> Mapping[str, tuple[TracedTest, ...]]:
        """Map the story's criteria to the tests that name them, with their current outcome. Cached.

        Coverage lists test functions, while runs list their parametrized cases.
        """
        if story not in self._criterion_tests:
            proofs = (self.proof_summary(story, step) for step in self.effective_steps(story))
            coverage = next((proof.coverage for proof in proofs if proof and proof.coverage), ())
            tests = self.tests(story) if coverage else ()
            named = {
                part.criterion: {escape_invisible(self.promoted_test_id(story, test)) for test in part.tests}
                for part in coverage
            }
            self._criterion_tests[story] = {
                criterion: tuple(test for test in tests if {test.id, strip_test_parameters(test.id)} & names)
                for criterion, names in named.items()
            }
        return self._criterion_tests[story]

    def promoted_test_id(self, story: str, test: str) -> str:
        """Return the id of a test after its file is moved to its permanent place."""
        path, mark, rest = test.partition("::")
        for file in self.cycles[story].test_files:
            if file.path == path and file.promoted_to:
                return f"{file.promoted_to}{mark}{rest}"
        return test


def _expand_cases(tests: tuple[str, ...], seen: Mapping[str, str]) -> tuple[str, ...]:
    """Expand functions to their parametrized cases.

    RED records only the function as long as the module cannot be imported.
    """
    if all(test in seen for test in tests):
        return tests
    cases: dict[str, list[str]] = {}
    for test in seen:
        cases.setdefault(strip_test_parameters(test), []).append(test)
    return tuple(each for test in tests for each in ([test] if test in seen else cases.get(test, [test])))


def _trace_test(test: str, outcome: str | None, phase: Phase) -> TracedTest:
    shown = escape_invisible(test)
    if outcome is None:
        return TracedTest(shown, "not run", "unproven")
    if outcome == "passed":
        return TracedTest(shown, "passes", "proven")
    if phase is Phase.RED and outcome in ("failed", "error"):
        return TracedTest(shown, "fails as expected", "working")
    return TracedTest(shown, {"failed": "fails", "error": "breaks"}.get(outcome, outcome), "refused")
