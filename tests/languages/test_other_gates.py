"""Cheats and honest cycles of other languages through the gates: a sample here, all with `make gate-bench`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from languages.corpus import DIALECTS, OtherCheat, OtherCycle, cheats, cycles
from languages.corpus_judge import OtherStage, missing
from prd2pr.domain.records import Phase
from prd2pr.proof.judge import judge_commits
from prd2pr.state.git import BlobRef
from prd2pr.verification.verdict import GatePolicy

# `make test` runs one in this many cheats and cycles; 0: none.
EVERY = {"node:test": (0, 0), "vitest": (0, 0), "jest": (0, 0), "go test": (80, 20), "cargo test": (80, 24)}
Staged = Callable[[str], OtherStage]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Staged:
    stages: dict[str, OtherStage] = {}

    def stage(runner: str) -> OtherStage:
        if runner not in stages:
            if why := missing(runner):
                pytest.skip(f"NOT TESTED with {runner}: {why}")
            stages[runner] = OtherStage(runner, tmp_path_factory.mktemp("stage"))
        return stages[runner]

    return stage


def sampled(cases: list, of: int) -> list:
    found = []
    for runner in DIALECTS:
        own = [case for case in cases if case.runner == runner]
        every = EVERY[runner][of]
        for number, case in enumerate(own):
            marks = () if every and number % every == 0 else (pytest.mark.slow,)
            found.append(pytest.param(case, id=case.id.replace(" ", "-"), marks=marks))
    return found


@pytest.mark.parametrize("cheat", sampled(list(cheats()), 0))
def test_a_cheat_is_refused(cheat: OtherCheat, staged: Staged) -> None:
    _, verdict = staged(cheat.runner).judge(cheat)
    told = [f"{each.code} {each.path}:{each.line} {each.message}" for each in verdict.findings]
    assert not verdict.accepted, told
    assert set(cheat.codes) <= {each.code for each in verdict.errors}, told


@pytest.mark.parametrize("cycle", sampled(list(cycles()), 1))
def test_an_honest_cycle_is_accepted(cycle: OtherCycle, staged: Staged) -> None:
    for phase, _, verdict in staged(cycle.runner).play(cycle):
        told = [f"{each.code} {each.path}:{each.line} {each.message}" for each in verdict.errors]
        assert verdict.accepted, [phase.value, *told]


def test_corpus_is_large_enough() -> None:
    ids = [case.id for case in (*cheats(), *cycles())]
    assert len(set(ids)) == len(ids), "the bench plays what it knows by its name once"
    for runner in DIALECTS:
        assert sum(cheat.runner == runner for cheat in cheats()) >= 12
        assert sum(cycle.runner == runner for cycle in cycles()) >= 8


def test_a_link_as_test_file_is_refused(staged: Staged) -> None:
    stage = staged("node:test")
    base = stage.commits["shop"]
    link = BlobRef(stage.git.write_blob(b"../src/index.js"), "120000")
    tree = stage.git.edit_tree(stage.git.tree(base), {"test/more.test.js": link})
    head = stage.git.commit(tree, [base], "A link")
    _, verdict = judge_commits(stage.gathering, GatePolicy(), Phase.RED, base, head)
    assert ("RED106", "test/more.test.js") in {(each.code, each.path) for each in verdict.errors}


def test_verdict_names_missing_checks(staged: Staged, tmp_path: Path) -> None:
    cheat = next(each for each in cheats() if each.name == "not-built")
    evidence, verdict = staged(cheat.runner).judge(cheat)
    assert evidence.stack is not None
    assert "other circumstances" in evidence.stack.not_checked
    (told,) = [each for each in verdict.findings if each.code == "RUN109"]
    assert told.severity == "warning"
    assert "other circumstances" in told.message
