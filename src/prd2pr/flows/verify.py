"""Prove a branch again, from its commits alone.

Nothing that a commit claims is believed: digests are computed, trees are compared, tests are run, and the gates judge
what is seen now. What a step needs to know (design, criteria, ids and blobs of RED) is taken from its parent commit,
which was itself proved before. What the records say is looked at in `claims.py`, the runs and verdicts here.

A commit is judged from itself and its parents alone, so steps can be proved side by side; what is told is in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from prd2pr.core.advance import Crossed, advance
from prd2pr.core.checked import DRAFT, LACKED_TIME, Checked
from prd2pr.core.commit_message import StepRef, read_step
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.deeds import DRAFTED_IN
from prd2pr.core.evidence import Evidence, Finding, Verdict
from prd2pr.core.gates import GATES, GatePolicy
from prd2pr.core.memory.retention import KEEPING, Keeping
from prd2pr.core.out_of_time import as_with_time, lacked_time, lacking_words
from prd2pr.core.paths import classify_path
from prd2pr.core.policy import may_write, policy_for
from prd2pr.core.records import HeldOut, Phase
from prd2pr.core.sameness import differences
from prd2pr.errors import IllegalCommand, InputInvalid, StateProblem
from prd2pr.flows.base_merges import Merges, broken_in, merges_to
from prd2pr.flows.claims import Claim, error, record_findings
from prd2pr.flows.decided_claims import decision_of
from prd2pr.flows.gather import Gathering, gather
from prd2pr.flows.held_out import waiting
from prd2pr.flows.joins import Apart, Join, branch_line, broken_by_join, is_exact_join, join_of, what_is_wrong
from prd2pr.flows.living_cache import FactsCache
from prd2pr.flows.living_claims import docs_of_claim
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.side_by_side import side_by_side
from prd2pr.flows.story_context import NO_DOCS, StoryContext
from prd2pr.flows.story_files import story_entries
from prd2pr.flows.undoing import Undoing, undoing
from prd2pr.repo.git import CommitInfo, Git
from prd2pr.repo.store import StateStore

Check = Callable[[CommitInfo], tuple[Checked, set[str]]]
UNGATED = (Phase.PLAN, Phase.DESIGN, Phase.NOTE)
OUTCOME_OF_RECORD = ("state", "tests", "test_files", "held_out", "design", "pre_implemented")


def claim_of(git: Git, commit: CommitInfo, step: StepRef, keeping: Keeping = KEEPING) -> Claim:
    store = StateStore(git, step.prd)
    (before,) = commit.parents
    trees = git.code_tree(before), git.code_tree(commit.sha)
    return Claim(commit, step, store.load(before), store.load(commit.sha), *trees, keeping)


def look_over(git: Git, base: str, head: str, keeping: Keeping = KEEPING) -> tuple[int, int]:
    """How many commits of a branch are as they were proved, with a step or as a step, and how many there are.

    No test is run: this sees what somebody has changed since, not whether a step was ever true.
    """
    commits = git.log_all(f"{base}..{head}")
    intact: set[str] = set()
    for commit in commits:
        intact |= intact_with(git, commit, keeping)
    return len(intact), len(commits)


def intact_with(git: Git, commit: CommitInfo, keeping: Keeping) -> set[str]:
    """The commit, where it is a step as its records have it, and those that it was judged together with."""
    step = step_of(commit)
    try:
        if step is None:
            return {commit.sha} if is_exact_join(git, commit) else set()
        claim = claim_of(git, commit, step, keeping)
        intact = not any(record_findings(claim)) and not is_draft(claim)
        return {commit.sha, *covered_by(claim)} if intact else set()
    except (StateProblem, InputInvalid):
        return set()


def is_draft(claim: Claim) -> bool:
    """A draft of a design changes no code: there is nothing that a gate would have to judge."""
    noted = claim.step.phase is Phase.NOTE and claim.base_tree != claim.head_tree
    return noted and bool(claim.made and claim.made.draft)


def covered_by(claim: Claim) -> set[str]:
    """Commits between the last step and this one, where the gate has judged them together, or drafts taken back."""
    if claim.step.phase is Phase.NOTE and claim.made and claim.made.undoes:
        found = undoing(claim.parent.store, claim.parent.commit, claim.step.story)
        return set(found.drafts) if isinstance(found, Undoing) else set()
    last = claim.last_step if claim.covers else None
    return {commit.sha for commit in last.commits} if last and last.sound else set()


@dataclass(frozen=True)
class Verifier:
    git: Git
    gathering: Gathering
    policy: GatePolicy
    on_checked: Callable[[Checked], None]
    beside: tuple[Gathering, ...] = ()  # one for each further worker, since a runner serves one run at a time
    base: str = ""  # where the range begins: what lies before it needs no proof
    read_before: FactsCache = field(default_factory=FactsCache)  # what source files say, for the living docs
    keeping: Keeping = KEEPING

    def verify(self, base: str, head: str) -> list[Checked]:
        """Every commit of the range: steps along first parents, before each join those of its story, and all that
        another merge brought in beside them."""
        line = branch_line(self.git, base, head)
        named = {commit.sha for commit in line}
        brought = [commit for commit in self.git.log_all(f"{base}..{head}") if commit.sha not in named]
        done = [unproven(commit, "a merge brought it in; nobody has proved it") for commit in brought]
        for each in done:
            self.on_checked(each)
        held: list[Checked] = []  # told once it is known whether a later step has judged them too
        based = replace(self, base=base)
        for checked, covered in side_by_side([based.check, *based.others()], line):
            held = [each.with_step(checked) if each.commit in covered else each for each in held]
            held.append(checked)
            if checked.phase in GATED or not any(each.unproven for each in held):
                done += self.told(held)
                held = []
        return done + self.told(held)

    def others(self) -> list[Check]:
        return [replace(self, gathering=gathering).check for gathering in self.beside]

    def told(self, held: list[Checked]) -> list[Checked]:
        for each in held:
            self.on_checked(each)
        return held

    def check(self, commit: CommitInfo) -> tuple[Checked, set[str]]:
        """What is so of a commit, and which commits before it are proved together with it."""
        step = read_step(commit.trailers)
        docs = frozenset(self.gathering.living_docs)
        merges = merges_to(self.git, commit, self.base, docs) if self.base else ()
        if merges:
            return self.base_merged(merges)
        join = join_of(self.git, commit)
        if join is not None:
            return self.joined(commit, join), set()
        if step is None:
            return unproven(commit, "no step is claimed for this commit: nobody has proved it"), set()
        if len(commit.parents) != 1:
            return unproven(commit, "a step follows exactly one commit, and this one is a merge or a root"), set()
        claimed, findings, covered = "accepted", [], set[str]()
        try:
            claim = claim_of(self.git, commit, step, self.keeping)
            findings = [*self.findings(claim)]
            claimed = DRAFT if is_draft(claim) else claimed
            covered = covered_by(claim)
        except (StateProblem, InputInvalid) as problem:
            findings = [error("VER106", problem.what, problem.where)]
        name = f"{step.prd}/{step.story}/{step.n}"
        checked = Checked(commit.sha, commit.subject, name, step.phase.value, claimed, tuple(findings))
        return checked, covered if checked.proved else set()

    def base_merged(self, merges: Merges) -> tuple[Checked, set[str]]:
        """Nobody wrote anything into it; whether all works together is seen by running the tests."""
        commit = merges[-1]
        broken = broken_in(self.git, self.gathering.runner, merges)
        if lacked_time(broken):
            broken = broken_in(self.git, self.gathering.runner, merges)
        if broken:
            return unproven(commit, f"with the base merged in: {'; '.join(broken[:3])}"), set()
        return Checked(commit.sha, commit.subject, base_merge=True), {each.sha for each in merges[:-1]}

    def joined(self, commit: CommitInfo, join: Join | Apart) -> Checked:
        """Nobody wrote anything into it, and each side is proved by itself; whether they hold together is seen here."""
        try:
            wrong = what_is_wrong(self.git, commit, join)
        except (StateProblem, InputInvalid) as problem:
            wrong = problem.what
        code = "VER109"
        if not wrong and isinstance(join, Join):
            broken = broken_by_join(self.git, self.gathering.runner, join, commit.sha)
            if lacked_time(broken):
                broken = broken_by_join(self.git, self.gathering.runner, join, commit.sha)
            code = LACKED_TIME if lacked_time(broken) else code
            wrong = "; ".join(broken[:3])
        findings = (error(code, wrong),) if wrong else ()
        return Checked(commit.sha, commit.subject, findings=findings, join=True)

    def findings(self, claim: Claim) -> Iterator[Finding]:
        wrong = [*record_findings(claim)]
        yield from wrong
        if not wrong:
            yield from self.work_findings(claim)

    def work_findings(self, claim: Claim) -> Iterator[Finding]:
        if claim.step.phase in UNGATED:
            yield from self.code_findings(claim)
            evidence, verdict = Evidence(phase=claim.step.phase), Verdict(phase=claim.step.phase, accepted=True)
        else:
            evidence, verdict = self.judge_again(claim)
            if self.out_of_time(claim, evidence, verdict):
                evidence, verdict = self.judge_again(claim)  # what ended in time is known, and not run again
            if self.out_of_time(claim, evidence, verdict):
                yield error(LACKED_TIME, f"{lacking_words(evidence)}; nothing else speaks against this step")
                yield from (each for each in verdict.findings if each.severity == "warning")
                return
            yield from self.verdict_findings(claim, evidence, verdict)
        if verdict.accepted and claim.step.phase not in (Phase.PLAN, Phase.NOTE):
            yield from self.outcome_findings(claim, evidence, verdict)

    def judge_again(self, claim: Claim) -> tuple[Evidence, Verdict]:
        assert claim.story is not None, "record_findings has looked"
        assert claim.proof is not None, "record_findings has looked"
        said = claim.proof.evidence
        context = StoryContext.of(
            claim.step.prd, claim.story, claim.cycle_before, note=said.note, pre_implemented=said.pre_implemented
        )
        if claim.step.phase is Phase.RED:
            context = replace(context, held_out=self.held_out(claim, said))
        docs = NO_DOCS
        if claim.step.phase is Phase.INTEGRATED:
            docs = docs_of_claim(self.gathering, claim, self.read_before)
        evidence = gather(
            self.gathering, claim.step.phase, claim.judged_from, claim.head_tree, story=context, docs=docs
        )
        return evidence, GATES[claim.step.phase](evidence, self.policy)

    def out_of_time(self, claim: Claim, evidence: Evidence, verdict: Verdict) -> bool:
        """Whether nothing but runs that took too long keeps the step from being proved."""
        assert claim.proof is not None, "record_findings has looked"
        saved = claim.proof.evidence
        if verdict.accepted and not any(differences(saved, evidence)):
            return False
        whole = as_with_time(saved, evidence)
        return (
            whole is not None
            and whole.head_tree == claim.head_tree
            and GATES[claim.step.phase](whole, self.policy).accepted
            and not any(differences(saved, whole))
        )

    def held_out(self, claim: Claim, said: Evidence) -> HeldOut | None:
        """What RED has put aside; where nothing lies there, the evidence alone says whether it was asked for."""
        found = waiting(claim.state, claim.step.story)
        return found if found.files or said.held_out is not None else None

    def verdict_findings(self, claim: Claim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        if not verdict.accepted:
            codes = ", ".join(sorted({finding.code for finding in verdict.errors}))
            yield error("VER105", f"run again, the {claim.step.phase.value} gate refuses this commit: {codes}")
        yield from verdict.findings
        if evidence.head_tree != claim.head_tree:
            yield error("VER102", "the held-out examples of RED are not in the commit that was judged by them")
        assert claim.proof is not None, "record_findings has looked"
        for difference in differences(claim.proof.evidence, evidence):
            yield error(
                "VER107", f"the evidence says otherwise than what is seen now: {difference}", claim.evidence_path
            )

    def code_findings(self, claim: Claim) -> Iterator[Finding]:
        undoes = claim.step.phase is Phase.NOTE and claim.made and claim.made.undoes
        if decision_of(claim) or undoes:
            return  # the records have been compared with what the code was before
        if is_draft(claim):
            yield from self.draft_findings(claim)
            return
        prd = claim.state.prd if claim.step.phase is Phase.PLAN else None
        old = claim.parent.prd if prd is not None else None
        for change in self.git.diff(claim.base_tree, claim.head_tree):
            is_prd = prd is not None and change.path == prd.path and change.new_blob == prd.blob
            moved = old is not None and prd is not None and prd.path != old.path == change.path and not change.new_blob
            if not moved and not (is_prd and change.new_mode == "100644"):
                yield error("VER108", f"a {claim.step.phase.value} commit changes no code", change.path)

    def draft_findings(self, claim: Claim) -> Iterator[Finding]:
        """A draft writes where the role of its phase may write."""
        cycle = claim.state.cycle(claim.step.story)
        assert cycle is not None, "record_findings has looked"
        assert claim.story is not None, "record_findings has looked"
        policy = policy_for(DRAFTED_IN[cycle.state], claim.story.id, kind=claim.story.kind)
        for change in self.git.diff(claim.base_tree, claim.head_tree):
            refused = may_write(change.path, classify_path(change.path, self.gathering.rules), policy)
            if refused:
                yield error("VER108", f"a draft may not write this: {refused.message}", change.path)

    def outcome_findings(self, claim: Claim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        """The cycle's record must be what this step, seen now, makes of the record before it."""
        after = claim.state.cycle(claim.step.story)
        assert after is not None, "record_findings has looked"
        assert claim.story is not None, "record_findings has looked"
        entries = story_entries(self.git, claim.head_tree, claim.step.story)
        crossed = Crossed(
            step=after.steps[-1],
            verdict=verdict,
            evidence=evidence,
            story=claim.story,
            design=after.design if claim.step.phase is Phase.DESIGN else None,
            test_blobs=tuple((entry.path, entry.blob) for entry in entries),
        )
        try:
            expected = advance(claim.cycle_before, crossed)
        except IllegalCommand as refused:
            yield error("VER104", refused.what)
            return
        for name in OUTCOME_OF_RECORD:
            if getattr(expected, name) != getattr(after, name):
                what = f"`{name}` is not what this step leads to"
                yield error("VER106", what, claim.state.paths.cycle(claim.step.story))


def unproven(commit: CommitInfo, why: str) -> Checked:
    return Checked(commit.sha, commit.subject, findings=(error("VER103", why),))
