"""What is shown follows the plan: requirements without a story, issues of reused ids, titles."""

from __future__ import annotations

from world import PRD


def do(world, text) -> None:
    world.comment(world.pull().number, text)
    acted = world.act()
    assert acted.status == 0, acted.output


def test_a_lost_requirement_is_named_a_reused_id_gets_its_issue_and_titles_follow_the_prd(planned):
    (issue,) = (row for row in planned.repo.issues.values() if row.title.startswith("calc-2:"))
    (tracking,) = (row for row in planned.repo.issues.values() if row.sub_issues)
    do(planned, "/backlog remove calc-2")
    assert issue.state == "closed"
    for place in (planned.status_comment().body, planned.pull().body):
        assert "not covered by any story" in place.lower() and "FR-2" in place
    do(planned, '/backlog add_story "Halve a number"')
    assert (issue.state, issue.title) == ("open", "calc-2: Halve a number")
    assert "Halve a number" in issue.body and "doubled" not in issue.body

    planned.push_prd("prds/calc.md", PRD.replace("A small calculator", "A tiny calculator"))
    planned.act()
    assert (planned.pull().title, tracking.title) == ("A tiny calculator", "prd2pr: A tiny calculator")
    planned.pull().title = "What wendy calls it"
    planned.push_prd("prds/calc.md", PRD.replace("A small calculator", "A minute calculator"))
    planned.act()
    assert (planned.pull().title, tracking.title) == ("What wendy calls it", "prd2pr: A minute calculator")
