"""Read the records of many stories at once: cycles, proofs and runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from prd2pr.domain.evidence import Coverage, Evidence, Finding, Proof, RunSummary, TestResult, Verdict
from prd2pr.domain.machines.branch_records import share_field_sets
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import Cycle, Document, Phase, RunRecord, Step
from prd2pr.domain.results.mutation import MutantResult, MutationResult
from prd2pr.errors import StateCorrupted
from prd2pr.state.codec import decode_document
from prd2pr.state.store import BranchState

D = TypeVar("D", bound=Document)
K = TypeVar("K", bound=Hashable)
ProofKey = tuple[str, int]  # the story and the number of the step
BATCH_SIZE = 500  # files read per batch
MAX_STORIES_IN_MEMORY = 4  # stories whose proofs a `ProofReader` keeps


@dataclass(frozen=True)
class StoryRecords:
    cycles: Mapping[str, Cycle]
    proofs: Mapping[ProofKey, Proof]


def read_full_records(state: BranchState, names: Iterable[str]) -> StoryRecords:
    cycles = read_cycles(state, names)
    return StoryRecords(cycles, _read_proofs(state, cycles, list_proof_blobs(state, cycles)))


def list_proof_blobs(state: BranchState, cycles: Mapping[str, Cycle]) -> dict[ProofKey, str]:
    """Return the blob of each proof: the recorded one, or for branches of older versions the one in the tree."""
    git = state.store.git
    trees = git.names(state.tree, state.paths.evidence_root)
    old = [name for name in cycles if name in trees and not all(step.evidence_blob for step in cycles[name].steps)]
    listed = dict(zip(old, git.list_names_in(trees[name] for name in old), strict=True))
    return {
        (name, step.n): blob
        for name, cycle in cycles.items()
        for step in cycle.steps
        if (blob := step.evidence_blob or listed.get(name, {}).get(f"{step.n}-{step.phase.value}.json"))
    }


def _read_proofs(
    state: BranchState, cycles: Mapping[str, Cycle], blobs: Mapping[ProofKey, str]
) -> dict[ProofKey, Proof]:
    """Read proofs. Proofs that this repository lacks after a squash are rebuilt from the cycles."""
    steps = {(story, step.n): step for story in {key[0] for key in blobs} for step in cycles[story].steps}
    wanted = {state.paths.evidence(*key, steps[key].phase): (key, blob) for key, blob in blobs.items()}
    found = _decode_blobs(state, Proof, wanted, skip_missing=True)
    return {key: found.get(key) or rebuild_proof(cycles[key[0]], step) for key, step in steps.items() if key in blobs}


class ProofReader(Mapping[ProofKey, Proof]):
    """A reader for the proofs of all stories, which keeps only those of the most recently used stories in memory."""

    def __init__(self, state: BranchState, cycles: Mapping[str, Cycle]) -> None:
        self._state, self._cycles = state, cycles
        self._blobs = list_proof_blobs(state, cycles)
        self._cache: OrderedDict[str, dict[ProofKey, Proof]] = OrderedDict()

    def __getitem__(self, key: ProofKey) -> Proof:
        if key not in self._blobs:
            raise KeyError(key)
        story = key[0]
        if story not in self._cache:
            keys = ((story, step.n) for step in self._cycles[story].steps)
            own = {each: self._blobs[each] for each in keys if each in self._blobs}
            self._cache[story] = _read_proofs(self._state, self._cycles, own)
            while len(self._cache) > MAX_STORIES_IN_MEMORY:
                self._cache.popitem(last=False)
        return self._cache[story][key]

    def __contains__(self, key: object) -> bool:
        return key in self._blobs

    def __iter__(self) -> Iterator[ProofKey]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)

    def get_blob(self, key: ProofKey) -> str:
        """Return the blob of a proof, or "" if there is none."""
        return self._blobs.get(key, "")


def rebuild_proof(cycle: Cycle, step: Step) -> Proof:
    """Rebuild a step's proof from the cycle's record, without its evidence: the verdict and the names of the tests."""
    covered = tuple(Coverage(criterion=name, tests=tests) for name, tests in cycle.coverage.items())
    run = rebuild_run(cycle.tests, failed=step.phase is Phase.RED) if step.phase in GATED else None
    evidence = Evidence(
        phase=step.phase, story=cycle.story, step=step.n, coverage=covered, note=step.note, head_run=run,
        bite=rebuild_mutation(*step.mutants) if step.mutants else None,
    )  # fmt: skip
    findings = tuple(Finding(severity="warning", **each.model_dump()) for each in step.warnings)
    return Proof(evidence=evidence, verdict=Verdict(phase=step.phase, accepted=True, findings=findings))


def rebuild_mutation(killed: int, judged: int) -> MutationResult:
    """Return a result with these counts. Only the evidence contains the mutants themselves."""
    unknown = MutantResult(id="", path="", line=0, outcome="killed")
    survivor = unknown.model_copy(update={"outcome": "survived"})
    return MutationResult(mutants=(unknown,) * killed + (survivor,) * (judged - killed))


def rebuild_run(tests: Sequence[str], *, failed: bool) -> RunSummary:
    count = len(tests)
    return RunSummary(
        collected=count, passed=0 if failed else count, failed=count if failed else 0, errors=0, skipped=0, seconds=0,
        exit_status=None, sandbox="", honest=True,
        story=tuple(TestResult(id=test, outcome="failed" if failed else "passed") for test in tests),
    )  # fmt: skip


def read_cycles(state: BranchState, names: Iterable[str]) -> dict[str, Cycle]:
    blobs = state.store.git.names(state.tree, state.paths.cycles)
    wanted = {name: blob for name in names if (blob := blobs.get(f"{name}.json"))}
    found = _decode_blobs(state, Cycle, {state.paths.cycle(name): (name, blob) for name, blob in wanted.items()})
    known: dict[frozenset[str], set[str]] = {}
    for cycle in found.values():
        share_field_sets(cycle, known)
    return found


def read_runs(state: BranchState) -> tuple[RunRecord, ...]:
    """Return all run records in the order in which the runs started."""
    blobs = state.store.git.names(state.tree, state.paths.runs)
    names = sorted(name.removesuffix(".json") for name in blobs)
    wanted = {state.paths.run(name): (name, blobs[f"{name}.json"]) for name in names}
    return tuple(_decode_blobs(state, RunRecord, wanted).values())


def _decode_blobs(
    state: BranchState, kind: type[D], wanted: Mapping[str, tuple[K, str]], *, skip_missing: bool = False
) -> dict[K, D]:
    """Decode records. `wanted` maps each path to its key in the result and its blob."""
    found, listed = {}, list(wanted.items())
    for start in range(0, len(listed), BATCH_SIZE):
        batch = listed[start : start + BATCH_SIZE]
        contents = state.store.git.read_blobs((blob for _, (_, blob) in batch), skip_missing=skip_missing)
        for path, (key, blob) in batch:
            if blob not in contents:
                continue
            try:
                found[key] = decode_document(kind, contents[blob], path)
            except StateCorrupted:
                # Raises an error that names the last valid version.
                document = state.store.read(state.commit, kind, path)
                assert document is not None, "it is in the listing"
                found[key] = document
    return found
