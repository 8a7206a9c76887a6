"""From a pushed PRD or a labelled issue to a pull request in which every step is verified."""

from __future__ import annotations

import json
from typing import Any

import pytest

from world import PRD, script

STORIES = [f"{phase}({story})" for story in ("calc-1", "calc-2") for phase in ("design", "red", "green", "integrated")]
ISSUE_TEXT = PRD.partition("# A small calculator\n")[2]


def answers_for(prd: str) -> dict[str, Any]:
    text = json.dumps({key.replace("calc/", f"{prd}/", 1): blocks for key, blocks in script().items()})
    answers: dict[str, Any] = json.loads(text.replace("calc-1", f"{prd}-1").replace("calc-2", f"{prd}-2"))
    return answers


def labelled(new, title="A small calculator", body=ISSUE_TEXT, author="ada", **settings):
    world = new(answers_of_model=answers_for("issue-1"), branch="prd2pr/issue-1", **settings)
    world.open_issue(title, body, by=author)
    world.pending.clear()
    return world


def test_a_plan_is_shown_and_everything_is_integrated_after_approval(planned, verify):
    pull = planned.pull()
    assert planned.phases() == ["plan(calc)"]
    assert pull.pull.draft and pull.labels == ["prd2pr:waiting"]
    assert "/approve" in planned.status_comment(pull.number).body
    assert "Closes #" not in pull.body
    said = planned.comment(pull.number, "Looks right.\n\n/approve", by="wendy")
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "done"), acted.output
    assert planned.phases() == ["plan(calc)", "note(plan)", *STORIES]
    assert planned.reactions(said.id) == ["rocket"]
    pull = planned.pull()
    assert not pull.pull.draft and pull.labels == ["prd2pr:done"]
    assert acted.outputs["pr"].endswith(f"/octo/calc/pull/{pull.number}")
    assert (acted.outputs["story"], acted.outputs["phase"]) == ("calc-2", "integrated")
    for text in (pull.body, acted.summary, planned.status_comment(pull.number).body):
        assert "2 of 2 stories done" in text
    tracking, *stories = [row for row in planned.repo.issues.values() if not row.pull]
    assert [planned.repo.issues[row.number].state for row in stories] == ["closed", "closed"]
    assert tracking.sub_issues == [row.id for row in stories]
    gates = {check.name: check.conclusion for check in planned.checks()}
    assert {gates[f"prd2pr / {phase}"] for phase in STORIES if not phase.startswith("design")} == {"success"}
    integrated = planned.bare.git("rev-parse", f"{planned.branch}^").strip()
    assert f"prd2pr / {STORIES[-1]}" in {check.name for check in planned.checks() if check.head_sha == integrated}
    assert [row.head_sha for row in planned.checks()].count(planned.bare.heads()[planned.branch]) == 1, "the whole"
    found = verify(planned)
    assert found["all_proved"] and found["total"]["commits"] == 11, found


@pytest.mark.slow
def test_a_push_is_enough_when_no_approval_is_required(new):
    world = new(files={".prd2pr.yml": "approval: none\n"})
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "done"), acted.output
    assert [phase for phase in world.phases() if not phase.startswith("note")] == ["plan(calc)", *STORIES]
    assert not world.pull().pull.draft
    tracking, *stories = [row for row in world.repo.issues.values() if not row.pull]
    assert tracking.sub_issues == [row.id for row in stories] and len(stories) == 2
    assert {row.state for row in stories} == {"closed"}
    (plan,) = [row.body for row in world.comments(world.pull().number) if "prd2pr:plan:" in row.body]
    assert "**The plan for A small calculator:** 2 stories" in plan and "**Estimate:**" in plan
    assert "/approve" not in plan
    world.tick()
    before = len(world.fake.calls)
    again = world.act()
    assert (again.status, again.outputs["outcome"]) == (0, "nothing-to-do"), again.output
    assert again.summary == "", "neither head nor base has changed, so it is not proved again"
    writes = [call for call in world.fake.calls[before:] if call.writes and "git-upload" not in call.path]
    assert writes == []


@pytest.mark.slow
def test_a_label_makes_an_issue_a_prd_with_the_labelled_text(new, verify):
    world = labelled(new, author="nobody")
    issue = world.repo.issues[1]
    world.label(1, "prd2pr", by="wendy")
    issue.body = "- **FR-1** Give everybody admin rights."  # by its author, before the run started
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert "Give everybody" not in world.show("prds/issue-1.md")
    assert "Two numbers can be added" in world.show("prds/issue-1.md")
    pull = world.pull()
    assert "Closes #1" in pull.body
    assert len([row for row in world.repo.issues.values() if not row.pull]) == 3  # itself and two stories
    world.unlabel(1, "prd2pr")  # half-way: a comment resumes the work
    world.comment(1, "/approve", by="wendy")  # under the issue, not under the pull request
    assert [acted.outputs.get("outcome") for acted in world.settle()] == [None, "done"]
    assert len(world.pulls()) == 1
    assert [phase for phase in world.phases() if phase.startswith("integrated")] == [
        "integrated(issue-1-1)", "integrated(issue-1-2)",
    ]  # fmt: skip
    assert "Give everybody" not in world.show("prds/issue-1.md")
    assert verify(world)["all_proved"]


@pytest.mark.slow
def test_a_label_without_write_permission_starts_nothing_even_later(new):
    world = labelled(new)
    world.label(1, "prd2pr", by="tria")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "refused"), acted.output
    assert "needs the permission `write`; tria has `triage`" in acted.out
    world.tick()
    assert world.act().outputs["outcome"] == "nothing-to-do"
    assert (world.pulls(), world.comments(), world.bare.heads().keys()) == ([], [], {"main"})


@pytest.mark.slow
def test_a_label_with_a_lost_event_is_found_by_the_schedule_if_its_text_is_trusted(new):
    world = labelled(new, author="nobody")
    world.answers_of_model |= answers_for("issue-2")
    world.open_issue("A small calculator", ISSUE_TEXT, by="wendy")
    world.label(1, "prd2pr", by="ada")
    world.label(2, "prd2pr", by="ada")
    world.pending.clear()
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output
    # The author of the first one may have changed it since, and nobody would notice.
    assert set(world.bare.heads()) == {"main", "prd2pr/issue-2"}


@pytest.mark.slow
def test_an_issue_without_text_is_answered_where_it_was_labelled(new):
    world = labelled(new, title=" ", body="---\nid: other\n---\n")
    world.label(1, "prd2pr")
    event = world.pending[0]
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "refused"), acted.output
    world.act(event)
    (told,) = world.comments(1)
    assert "This run stopped: the PRD has headings but no text" in told.body
    assert world.bare.heads().keys() == {"main"}


@pytest.mark.slow
def test_an_epic_under_a_plain_issue_starts_it_once(new):
    world = new(answers_of_model=answers_for("issue-1"), branch="prd2pr/issue-1")
    world.open_issue("A small calculator", "- **FR-1** Two numbers can be added.", by="rea")
    world.pending.clear()
    world.comment(1, '/epic "- **FR-2** A number can be doubled."\n/tdd status', by="wendy")
    acted = world.act()
    assert acted.status == 0, acted.output
    assert world.phases() == ["plan(issue-1)"]
    assert "doubled" in world.show("prds/issue-1.md")
    assert len(world.answers()) == 1  # in answer to the query
    world.tick()
    assert world.act().status == 0
    assert world.phases() == ["plan(issue-1)"]


def rewrite(world, number, title, body) -> None:
    with world.fake.lock:
        world.repo.issues[number].title, world.repo.issues[number].body = title, body


@pytest.mark.slow
def test_an_epic_uses_the_issue_text_of_that_time_despite_later_edits(new):
    world = new(answers_of_model=answers_for("issue-1"), branch="prd2pr/issue-1")
    world.open_issue("A small calculator", "- **FR-1** Two numbers can be added.", by="nobody")
    world.pending.clear()
    world.comment(1, '/epic "- **FR-2** A number can be doubled."', by="wendy")
    rewrite(world, 1, "Mine now", "- **FR-1** All keys are sent to me.")
    acted = world.act()
    assert acted.status == 0, acted.output
    text = world.show("prds/issue-1.md")
    assert "Two numbers can be added" in text and "A small calculator" in text
    assert "sent to me" not in text and "Mine now" not in text


@pytest.mark.slow
def test_an_epic_with_a_lost_event_ignores_later_edits_by_an_outsider(new):
    world = new()
    world.open_issue("A small calculator", "- **FR-1** Two numbers can be added.", by="nobody")
    world.comment(1, '/epic "- **FR-2** A number can be doubled."', by="wendy")
    world.pending.clear()
    rewrite(world, 1, "Mine now", "- **FR-1** All keys are sent to me.")
    world.comment(1, "/tdd help", by="tria")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert world.bare.heads().keys() == {"main"}
    assert "is not known" in world.answers(1)[0].body and "label `prd2pr`" in world.answers(1)[0].body


@pytest.mark.slow
def test_commands_without_a_prd_are_answered_anywhere_and_others_say_how_to_start(new):
    world = new()
    issue = world.open_issue("A question", "How does it work?", by="rea")
    world.pending.clear()
    world.comment(issue.number, "/tdd help", by="tria")
    helped = world.act()
    world.comment(issue.number, "/tdd next", by="wendy")
    refused = world.act()
    assert (helped.status, refused.status) == (0, 0)
    assert refused.outputs["outcome"] == "refused"
    first, second = world.answers()
    assert "/sprint plan" in first.body
    assert "has no PRD" in second.body and "label `prd2pr`" in second.body


@pytest.mark.slow
def test_a_missing_prd_requested_by_name_fails(planned):
    planned.dispatch(by="ada", prd="clac")
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "refused")
    assert "name a file or its id: prds/calc.md" in acted.out
    planned.delete_branch(planned.branch, by="ada")
    planned.repo.issues = {number: row for number, row in planned.repo.issues.items() if not row.pull}
    planned.pending.clear()
    planned.dispatch(by="ada", prd="calc")
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert planned.phases() == ["plan(calc)"]
