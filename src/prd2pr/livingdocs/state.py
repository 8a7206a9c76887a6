"""Read PRDs, stories and memory from the state in a tree, for the living docs.

A record that is damaged or from a newer version is reported and skipped; the rest is still rendered.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from prd2pr.domain.evidence import Coverage, Evidence, Proof, RunSummary, TestResult, Verdict
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.memory_records import MEMORY_KINDS, Memory
from prd2pr.domain.records import Backlog, Cycle, Document, Phase, Prd, RunRecord
from prd2pr.errors import StateProblem
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.livingdocs.history import DeploymentNotes, Memories, PrdHistory, SecurityNote
from prd2pr.livingdocs.readers.plain_yaml import as_list, as_mapping, as_text
from prd2pr.state.codec import decode_document, decompress
from prd2pr.state.finished_records import restore_all_records
from prd2pr.state.git import Git, TreeEntry
from prd2pr.state.layout import MEMORY, PRDS, STATE
from prd2pr.state.store import BranchState
from prd2pr.state.story_records import read_cycles, rebuild_proof
from prd2pr.views.stories.facts import StepKey

D = TypeVar("D", bound=Document)

MAX_STORIES = 2000  # per PRD; records of further stories are not read
DOCUMENTED_KINDS = ("failures", "estimates", "retrospectives", "spikes", "decisions", "patterns", "pattern_usage")
_SECURITY = re.compile(rf"{re.escape(PRDS)}/([^/]+)/pipeline/(?:([^/]+)/)?security\.json")


def read_risks(raw: Any, about: str) -> Iterator[SecurityNote]:
    """Read the risks of a Security record. `about` is its story or PRD, for risks that name no story."""
    for item in map(as_mapping, as_list(as_mapping(as_mapping(raw).get("output")).get("risks"))):
        risk = as_text(item.get("what"))
        if risk.strip():
            test = as_text(as_mapping(item.get("required_test")).get("text"))
            yield SecurityNote(as_text(item.get("story")) or about, risk, as_text(item.get("severity")), test)


@dataclass
class StateReader:
    """Reads the state of a tree. `known` is the state of one PRD that has already been read."""

    git: Git
    tree: str
    cache: FactsCache
    known: BranchState | None = None
    problems: list[str] = field(default_factory=list)
    lost: list[StateProblem] = field(default_factory=list)  # why records of complete PRDs cannot be read

    def prds(self) -> tuple[PrdHistory, ...]:
        names = sorted({path.split("/")[2] for path in self._paths if path.startswith(f"{PRDS}/")})
        return tuple(worked for name in names if (worked := self._worked(name)) is not None)

    def memories(self, own: Sequence[Memory] = ()) -> Memories:
        wanted = {f"{MEMORY}/{kind}/": MEMORY_KINDS[kind] for kind in DOCUMENTED_KINDS}
        chosen = [
            (entry, kind) for entry in self._entries for root, kind in wanted.items() if _is_record_in(entry, root)
        ]
        contents = self.git.read_blobs(entry.blob for entry, _ in chosen)
        records = (self._decoded(kind, contents[entry.blob], entry.path) for entry, kind in chosen)
        return Memories.of([*(record for record in records if record is not None), *own])

    @cached_property
    def _tree(self) -> str:
        return restore_all_records(self.git, self.tree, self.lost.append)

    @cached_property
    def _entries(self) -> tuple[TreeEntry, ...]:
        return self.git.entries(self._tree, STATE)

    @cached_property
    def _paths(self) -> dict[str, str]:
        return {entry.path: entry.blob for entry in self._entries}

    def _worked(self, name: str) -> PrdHistory | None:
        root = f"{PRDS}/{name}"
        own = self.known if self.known and self.known.store.prd_id == name else None
        prd = own.prd if own else self._read(Prd, f"{root}/prd.json")
        backlog = own.backlog if own else self._read(Backlog, f"{root}/backlog.json")
        if prd is None or backlog is None:
            return None
        started = [story.id for story in backlog.stories if story.status not in ("backlog", "sprint")]
        cycles = self._cycles(root, started[-MAX_STORIES:], own)
        notes = [*self._security(name)]
        return PrdHistory(
            prd,
            backlog,
            cycles,
            self._proofs(root, cycles.values()),
            tuple(note for raw, about in notes for note in read_risks(raw, about)),
            reviewed=bool(notes),
            partial=len(started) > MAX_STORIES,
            replayed=self._replayed(root),
            deployment=self._deployment(root),
        )

    def _cycles(self, root: str, stories: Sequence[str], own: BranchState | None) -> dict[str, Cycle]:
        if own:
            with suppress(StateProblem):  # reported below for the cycle concerned
                own.add_cycles(read_cycles(own, stories))
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

    def _proofs(self, root: str, cycles: Iterable[Cycle]) -> dict[StepKey, Proof]:
        """Return the proofs of gated steps, from the tree alone.

        After a squash, the evidence of most steps is not in the repository. The cycles contain everything that the
        documents show. Versions before 0.3 kept all evidence in the tree instead.
        """
        rebuilt: dict[StepKey, Proof] = {}
        wanted: dict[StepKey, str] = {}
        for cycle in cycles:
            for step in cycle.steps:
                if step.phase not in GATED:
                    continue
                if step.evidence_blob:
                    rebuilt[cycle.story, step.n] = rebuild_proof(cycle, step)
                elif blob := self._paths.get(f"{root}/tdd/evidence/{cycle.story}/{step.n}-{step.phase.value}.json"):
                    wanted[cycle.story, step.n] = blob
        unknown = [blob for blob in wanted.values() if self.cache.get(f"proof:{blob}") is None]
        for blob, data in self.git.read_blobs(unknown).items():
            self.cache.put(f"proof:{blob}", shrink_proof(data))
        found = {key: expand_proof(self.cache.get(f"proof:{blob}") or "") for key, blob in wanted.items()}
        return {**rebuilt, **{key: proof for key, proof in found.items() if proof is not None}}

    def _replayed(self, root: str) -> bool:
        """Return whether one of the runs replayed recorded model answers."""
        runs = {self._paths[path]: path for path in sorted(self._paths) if path.startswith(f"{root}/runs/")}
        unknown = [blob for blob in runs if self.cache.get(f"replayed:{blob}") is None]
        for blob, data in self.git.read_blobs(unknown).items():
            run = self._decoded(RunRecord, data, runs[blob])
            if run is not None:  # unreadable records are not cached, so that they are reported each time
                self.cache.put(f"replayed:{blob}", str(int(run.replayed)))
        return any(self.cache.get(f"replayed:{blob}") == "1" for blob in runs)

    def _security(self, name: str) -> Iterator[tuple[Any, str]]:
        """Yield each record of the Security role with its story or PRD."""
        for path in sorted(self._paths):
            found = _SECURITY.fullmatch(path)
            if found and found[1] == name:
                try:
                    yield json.loads(self.git.read(self._tree, path) or b"null"), found[2] or name
                except (ValueError, RecursionError):
                    self.problems.append(f"{path} cannot be read")

    def _deployment(self, root: str) -> DeploymentNotes:
        """Return the Deployment role's notes on the plan, which are empty without its record."""
        path = f"{root}/pipeline/deployment.json"
        if path not in self._paths:
            return DeploymentNotes()
        try:
            output = as_mapping(as_mapping(json.loads(self.git.read(self._tree, path) or b"null")).get("output"))
        except (ValueError, RecursionError):
            self.problems.append(f"{path} cannot be read")
            return DeploymentNotes()
        parts = (tuple(filter(None, map(as_text, as_list(output.get(name))))) for name in DeploymentNotes._fields)
        return DeploymentNotes(*parts)

    def _read(self, kind: type[D], path: str) -> D | None:
        data = self.git.read(self._tree, path)
        return self._decoded(kind, data, path) if data is not None else None

    def _decoded(self, kind: type[D], data: bytes, path: str) -> D | None:
        try:
            return decode_document(kind, data, path)
        except StateProblem as problem:
            self.problems.append(problem.what)
            return None


def _is_record_in(entry: TreeEntry, root: str) -> bool:
    return entry.mode == "100644" and entry.path.startswith(root) and entry.path.endswith(".json")


# --- proofs, reduced to what the trace needs --------------------------------------------------------------------------


def shrink_proof(data: bytes) -> str:
    """Return the verdict, phase, coverage and test outcomes of a proof as one line of JSON."""
    try:
        raw = json.loads(decompress(data, "evidence"))
        evidence, verdict = raw["evidence"], raw["verdict"]
        run = evidence.get("head_run")
        kept = {
            "accepted": verdict["accepted"],
            "verdict": verdict["phase"],
            "phase": evidence["phase"],
            "coverage": [[each["criterion"], each["tests"]] for each in evidence.get("coverage") or ()],
            "story": [[each["id"], each["outcome"]] for each in run["story"]] if run else None,
            "others": [[each["id"], each["outcome"]] for each in run["others_not_passed"]] if run else None,
        }
    except (StateProblem, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "null"
    return json.dumps(kept, ensure_ascii=True, separators=(",", ":"))


def expand_proof(line: str) -> Proof | None:
    """Return a proof that contains only what `shrink_proof` kept."""
    try:
        kept = json.loads(line)
        if kept is None:
            return None
        run = None
        if kept["story"] is not None:
            run = RunSummary.model_construct(
                story=_build_results(kept["story"]), others_not_passed=_build_results(kept["others"])
            )
        coverage = tuple(Coverage(criterion=name, tests=tuple(tests)) for name, tests in kept["coverage"])
        evidence = Evidence.model_construct(phase=Phase(kept["phase"]), coverage=coverage, head_run=run)
        verdict = Verdict(phase=Phase(kept["verdict"]), accepted=kept["accepted"])
        return Proof.model_construct(evidence=evidence, verdict=verdict)
    except (ValueError, KeyError, TypeError):
        return None


def _build_results(rows: Iterable[tuple[str, Any]]) -> tuple[TestResult, ...]:
    return tuple(TestResult.model_construct(id=name, outcome=outcome, failure=None) for name, outcome in rows)
