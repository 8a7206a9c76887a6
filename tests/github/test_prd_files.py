"""PRD files as people really push them: beside a README, two with one id, one with a changed id."""

from __future__ import annotations

import os

import pytest

from world import PRD

README = "# Our PRDs\n\nEach file here is one feature. A number must be given to each.\n"


def plans_for(world, *ids) -> None:
    for prd in ids:
        world.answers_of_model[f"{prd}/plan/planner/1/1"] = world.answers_of_model["calc/plan/planner/1/1"]


def prd_with_id(prd_id) -> str:
    return PRD.replace("id: calc", f"id: {prd_id}")


@pytest.mark.slow
def test_a_readme_in_prds_is_not_a_prd_and_the_job_says_why(new):
    world = new()
    world.push({"prds/README.md": README, "prds/_idea.md": PRD}, "ada")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert "prds/README.md is not a PRD" in acted.out and "`id:`" in acted.out
    assert "prds/_idea.md" in acted.out
    world.push({"prds/README.md": None}, "ada")
    assert world.act().outputs["outcome"] == "nothing-to-do"
    plans_for(world, "house")
    world.push_prd("prds/house/README.md", prd_with_id("house"))
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert set(world.bare.heads()) == {"main", "prd2pr/house"}


@pytest.mark.slow
def test_fixing_two_prds_with_one_id_starts_both(new):
    world = new()
    plans_for(world, "too")
    world.push({"prds/calc.md": PRD, "prds/too.md": PRD}, "ada")
    assert world.act().outputs["outcome"] == "error"
    assert set(world.bare.heads()) == {"main"}
    world.push({"prds/too.md": prd_with_id("too")}, "ada")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert set(world.bare.heads()) == {"main", "prd2pr/calc", "prd2pr/too"}


@pytest.mark.slow
def test_a_prd_with_a_new_id_starts_over_and_its_old_branch_waits(planned):
    old, head = planned.pull(), planned.bare.heads()["prd2pr/calc"]
    plans_for(planned, "sums")
    planned.push_prd("prds/calc.md", prd_with_id("sums"))
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert planned.phases("prd2pr/sums") == ["plan(sums)"]
    assert planned.bare.heads()["prd2pr/calc"] == head
    said = planned.status_comment(old.number).body
    assert "`prds/calc.md` now has the id `sums`" in said, said
    assert "Restore `id: calc` to continue here" in said, said
    planned.comment(old.number, "/tdd next", by="wendy")
    assert planned.act().outputs["outcome"] == "refused"
    assert [phase for phase in planned.phases() if "calc-1" in phase] == []
    planned.push_prd("prds/calc.md", PRD)  # a mistake, reverted: everything is still there
    acted = planned.act()
    assert acted.status == 0, acted.output
    assert "the id `sums`" not in planned.status_comment(old.number).body
    assert "the id `calc`" in planned.status_comment(planned.pull("prd2pr/sums").number).body


def test_a_non_utf8_file_name_is_refused_by_name_and_blocks_no_other_prd(new):
    world = new()
    plans_for(world, "zoo")

    def odd(desk, _):
        (desk / "prds").mkdir(exist_ok=True)
        (desk / os.fsdecode(b"prds/caf\xe9.md")).write_text(PRD)
        (desk / "prds/zoo.md").write_text(prd_with_id("zoo"))

    acted = world.act(world.by_git(odd, "ada"))
    assert acted.outputs["outcome"] == "refused", acted.output
    assert "the name of this PRD is not UTF-8 text" in acted.out and "caf\\udce9.md" in acted.out
    assert set(world.bare.heads()) == {"main", "prd2pr/zoo"}


def test_a_symlink_is_not_a_prd(new):
    world = new()

    def link(desk, _):
        (desk / "prds").mkdir(exist_ok=True)
        (desk / "prds/linked.md").symlink_to("../docs/real.md")

    acted = world.act(world.by_git(link, "ada"))
    assert acted.outputs["outcome"] == "nothing-to-do" and "it is a symbolic link" in acted.out, acted.output


@pytest.mark.slow
def test_no_plan_starts_after_the_deadline_and_another_run_makes_it(new):
    world = new()
    plans_for(world, "two")
    world.push({"prds/calc.md": PRD, "prds/two.md": prd_with_id("two")}, "ada")
    world.act(env={"PRD2PR_MAX_MINUTES": "0.00001"})
    assert set(world.bare.heads()) == {"main", "prd2pr/calc"}
    world.settle()
    assert set(world.bare.heads()) == {"main", "prd2pr/calc", "prd2pr/two"}
