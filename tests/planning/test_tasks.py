"""Pass 2: the checks on one cycle's answer."""

from __future__ import annotations

import pytest

from planning.pass_samples import functional, prd_of, task, tasks
from prd2pr.domain.records import PlannedCycle
from prd2pr.planning.passes.drafts import TasksDraft
from prd2pr.planning.passes.module_structure import find_paths_outside_structure, parse_module_structure, path_to_module
from prd2pr.planning.passes.tasks import CycleScope, build_story_draft, check_tasks, is_soft_tasks_problem

PRD = prd_of(
    functional(5) + "- **NFR-1** Nothing reads the clock.\n\n## Acceptance criteria\n\n"
    "- **AC-1** (FR-1) GIVEN a WHEN b THEN c.\n\n## Module structure\n\n- `shop.orders`: orders\n- src/shop/stock/\n"
)
FIRST = PlannedCycle(id="cycle-1", title="One", requirements=("FR-1", "FR-2"))
SECOND = PlannedCycle(id="cycle-2", title="Two", requirements=("FR-3", "FR-4", "FR-5"), depends_on=("cycle-1",))
SCOPE = CycleScope(PRD, (FIRST, SECOND), FIRST, existing_paths={"src/shop/old.py"})
LATER = CycleScope(PRD, (FIRST, SECOND), SECOND)


def codes(draft: TasksDraft, scope: CycleScope = SCOPE) -> list[str]:
    return [problem.code for problem in check_tasks(scope, draft)]


GOOD = (task("s1", "FR-1"), task("s2", "FR-2", depends_on=["s1"], files=["src/shop/orders.py"]))


def test_a_good_answer_has_no_problems() -> None:
    assert codes(tasks(*GOOD)) == []


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (task("s1", "FR-2"), "PLN102", "`s1` is used by"),
        (task("s3", "FR-2", depends_on=["s9"]), "PLN104", "`s9`"),
        (task("s3", "FR-2", depends_on=["cycle-2"]), "PLN104", "`cycle-2`"),
        (task("s3", "FR-2", depends_on=["s3"]), "PLN105", "s3 → s3"),
        (task("s3", "FR-77"), "PLN107", "`FR-77`"),
        (task("s3", "FR-2", files=["a.py", "b.py", "c.py", "d.py"]), "PLN110", "4 source files"),
        (task("s3", "FR-2", files=["../x.py"]), "PLN111", "../x.py"),
        (task("s3", "FR-2", files=["tests/test_x.py"]), "PLN112", "is a test"),
        (task("s3", "FR-2", title="x" * 101), "PLN113", "1 to 100"),
        (task("s3", "FR-2", tests=21), "PLN201", "21 tests, at most 20"),
        (task("s3", "FR-2", lines=100), "PLN201", "100 lines, fewer than 100"),
        (task("s3", "FR-2", complexity=7), "PLN201", "complexity 7, at most 6"),
        (task("s3", "FR-3"), "PLN202", "FR-3 belongs to another cycle"),
        (task("s3"), "PLN202", "names no requirement"),
        (task("s3", "FR-2", files=["src/shop/new.py"]), "PLN204", "`src/shop/new.py` has no place"),
    ],
)
def test_each_problem_is_found_and_named(more, code: str, words: str) -> None:
    found = check_tasks(SCOPE, tasks(*GOOD, more))
    assert code in [problem.code for problem in found]
    assert words in " ".join(map(str, found))
    assert {problem.code: is_soft_tasks_problem(problem) for problem in found}[code] == (
        code == "PLN110" or code > "PLN2"
    )


def test_every_requirement_of_the_cycle_is_covered_or_omitted() -> None:
    assert codes(tasks(GOOD[0])) == ["PLN203"]
    assert codes(tasks(GOOD[0], left_out=[{"requirement": "fr2", "why": "What is thing 2?"}])) == []
    assert codes(tasks(GOOD[0], left_out=[{"requirement": "FR-9", "why": "?"}])) == ["PLN107", "PLN203"]
    assert codes(tasks()) == ["PLN203", "PLN203", "PLN203"], "FR-1, FR-2 and the acceptance criterion of FR-1"


def test_earlier_cycle_may_be_a_dependency() -> None:
    three = (task("a", "FR-3", depends_on=["cycle-1"]), task("b", "FR-4"), task("c", "FR-5"))
    assert codes(tasks(*three), LATER) == []


def test_requirements_of_other_cycles_are_dropped_if_there_are_own_ones() -> None:
    draft = build_story_draft(SCOPE, tasks(task("s", "fr1", "FR-3", "NFR-1", files=["src/shop/orders.py"])).tasks[0])
    assert draft.requirements == ("FR-1", "NFR-1")
    assert draft.module == "shop.orders"


def test_story_with_too_many_criteria_is_too_large() -> None:
    body = "- **FR-1** One.\n\n## Acceptance criteria\n\n"
    prd = prd_of(body + "".join(f"- **AC-{n}** (FR-1) GIVEN {n} WHEN it is asked THEN {n}.\n" for n in range(1, 8)))
    only = PlannedCycle(id="cycle-1", title="One", requirements=("FR-1",))
    (problem,) = check_tasks(CycleScope(prd, (only,), only), tasks(task("s", "FR-1")))
    assert problem.code == "PLN201"
    assert "7 of the PRD's acceptance criteria" in problem.message
    halves = (task("s", "FR-1", *(f"AC-{n}" for n in range(1, 5))), task("t", "FR-1", "AC-5", "AC-6", "AC-7"))
    assert check_tasks(CycleScope(prd, (only,), only), tasks(*halves)) == ()


# --- the module structure ---------------------------------------------------------------------------------------------


def test_paths_in_the_module_structure() -> None:
    assert parse_module_structure(PRD) == {"shop.orders", "shop.stock"}
    allowed = [
        "src/shop/orders.py",
        "shop/orders/lines.py",
        "src/shop/stock/count.py",
        "src/shop/__init__.py",
        "README.md",
    ]
    assert find_paths_outside_structure(PRD, allowed, ()) == ()
    assert find_paths_outside_structure(PRD, ["src/shop/cart.py", "src/shop/old.py"], {"src/shop/old.py"}) == (
        "src/shop/cart.py",
    )
    assert find_paths_outside_structure(prd_of(functional(1)), ["anything.py"], ()) == (), "the PRD does not say"


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/shop/points.py", "shop.points"),
        ("shop/__init__.py", "shop"),
        ("shop.points", "shop.points"),
        ("lib/", "lib"),
    ],
)
def test_paths_and_modules(path: str, module: str) -> None:
    assert path_to_module(path) == module


def test_prose_in_the_module_section_is_ignored() -> None:
    assert (
        parse_module_structure(
            prd_of(functional(1) + "\n## Module structure\n\n- e.g. as it is today\n- None. See below\n")
        )
        == set()
    )
