"""Three PRDs of different kinds, replayed through all four passes: all is covered or named, in a valid order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planning.replayed_plans import HERE, SAMPLES, Sample, cost_table, replayed, world_of
from prd2pr.agents.models.transcript import NOTE, load_transcript
from prd2pr.domain.dependency_graph import find_cycle
from prd2pr.planning.passes.given_when_then import parse_scenario
from prd2pr.planning.plan import PlanDraft, StoryDraft, find_uncovered_requirements
from prd2pr.prd.parser import parse_prd
from prd2pr.proof.claims.commits import is_prd_path

TIDY, PROSE, YAML = SAMPLES


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_replayed_plan_covers_or_names_everything(sample: Sample, tmp_path: Path) -> None:
    done = replayed(world_of(sample, tmp_path), sample, "plan", "--json")
    assert done.status == 0, done.err
    plan = done.json
    prd = parse_prd((HERE / "prds" / sample.prd).read_text(), f"prds/{sample.prd}")
    assert sum(each.kind != "acceptance" for each in prd.requirements) == sample.requirements
    assert plan["way"] == f"four passes: {sample.requirements} requirements, profile full"

    stories = tuple(StoryDraft(key=s["id"], title=s["title"], requirements=s["requirements"]) for s in plan["stories"])
    missing = find_uncovered_requirements(prd, PlanDraft(stories=stories, assumptions=plan["assumptions"]))
    assert [each.id for each in missing] == plan["not_covered"]
    assert all(any(name in question for question in plan["questions"]) for name in plan["not_covered"])

    order = [story["id"] for story in plan["stories"]]
    needs = {story["id"]: story["depends_on"] for story in plan["stories"]}
    assert find_cycle(needs) == ()
    assert all(order.index(need) < order.index(name) for name in order for need in needs[name])
    assert all(1 <= len(story["criteria"]) <= 5 for story in plan["stories"])
    assert all(len(story["source_paths"]) <= 3 for story in plan["stories"])
    assert sum(role["calls"] for role in plan["roles"].values()) == len(load_transcript(sample.recording).replies), (
        "none unused"
    )
    print(cost_table(sample, plan))


def test_recordings_state_their_origin() -> None:
    for sample in SAMPLES:
        header = json.loads(sample.recording.read_text().splitlines()[0])
        assert header["model"] == "answered-by-hand"
        assert NOTE.partition(". ")[2] in header["note"]


def test_structured_prd_needs_neither_cycles_nor_criteria(tmp_path: Path) -> None:
    plan = replayed(world_of(TIDY, tmp_path), TIDY, "plan", "--json").json
    # Deployment is asked since the shop has a Dockerfile. The recording has no answer, and an advisory role may fail.
    asked = ["why", "research", "decomposer_tasks", "decomposer_hints", "security", "estimator", "deployment"]
    assert list(plan["roles"]) == asked
    texts = [criterion["text"] for story in plan["stories"] for criterion in story["criteria"]]
    assert len(texts) == 10 + 1, "one is what Security requires"
    assert all(parse_scenario(text) for text in texts)
    assert plan["not_covered"] == []


def test_contradictions_become_questions(tmp_path: Path) -> None:
    told = replayed(world_of(YAML, tmp_path), YAML, "plan")
    assert told.status == 0, told.err
    assert "refused PLN201, retrying (2 of 3)" in told.out, "one story was too large, and was split"
    assert all(f": {name} (" in told.out for name in ("FR-9", "FR-21", "AC-7"))
    assert "ATU12345678 WHEN an invoice is made" not in told.out.partition("question Q1:")[0], (
        "nor taken over as a criterion"
    )
    assert ": 30 requirements, profile full\n    why                  1 call, " in told.out
    assert "\n    decomposer_cycles    1 call, " in told.out


def test_security_requirement_is_a_criterion_or_its_own_story(tmp_path: Path) -> None:
    plan = replayed(world_of(PROSE, tmp_path), PROSE, "plan", "--json").json
    following = plan["stories"][[story["id"] for story in plan["stories"]].index("stock-7") + 1]
    assert following["id"] == "stock-9"
    assert following["depends_on"] == ["stock-7"]
    assert following["criteria"][0]["text"].startswith("An address with a line break")


@pytest.mark.slow
def test_plan_that_names_its_gaps_is_committed_and_verified(tmp_path: Path) -> None:
    world = world_of(YAML, tmp_path)
    run = replayed(world, YAML, "run", "--max-steps", "1")
    assert world.subjects() == ["plan(wholesale): Wholesale customers"], run.err
    backlog = json.loads(world.show(".orch-state/prds/wholesale/backlog.json"))
    assert backlog["not_covered"] == ["FR-2", "FR-9", "FR-21", "FR-23"]
    proved = world.verify("--json")
    assert proved.status == 0, proved.out
    page = (world.repo / ".git/prd2pr/pr/wholesale.html").read_text()
    assert "FR-23" in page and "is not covered" in page


@pytest.mark.parametrize(
    ("path", "fine"),
    [
        ("prds/a.md", True),
        ("prds/x/a.yaml", True),
        ("prds/a.json", True),
        ("prds/a.py", False),
        ("src/prds/a.yaml", False),
    ],
)
def test_accepted_prd_paths(path: str, fine: bool) -> None:
    assert is_prd_path(path) is fine


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_other_profiles_call_one_planner(profile: str, tmp_path: Path) -> None:
    told = replayed(world_of(YAML, tmp_path, f"profile: {profile}\n"), YAML, "plan")
    assert told.status == 1
    assert "no answer for wholesale/plan/planner/1/1" in told.err
