"""What the branch holds, with the questions that every part of the picture asks of it."""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import cast

from prd2pr.core.carrying import carried
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.deeds import standing_steps
from prd2pr.core.evidence import Proof, RunSummary, TestResult
from prd2pr.core.picture_account import Account, PhaseTotal, cost, totals
from prd2pr.core.picture_parts import CommitFacts, Tone, TracedTest
from prd2pr.core.records import UNTESTED_KINDS, Backlog, Cycle, CycleState, Phase, Prd, Status, Step, Story
from prd2pr.core.runs import bare_id
from prd2pr.core.wording import visible

Key = tuple[str, int]  # story and number of the step, as in the trailer Tdd-Step


def anchor(*parts: object) -> str:
    """An id for HTML. Odd names get a digest, so that two of them never share one."""
    name = "-".join(str(part) for part in parts)
    tame = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
    return tame if tame == name else f"{tame}-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


@dataclass(frozen=True, eq=False)
class Standing:
    """How a story stands, in a word or two. There are only those below: each is equal to itself alone."""

    word: str
    tone: Tone


PROVEN = Standing("proven", "proven")
UNTESTED = Standing("done without tests", "quiet")
ALREADY_BUILT = Standing("already built, verified", "proven")
UNPROVEN = Standing("done without proof", "unproven")
SKIPPED = Standing("skipped", "quiet")
ABORTED = Standing("aborted", "quiet")
BLOCKED = Standing("blocked", "blocked")
PAUSED = Standing("paused", "waiting")
WORKING = Standing("in progress", "working")
WAITING = Standing("waiting", "waiting")

ACCOUNTED = {each.word: each for each in (PROVEN, UNTESTED, ALREADY_BUILT, SKIPPED)}  # nothing about them is in doubt
SETTLED_STANDINGS = (PROVEN, UNTESTED, ALREADY_BUILT, UNPROVEN, SKIPPED, ABORTED)


@dataclass(frozen=True)
class Covering:
    stories: tuple[str, ...]
    standings: Counter[Standing]


@dataclass(frozen=True)
class BranchFacts:
    prd: Prd
    backlog: Backlog
    status: Status
    cycles: Mapping[str, Cycle]
    proofs: Mapping[Key, Proof]
    commits: Mapping[Key, CommitFacts]
    files: Mapping[str, bytes] = field(default_factory=dict)  # pictures, by their digest
    accounts: Mapping[str, Account] = field(default_factory=dict)  # of settled stories whose records are not here

    @cached_property
    def by_requirement(self) -> dict[str, list[Story]]:
        found: dict[str, list[Story]] = {}
        for story in self.backlog.stories:
            for name in story.requirements:
                found.setdefault(name, []).append(story)
        return found

    @cached_property
    def stories(self) -> dict[str, Story]:
        return {story.id: story for story in self.backlog.stories}

    @cached_property
    def _coverings(self) -> dict[frozenset[str], Covering]:
        return {}

    def covering(self, names: frozenset[str]) -> Covering:
        """Who builds one of these requirements. Many are covered by the same stories, maybe by thousands."""
        if names not in self._coverings:
            found = dict.fromkeys(story.id for name in sorted(names) for story in self.by_requirement.get(name, ()))
            self._coverings[names] = Covering(tuple(found), Counter(map(self.standings.__getitem__, found)))
        return self._coverings[names]

    def shown_with(self, commits: Mapping[Key, CommitFacts], files: Mapping[str, bytes]) -> BranchFacts:
        """With the diffs of some commits, and pictures. Nothing else follows from these: it is worked out once, here,
        for the pages of all stories."""
        _ = self.standings, self.stories, self.by_requirement, self.parts, self._coverings, self._not_passed
        over = ChainMap(dict(commits), cast("dict[Key, CommitFacts]", self.commits))
        return carried(self, replace(self, commits=over, files=files))

    @cached_property
    def parts(self) -> dict[str, set[str]]:
        """Requirement → those that are a part of it."""
        found: dict[str, set[str]] = {}
        for each in self.prd.requirements:
            found.setdefault(each.parent, set()).add(each.id)
        return found

    def steps(self, story: str) -> tuple[Step, ...]:
        return self.cycles[story].steps if story in self.cycles else ()

    def kind(self, story: str) -> str:
        return self.stories[story].kind if story in self.stories else ""

    def standing_steps(self, story: str) -> tuple[Step, ...]:
        """Those that hold now: what was undone is told, and proves nothing any more."""
        return standing_steps(self.steps(story))

    def last_step(self, story: str, phase: Phase) -> Step | None:
        return next((step for step in reversed(self.standing_steps(story)) if step.phase is phase), None)

    def all_steps(self) -> Iterator[tuple[str, Step]]:
        for story in self.begun():
            for step in self.steps(story.id):
                yield story.id, step

    def begun(self) -> Iterator[Story]:
        """Those that have a cycle here: of thousands, often a few."""
        return (story for story in self.backlog.stories if story.id in self.cycles)

    @cached_property
    def spent(self) -> Mapping[str, PhaseTotal]:
        """By phase, over all stories."""
        here = Account("", costs=tuple(cost(step) for _, step in self.all_steps()))
        return totals((here, *self.accounts.values()))

    def proof(self, story: str, step: Step) -> Proof | None:
        return self.proofs.get((story, step.n))

    def sha(self, story: str, step: Step) -> str:
        commit = self.commits.get((story, step.n))
        return commit.sha if commit else ""

    def warnings(self, story: Story, cycle: Cycle) -> int:
        """With which its gates let it through."""
        proofs = (self.proof(story.id, step) for step in cycle.steps)
        return sum(each.severity == "warning" for proof in proofs if proof for each in proof.verdict.findings)

    def proved(self, story: str, step: Step) -> bool:
        """A gate of exactly this phase accepted it."""
        proof = self.proof(story, step)
        if proof is None:
            return False
        return proof.verdict.accepted and proof.verdict.phase is step.phase and proof.evidence.phase is step.phase

    def unproven(self, story: str, step: Step) -> bool:
        """It claims a gate and has no proof. A refactoring that changed nothing, and made no commit, claims nothing."""
        if step.phase not in GATED or self.proved(story, step):
            return False
        return step.phase is not Phase.REFACTOR or bool(self.sha(story, step))

    @cached_property
    def _standings(self) -> dict[str, Standing]:
        return {}

    def standing(self, story: Story) -> Standing:
        """Of thousands of stories it is asked again and again; what it follows from does not change."""
        if story.id not in self._standings:
            self._standings[story.id] = self._standing(story)
        return self._standings[story.id]

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Of all stories, by their ids."""
        return {story.id: self.standing(story) for story in self.backlog.stories}

    def _standing(self, story: Story) -> Standing:
        if story.id in self.accounts:
            return ACCOUNTED[self.accounts[story.id].standing]
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

    def _unfinished(self, cycle: Cycle) -> Standing:
        if cycle.state is CycleState.ABORTED:
            return ABORTED
        if cycle.paused:
            return PAUSED
        return WORKING if cycle.steps or cycle.refused else WAITING

    def _finished(self, story: Story, cycle: Cycle) -> Standing:
        untested = story.kind in UNTESTED_KINDS
        needed = {Phase.INTEGRATED} if untested or cycle.pre_implemented else {Phase.RED, Phase.GREEN, Phase.INTEGRATED}
        proved = {step.phase for step in self.standing_steps(story.id) if self.proved(story.id, step)}
        if needed - proved or any(self.unproven(story.id, step) for step in cycle.steps):
            return UNPROVEN
        if untested:
            return UNTESTED
        return ALREADY_BUILT if cycle.pre_implemented else PROVEN

    @cached_property
    def latest_run(self) -> RunSummary | None:
        """The newest whole run of all: what passes *now*."""
        newest = max((run for story in self.cycles for run in self.runs(story)), key=lambda run: run[0], default=None)
        return newest[1] if newest else None

    def runs(self, story: str) -> Iterator[tuple[str, RunSummary]]:
        """With their moments, those of steps that hold."""
        for step in self.standing_steps(story):
            proof = self.proof(story, step)
            if proof and proof.evidence.head_run:
                yield step.at, proof.evidence.head_run

    @cached_property
    def _not_passed(self) -> dict[str, TestResult]:
        return {result.id: result for result in (self.latest_run.others_not_passed if self.latest_run else ())}

    def story_run(self, story: str) -> tuple[Phase, RunSummary] | None:
        """The newest run that proves something of this story."""
        for step in reversed(self.standing_steps(story)):
            proof = self.proof(story, step)
            if proof and proof.evidence.head_run:
                return step.phase, proof.evidence.head_run
        return None

    def tests(self, story: str) -> tuple[TracedTest, ...]:
        """The story's tests as they stand now: by its own last run, unless a later run saw one not passing."""
        cycle = self.cycles.get(story)
        found = self.story_run(story) if cycle else None
        if cycle is None or found is None:
            return ()
        phase, run = found
        seen = {result.id: result for result in run.story}
        tests = _with_cases(cycle.tests, seen)
        return tuple(_traced(test, self._not_passed.get(test) or seen.get(test), phase) for test in tests)

    def promoted(self, story: str, test: str) -> str:
        """A test's id after its file moved to its permanent place."""
        path, mark, rest = test.partition("::")
        for file in self.cycles[story].test_files:
            if file.path == path and file.promoted_to:
                return f"{file.promoted_to}{mark}{rest}"
        return test


def _with_cases(tests: tuple[str, ...], seen: Mapping[str, TestResult]) -> tuple[str, ...]:
    """RED names a function whose module cannot be imported yet by its bare name; later each of its cases has an id."""
    if all(test in seen for test in tests):
        return tests
    cases: dict[str, list[str]] = {}
    for test in seen:
        cases.setdefault(bare_id(test), []).append(test)
    return tuple(each for test in tests for each in ([test] if test in seen else cases.get(test, [test])))


def _traced(test: str, result: TestResult | None, phase: Phase) -> TracedTest:
    shown = visible(test)
    if result is None:
        return TracedTest(shown, "not run", "unproven")
    if result.outcome == "passed":
        return TracedTest(shown, "passes", "proven")
    if phase is Phase.RED and result.outcome in ("failed", "error"):
        return TracedTest(shown, "fails as planned", "working")
    return TracedTest(shown, {"failed": "fails", "error": "breaks"}.get(result.outcome, result.outcome), "refused")
