"""Pass 1: how requirements are grouped into cycles, and how the code normalises the groups."""

from __future__ import annotations

import pytest

from planning.pass_samples import cycle, cycles, functional, prd_of
from prd2pr.domain.records import PlannedCycle
from prd2pr.planning.passes.cycles import (
    REST_CYCLE,
    build_cycles,
    check_cycles,
    derive_cycles,
    map_requirements_to_cycles,
    merge_cycles,
)

LISTED = """
## Implementation plan

- Cycle 1: Accounts (FR-1, FR-2)
- Cycle 2: Orders (FR-3), depends on cycle 1
"""


def test_listed_cycles_are_taken_from_the_prd() -> None:
    given = derive_cycles(prd_of(functional(3) + LISTED))
    assert given is not None
    assert [(c.id, c.title, c.requirements, c.depends_on) for c in given.cycles] == [
        ("cycle-1", "Accounts", ("FR-1", "FR-2"), ()),
        ("cycle-2", "Orders", ("FR-3",), ("cycle-1",)),
    ]
    assert given.assumptions == ()


def test_requirements_missing_from_listed_cycles_are_planned_last_and_reported() -> None:
    given = derive_cycles(prd_of(functional(4) + LISTED))
    assert given is not None
    assert (given.cycles[-1].id, given.cycles[-1].requirements) == (REST_CYCLE, ("FR-4",))
    assert given.assumptions == ("FR-4: in no cycle of the plan, so planned last, as a separate cycle.",)


def test_small_prd_is_one_cycle_and_a_larger_one_is_grouped() -> None:
    small = derive_cycles(prd_of(functional(6)))
    assert small is not None
    assert [len(c.requirements) for c in small.cycles] == [6]
    assert derive_cycles(prd_of(functional(7))) is None


def test_group_ids_are_generated_and_each_requirement_is_in_one_group() -> None:
    prd = prd_of(functional(7))
    draft = cycles(
        cycle("b", "FR-3", "fr-1", depends_on=["a"]), cycle("a", "FR1", "FR-2"), cycle("e", depends_on=["a"]),
        cycle("c", "FR-4", "FR-5", "FR-6", "FR-7", depends_on=["e"]),
    )  # fmt: skip
    made = build_cycles(prd, draft)
    assert [(c.id, c.requirements, c.depends_on) for c in made.cycles] == [
        ("cycle-2", ("FR-2",), ()),
        ("cycle-1", ("FR-3", "FR-1"), ("cycle-2",)),
        ("cycle-4", ("FR-4", "FR-5", "FR-6", "FR-7"), ("cycle-2",)),
    ], "in working order, the empty one gone, and who waited for it waits for what it waited for"


def test_parts_and_criteria_stay_in_the_cycle_of_their_requirement() -> None:
    prd = prd_of(
        "- **FR-1** Sign up.\n  - FR-1.1 By e-mail.\n- **FR-2** Sign in.\n- **NFR-1** Fast.\n- **NFR-2** Safe.\n\n"
        "## Acceptance criteria\n\n- **AC-1** (FR-1.1) GIVEN a WHEN b THEN c.\n"
        "- **AC-2** (NFR-2) GIVEN a WHEN d THEN e.\n"
    )
    found = map_requirements_to_cycles(prd, (PlannedCycle(id="x", title="x", requirements=("FR-1",)),))
    assert found == {
        "FR-1": ("x",), "FR-1.1": ("x",), "FR-2": (), "NFR-1": (), "NFR-2": (), "AC-1": ("x",), "AC-2": (),
    }  # fmt: skip
    given = derive_cycles(prd)
    assert given is not None
    assert given.cycles[0].requirements == ("FR-1", "FR-1.1", "FR-2", "NFR-2"), "a limit that can be tested is built"


def test_requirement_whose_parts_are_all_placed_needs_no_cycle() -> None:
    prd = prd_of("- **FR-1** Sign up.\n  - FR-1.1 By e-mail.\n  - FR-1.2 By phone.\n" + functional(9)[32:])
    made = build_cycles(prd, cycles(cycle("a", "FR-1.1"), cycle("b", "FR-1.2", *(f"FR-{n}" for n in range(2, 10)))))
    assert [c.id for c in made.cycles] == ["cycle-1", "cycle-2"]
    assert made.assumptions == ()


@pytest.mark.parametrize(
    ("draft", "code", "words"),
    [
        (cycles(), "PLN101", "no cycles"),
        (cycles(cycle("a", "FR-1"), cycle("a", "FR-2")), "PLN102", "`a` is used by"),
        (cycles(cycle(" ", "FR-1")), "PLN102", "no key"),
        (cycles(cycle("a", "FR-1", depends_on=["z"])), "PLN104", "depends on `z`"),
        (cycles(cycle("a", "FR-1", depends_on=["b"]), cycle("b", "FR-2", depends_on=["a"])), "PLN105", "a → b → a"),
        (cycles(cycle("a", "FR-1", "FR-99")), "PLN107", "`FR-99` is not"),
        (cycles(cycle("a", "FR-1", title=" ")), "PLN113", "no title"),
    ],
)
def test_groups_that_code_cannot_repair_are_problems(draft, code: str, words: str) -> None:
    found = check_cycles(prd_of(functional(8)), draft)
    assert code in [problem.code for problem in found]
    assert words in " ".join(str(problem) for problem in found)


def test_excess_cycles_are_merged_with_their_neighbours() -> None:
    many = tuple(
        PlannedCycle(id=f"c{n}", title=f"Cycle {n}", requirements=(f"FR-{n}",), depends_on=(f"c{n - 1}",) if n else ())
        for n in range(7)
    )
    made = merge_cycles(many, most=3)
    assert [(c.id, c.requirements, c.depends_on) for c in made] == [
        ("c0", ("FR-0", "FR-1"), ()),
        ("c2", ("FR-2", "FR-3"), ("c0",)),
        ("c4", ("FR-4", "FR-5", "FR-6"), ("c2",)),
    ]
    assert merge_cycles(many) is many
