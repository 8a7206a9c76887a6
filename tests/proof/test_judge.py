"""`prd2pr gate` as a function: commits by people, commits by the bot, and the result as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prd2pr.domain.records import (
    Backlog,
    Criterion,
    Cycle,
    CycleState,
    Design,
    Epic,
    Phase,
    PlannedSymbol,
    Prd,
    Project,
    Status,
    Story,
)
from prd2pr.errors import UnknownRevision, UsageProblem
from prd2pr.proof.judge import build_gate_report, judge_commits
from prd2pr.state.codec import encode_document
from prd2pr.state.layout import PROJECT, PrdLayout
from prd2pr.verification.verdict import GatePolicy
from repositories import Files, Repository

SHOP: Files = {
    "shop/__init__.py": "",
    "shop/points.py": "def earn(total):\n    return total // 10\n",
    "tests/test_points.py": "from shop.points import earn\n\n\ndef test_earn():\n    assert earn(10) == 1\n",
}
REDEEM = "tests/tdd/loyalty-1/test_redeem.py"
RED: Files = {
    REDEEM: """
        from shop.points import redeem

        def test_redeem_c1():
            assert redeem(3) == 30
        """
}
TRAILERS = "\n\nTdd-Step: loyalty/loyalty-1/2\nTdd-Phase: red\nTdd-Evidence: sha256:" + "0" * 64 + "\n"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with Repository(tmp_path / "project") as made:
        made.commit(SHOP)
        yield made


def state(*, planned: str = "shop.points.redeem") -> Files:
    """The state of a branch on which a story has been designed."""
    paths = PrdLayout("loyalty")
    story = Story(
        id="loyalty-1",
        epic="e1",
        title="Redeem",
        criteria=(Criterion(id="loyalty-1.c1", text="ten for one"),),
        requirements=("FR-1",),
    )
    design = Design(summary="", symbols=(PlannedSymbol(name=planned),))
    documents = {
        PROJECT: Project(),
        paths.prd: Prd(id="loyalty", title="Loyalty", path="prds/loyalty.md"),
        paths.status: Status(),
        paths.backlog: Backlog(epics=(Epic(id="e1", title="E"),), stories=(story,)),
        paths.cycle("loyalty-1"): Cycle(story="loyalty-1", state=CycleState.TEST_RED, design=design),
    }
    return {path: encode_document(document).decode() for path, document in documents.items()}


def codes(
    repository: Repository, phase: Phase, files: Files, *, story: str | None = None, message: str = "x"
) -> set[str]:
    base, head = repository.head, repository.commit(files, message)
    _, verdict = judge_commits(repository.gathering, GatePolicy(), phase, base, head, story)
    return {finding.code for finding in verdict.errors}


def test_a_persons_red_and_green(repository: Repository) -> None:
    assert codes(repository, Phase.RED, RED) == set()
    green = "def earn(total):\n    return total // 10\n\n\ndef redeem(points):\n    return points * 10\n"
    assert codes(repository, Phase.GREEN, {"shop/points.py": green}) == set()


@pytest.mark.slow
def test_story_provides_its_design_and_criteria(repository: Repository) -> None:
    repository.commit(state(planned="shop.points.something_else"))
    assert codes(repository, Phase.RED, RED, story="loyalty-1") == {"RED302"}
    repository.commit({REDEEM: None, **state()})
    assert codes(repository, Phase.RED, {REDEEM: str(RED[REDEEM]).replace("_c1", "")}, story="loyalty-1") == {"RED210"}
    repository.commit({REDEEM: None})
    assert codes(repository, Phase.RED, RED, story="loyalty-1") == set()


@pytest.mark.slow
def test_state_files_are_out_of_scope_in_human_commits_only(repository: Repository) -> None:
    repository.commit(state())
    touched = {".orch-state/prds/loyalty/status.json": str(state()[".orch-state/prds/loyalty/status.json"]) + "\n"}
    assert "RED103" in codes(repository, Phase.RED, {**RED, **touched})
    repository.commit({REDEEM: None, **state()})
    assert codes(repository, Phase.RED, {**RED, **touched}, story="loyalty-1", message=f"red: x{TRAILERS}") == set()


EARN = "Changed-Test: tests/test_points.py::test_earn"


@pytest.mark.parametrize(
    ("edit", "trailer", "found"),
    [
        ("earn(10) == 2", "", {"RED511"}),
        ("earn(10) == 2", f"{EARN} FR-1", set()),
        ("earn(10) == 2", f"{EARN} FR-9", {"RED511"}),
        ("earn(10) > 1", f"{EARN} FR-1", {"RED510"}),
    ],
)
def test_story_changes_existing_tests_only_as_trailers_declare(
    repository: Repository, edit: str, trailer: str, found: set[str]
) -> None:
    repository.commit(state())
    edited = {"tests/test_points.py": str(SHOP["tests/test_points.py"]).replace("earn(10) == 1", edit)}
    message = f"Earn more\n\n{trailer}\n"
    seen = codes(repository, Phase.RED, {**RED, **edited}, story="loyalty-1", message=message)
    assert seen & {"RED510", "RED511"} == found
    assert found or not seen


def test_existing_test_is_changed_outside_of_a_plan(repository: Repository) -> None:
    """It must fail, like every test of RED; if the commit declares it, it must be as strict as before."""
    edited = {"tests/test_points.py": str(SHOP["tests/test_points.py"]).replace("earn(10) == 1", "earn(10) == 2")}
    assert codes(repository, Phase.RED, {**RED, **edited}) == set()
    repository.commit(SHOP | {REDEEM: None})
    weak = {"tests/test_points.py": edited["tests/test_points.py"].replace("== 2", "> 1")}
    assert "RED510" in codes(repository, Phase.RED, {**RED, **weak}, message=f"Earn more\n\n{EARN} FR-1\n")


def test_unknown_story_is_a_usage_error(repository: Repository) -> None:
    repository.commit(state())
    with pytest.raises(UsageProblem) as other:
        codes(repository, Phase.RED, {}, story="loyalty-9")
    assert "loyalty-1" in other.value.remedy


@pytest.mark.slow
def test_without_any_plan_a_story_is_only_a_name(repository: Repository) -> None:
    assert codes(repository, Phase.RED, RED, story="loyalty-9") == set()


def test_an_unknown_revision_is_named(repository: Repository) -> None:
    with pytest.raises(UnknownRevision):
        judge_commits(repository.gathering, GatePolicy(), Phase.RED, "nowhere", repository.head)


@pytest.mark.slow
def test_result_as_json(repository: Repository) -> None:
    base, head = repository.head, repository.commit({**RED, "shop/extra.py": "A = 1\n"})
    told = build_gate_report(*judge_commits(repository.gathering, GatePolicy(), Phase.RED, base, head))
    assert set(told) == {"verdict", "phase", "findings", "run"}
    assert (told["verdict"], told["phase"]) == ("refused", "red")
    scope = next(each for each in told["findings"] if each["code"] == "RED101")
    assert set(scope) == {"code", "severity", "message", "path", "test"}
    assert scope["path"] == "shop/extra.py"
    assert set(told["run"]) == {"collected", "passed", "failed", "errors", "skipped", "seconds", "sandbox", "honest"}
    assert (told["run"]["collected"], told["run"]["passed"], told["run"]["errors"]) == (2, 1, 1)
