"""The published status claims no more than the gates judged, and foreign text triggers nothing."""

from __future__ import annotations

import pytest

from prd2pr.views.pull_request.next_step import ALL_SETTLED
from world import PRD

LIVE = ("closes #7", "[skip ci]", "@octo/team")


def test_a_title_triggers_nothing_in_the_merge_message(new):
    world = new()
    world.push_prd("prds/calc.md", PRD.replace("title: A small calculator", "title: 'closes #7 [skip ci] @octo/team'"))
    assert world.act().status == 0
    pull = world.pull()
    world.merge(pull.number)
    merged = str(world.bare.git("log", "-1", "--format=%B", "main"))
    texts = [*(row.title for row in world.repo.issues.values()), merged]
    assert pull.title.replace("\u200b", "") == " ".join(LIVE), "it reads as it was written"
    assert sum("team" in text for text in texts) == 3, "pull request, tracking issue, merge"
    assert not any(live in text for text in texts for live in LIVE), texts


@pytest.mark.slow
def test_an_unjudged_commit_after_the_last_step_is_not_ready(started):
    number = started.pull().number
    started.comment(number, "/tdd run")
    started.settle()
    assert started.pull().labels == ["prd2pr:done"] and not started.pull().pull.draft
    started.push({"README.md": "# Calc\n"}, "wendy", branch=started.branch)
    started.settle()
    assert started.pull().labels == ["prd2pr:done"], "docs change nothing that a gate has judged"

    proved = started.show("src/calc/sums.py").rstrip("\n") + "\n"
    started.push({"src/calc/sums.py": "def add(a, b):\n    return 7\n"}, "wendy", branch=started.branch)
    started.settle()
    pull = started.pull()
    assert pull.labels == ["prd2pr:waiting"] and pull.pull.draft
    for text in (started.status_comment(number).body, pull.body):
        assert "`/tdd run_tests`" in text and "added tests passed" in text
        assert "Ready for review" not in text and ALL_SETTLED not in text

    started.push({"src/calc/sums.py": proved}, "wendy", branch=started.branch)
    started.settle()
    assert started.pull().labels == ["prd2pr:done"] and not started.pull().pull.draft, "taken back"


@pytest.mark.slow
def test_the_issue_of_a_removed_story_is_closed(planned):
    def states() -> dict[str, str]:
        rows = planned.repo.issues.values()
        return {row.title.partition(":")[0]: row.state for row in rows if row.title.startswith("calc-")}

    assert states() == {"calc-1": "open", "calc-2": "open"}
    planned.comment(planned.pull().number, "/backlog remove calc-2")
    planned.settle()
    assert states() == {"calc-1": "open", "calc-2": "closed"}


def test_text_that_people_add_around_the_description_stays(started):
    pull = started.pull()
    with started.fake.lock:
        pull.body = f"Look at sums.py first.\n\n{pull.body}\n\nPart of #77.\n"
    started.comment(pull.number, "/tdd next")
    started.settle()
    text = started.pull().body
    assert text.startswith("Look at sums.py first.") and text.endswith("Part of #77.")
    assert text.count("Check it yourself") == 1 and "2 of 2 added tests" not in text
    assert "/tdd next" in text.partition("**Next:**")[2], "ours is written anew"


@pytest.mark.slow
def test_the_issue_of_a_restarted_story_is_reopened(started):
    def issue():
        return next(row for row in started.repo.issues.values() if row.title.startswith("calc-1"))

    number = started.pull().number
    started.comment(number, "/tdd run calc-1")
    started.settle()
    assert issue().state == "closed"
    started.comment(number, "/tdd start calc-1")
    started.settle()
    assert issue().state == "open", "we closed it"
    with started.fake.lock:
        issue().state, issue().closed_by = "closed", "ada"
    started.comment(number, "/tdd next calc-1")
    started.settle()
    assert issue().state == "closed", "a person closed it"
