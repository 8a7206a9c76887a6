"""What the state in a tree says about PRDs, stories and lessons, for the living docs.

A record that is damaged, or of a newer version, is named and passed over: documents about all else are still true.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from prd2pr.core.codec import decode
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Coverage, Evidence, Proof, RunSummary, TestResult, Verdict
from prd2pr.core.layout import MEMORY, PRDS, STATE
from prd2pr.core.living.security_record import risks_told
from prd2pr.core.living.worked import Memories, WorkedPrd
from prd2pr.core.memory.records import KINDS, Memory
from prd2pr.core.picture_facts import Key
from prd2pr.core.records import Backlog, Cycle, Document, Phase, Prd, RunRecord
from prd2pr.errors import StateProblem
from prd2pr.flows.accounts import read_cycles
from prd2pr.flows.living_cache import FactsCache
from prd2pr.repo.git import Entry, Git
from prd2pr.repo.store import BranchState

D = TypeVar("D", bound=Document)

MOST_STORIES = 2000  # of one PRD; the records of more are not read for documents
TOLD_KINDS = ("failures", "estimates", "retrospectives", "spikes", "decisions", "patterns", "pattern_usage")
_SECURITY = re.compile(rf"{re.escape(PRDS)}/([^/]+)/pipeline/(?:([^/]+)/)?security\.json")


@dataclass
class StateReader:
    """`known`: the state of one PRD that somebody has read already."""

    git: Git
    tree: str
    cache: FactsCache
    known: BranchState | None = None
    problems: list[str] = field(default_factory=list)

    def prds(self) -> tuple[WorkedPrd, ...]:
        names = sorted({path.split("/")[2] for path in self._paths if path.startswith(f"{PRDS}/")})
        return tuple(worked for name in names if (worked := self._worked(name)) is not None)

    def memories(self, own: Sequence[Memory] = ()) -> Memories:
        wanted = {f"{MEMORY}/{kind}/": KINDS[kind] for kind in TOLD_KINDS}
        chosen = [(entry, kind) for entry in self._entries for root, kind in wanted.items() if _is_in(entry, root)]
        contents = self.git.read_blobs(entry.blob for entry, _ in chosen)
        records = (self._decoded(kind, contents[entry.blob], entry.path) for entry, kind in chosen)
        return Memories.of([*(record for record in records if record is not None), *own])

    @cached_property
    def _entries(self) -> tuple[Entry, ...]:
        return self.git.entries(self.tree, STATE)

    @cached_property
    def _paths(self) -> dict[str, str]:
        return {entry.path: entry.blob for entry in self._entries}

    def _worked(self, name: str) -> WorkedPrd | None:
        root = f"{PRDS}/{name}"
        own = self.known if self.known and self.known.store.prd_id == name else None
        prd = own.prd if own else self._read(Prd, f"{root}/prd.json")
        backlog = own.backlog if own else self._read(Backlog, f"{root}/backlog.json")
        if prd is None or backlog is None:
            return None
        begun = [story.id for story in backlog.stories if story.status not in ("backlog", "sprint")]
        cycles = self._cycles(root, begun[-MOST_STORIES:], own)
        notes = [*self._security(name)]
        return WorkedPrd(
            prd,
            backlog,
            cycles,
            self._proofs(root, cycles.values()),
            tuple(note for raw, about in notes for note in risks_told(raw, about)),
            reviewed=bool(notes),
            partial=len(begun) > MOST_STORIES,
            replayed=self._replayed(root),
        )

    def _cycles(self, root: str, stories: Sequence[str], own: BranchState | None) -> dict[str, Cycle]:
        if own:
            with suppress(StateProblem):  # which is told below, of the one that it is about
                own.know(read_cycles(own, stories))
            known = ((story, self._known_cycle(own, story)) for story in stories)
            return {story: cycle for story, cycle in known if cycle is not None}
        paths = {story: f"{root}/tdd/cycles/{story}.json" for story in stories}
        there = {story: self._paths[path] for story, path in paths.items() if path in self._paths}
        contents = self.git.read_blobs(there.values())
        found = {story: self._decoded(Cycle, contents[blob], paths[story]) for story, blob in there.items()}
        return {story: cycle for story, cycle in found.items() if cycle is not None}

    def _known_cycle(self, own: BranchState, story: str) -> Cycle | None:
        try:
            return own.cycle(story)
        except StateProblem as problem:
            self.problems.append(problem.what)
            return None

    def _proofs(self, root: str, cycles: Iterable[Cycle]) -> dict[Key, Proof]:
        wanted: dict[Key, str] = {}
        for cycle in cycles:
            for step in cycle.steps:
                path = f"{root}/tdd/evidence/{cycle.story}/{step.n}-{step.phase.value}.json"
                if step.phase in GATED and path in self._paths:
                    wanted[cycle.story, step.n] = self._paths[path]
        unknown = [blob for blob in wanted.values() if self.cache.get(f"proof:{blob}") is None]
        for blob, data in self.git.read_blobs(unknown).items():
            self.cache.put(f"proof:{blob}", thinned(data))
        found = {key: thick(self.cache.get(f"proof:{blob}") or "") for key, blob in wanted.items()}
        return {key: proof for key, proof in found.items() if proof is not None}

    def _replayed(self, root: str) -> bool:
        """Whether one of the runs had its model's words from a recording."""
        runs = {self._paths[path]: path for path in sorted(self._paths) if path.startswith(f"{root}/runs/")}
        unknown = [blob for blob in runs if self.cache.get(f"replayed:{blob}") is None]
        for blob, data in self.git.read_blobs(unknown).items():
            run = self._decoded(RunRecord, data, runs[blob])
            if run is not None:  # one that cannot be read is named each time
                self.cache.put(f"replayed:{blob}", str(int(run.replayed)))
        return any(self.cache.get(f"replayed:{blob}") == "1" for blob in runs)

    def _security(self, name: str) -> Iterator[tuple[Any, str]]:
        """Each record of the Security role, with what it is about."""
        for path in sorted(self._paths):
            found = _SECURITY.fullmatch(path)
            if found and found[1] == name:
                try:
                    yield json.loads(self.git.read(self.tree, path) or b"null"), found[2] or name
                except (ValueError, RecursionError):
                    self.problems.append(f"{path} cannot be read")

    def _read(self, kind: type[D], path: str) -> D | None:
        data = self.git.read(self.tree, path)
        return self._decoded(kind, data, path) if data is not None else None

    def _decoded(self, kind: type[D], data: bytes, path: str) -> D | None:
        try:
            return decode(kind, data, path)
        except StateProblem as problem:
            self.problems.append(problem.what)
            return None


def _is_in(entry: Entry, root: str) -> bool:
    return entry.mode == "100644" and entry.path.startswith(root) and entry.path.endswith(".json")


# --- proofs, as thin as the trace needs them --------------------------------------------------------------------------


def thinned(data: bytes) -> str:
    """One line of JSON: verdict, phase, coverage, and how the tests ended."""
    try:
        raw = json.loads(data)
        evidence, verdict = raw["evidence"], raw["verdict"]
        run = evidence.get("head_run")
        told = {
            "accepted": verdict["accepted"],
            "verdict": verdict["phase"],
            "phase": evidence["phase"],
            "coverage": [[each["criterion"], each["tests"]] for each in evidence.get("coverage") or ()],
            "story": [[each["id"], each["outcome"]] for each in run["story"]] if run else None,
            "others": [[each["id"], each["outcome"]] for each in run["others_not_passed"]] if run else None,
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "null"
    return json.dumps(told, ensure_ascii=True, separators=(",", ":"))


def thick(line: str) -> Proof | None:
    """A proof that holds what `thinned` kept, and nothing else."""
    try:
        told = json.loads(line)
        if told is None:
            return None
        run = None
        if told["story"] is not None:
            run = RunSummary.model_construct(story=_results(told["story"]), others_not_passed=_results(told["others"]))
        coverage = tuple(Coverage(criterion=name, tests=tuple(tests)) for name, tests in told["coverage"])
        evidence = Evidence.model_construct(phase=Phase(told["phase"]), coverage=coverage, head_run=run)
        verdict = Verdict(phase=Phase(told["verdict"]), accepted=told["accepted"])
        return Proof.model_construct(evidence=evidence, verdict=verdict)
    except (ValueError, KeyError, TypeError):
        return None


def _results(rows: Iterable[tuple[str, Any]]) -> tuple[TestResult, ...]:
    return tuple(TestResult.model_construct(id=name, outcome=outcome, failure=None) for name, outcome in rows)
