"""Prove a branch again, from its commits alone.

Nothing that a commit claims is believed: digests are computed, trees are compared, tests are run, and the gates judge
what is seen now. What a step needs to know (design, criteria, ids and blobs of RED) is taken from its parent commit,
which was itself proved before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prd2pr.core.advance import Crossed, advance
from prd2pr.core.codec import decode
from prd2pr.core.commit_message import StepRef, digest, read_step
from prd2pr.core.decide import next_phase
from prd2pr.core.evidence import Evidence, Finding, Proof, Verdict
from prd2pr.core.gates import GATES, GatePolicy
from prd2pr.core.layout import ATTRIBUTES, LOGS, PROJECT, STATE
from prd2pr.core.paths import TDD_ROOT
from prd2pr.core.records import Backlog, Cycle, Phase, Story
from prd2pr.errors import IllegalCommand, StateProblem
from prd2pr.flows.gather import Gathering, StoryContext, gather
from prd2pr.flows.planning import PLAN_STORY
from prd2pr.repo.git import CommitInfo, Git
from prd2pr.repo.store import BranchState, StateStore

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


@dataclass(frozen=True)
class Claim:
    """A commit that says it is a step, with its parent's state and its own."""

    commit: CommitInfo
    step: StepRef
    parent: BranchState
    state: BranchState
    base_tree: str
    head_tree: str

    @property
    def story(self) -> Story | None:
        return next((story for story in self.parent.backlog.stories if story.id == self.step.story), None)

    @property
    def cycle_before(self) -> Cycle:
        return self.parent.cycle(self.step.story) or Cycle(story=self.step.story)


def error(code: str, message: str, path: str = "") -> Finding:
    return Finding(code=code, severity="error", message=message, path=path)


@dataclass(frozen=True)
class Verifier:
    git: Git
    gathering: Gathering
    policy: GatePolicy
    on_checked: Callable[[Checked], None]

    def verify(self, base: str, head: str) -> list[Checked]:
        done = []
        before = base
        for commit in self.git.log(f"{base}..{head}"):
            checked = self.check(before, commit)
            self.on_checked(checked)
            done.append(checked)
            before = commit.sha
        return done

    def check(self, before: str, commit: CommitInfo) -> Checked:
        step = read_step(commit.trailers)
        if step is None:
            finding = error("VER103", "no step is claimed for this commit: nobody has proved it")
            return Checked(commit.sha, commit.subject, findings=(finding,))
        store = StateStore(self.git, step.prd)
        claim = Claim(
            commit,
            step,
            store.load(before),
            store.load(commit.sha),
            self.git.code_tree(before),
            self.git.code_tree(commit.sha),
        )
        return Checked(
            commit.sha,
            commit.subject,
            f"{step.prd}/{step.story}/{step.n}",
            step.phase.value,
            "accepted",
            tuple(self.findings(claim)),
        )

    def findings(self, claim: Claim) -> Iterator[Finding]:
        try:
            wrong = [*self.record_findings(claim)]
            yield from wrong
            if not wrong:
                yield from self.work_findings(claim)
        except StateProblem as problem:
            yield error("VER106", problem.what, problem.where)

    # --- what is written ----------------------------------------------------------------------------------------------

    def record_findings(self, claim: Claim) -> Iterator[Finding]:
        """Evidence file, digests, trees, the order of steps, and what the commit changed of the state."""
        step = claim.step
        path = claim.state.paths.evidence(step.story, step.n, step.phase)
        data = claim.state.bytes_at(path)
        if data is None:
            yield error("VER101", "the evidence file that the commit names is not there", path)
            return
        if digest(data) != step.evidence:
            yield error("VER101", f"this is not the evidence that the commit names: its digest is {digest(data)}", path)
            return
        proof = decode(Proof, data, path)
        yield from evidence_findings(claim, proof)
        yield from order_findings(claim)
        yield from self.state_findings(claim)

    def state_findings(self, claim: Claim) -> Iterator[Finding]:
        """A step writes its own records and nothing else of the state."""
        paths = claim.state.paths
        own = {paths.evidence(claim.step.story, claim.step.n, claim.step.phase), paths.cycle(claim.step.story)}
        own |= {paths.status, paths.backlog, paths.progress, ATTRIBUTES}
        if claim.step.phase is Phase.PLAN:
            own |= {paths.prd, PROJECT}
        roots = (f"{paths.root}/runs/", f"{LOGS}/", f"{paths.root}/sprints/")
        old, new = self.git.tree(claim.parent.commit), self.git.tree(claim.commit.sha)
        for change in self.git.diff(old, new):
            path = change.path
            if path.startswith(f"{STATE}/") and path not in own and not path.startswith(roots):
                yield error("VER106", "this step has no business with this file of the state", path)
        if claim.step.phase is not Phase.PLAN and plan_of(claim.parent.backlog) != plan_of(claim.state.backlog):
            yield error("VER106", "the plan was changed together with a phase", paths.backlog)

    # --- what was done ------------------------------------------------------------------------------------------------

    def work_findings(self, claim: Claim) -> Iterator[Finding]:
        if claim.step.phase in UNGATED:
            yield from self.code_findings(claim)
            verdict, evidence = Verdict(phase=claim.step.phase, accepted=True), Evidence(phase=claim.step.phase)
        else:
            assert claim.story is not None, "order_findings has looked"
            said = claimed_evidence(claim)
            context = StoryContext.of(
                claim.step.prd,
                claim.story,
                claim.cycle_before,
                note=said.note if said else "",
                pre_implemented=bool(said and said.pre_implemented),
            )
            evidence = gather(self.gathering, claim.step.phase, claim.base_tree, claim.head_tree, story=context)
            verdict = GATES[claim.step.phase](evidence, self.policy)
            if not verdict.accepted:
                codes = ", ".join(sorted({finding.code for finding in verdict.errors}))
                yield error("VER105", f"run again, the {claim.step.phase.value} gate refuses this commit: {codes}")
            yield from verdict.findings
        if verdict.accepted and claim.step.phase not in (Phase.PLAN, Phase.NOTE):
            yield from self.outcome_findings(claim, evidence, verdict)

    def code_findings(self, claim: Claim) -> Iterator[Finding]:
        allowed = {claim.state.prd.path} if claim.step.phase is Phase.PLAN and claim.state.prd else set()
        for change in self.git.diff(claim.base_tree, claim.head_tree):
            if change.path not in allowed:
                yield error("VER108", f"a {claim.step.phase.value} commit changes no code", change.path)

    def outcome_findings(self, claim: Claim, evidence: Evidence, verdict: Verdict) -> Iterator[Finding]:
        """The cycle's record must be what this step, seen now, makes of the record before it."""
        after = claim.state.cycle(claim.step.story)
        assert after is not None, "order_findings has looked"
        assert claim.story is not None, "order_findings has looked"
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
                yield error(
                    "VER106", f"`{name}` is not what this step leads to", claim.state.paths.cycle(claim.step.story)
                )


def evidence_findings(claim: Claim, proof: Proof) -> Iterator[Finding]:
    evidence, step = proof.evidence, claim.step
    if (evidence.prd, evidence.story, evidence.step, evidence.phase) != (step.prd, step.story, step.n, step.phase):
        yield error("VER104", "the evidence is about another step than the commit names")
    if evidence.head_tree != claim.head_tree:
        yield error("VER102", "the code of this commit is not the code that the evidence is about")
    if evidence.base_tree != claim.base_tree:
        yield error("VER104", "the commit before this one is not the one that the evidence starts from")
    if not proof.verdict.accepted or proof.verdict.phase is not step.phase:
        yield error("VER107", "the recorded verdict does not accept this phase")


def order_findings(claim: Claim) -> Iterator[Finding]:
    """Steps of a story follow each other without a gap, and each phase comes when it may."""
    step, before = claim.step, claim.cycle_before
    if step.phase is Phase.PLAN:
        if claim.parent.planned or (step.story, step.n) != (PLAN_STORY, 1):
            yield error("VER104", "there is a plan already")
        return
    if claim.story is None:
        yield error("VER104", f"the plan before this commit has no story {step.story}")
        return
    after = claim.state.cycle(step.story)
    if after is None or step.n != len(before.steps) + 1 or after.steps[:-1] != before.steps:
        yield error("VER104", f"step {step.n} does not follow step {len(before.steps)} of {step.story}")
        return
    last = after.steps[-1]
    if (last.n, last.phase, last.evidence, last.code_tree) != (step.n, step.phase, step.evidence, claim.head_tree):
        yield error("VER106", "the cycle's record does not name this step", claim.state.paths.cycle(step.story))
    expected = next_phase(claim.story, before if before.steps else None)
    may_follow = {expected, Phase.INTEGRATED} if expected is Phase.REFACTOR else {expected}
    said = claimed_evidence(claim)
    if expected is Phase.RED and said and said.pre_implemented:
        may_follow = {Phase.GREEN}  # openly without RED: the gate asks for new tests that pass and no other change
    if step.phase is not Phase.NOTE and step.phase not in may_follow:
        yield error("VER104", f"{step.phase.value} cannot come now")


def plan_of(backlog: Backlog) -> Backlog:
    """What a plan says, without how far it got."""
    return backlog.model_copy(
        update={"stories": tuple(story.model_copy(update={"status": "backlog"}) for story in backlog.stories)}
    )


def claimed_evidence(claim: Claim) -> Evidence | None:
    proof = claim.state.proof(claim.step.story, claim.step.n, claim.step.phase)
    return proof.evidence if proof else None
