"""Prove a branch again, from its commits alone.

Nothing that a commit claims is believed: digests are computed, trees are compared, tests are run, and the gates judge
what is seen now. What a step needs to know (design, criteria, ids and blobs of RED) is taken from its parent commit,
which was itself proved before. What the records say is looked at in `claims.py`, the runs and verdicts here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prd2pr.core.advance import Crossed, advance
from prd2pr.core.commit_message import StepRef, read_step
from prd2pr.core.evidence import Evidence, Finding, Verdict
from prd2pr.core.gates import GATES, GatePolicy
from prd2pr.core.paths import TDD_ROOT
from prd2pr.core.records import Phase
from prd2pr.core.sameness import differences
from prd2pr.errors import IllegalCommand, InputInvalid, StateProblem
from prd2pr.flows.claims import Claim, error, record_findings
from prd2pr.flows.gather import Gathering, StoryContext, gather
from prd2pr.repo.git import CommitInfo, Git
from prd2pr.repo.store import StateStore

UNGATED = (Phase.PLAN, Phase.DESIGN, Phase.NOTE)
OUTCOME_OF_RECORD = ("state", "tests", "test_files", "design", "pre_implemented")


@dataclass(frozen=True)
class Checked:
    """One commit: what it claims to be, and what is so."""

    commit: str
    subject: str
    step: str = ""  # loyalty/loyalty-1/2
    phase: str = ""
    claimed: str = ""  # "accepted", or nothing where no step is claimed
    findings: tuple[Finding, ...] = ()

    @property
    def proved(self) -> bool:
        return bool(self.step) and not any(finding.severity == "error" for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        return {
            "commit": self.commit,
            "step": self.step or None,
            "phase": self.phase or None,
            "claimed": self.claimed or None,
            "proved": self.proved,
            "findings": [finding.model_dump() for finding in self.findings],
        }


def claim_of(git: Git, commit: CommitInfo, step: StepRef) -> Claim:
    store = StateStore(git, step.prd)
    (before,) = commit.parents
    trees = git.code_tree(before), git.code_tree(commit.sha)
    return Claim(commit, step, store.load(before), store.load(commit.sha), *trees)


def look_over(git: Git, base: str, head: str) -> tuple[int, int]:
    """How many commits of a branch are steps whose records are as they were proved, and how many there are.

    No test is run: this sees what somebody has changed since, not whether a step was ever true.
    """
    commits = git.log_all(f"{base}..{head}")
    return sum(is_intact(git, commit) for commit in commits), len(commits)


def is_intact(git: Git, commit: CommitInfo) -> bool:
    step = read_step(commit.trailers)
    if step is None or len(commit.parents) != 1:
        return False
    try:
        return not any(record_findings(claim_of(git, commit, step)))
    except (StateProblem, InputInvalid):
        return False


@dataclass(frozen=True)
class Verifier:
    git: Git
    gathering: Gathering
    policy: GatePolicy
    on_checked: Callable[[Checked], None]

    def verify(self, base: str, head: str) -> list[Checked]:
        """Every commit of the range: steps along first parents, and all that a merge brought in beside them."""
        line = self.git.log(f"{base}..{head}")
        named = {commit.sha for commit in line}
        brought = [commit for commit in self.git.log_all(f"{base}..{head}") if commit.sha not in named]
        done = [unproven(commit, "a merge brought it in; nobody has proved it") for commit in brought]
        for each in done:
            self.on_checked(each)
        for commit in line:
            checked = self.check(commit)
            self.on_checked(checked)
            done.append(checked)
        return done

    def check(self, commit: CommitInfo) -> Checked:
        step = read_step(commit.trailers)
        if step is None:
            return unproven(commit, "no step is claimed for this commit: nobody has proved it")
        if len(commit.parents) != 1:
            return unproven(commit, "a step follows exactly one commit, and this one is a merge or a root")
        return Checked(
            commit.sha,
            commit.subject,
            f"{step.prd}/{step.story}/{step.n}",
            step.phase.value,
            "accepted",
            tuple(self.findings(commit, step)),
        )

    def findings(self, commit: CommitInfo, step: StepRef) -> Iterator[Finding]:
        try:
            claim = claim_of(self.git, commit, step)
            wrong = [*record_findings(claim)]
            yield from wrong
            if not wrong:
                yield from self.work_findings(claim)
        except (StateProblem, InputInvalid) as problem:
            yield error("VER106", problem.what, problem.where)

    def work_findings(self, claim: Claim) -> Iterator[Finding]:
        if claim.step.phase in UNGATED:
            yield from self.code_findings(claim)
            evidence, verdict = Evidence(phase=claim.step.phase), Verdict(phase=claim.step.phase, accepted=True)
        else:
            evidence, verdict = self.judge_again(claim)
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
        evidence = gather(self.gathering, claim.step.phase, claim.base_tree, claim.head_tree, story=context)
        return evidence, GATES[claim.step.phase](evidence, self.policy)

    def verdict_findings(self, claim: Claim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        if not verdict.accepted:
            codes = ", ".join(sorted({finding.code for finding in verdict.errors}))
            yield error("VER105", f"run again, the {claim.step.phase.value} gate refuses this commit: {codes}")
        yield from verdict.findings
        assert claim.proof is not None, "record_findings has looked"
        for difference in differences(claim.proof.evidence, evidence):
            yield error(
                "VER107", f"the evidence says otherwise than what is seen now: {difference}", claim.evidence_path
            )

    def code_findings(self, claim: Claim) -> Iterator[Finding]:
        prd = claim.state.prd if claim.step.phase is Phase.PLAN else None
        for change in self.git.diff(claim.base_tree, claim.head_tree):
            is_prd = prd is not None and change.path == prd.path and change.new_blob == prd.blob
            if not is_prd or change.new_mode != "100644":
                yield error("VER108", f"a {claim.step.phase.value} commit changes no code", change.path)

    def outcome_findings(self, claim: Claim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        """The cycle's record must be what this step, seen now, makes of the record before it."""
        after = claim.state.cycle(claim.step.story)
        assert after is not None, "record_findings has looked"
        assert claim.story is not None, "record_findings has looked"
        entries = self.git.entries(claim.head_tree, f"{TDD_ROOT}/{claim.step.story}")
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
