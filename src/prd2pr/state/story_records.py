"""Read the records of many stories at once: cycles, proofs and runs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from prd2pr.domain.evidence import Proof
from prd2pr.domain.records import Cycle, Document, RunRecord
from prd2pr.errors import StateCorrupted
from prd2pr.state.codec import decode_document
from prd2pr.state.store import BranchState

D = TypeVar("D", bound=Document)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class StoryRecords:
    cycles: Mapping[str, Cycle]
    proofs: Mapping[tuple[str, int], Proof]  # by story and number of the step


def read_full_records(state: BranchState, names: Iterable[str]) -> StoryRecords:
    """Read by blob: git needs longer to look up a path among ten thousand files than to read the file."""
    git, paths = state.store.git, state.paths
    cycles = read_cycles(state, names)
    trees = git.names(state.commit, paths.evidence_root)
    with_evidence = [name for name in cycles if name in trees]
    listed = dict(zip(with_evidence, git.list_names_in(trees[name] for name in with_evidence), strict=True))
    there = {
        paths.evidence(name, step.n, step.phase): ((name, step.n), blob)
        for name, files in listed.items()
        for step in cycles[name].steps
        if (blob := files.get(f"{step.n}-{step.phase.value}.json"))
    }
    return StoryRecords(cycles, _decode_blobs(state, Proof, there))


def read_cycles(state: BranchState, names: Iterable[str]) -> dict[str, Cycle]:
    blobs = state.store.git.names(state.commit, state.paths.cycles)
    wanted = {name: blob for name in names if (blob := blobs.get(f"{name}.json"))}
    return _decode_blobs(state, Cycle, {state.paths.cycle(name): (name, blob) for name, blob in wanted.items()})


def read_runs(state: BranchState) -> tuple[RunRecord, ...]:
    """Read all run records in the order of their start."""
    blobs = state.store.git.names(state.commit, state.paths.runs)
    names = sorted(name.removesuffix(".json") for name in blobs)
    wanted = {state.paths.run(name): (name, blobs[f"{name}.json"]) for name in names}
    return tuple(_decode_blobs(state, RunRecord, wanted).values())


def _decode_blobs(state: BranchState, kind: type[D], wanted: Mapping[str, tuple[K, str]]) -> dict[K, D]:
    """Decode records. `wanted`: path → key of the result and blob."""
    contents = state.store.git.read_blobs(blob for _, blob in wanted.values())
    found = {}
    for path, (key, blob) in wanted.items():
        try:
            found[key] = decode_document(kind, contents[blob], path)
        except StateCorrupted:
            document = state.store.read(state.commit, kind, path)  # raises an error that names the last valid version
            assert document is not None, "it is in the listing"
            found[key] = document
    return found
