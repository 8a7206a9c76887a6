"""All honest cycles, and how each is run: a commit for each step, judged by that step's gate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import honest_corpus
import honest_edges
import honest_lookalikes
import honest_objects
import honest_steps
import honest_values
from honest_cycle import STORY, Files, Honest

from prd2pr.domain.evidence import Evidence, Verdict
from prd2pr.domain.paths import promote
from prd2pr.domain.records import UNTESTED_KINDS, Phase, PlannedSymbol
from prd2pr.livingdocs.render import render_tree
from prd2pr.proof.judge import judge_commits
from prd2pr.verification.gather.pipeline import StoryContext, gather
from prd2pr.verification.verdict import GATES, GatePolicy
from repositories import Repository

KINDS: Mapping[str, list[Honest]] = MappingProxyType(
    {
        "Values and errors": honest_values.CASES,
        "Objects": honest_objects.CASES,
        "Edges of the program": honest_edges.CASES,
        "Steps and layouts": honest_steps.CASES,
        "Look-alikes of cheats": honest_lookalikes.CASES,
        **honest_corpus.kinds(),
    }
)
CASES = [case for cases in KINDS.values() for case in cases]


@dataclass(frozen=True)
class Step:
    phase: Phase
    files: Files


@dataclass(frozen=True)
class Judged:
    phase: Phase
    evidence: Evidence
    verdict: Verdict


def play(case: Honest, place: Path, kept_runs: Path | None = None) -> list[Judged]:
    with Repository(place, kept_runs) as repository:
        repository.commit({"README.md": "An honest project.\n", **case.base})
        return list(_judged(case, repository))


def _steps(case: Honest) -> Iterator[Step]:
    if case.kind not in UNTESTED_KINDS and case.red:
        yield Step(Phase.RED, case.red)
    if case.green:
        yield Step(Phase.GREEN, case.green)
    if case.refactor:
        yield Step(Phase.REFACTOR, case.refactor)
    if case.integrated:
        there = {promote(path, STORY): text for path, text in case.red.items()}
        yield Step(Phase.INTEGRATED, {**dict.fromkeys(case.red), **there})
    if case.moved:
        yield Step(Phase.INTEGRATED, case.moved)


def _judged(case: Honest, repository: Repository) -> Iterator[Judged]:
    policy = GatePolicy()
    proved: tuple[str, ...] = ()
    for step in _steps(case):
        docs = _docs(repository, step.files) if case.docs and step.phase is Phase.INTEGRATED else {}
        base = repository.head
        head = repository.commit({**step.files, **docs}, f"{step.phase.value}: {case.name}")
        if case.planned is None and case.kind not in UNTESTED_KINDS:
            evidence, verdict = judge_commits(repository.gathering, policy, step.phase, base, head)
        else:
            context = _context(case, proved)
            evidence = gather(repository.gathering, step.phase, base, head, story=context)
            verdict = GATES[step.phase](evidence, policy)
        proved = evidence.story_tests if step.phase is Phase.RED else proved
        yield Judged(step.phase, evidence, verdict)


def _docs(repository: Repository, files: Files) -> Files:
    rendered = render_tree(repository.git, repository.tree_with(files), "docs")
    return {path: content.decode() for path, content in rendered.files.items()}


def _context(case: Honest, proved: tuple[str, ...]) -> StoryContext:
    symbols = tuple(PlannedSymbol(name=name) for name in case.planned or ())
    planned = symbols if case.planned is not None else None
    return StoryContext(STORY, "prd", case.kind, criteria=case.criteria, planned=planned, red_tests=proved)
