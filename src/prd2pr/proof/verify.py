"""Prove a branch again from its commits alone, for `prd2pr verify`.

No claim of a commit is trusted: digests are computed, trees are compared, tests are run, and the gates judge the new
evidence. The information that a step depends on (design, criteria, ids and blobs of RED) comes from its parent commit,
which has itself been proved. `proof.claims` checks the records; this module checks runs and verdicts.

A commit is judged only from itself and its parents, so steps can be proved in parallel. Reports keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise
from threading import Event
from typing import TypeVar

from prd2pr.domain.evidence import Evidence, Finding, Verdict
from prd2pr.domain.machines.phase_transitions import (
    PassedPhase,
    advance_cycle,
    list_declared_changes,
    record_gate_result,
)
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.machines.story_transitions import DRAFT_PHASES
from prd2pr.domain.paths import classify_path
from prd2pr.domain.records import HiddenExamples, Phase
from prd2pr.domain.timeouts import describe_timeout, fill_timed_out_parts, has_timeout
from prd2pr.domain.write_policy import build_write_policy, check_write
from prd2pr.errors import IllegalCommand, InputInvalid, StateProblem
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.memory.retention import DEFAULT_RETENTION, RetentionPolicy
from prd2pr.proof.claims.claim import StepClaim, make_claim_error
from prd2pr.proof.claims.commits import check_records
from prd2pr.proof.claims.decisions import read_decision
from prd2pr.proof.claims.documents import render_claimed_docs
from prd2pr.proof.compare import list_differences
from prd2pr.proof.undone_steps import UndoPlan, plan_undo
from prd2pr.state.commit_message import StepRef, read_step
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.store import StateStore
from prd2pr.verification.codebase import find_story_entries
from prd2pr.verification.commit_check import DRAFT, OUT_OF_TIME, CommitCheck
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.gather.pipeline import gather
from prd2pr.verification.story_context import NO_DOCS, StoryContext
from prd2pr.verification.verdict import GATES, GatePolicy
from prd2pr.workflow.commits.base_merges import Merges, find_merge_failures, list_base_merges
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.merges import (
    Join,
    NotJoinable,
    find_join,
    find_join_error,
    find_join_failures,
    is_exact_join,
    list_branch_commits,
)
from prd2pr.workflow.phases.hidden_examples import load_hidden_examples

Check = Callable[[CommitInfo], tuple[CommitCheck, set[str]]]
UNGATED = (Phase.PLAN, Phase.DESIGN, Phase.NOTE)
OUTCOME_FIELDS = ("state", "tests", "test_files", "held_out", "design", "pre_implemented", "changed_tests")


Item = TypeVar("Item")
Result = TypeVar("Result")


def map_in_parallel(workers: Sequence[Callable[[Item], Result]], items: Sequence[Item]) -> Iterator[Result]:
    """Apply the workers to the items in parallel and yield the results in order.

    Each worker gets one contiguous part, so that it can use its cache. The first error in order is raised, and the
    other workers stop after their current item.
    """
    if len(workers) < 2 or len(items) < 2:
        yield from map(workers[0], items)
        return
    results: list[Future[Result]] = [Future() for _ in items]
    stop = Event()
    with ThreadPoolExecutor(len(workers)) as pool:
        for worker, stretch in zip(workers, split_range(len(items), len(workers)), strict=False):
            pool.submit(_run_stretch, worker, [(items[place], results[place]) for place in stretch], stop)
        try:
            for result in results:
                yield result.result()
        finally:
            stop.set()


def _run_stretch(worker: Callable[[Item], Result], stretch: list[tuple[Item, Future[Result]]], stop: Event) -> None:
    for item, result in stretch:
        if stop.is_set():
            return
        try:
            result.set_result(worker(item))
        except BaseException as error:  # noqa: BLE001 - raised again by `result()`
            result.set_exception(error)


def split_range(length: int, parts: int) -> list[range]:
    """Split `range(length)` into non-empty parts of nearly equal size."""
    cuts = [length * part // parts for part in range(parts + 1)]
    return [range(first, end) for first, end in pairwise(cuts) if first < end]


def load_claim(git: Git, commit: CommitInfo, step: StepRef, keeping: RetentionPolicy = DEFAULT_RETENTION) -> StepClaim:
    store = StateStore(git, step.prd)
    (before,) = commit.parents
    trees = git.code_tree(before), git.code_tree(commit.sha)
    return StepClaim(commit, step, store.load(before), store.load(commit.sha), *trees, keeping)


def count_intact_commits(
    git: Git, base: str, head: str, keeping: RetentionPolicy = DEFAULT_RETENTION
) -> tuple[int, int]:
    """Count the commits whose records are intact, and all commits in the range.

    No test is run. This detects later changes, not whether a step was ever correct.
    """
    commits = git.log_all(f"{base}..{head}")
    intact: set[str] = set()
    for commit in commits:
        intact |= find_intact_commits(git, commit, keeping)
    return len(intact), len(commits)


def find_intact_commits(git: Git, commit: CommitInfo, keeping: RetentionPolicy) -> set[str]:
    """Return this commit and the other commits that its gate judged, or an empty set if its records are not intact."""
    step = read_commit_step(commit)
    try:
        if step is None:
            return {commit.sha} if is_exact_join(git, commit) else set()
        claim = load_claim(git, commit, step, keeping)
        intact = not any(check_records(claim)) and not is_draft_claim(claim)
        return {commit.sha, *find_covered_commits(claim)} if intact else set()
    except (StateProblem, InputInvalid):
        return set()


def is_draft_claim(claim: StepClaim) -> bool:
    """Return whether the step is a draft that changes code.

    A draft of a design changes no code, so no gate has to judge it.
    """
    noted = claim.step.phase is Phase.NOTE and claim.base_tree != claim.head_tree
    return noted and bool(claim.made and claim.made.draft)


def find_covered_commits(claim: StepClaim) -> set[str]:
    """Return the earlier commits that this step's gate also judged, or the drafts that it undoes."""
    if claim.step.phase is Phase.NOTE and claim.made and claim.made.undoes:
        found = plan_undo(claim.parent.store, claim.parent.commit, claim.step.story)
        return set(found.drafts) if isinstance(found, UndoPlan) else set()
    last = claim.last_step if claim.covers else None
    return {commit.sha for commit in last.commits} if last and last.sound else set()


@dataclass(frozen=True)
class Verifier:
    git: Git
    gather_context: GatherContext
    policy: GatePolicy
    on_checked: Callable[[CommitCheck], None]
    further_contexts: tuple[GatherContext, ...] = ()  # one per further worker, as a runner runs one item at a time
    base: str = ""  # start of the range; earlier commits need no proof
    read_before: FactsCache = field(default_factory=FactsCache)  # facts about source files, for the living docs
    keeping: RetentionPolicy = DEFAULT_RETENTION

    def verify(self, base: str, head: str) -> list[CommitCheck]:
        """Check every commit in the range.

        These are the steps along first parents, the steps of each merged story branch before its merge, and the commits
        from other merges.
        """
        line = list_branch_commits(self.git, base, head)
        named = {commit.sha for commit in line}
        merged = [commit for commit in self.git.log_all(f"{base}..{head}") if commit.sha not in named]
        done = [make_unproven_check(commit, "merged in and not proved") for commit in merged]
        for each in done:
            self.on_checked(each)
        held: list[CommitCheck] = []  # reported when it is known whether a later step also judged them
        based = replace(self, base=base)
        for checked, covered in map_in_parallel([based.check, *based.list_further_checks()], line):
            held = [each.with_step(checked) if each.commit in covered else each for each in held]
            held.append(checked)
            if checked.phase in GATED or not any(each.unproven for each in held):
                done += self.report_checks(held)
                held = []
        return done + self.report_checks(held)

    def list_further_checks(self) -> list[Check]:
        return [replace(self, gather_context=gather_context).check for gather_context in self.further_contexts]

    def report_checks(self, held: list[CommitCheck]) -> list[CommitCheck]:
        for each in held:
            self.on_checked(each)
        return held

    def check(self, commit: CommitInfo) -> tuple[CommitCheck, set[str]]:
        """Check a commit. Also return the earlier commits that it proves."""
        step = read_step(commit.trailers)
        docs = frozenset(self.gather_context.living_docs)
        merges = list_base_merges(self.git, commit, self.base, docs) if self.base else ()
        if merges:
            return self.check_base_merges(merges)
        join = find_join(self.git, commit)
        if join is not None:
            return self.check_join(commit, join), set()
        if step is None:
            return make_unproven_check(commit, "the commit claims no step and is not proved"), set()
        if len(commit.parents) != 1:
            return make_unproven_check(commit, "a step has exactly one parent; this commit is a merge or a root"), set()
        claimed, findings, covered = "accepted", [], set[str]()
        try:
            claim = load_claim(self.git, commit, step, self.keeping)
            findings = [*self.check_step(claim)]
            claimed = DRAFT if is_draft_claim(claim) else claimed
            covered = find_covered_commits(claim)
        except (StateProblem, InputInvalid) as problem:
            findings = [make_claim_error("VER106", problem.what, problem.where)]
        name = f"{step.prd}/{step.story}/{step.n}"
        checked = CommitCheck(commit.sha, commit.subject, name, step.phase.value, claimed, tuple(findings))
        return checked, covered if checked.proved else set()

    def check_base_merges(self, merges: Merges) -> tuple[CommitCheck, set[str]]:
        """Check plain merges of the base by running the tests of the last one."""
        commit = merges[-1]
        broken = find_merge_failures(self.git, self.gather_context.runner, merges)
        if has_timeout(broken):
            broken = find_merge_failures(self.git, self.gather_context.runner, merges)
        if broken:
            return make_unproven_check(commit, f"with the base merged in: {'; '.join(broken[:3])}"), set()
        return CommitCheck(commit.sha, commit.subject, base_merge=True), {each.sha for each in merges[:-1]}

    def check_join(self, commit: CommitInfo, join: Join | NotJoinable) -> CommitCheck:
        """Check that the merge of a story branch adds no changes, and that the tests of both sides pass together."""
        try:
            wrong = find_join_error(self.git, commit, join)
        except (StateProblem, InputInvalid) as problem:
            wrong = problem.what
        code = "VER109"
        if not wrong and isinstance(join, Join):
            broken = find_join_failures(self.git, self.gather_context.runner, join, commit.sha)
            if has_timeout(broken):
                broken = find_join_failures(self.git, self.gather_context.runner, join, commit.sha)
            code = OUT_OF_TIME if has_timeout(broken) else code
            wrong = "; ".join(broken[:3])
        findings = (make_claim_error(code, wrong),) if wrong else ()
        return CommitCheck(commit.sha, commit.subject, findings=findings, join=True)

    def check_step(self, claim: StepClaim) -> Iterator[Finding]:
        wrong = [*check_records(claim)]
        yield from wrong
        if not wrong:
            yield from self.check_work(claim)

    def check_work(self, claim: StepClaim) -> Iterator[Finding]:
        if claim.step.phase in UNGATED:
            yield from self.check_code(claim)
            evidence, verdict = Evidence(phase=claim.step.phase), Verdict(phase=claim.step.phase, accepted=True)
        else:
            evidence, verdict = self.judge_again(claim)
            if self.is_out_of_time(claim, evidence, verdict):
                evidence, verdict = self.judge_again(claim)  # runs that finished in time are cached
            if self.is_out_of_time(claim, evidence, verdict):
                yield make_claim_error(OUT_OF_TIME, f"{describe_timeout(evidence)}; everything else matches the record")
                yield from (each for each in verdict.findings if each.severity == "warning")
                return
            yield from self.check_verdict(claim, evidence, verdict)
        if verdict.accepted and claim.step.phase not in (Phase.PLAN, Phase.NOTE):
            yield from self.check_outcome(claim, evidence, verdict)

    def judge_again(self, claim: StepClaim) -> tuple[Evidence, Verdict]:
        assert claim.story is not None, "guaranteed by check_records"
        assert claim.proof is not None, "guaranteed by check_records"
        saved = claim.proof.evidence
        context = StoryContext.from_cycle(
            claim.step.prd, claim.story, claim.cycle_before, note=saved.note, pre_implemented=saved.pre_implemented
        )
        if claim.step.phase is Phase.RED:
            held_out = self.find_hidden_examples(claim, saved)
            declared = list_declared_changes(saved)
            context = replace(context, held_out=held_out, changed_tests=declared)
        docs = NO_DOCS
        if claim.step.phase is Phase.INTEGRATED:
            docs = render_claimed_docs(self.gather_context, claim, self.read_before)
        evidence = gather(
            self.gather_context, claim.step.phase, claim.judged_from, claim.head_tree, story=context, docs=docs
        )
        return evidence, GATES[claim.step.phase](evidence, self.policy)

    def is_out_of_time(self, claim: StepClaim, evidence: Evidence, verdict: Verdict) -> bool:
        """Return whether timeouts are the only reason why the step is not proved."""
        assert claim.proof is not None, "guaranteed by check_records"
        saved = claim.proof.evidence
        if verdict.accepted and not any(list_differences(saved, evidence)):
            return False
        whole = fill_timed_out_parts(saved, evidence)
        return (
            whole is not None
            and whole.head_tree == claim.head_tree
            and GATES[claim.step.phase](whole, self.policy).accepted
            and not any(list_differences(saved, whole))
        )

    def find_hidden_examples(self, claim: StepClaim, saved: Evidence) -> HiddenExamples | None:
        """Return RED's hidden examples, or None if there are none and the evidence says that none were required."""
        found = load_hidden_examples(claim.state, claim.step.story)
        return found if found.files or saved.held_out is not None else None

    def check_verdict(self, claim: StepClaim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        if not verdict.accepted:
            codes = ", ".join(sorted({finding.code for finding in verdict.errors}))
            yield make_claim_error(
                "VER105", f"the {claim.step.phase.value} gate refuses this commit when run again: {codes}"
            )
        yield from verdict.findings
        if evidence.head_tree != claim.head_tree:
            yield make_claim_error("VER102", "the hidden examples of RED are missing from the commit that they judged")
        assert claim.proof is not None, "guaranteed by check_records"
        for difference in list_differences(claim.proof.evidence, evidence):
            yield make_claim_error(
                "VER107", f"the saved evidence differs from the new evidence: {difference}", claim.evidence_path
            )

    def check_code(self, claim: StepClaim) -> Iterator[Finding]:
        undoes = claim.step.phase is Phase.NOTE and claim.made and claim.made.undoes
        if read_decision(claim) or undoes:
            return  # the record checks compare the code before and after
        if is_draft_claim(claim):
            yield from self.check_draft_code(claim)
            return
        prd = claim.state.prd if claim.step.phase is Phase.PLAN else None
        old = claim.parent.prd if prd is not None else None
        for change in self.git.diff(claim.base_tree, claim.head_tree):
            is_prd = prd is not None and change.path == prd.path and change.new_blob == prd.blob
            moved = old is not None and prd is not None and prd.path != old.path == change.path and not change.new_blob
            if not moved and not (is_prd and change.new_mode == "100644"):
                yield make_claim_error("VER108", f"a {claim.step.phase.value} commit may not change code", change.path)

    def check_draft_code(self, claim: StepClaim) -> Iterator[Finding]:
        """Check that a draft changes only files that the role of its phase may write."""
        cycle = claim.state.cycle(claim.step.story)
        assert cycle is not None, "guaranteed by check_records"
        assert claim.story is not None, "guaranteed by check_records"
        policy = build_write_policy(DRAFT_PHASES[cycle.state], claim.story.id, kind=claim.story.kind)
        for change in self.git.diff(claim.base_tree, claim.head_tree):
            refused = check_write(change.path, classify_path(change.path, self.gather_context.rules), policy)
            if refused:
                yield make_claim_error("VER108", f"a draft may not write this: {refused.message}", change.path)

    def check_outcome(self, claim: StepClaim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        """Check that the cycle's new record follows from its previous record and the new evidence."""
        after = claim.state.cycle(claim.step.story)
        assert after is not None, "guaranteed by check_records"
        assert claim.story is not None, "guaranteed by check_records"
        entries = find_story_entries(self.git, claim.head_tree, claim.step.story)
        passed = PassedPhase(
            step=after.steps[-1],
            verdict=verdict,
            evidence=evidence,
            story=claim.story,
            design=after.design if claim.step.phase is Phase.DESIGN else None,
            test_blobs=tuple((entry.path, entry.blob) for entry in entries),
        )
        try:
            expected = advance_cycle(claim.cycle_before, passed)
        except IllegalCommand as refused:
            yield make_claim_error("VER104", refused.what)
            return
        for name in OUTCOME_FIELDS:
            if getattr(expected, name) != getattr(after, name):
                what = f"`{name}` does not follow from this step"
                yield make_claim_error("VER106", what, claim.state.paths.cycle(claim.step.story))
        # Versions before 0.3 recorded nothing of the evidence, nor its blob.
        step, saved = after.steps[-1], claim.proof
        if step.evidence_blob and saved and record_gate_result(step, saved.evidence, saved.verdict) != step:
            what = "the record of this step does not show what its evidence says"
            yield make_claim_error("VER106", what, claim.state.paths.cycle(claim.step.story))
        coverage = expected.coverage if after.steps[-1].evidence_blob else claim.cycle_before.coverage
        if after.coverage != coverage:
            what = "`coverage` does not follow from this step"
            yield make_claim_error("VER106", what, claim.state.paths.cycle(claim.step.story))


def make_unproven_check(commit: CommitInfo, why: str) -> CommitCheck:
    return CommitCheck(commit.sha, commit.subject, findings=(make_claim_error("VER103", why),))
