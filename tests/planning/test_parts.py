"""A PRD of more than 40 requirements is split by cycles or sections, and parts see what earlier ones decided."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planning.planning_harness import LISTED
from planning.samples import functional, prd_of, story
from prd2pr.domain.records import Backlog, Prd
from prd2pr.planning.parts import describe_planning_calls, follow_cycles, split_into_parts
from prd2pr.planning.plan import PlanDraft, check_plan, to_backlog


def ids(prd: Prd, limit: int = 40) -> list[list[str]]:
    return [[each.id for each in part.requirements] for part in split_into_parts(prd, limit)]


def fr(first: int, last: int) -> list[str]:
    return [f"FR-{n}" for n in range(first, last + 1)]


def draft(*stories: dict[str, Any], **facts: Any) -> PlanDraft:
    return PlanDraft.model_validate_json(json.dumps({"stories": stories, **facts}))


# --- the split --------------------------------------------------------------------------------------------------------


def test_forty_requirements_are_one_part() -> None:
    assert ids(prd_of(functional(40))) == [fr(1, 40)]
    assert describe_planning_calls(prd_of(functional(40))) == "one call: 40 requirements"


def test_more_are_divided_evenly_if_there_are_no_sections() -> None:
    assert [len(part) for part in ids(prd_of(functional(41)))] == [21, 20]
    assert [len(part) for part in ids(prd_of(functional(500)))] == [39] * 12 + [32]
    assert describe_planning_calls(prd_of(functional(41))) == "2 calls: 41 requirements"


def test_sections_stay_together() -> None:
    body = f"## Orders\n{functional(30)}\n## Stock\n{functional(15, 31)}\n## Mail\n{functional(5, 46)}"
    assert ids(prd_of(body)) == [fr(1, 30), fr(31, 50)]


def test_cycles_come_before_sections() -> None:
    cycles = "## Implementation plan\n\n- Cycle 1: Late (FR-1 to FR-25), depends on cycle 2\n"
    cycles += "- Cycle 2: Early (FR-26 to FR-50)\n"
    assert ids(prd_of(functional(51) + cycles)) == [fr(26, 50), [*fr(1, 25), "FR-51"]]


def test_criteria_stay_with_what_they_exercise() -> None:
    body = (
        f"{functional(40)}- **FR-41** Points can be spent at the till.\n  - **FR-41.1** Not more than there are.\n"
        "\n## Acceptance criteria\n\n- **AC-1** (FR-2) GIVEN 1 WHEN 2 THEN 3.\n"
        "- **AC-2** GIVEN 5 points WHEN points are spent at the till THEN 0 are left.\n- **AC-3** As FR-1 says.\n"
    )
    first, second = ids(prd_of(body))
    assert first[-2:] == ["AC-1", "AC-3"]
    assert second[-3:] == ["FR-41", "FR-41.1", "AC-2"]


@pytest.mark.parametrize("number", [11, 20, 40, 120])
def test_every_requirement_is_in_exactly_one_part(number: int) -> None:
    body = "".join(f"## S{n}\n{functional(n % 7 + 1, n * 8 + 1)}" for n in range(number))
    prd = prd_of(body)
    parts = split_into_parts(prd)
    assert sorted(each.id for part in parts for each in part.requirements) == sorted(
        each.id for each in prd.requirements
    )
    assert parts[-1].prd == prd
    assert all(len(part.requirements) <= 40 for part in parts)


# --- the answer about a part ------------------------------------------------------------------------------------------

PRD = prd_of(functional(4))
ONE, TWO = split_into_parts(PRD, 2)
MINE = story("a", "FR-1", "FR-2")


def classified(name: str, note: str, status: str = "contradictory") -> dict[str, str]:
    return {"id": name, "status": status, "note": note}


def test_what_later_parts_plan_is_left_to_them() -> None:
    both = draft(story("a", "FR-1", "FR-2", "FR-3"), classified=[classified("FR-4", "met", "met")])
    tidy = ONE.tidy(both)
    assert tidy.stories[0].requirements == tidy.stories[0].criteria[0].requirements == ("FR-1", "FR-2")
    assert tidy.classified == ()
    assert check_plan(ONE.prd, tidy) == ()
    alone = ONE.tidy(draft(MINE, story("b", "FR-3")))
    assert [problem.code for problem in check_plan(ONE.prd, alone)] == ["PLN107", "PLN107"], "it has no other"


def test_a_contradiction_is_known_to_the_part_with_its_other_side() -> None:
    planned = to_backlog(ONE.prd, draft(MINE, classified=[classified("FR-1", "FR-1 says 3, but FR-4 says 4?")]))
    after = TWO.follow(planned)
    (kept,) = after.tidy(draft(story("b", "FR-3", "FR-4"))).classified
    assert (kept.id, kept.status, kept.note) == ("FR-4", "contradictory", "FR-1 says 3, but FR-4 says 4?")
    again = after.tidy(draft(story("b", "FR-3"), classified=[classified("FR-4", "the same", "met")]))
    assert again.classified == (kept,)


def test_a_contradiction_with_an_earlier_part_is_kept_and_other_decisions_about_it_are_not() -> None:
    after = TWO.follow(to_backlog(ONE.prd, draft(MINE)))
    found = after.tidy(
        draft(story("b", "FR-3", "FR-4"), classified=[classified("FR-1", "x"), classified("FR-2", "y", "met")])
    )
    assert [each.id for each in found.classified] == ["FR-1"]


# --- the PRD's own cycles ---------------------------------------------------------------------------------------------

CYCLES = prd_of(functional(5) + LISTED.replace("(FR-3, FR-4)", "(FR-3, FR-4), depends on cycle 1"))


def test_stories_follow_the_cycles_of_the_prd() -> None:
    stories = [story(f"s{n}", f"FR-{n}") for n in range(1, 6)]
    stories[1]["depends_on"], stories[3]["depends_on"] = ["s1"], ["s3"]
    followed = follow_cycles(CYCLES, draft(*stories))
    assert [each.depends_on for each in followed.stories] == [(), ("s1",), ("s2",), ("s3",), ()]
    assert [each.title for each in followed.epics] == ["One", "Two", "Three"]
    assert [each.epic for each in followed.stories] == ["cycle-1", "cycle-1", "cycle-2", "cycle-2", "cycle-3"]
    assert check_plan(CYCLES, followed) == ()


def test_epics_and_dependencies_of_the_answer_come_first() -> None:
    epics = [{"key": "e1", "title": "All"}]
    stories = [story(f"s{n}", f"FR-{n}", epic="e1") for n in range(1, 6)]
    stories[0]["depends_on"] = ["s3"]
    before = draft(*stories, epics=epics)
    followed = follow_cycles(CYCLES, before)
    assert [each.key for each in followed.epics] == ["e1"]
    assert followed.stories == before.stories, "the order would be circular"


def test_cycles_of_earlier_parts_count() -> None:
    first, second = split_into_parts(CYCLES, 2)[:2]
    planned = to_backlog(first.prd, draft(story("a", "FR-1"), story("b", "FR-2")))
    followed = follow_cycles(second.prd, draft(story("a", "FR-3", "FR-4")), planned.stories)
    assert followed.stories[0].depends_on == ("shop-1", "shop-2")


def test_a_prd_without_cycles_is_left_alone() -> None:
    before = draft(story("a", "FR-1", "FR-2"))
    assert follow_cycles(PRD, before, Backlog().stories) == before
