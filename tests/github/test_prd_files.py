"""PRD files as people really push them: beside a README, two with one id, one that is suddenly called otherwise."""

from __future__ import annotations

import os

import pytest

from world import PRD

pytestmark = pytest.mark.slow

README = "# Our PRDs\n\nEach file here is one feature. A number must be given to each.\n"


def plans_for(world, *ids) -> None:
    for prd in ids:
        world.answers_of_model[f"{prd}/plan/planner/1/1"] = world.answers_of_model["calc/plan/planner/1/1"]


def called(prd_id) -> str:
    return PRD.replace("id: calc", f"id: {prd_id}")


def test_a_readme_among_the_prds_is_none_and_the_job_says_why(new):
    world = new()
    world.push({"prds/README.md": README, "prds/_idea.md": PRD}, "ada")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert "prds/README.md is not a PRD" in acted.out and "`id:`" in acted.out
    assert "prds/_idea.md is not a PRD" in acted.out
    world.push({"prds/README.md": None}, "ada")
    assert world.act().outputs["outcome"] == "nothing-to-do"
    plans_for(world, "house")
    world.push_prd("prds/house/README.md", called("house"))
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert set(world.bare.heads()) == {"main", "prd2pr/house"}


def test_the_push_that_mends_two_prds_with_one_id_starts_both(new):
    world = new()
    plans_for(world, "too")
    world.push({"prds/calc.md": PRD, "prds/too.md": PRD}, "ada")
    assert world.act().outputs["outcome"] == "error"
    assert set(world.bare.heads()) == {"main"}
    world.push({"prds/too.md": called("too")}, "ada")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert set(world.bare.heads()) == {"main", "prd2pr/calc", "prd2pr/too"}


def test_a_prd_that_is_called_otherwise_begins_anew_and_its_old_branch_is_kept_and_waits(planned):
    old, head = planned.pull(), planned.bare.heads()["prd2pr/calc"]
    plans_for(planned, "sums")
    planned.push_prd("prds/calc.md", called("sums"))
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
    planned.push_prd("prds/calc.md", PRD)  # a mistake, put right: all of it is still there
    acted = planned.act()
    assert acted.status == 0, acted.output
    assert "now has the id" not in planned.status_comment(old.number).body
    assert "`prds/calc.md` now has the id `calc`" in planned.status_comment(planned.pull("prd2pr/sums").number).body


def test_a_name_that_is_not_utf_8_is_refused_by_name_and_keeps_no_other_from_its_plan(new):
    world = new()
    plans_for(world, "zoo")

    def odd(desk, _):
        (desk / "prds").mkdir(exist_ok=True)
        (desk / os.fsdecode(b"prds/caf\xe9.md")).write_text(PRD)
        (desk / "prds/zoo.md").write_text(called("zoo"))

    acted = world.act(world.by_git(odd, "ada"))
    assert acted.outputs["outcome"] == "refused", acted.output
    assert "the name of this PRD is not UTF-8 text" in acted.out and "caf\\udce9.md" in acted.out
    assert set(world.bare.heads()) == {"main", "prd2pr/zoo"}


def test_a_link_is_no_prd(new):
    world = new()

    def link(desk, _):
        (desk / "prds").mkdir(exist_ok=True)
        (desk / "prds/linked.md").symlink_to("../docs/real.md")

    acted = world.act(world.by_git(link, "ada"))
    assert acted.outputs["outcome"] == "nothing-to-do" and "it is a symbolic link" in acted.out, acted.output


def test_no_plan_is_begun_after_the_deadline_and_another_run_makes_it(new):
    world = new()
    plans_for(world, "two")
    world.push({"prds/calc.md": PRD, "prds/two.md": called("two")}, "ada")
    world.act(env={"PRD2PR_MAX_MINUTES": "0.00001"})
    assert set(world.bare.heads()) == {"main", "prd2pr/calc"}
    world.settle()
    assert set(world.bare.heads()) == {"main", "prd2pr/calc", "prd2pr/two"}
