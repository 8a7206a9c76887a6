from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.dependency_graph import find_cycle, sort_by_dependencies
from prd2pr.domain.records import Prd, Requirement
from prd2pr.errors import PlanInvalid
from prd2pr.planning.plan import PLAN_PROBLEMS, PlanDraft, PlanLimits, StoryDraft, check_plan, to_backlog

PRD = Prd(
    id="loyalty",
    title="Loyalty points",
    path="prds/loyalty.md",
    requirements=(
        Requirement(id="FR-1", text="Earn points"),
        Requirement(id="FR-2", text="Redeem points"),
        Requirement(id="FR-2.1", text="At most half", parent="FR-2"),
        Requirement(id="NFR-1", text="Whole numbers only", kind="non_functional"),
        Requirement(id="AC-1", text="GIVEN 41.50 THEN 41 points", kind="acceptance", parent="FR-1"),
    ),
)


def story(key: str, **facts: Any) -> dict[str, Any]:
    return {"key": key, "title": f"Story {key}", "criteria": [{"text": f"{key} holds"}], **facts}


def draft(*stories: dict[str, Any], **facts: Any) -> PlanDraft:
    return PlanDraft.model_validate({"stories": stories, **facts})


GOOD = (
    story("redeem", depends_on=["earn"], requirements=["FR-2", "FR-2.1"]),
    story("earn", requirements=["fr1", "NFR-1"], source_paths=["src/shop/points.py"]),
)


def codes(*stories: dict[str, Any], **facts: Any) -> list[str]:
    return [problem.code for problem in check_plan(PRD, draft(*stories, **facts))]


def messages(*stories: dict[str, Any], **facts: Any) -> str:
    return "\n".join(str(problem) for problem in check_plan(PRD, draft(*stories, **facts)))


def test_good_plan_becomes_a_backlog_in_working_order() -> None:
    backlog = to_backlog(PRD, draft(*GOOD, questions=["Do points expire?"]))
    assert [(s.id, s.title, s.depends_on) for s in backlog.stories] == [
        ("loyalty-1", "Story earn", ()),
        ("loyalty-2", "Story redeem", ("loyalty-1",)),
    ]
    assert backlog.stories[0].requirements == ("FR-1", "NFR-1"), "spelled as the PRD spells them"
    assert [c.id for c in backlog.stories[1].criteria] == ["loyalty-2.c1"]
    assert [(e.id, e.title) for e in backlog.epics] == [("loyalty-e1", "Loyalty points")]
    assert {s.epic for s in backlog.stories} == {"loyalty-e1"}
    assert backlog.questions == ("Do points expire?",)


def test_epics_of_the_plan_are_kept() -> None:
    epics = [{"key": "a", "title": "Earning", "requirements": ["FR1"]}, {"key": "b", "title": "Spending"}]
    backlog = to_backlog(PRD, draft({**GOOD[0], "epic": "b"}, {**GOOD[1], "epic": "a"}, epics=epics))
    assert [(e.id, e.title, e.requirements) for e in backlog.epics] == [
        ("loyalty-e1", "Earning", ("FR-1",)),
        ("loyalty-e2", "Spending", ()),
    ]
    assert [s.epic for s in backlog.stories] == ["loyalty-e1", "loyalty-e2"]


def test_order_is_by_dependencies_then_priority_then_draft_order() -> None:
    backlog = to_backlog(
        Prd(id="x", title="x", path="x.md"),
        draft(story("a"), story("b", priority=1, depends_on=["d"]), story("c", priority=1), story("d"), story("e")),
    )
    assert [s.title[-1] for s in backlog.stories] == ["c", "a", "d", "b", "e"]


def test_criteria_may_name_the_requirements() -> None:
    criteria = [{"text": "earns", "requirements": ["FR-1"]}]
    assert codes(GOOD[0], story("earn", criteria=criteria), assumptions=["NFR-1 holds for every story."]) == []


@pytest.mark.parametrize(
    ("stories", "facts", "code", "words"),
    [
        ((), {}, "PLN101", "no stories"),
        ((*GOOD, story("earn")), {}, "PLN102", "`earn` is used by more than one story"),
        ((*GOOD, story(" ")), {}, "PLN102", "a story has no key"),
        (GOOD, {"epics": [{"key": "e", "title": "E"}]}, "PLN103", "names no epic"),
        ((*GOOD, story("x", epic="e")), {}, "PLN103", "epic `e` is not in the plan"),
        ((*GOOD, story("x", depends_on=["nowhere"])), {}, "PLN104", "depends on `nowhere`"),
        ((*GOOD, story("x", depends_on=["x"])), {}, "PLN105", "x → x"),
        ((GOOD[0], {**GOOD[1], "depends_on": ["redeem"]}), {}, "PLN105", "redeem → earn → redeem"),
        ((GOOD[1],), {}, "PLN106", "no story covers FR-2 (Redeem points)"),
        ((*GOOD, story("x", requirements=["FR-9"])), {}, "PLN107", "`FR-9` is not a requirement of prds/loyalty.md"),
        ((*GOOD, story("x", criteria=[])), {}, "PLN108", "0 criteria; 1 to 5 are allowed"),
        ((*GOOD, story("x", criteria=[{"text": str(n)} for n in range(6)])), {}, "PLN108", "6 criteria"),
        ((*GOOD, story("x", criteria=[{"text": " "}])), {}, "PLN109", "empty"),
        ((*GOOD, story("x", criteria=[{"text": "a  b"}, {"text": "a b"}])), {}, "PLN109", "repeated"),
        ((*GOOD, story("x", source_paths=["a.py", "b.py", "c.py", "d.py"])), {}, "PLN110", "4 source files"),
        ((*GOOD, story("x", source_paths=["tests/test_a.py"])), {}, "PLN112", "is a test"),
        ((*GOOD, story("x", source_paths=["src/conftest.py"])), {}, "PLN112", "is a test"),
        ((*GOOD, story("x", source_paths=["a.py"], test_paths=["a.py"])), {}, "PLN112", "as source and as test"),
        ((*GOOD, story("x", title="two\nlines")), {}, "PLN113", "one line"),
        ((*GOOD, story("x", title="")), {}, "PLN113", "one line"),
        ((*GOOD, story("x", title="x" * 101)), {}, "PLN113", "1 to 100"),
    ],
)
def test_each_problem_is_found_and_named(
    stories: tuple[dict[str, Any], ...], facts: dict[str, Any], code: str, words: str
) -> None:
    assert code in codes(*stories, **facts)
    assert words in messages(*stories, **facts)
    assert code in PLAN_PROBLEMS
    with pytest.raises(PlanInvalid, match=code):
        to_backlog(PRD, draft(*stories, **facts))


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "~/x.py", "C:/x.py", "a\\b.py", "../x.py", "a/../b.py", "a//b.py", "./a.py", ".git/config", "",
     ".github/workflows/x.yml", ".orch-state/x.json", "sub/.GIT/hooks/x", "a\nb.py", " a.py"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["source_paths", "test_paths"])
def test_paths_that_no_story_may_write(path: str, where: str) -> None:
    assert "PLN111" in codes(*GOOD, story("x", **{where: [path]}))


def test_docs_config_and_chores_may_have_no_criteria() -> None:
    for kind in ("docs", "config", "chore"):
        assert codes(*GOOD, story("x", kind=kind, criteria=[])) == []
    assert codes(*GOOD, story("x", kind="bug", criteria=[])) == ["PLN108"]


def test_coverage() -> None:
    # A part is not covered by its parent: naming FR-2 alone drops FR-2.1.
    assert "no story covers FR-2.1" in messages({**GOOD[0], "requirements": ["FR-2"]}, GOOD[1])
    # A parent is covered when all its parts are.
    assert codes({**GOOD[0], "requirements": ["FR-2.1"]}, GOOD[1]) == []
    # A functional requirement cannot be assumed away.
    assert "no story covers FR-2 " in messages(GOOD[1], assumptions=["FR-2 and FR-2.1 come later"])
    # FR-1 is covered through its only criterion.
    assert codes(GOOD[0], {**GOOD[1], "requirements": ["AC-1", "NFR-1"]}) == []


def test_the_number_of_stories_is_limited() -> None:
    many = [story(str(n)) for n in range(201)]
    assert "201 stories, the limit is 200" in messages(*GOOD[:0], *many)
    roomy = check_plan(Prd(id="x", title="x", path="x"), draft(*many), PlanLimits(stories=201))
    assert roomy == ()


def test_a_refused_plan_lists_ten_problems_and_counts_the_rest() -> None:
    with pytest.raises(PlanInvalid) as caught:
        to_backlog(PRD, draft(*GOOD, *[story(f"x{n}", criteria=[]) for n in range(12)]))
    assert "the plan has 12 problems: PLN108 x0: 0 criteria" in caught.value.what
    assert caught.value.what.endswith("and 2 more")
    assert caught.value.where == "prds/loyalty.md"


def test_the_schema_for_the_model_describes_every_field() -> None:
    schema = PlanDraft.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert all("description" in field for field in part["properties"].values()), part["title"]
    assert set(StoryDraft.model_fields) >= {"key", "criteria", "depends_on", "source_paths", "interface"}


def test_the_table_of_problems_is_complete() -> None:
    former = {202, 203, 206}  # of plans made in four passes
    assert list(PLAN_PROBLEMS) == [f"PLN{n}" for n in (*range(101, 119), *range(201, 210)) if n not in former]
    assert all(kind.title and kind.explanation.endswith(".") for kind in PLAN_PROBLEMS.values())


graphs = st.dictionaries(
    st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefghz"), max_size=3), min_size=1, max_size=8
)


@given(graphs)
def test_graph_has_either_a_cycle_or_an_order(graph: dict[str, list[str]]) -> None:
    cycle = find_cycle(graph)
    order = sort_by_dependencies(graph, {name: (n,) for n, name in enumerate(graph)})
    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(after in graph[before] for before, after in itertools.pairwise(cycle))
        assert len(order) < len(graph), "what goes in circles is never free"
    else:
        assert sorted(order) == sorted(graph)
        places = {name: n for n, name in enumerate(order)}
        assert all(places[other] < places[name] for name in graph for other in graph[name] if other in graph)


def test_a_long_chain_needs_no_recursion() -> None:
    chain = {str(n): [str(n + 1)] for n in range(20_000)}
    assert find_cycle(chain) == ()
    assert find_cycle({**chain, "20000": ["0"]})[:2] == ("0", "1")
