"""People working on the same branch: their pushes are built upon; what they close, delete or revert stays so."""

from __future__ import annotations

import pytest

from fakes.github.on_issues import set_state
from prd2pr.workflow.sprint_start import WAITS_FOR_APPROVAL
from world import PRD, say

START = ["plan(calc)", "note(plan)", "note(plan)"]
TRIPLE = {
    "key": "S9", "epic": "", "title": "Triple a number", "description": "As a user I triple numbers.",
    "kind": "feature", "criteria": [{"text": "4 gives 12", "example": "triple(4) == 12"}],
    "depends_on": ["calc-2"], "complexity": 1, "estimate_minutes": 5, "requirements": ["FR-3"],
    "module": "calc.sums", "interface": "triple(a)", "source_paths": ["src/calc/sums.py"], "test_paths": [],
}  # fmt: skip
WITH_TRIPLE = PRD + "- **FR-3** A number can be tripled.\n"


def reopen(world, number) -> None:
    with world.fake.lock:
        set_state(world.fake, world.repo.issues[number], "open", "ada")


def mentions(world, number, words) -> list[str]:
    return [row.body for row in world.comments(number, by="github-actions[bot]") if words in row.body]


def test_a_human_commit_is_built_upon(started):
    number = started.pull().number
    started.push({"README.md": "# Calc\n"}, "wendy", branch=started.branch, message="Say what it is")
    assert started.act().outputs["outcome"] == "waiting"  # nobody has ordered anything
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.subjects()[3:] == ["Say what it is", "design(calc-1): Add two numbers"]
    assert started.show("README.md") == "# Calc"


def test_a_gate_that_refuses_human_work_answers_and_moves_nothing(started):
    started.comment(started.pull().number, "/tdd next", by="wendy")
    started.act()
    bad = {"tests/tdd/calc-1/test_calc_1_add.py": "def test_a():\n    assert True\n"}
    started.push(bad, "wendy", branch=started.branch)
    started.pending.clear()
    head = started.bare.heads()[started.branch]
    started.comment(started.pull().number, "/tdd commit-tests", by="wendy")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert "RED of calc-1 refused it" in acted.out and started.bare.heads()[started.branch] == head


@pytest.mark.slow
def test_an_approval_is_for_the_published_head(planned):
    number = planned.pull().number
    shown = planned.bare.heads()[planned.branch]
    planned.comment(number, "/approve", by="ada")
    planned.push({"src/calc/other.py": "X = 1\n"}, "wendy", branch=planned.branch)
    pushed = planned.bare.heads()[planned.branch]
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert planned.bare.heads()[planned.branch] == pushed, "nothing is approved, and nothing is built"
    (answer,) = planned.answers(number)
    assert f"{shown[:10]} → {pushed[:10]}: 1 commit by wendy" in answer.body
    assert "Review it, then comment `/approve`" in answer.body
    planned.pending.clear()
    planned.comment(number, "/tdd next", by="ada")
    assert planned.act().status == 0, "it was shown, and this is for it"
    assert planned.phases()[-1] == "design(calc-1)"


@pytest.mark.slow
def test_a_branch_forced_back_is_left_alone_and_reported_once(started):
    number = started.pull().number
    last = started.bare.heads()[started.branch]
    started.push({"README.md": "# Mine\n"}, "wendy", branch=started.branch, force=True)
    forced = started.bare.heads()[started.branch]
    assert forced != last
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().outputs["outcome"] == "waiting"
    assert len(mentions(started, number, "was force-pushed")) == 3  # status, own comment, answer
    assert started.bare.heads()[started.branch] == forced
    started.bare.git("update-ref", f"refs/heads/{started.branch}", last)  # restored
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.phases() == [*START, "design(calc-1)"]


@pytest.mark.slow
def test_closed_or_deleted_stays_so_until_reopened(started):
    pull = started.pull()
    head = started.bare.heads()[started.branch]
    started.close(pull.number, by="wendy")
    assert started.act().outputs["outcome"] == "waiting"
    started.comment(pull.number, "/tdd next", by="wendy")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert len(mentions(started, pull.number, "nothing is done until it is reopened")) == 1
    started.delete_branch(started.branch, by="wendy")
    started.tick()
    started.push_prd("prds/calc.md", PRD + "\nMore words.\n")
    assert [acted.outputs["outcome"] for acted in started.settle()] == ["waiting", "nothing-to-do", "waiting"]
    assert (len(started.pulls()), started.branch in started.bare.heads()) == (1, False)
    started.bare.git("update-ref", f"refs/heads/{started.branch}", head)
    reopen(started, pull.number)
    started.push_prd("prds/calc.md", PRD)
    started.comment(pull.number, "/tdd next", by="wendy")
    assert [acted.status for acted in started.settle()] == [0, 0]
    assert started.phases() == [*START, "design(calc-1)"]


@pytest.mark.slow
def test_a_merged_prd_is_finished_and_a_changed_prd_says_what_to_do(started):
    number = started.pull().number
    (tracking,) = [row for row in started.repo.issues.values() if row.sub_issues]
    started.merge(number)
    assert started.act().outputs["outcome"] == "done"
    assert tracking.state == "closed"
    started.comment(number, "/tdd next")
    assert started.act().outputs["outcome"] == "refused"
    assert len(mentions(started, number, "is merged")) == 1
    started.push_prd("prds/calc.md", WITH_TRIPLE)
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "refused"), acted.output
    assert "delete the branch prd2pr/calc" in acted.out
    started.delete_branch(started.branch, by="ada")
    started.answers_of_model["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    started.pending.clear()
    started.dispatch(by="ada", prd="calc")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert started.subjects()[-2:] == [
        "plan(calc): the PRD changed: 1 new, 2 kept",
        f"note(plan): {WAITS_FOR_APPROVAL} by prd2pr",
    ]
    assert tracking.state == "open"
    assert [row.state for row in started.pulls()] == ["closed", "open"]


@pytest.mark.slow
def test_the_second_pull_request_of_a_prd_is_finished_once_squashed(started):
    (tracking,) = [row for row in started.repo.issues.values() if row.sub_issues]
    started.merge(started.pull().number, method="squash")
    started.delete_branch(started.branch, by="ada")
    started.pending.clear()
    started.answers_of_model["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    started.push_prd("prds/calc.md", WITH_TRIPLE)
    assert started.act().outputs["outcome"] == "waiting"
    (second,) = [row.number for row in started.pulls() if row.state == "open"]
    head = started.bare.heads()[started.branch]
    started.merge(second, method="squash")
    started.pending.clear()
    started.dispatch(by="ada", prd="calc")  # with the PRD's text, like the push of the merge itself
    acted = started.act()
    assert acted.outputs["outcome"] == "done", acted.output
    assert f"#{second} is merged" in acted.out
    assert tracking.state == "closed"
    assert "Waiting for you" not in started.status_comment(second).body
    started.comment(second, "/tdd next")
    assert started.act().outputs["outcome"] == "refused"
    assert started.bare.heads()[started.branch] == head
    started.push({"late.txt": "1\n"}, "max", branch=started.branch)
    started.pending.clear()
    started.tick()
    assert started.act().outputs["outcome"] == "nothing-to-do"
    assert [row.state for row in started.pulls()] == ["closed", "closed"]


@pytest.mark.slow
def test_a_changed_prd_changes_the_plan_and_shows_the_difference(planned):
    number = planned.pull().number
    planned.answers_of_model["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    planned.push_prd("prds/calc.md", WITH_TRIPLE, by="wendy")
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert planned.subjects()[1:] == ["plan(calc): the PRD changed: 1 new, 2 kept"]
    first, second = [row.body for row in planned.comments(number) if "prd2pr:plan:" in row.body]
    assert "Triple a number" in second and "Triple a number" not in first
    assert "+" in second
    assert planned.act(acted.event).outputs["outcome"] == "waiting"
    assert len(planned.subjects()) == 2


@pytest.mark.slow
def test_a_deleted_prd_waits_and_a_renamed_one_continues(started):
    number = started.pull().number
    started.push({"prds/calc.md": None}, "wendy", message="Not wanted")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert "was deleted from main" in started.status_comment(number).body
    started.push({"prds/sums.md": PRD}, "wendy", message="Call it otherwise")
    assert started.act().status == 0
    assert "was deleted" not in started.status_comment(number).body
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act()
    assert (acted.status, started.phases()) == (0, [*START, "design(calc-1)"]), acted.output


def test_two_prds_with_one_id_are_both_refused_and_others_are_not(new):
    world = new(answers_of_model={**new().answers_of_model})
    other = PRD.replace("id: calc", "id: other")
    world.answers_of_model["other/plan/planner/1/1"] = world.answers_of_model["calc/plan/planner/1/1"]
    world.push({"prds/calc.md": PRD, "prds/too.md": PRD, "prds/zother.md": other}, "ada")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert acted.out.count("::error") == 2
    assert "have the same id `calc`" in acted.out
    assert set(world.bare.heads()) == {"main", "prd2pr/other"}
    assert len(world.pulls()) == 1


HOSTILE = "@octo/all <img src=x onerror=alert(1)> <!-- prd2pr:status:calc --> ::error::boo ##[warning]x \u202egnol [a](http://evil.example)"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["file", "issue"])
def test_hostile_titles_stay_text(new, way):
    if way == "file":
        world = new()
        title = HOSTILE.replace('"', "")
        world.push_prd("prds/calc.md", PRD.replace("title: A small calculator", f'title: "{title}"'))
    else:
        world = new(branch="prd2pr/issue-1")
        world.answers_of_model["issue-1/plan/planner/1/1"] = world.answers_of_model["calc/plan/planner/1/1"]
        world.open_issue(HOSTILE, PRD.partition("# A small calculator\n")[2], by="nobody", labels=())
        world.pending.clear()
        world.label(1, "prd2pr")
    acted = world.act()
    assert acted.status == 0, acted.output
    pull = world.pull()
    ours = [world.status_comment(pull.number).body, pull.body, acted.summary]
    ours += [row.body for row in world.comments() if row.user != "nobody"]
    ours += [row.body for row in world.repo.issues.values() if row.user == "github-actions[bot]"]
    for text in ours:
        for bad in ("@octo/all", "<img", "\u202e", "](http://evil"):
            assert bad not in text, (bad, text)
        assert text.count("<!-- prd2pr:status:calc -->") <= (text is ours[0])
    assert not any(
        line.lstrip().startswith("::") and "boo" in line.partition("::")[0] for line in acted.out.splitlines()
    )
    assert not any(line.startswith("::error") or "##[" in line for line in acted.out.splitlines())
    assert "\u202e" not in pull.title  # the rest of a title is plain text on GitHub
    again = world.act(acted.event)
    assert again.status == 0, again.output
    assert len(world.pulls()) == 1 and world.status_comment(pull.number)


@pytest.mark.slow
@pytest.mark.parametrize("branch", ["prd2pr/calc/../x", "prd2pr/-rf", "prd2pr/$(id)", "prd2pr/Caf\u00e9"])
def test_branches_that_are_not_prds_are_ignored(new, branch):
    world = new()
    world.push({"a.txt": "a\n"}, "wendy", branch="prd2pr/other")
    event = world.pending.pop()
    event.payload["ref"] = f"refs/heads/{branch}"
    acted = world.act(event)
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
