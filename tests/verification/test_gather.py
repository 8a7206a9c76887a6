"""Evidence about two commits, with real git and real test runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prd2pr.domain.evidence import Evidence, PathKind
from prd2pr.domain.records import Criterion, Cycle, Design, Phase, PlannedSymbol, Story, TestFile
from prd2pr.errors import CannotJudge, UsageProblem
from prd2pr.verification.gather.pipeline import gather
from prd2pr.verification.story_context import StoryContext
from repositories import Files, Repository

SHOP: Files = {
    "shop/__init__.py": "",
    "shop/points.py": """
        def earn(total):
            return total // 10
        """,
    "tests/test_points.py": """
        from shop.points import earn

        def test_earn():
            assert earn(10) == 1
        """,
}
REDEEM_TEST = """
    import pytest
    from shop.redeem import redeem

    @pytest.mark.parametrize("points", [1, 2])
    def test_redeem(points):
        \"\"\"s-1.c1\"\"\"
        assert redeem(points) == points * 2
    """
REDEEM = "def redeem(points):\n    return points * 2\n"
PLACE = "tests/tdd/s-1/test_redeem.py"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with Repository(tmp_path / "project") as made:
        made.commit(SHOP)
        yield made


def story(**more: object) -> StoryContext:
    made = {"story": "s-1", "prd": "p", "criteria": ("s-1.c1", "s-1.c2"), **more}
    return StoryContext(planned=(PlannedSymbol(name="shop.redeem.redeem"),), **made)  # type: ignore[arg-type]


def red(repository: Repository, files: Files, context: StoryContext | None = None) -> Evidence:
    base = repository.head
    return gather(repository.gathering, Phase.RED, base, repository.commit(files), story=context)


def test_red_of_a_story(repository: Repository) -> None:
    evidence = red(repository, {PLACE: REDEEM_TEST}, story())
    assert [(change.path, change.status, change.kind) for change in evidence.changes] == [
        (PLACE, "added", PathKind.TEST)
    ]
    assert evidence.story_tests == evidence.declared == (f"{PLACE}::test_redeem",)
    assert evidence.coverage is not None
    assert {each.criterion: each.tests for each in evidence.coverage} == {
        "s-1.c1": (f"{PLACE}::test_redeem",),
        "s-1.c2": (),
    }
    assert evidence.comparison is not None
    assert (evidence.comparison.regressed, evidence.comparison.vanished) == ((), ())
    assert evidence.comparison.appeared == (f"{PLACE}::test_redeem",)
    assert evidence.head_run is not None
    assert evidence.repeat_run is not None
    (seen,), (again,) = evidence.head_run.story, evidence.repeat_run.story
    assert seen.failure is not None
    assert again.failure is not None
    assert seen.failure.signature == again.failure.signature == "collect:missing_symbol:ModuleNotFoundError:shop.redeem"
    assert (evidence.head_run.honest, evidence.head_run.passed, evidence.head_run.errors) == (True, 1, 1)
    assert evidence.project_modules == ("shop",)
    assert "shop.points" in evidence.project_names
    assert (evidence.prd, evidence.story) == ("p", "s-1")


@pytest.mark.slow
def test_red_of_a_person_edits_and_adds(repository: Repository) -> None:
    evidence = red(
        repository,
        {
            "tests/test_points.py": """
                from shop.points import earn

                def test_earn():
                    assert earn(20) == 3

                def test_more():
                    assert earn(5) == 1
                """
        },
    )
    assert evidence.story_tests == ("tests/test_points.py::test_earn", "tests/test_points.py::test_more")
    assert evidence.coverage is None
    assert evidence.planned is None


@pytest.mark.slow
def test_docstring_change_is_not_a_new_test(repository: Repository) -> None:
    text = "from shop.points import earn\n\ndef test_earn():\n    '''Ten.'''\n    assert earn(10) == 1\n"
    assert red(repository, {"tests/test_points.py": text}).story_tests == ()


@pytest.mark.slow
def test_existing_tests_broken_by_a_planned_import_are_carried(repository: Repository) -> None:
    """They are no regression, but GREEN has to make them pass again."""
    evidence = red(
        repository,
        {
            "tests/test_points.py": """
                from shop.points import earn, spend

                def test_earn():
                    assert earn(10) == 1

                def test_spend():
                    assert spend(1) == 10
                """
        },
    )
    assert evidence.story_tests == ("tests/test_points.py::test_earn", "tests/test_points.py::test_spend")
    assert evidence.comparison is not None
    assert evidence.comparison.regressed == ()
    assert "shop.points.earn" in evidence.project_names


@pytest.mark.slow
def test_existing_test_that_fails_otherwise_is_a_regression(repository: Repository) -> None:
    evidence = red(repository, {"tests/conftest.py": "raise RuntimeError\n", PLACE: "def test_a(): assert 0\n"})
    assert evidence.comparison is not None
    lost = (*evidence.comparison.regressed, *evidence.comparison.vanished)
    assert lost == ("tests/test_points.py::test_earn",)


def test_green_restores_locked_files_and_reports_changes(repository: Repository) -> None:
    red(repository, {PLACE: REDEEM_TEST})
    base = repository.head
    weak = REDEEM_TEST.replace("== points * 2", ">= 0")
    head = repository.commit({"shop/redeem.py": "def redeem(points):\n    return 0\n", PLACE: weak, "notes.txt": ""})
    evidence = gather(repository.gathering, Phase.GREEN, base, head, story=story(red_tests=(f"{PLACE}::test_redeem",)))
    (locked,) = evidence.locked
    assert locked.path == PLACE
    assert locked.actual != locked.expected
    assert locked.detail == "line 8 `== points * 2` became `>= 0`"
    assert evidence.story_tests == (f"{PLACE}::test_redeem[1]", f"{PLACE}::test_redeem[2]")
    assert evidence.head_run is not None
    assert [result.outcome for result in evidence.head_run.story] == ["failed", "failed"]


@pytest.mark.slow
def test_deleted_locked_file_is_restored(repository: Repository) -> None:
    base = repository.head
    evidence = gather(repository.gathering, Phase.GREEN, base, repository.commit({"tests/test_points.py": None}))
    assert [(file.path, file.actual) for file in evidence.locked] == [("tests/test_points.py", "")]
    assert evidence.head_run is not None
    assert evidence.head_run.passed == 1


@pytest.mark.slow
def test_human_green_covers_the_tests_failing_in_the_previous_commit(repository: Repository) -> None:
    repository.commit({"tests/test_old.py": "def test_old():\n    assert 1 == 2\n"})
    base = repository.commit({PLACE: REDEEM_TEST})
    head = repository.commit({"shop/redeem.py": REDEEM})
    evidence = gather(repository.gathering, Phase.GREEN, base, head)
    assert evidence.story_tests == (f"{PLACE}::test_redeem[1]", f"{PLACE}::test_redeem[2]")
    assert evidence.head_run is not None
    assert {result.outcome for result in evidence.head_run.story} == {"passed"}
    assert [result.id for result in evidence.head_run.others_not_passed] == ["tests/test_old.py::test_old"]
    assert evidence.comparison is not None
    assert evidence.comparison.vanished == ()
    unrelated = repository.commit({"README.md": "x"})
    later = gather(repository.gathering, Phase.GREEN, unrelated, repository.commit({"shop/new.py": "A = 1\n"}))
    assert later.story_tests == ("tests/test_old.py::test_old",)


@pytest.mark.slow
def test_refactor_measures_and_lists_signatures(repository: Repository) -> None:
    base = repository.head
    head = repository.commit({"shop/points.py": "def earn(total, rate=10):\n    return total // rate\n"})
    evidence = gather(repository.gathering, Phase.REFACTOR, base, head)
    assert [each.text for each in evidence.signatures_before] == ["(total)"]
    assert [each.text for each in evidence.signatures_after] == ["(total, rate=10)"]
    assert {"before", "after", "comment_only"} <= set(evidence.improvement)


def test_integrated_follows_the_moved_files(repository: Repository) -> None:
    base = repository.commit({PLACE: REDEEM_TEST, "tests/tdd/s-1/__init__.py": "", "shop/redeem.py": REDEEM})
    new = "tests/unit/s-1/test_redeem.py"
    head = repository.commit(
        {PLACE: None, "tests/tdd/s-1/__init__.py": None, new: REDEEM_TEST, "tests/unit/s-1/__init__.py": ""}
    )
    context = story(red_tests=(f"{PLACE}::test_redeem",))
    for known in (context, None):
        evidence = gather(repository.gathering, Phase.INTEGRATED, base, head, story=known)
        assert evidence.story_tests == (f"{new}::test_redeem[1]", f"{new}::test_redeem[2]")
        assert evidence.comparison is not None
        assert (evidence.comparison.vanished, evidence.comparison.appeared) == ((), ())
        assert all(file.actual == file.expected for file in evidence.locked)


def test_context_from_records() -> None:
    context = StoryContext.from_cycle(
        "p",
        Story(id="p-1", epic="e", title="t", kind="docs", criteria=(Criterion(id="p-1.c1", text="x"),)),
        Cycle(
            story="p-1",
            design=Design(summary="", symbols=(PlannedSymbol(name="a.b"),)),
            tests=("t::a",),
            test_files=(TestFile(path="t", blob="b"),),
        ),
    )
    assert (context.criteria, context.red_tests, dict(context.locked)) == (("p-1.c1",), ("t::a",), {"t": "b"})
    assert context.planned == (PlannedSymbol(name="a.b"),)
    assert context.note == "kind docs: no tests asked for"


@pytest.mark.slow
def test_state_files_count_as_changes_only_on_request(repository: Repository) -> None:
    base = repository.head
    head = repository.commit({".orch-state/prds/p/status.json": "{}"})
    assert gather(repository.gathering, Phase.GREEN, base, head).changes == ()
    (change,) = gather(repository.gathering, Phase.GREEN, base, head, with_state=True).changes
    assert (change.path, change.kind) == (".orch-state/prds/p/status.json", PathKind.STATE)


@pytest.mark.slow
def test_a_base_that_cannot_be_tested_allows_no_verdict(repository: Repository) -> None:
    repository.commit({"pytest.ini": "[pytest]\naddopts = --no-such-option\n"})
    with pytest.raises(CannotJudge, match="no-such-option"):
        red(repository, {PLACE: REDEEM_TEST})


def test_a_phase_without_a_gate(repository: Repository) -> None:
    with pytest.raises(UsageProblem):
        gather(repository.gathering, Phase.DESIGN, repository.head, repository.head)
