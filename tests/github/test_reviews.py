"""Reviews of prd2pr's pull requests: commands in them, and requested changes as input."""

from __future__ import annotations

import pytest

from fakes.github.events import review_comment_event, review_event
from prd2pr.domain.records import Status
from prd2pr.github.events.events import EventIgnored, ReviewSubmitted, read_event
from prd2pr.state.codec import decode_document
from world import PRD


def status(world) -> Status:
    return decode_document(Status, world.show(".orch-state/prds/calc/status.json").encode(), "status")


def test_a_command_in_a_review_or_on_a_line_is_executed_once(started):
    number = started.pull().number
    started.review(number, "Looks good.\n\n/tdd next", lines={"src/calc/signs.py:2": "/tdd status"})
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases()[-1] == "design(calc-1)"
    (answer,) = started.answers(number)
    assert "calc-1" in answer.body
    started.tick()
    started.act()
    assert started.phases()[-1] == "design(calc-1)" and len(started.answers(number)) == 1
    assert started.fake.violations == []


def test_requested_changes_are_advice_for_the_next_attempt(started):
    number = started.pull().number
    lines = {"src/calc/signs.py:2": "Name it `is_negative`."}
    started.review(number, "Please keep it short.", state="CHANGES_REQUESTED", lines=lines)
    acted = started.act()
    assert acted.status == 0, acted.output
    assert status(started).advice == "Please keep it short.\n\nsrc/calc/signs.py:2: Name it `is_negative`."
    started.review(number, "Nice so far.", lines={"src/calc/signs.py:2": "Why?"})
    started.act()
    assert status(started).advice.startswith("Please keep it short."), "a comment is not a request"


@pytest.mark.parametrize(("by", "advice"), [("wendy", True), ("tria", False), ("rea", False), ("nobody", False)])
def test_only_people_with_write_permission_can_request_changes(started, by, advice):
    number = started.pull().number
    started.review(number, "Use decimals.", by=by, state="CHANGES_REQUESTED")
    acted = started.act()
    assert acted.status == 0, acted.output
    assert (status(started).advice == "Use decimals.") is advice
    assert len(started.answers(number)) == (1 if by == "tria" else 0), "only members are told"


def test_an_edited_review_is_ignored(started):
    row = started.review(started.pull().number, "/tdd next", state="CHANGES_REQUESTED")
    row.edited_at = "2026-01-01T00:00:00Z"
    head = started.bare.heads()[started.branch]
    assert started.act().status == 0
    assert started.bare.heads()[started.branch] == head


def test_a_review_that_was_begun_earlier_and_submitted_later_is_read(started):
    number = started.pull().number
    early = started.fake.new_id()
    started.review(number, "/tdd next")
    started.act()
    row = started.review(number, "/tdd pause calc-1", pending=early)
    row.submitted_at = "2037-01-01T00:00:00Z"
    acted = started.act()
    assert acted.status == 0, acted.output
    assert "paused" in started.subjects()[-1] or "pause" in started.subjects()[-1], started.subjects()


def test_events_of_reviews(started, new):
    pull = started.pull()
    row = started.review(pull.number, "x", lines={"src/calc/signs.py:1": "y"})
    expected = ReviewSubmitted(pull.number, started.branch, read_event_actor(started, row))
    for event in (review_event(started.fake, started.repo, row), review_comment_event(started.fake, started.repo, row)):
        assert read_event(event.name, event.payload) == expected
        edited = {**event.payload, "action": "edited"}
        assert isinstance(read_event(event.name, edited), EventIgnored)
        fork = {**event.payload["pull_request"]["head"], "repo": {"full_name": "eve/calc"}}
        foreign = {**event.payload, "pull_request": {**event.payload["pull_request"], "head": fork}}
        assert isinstance(read_event(event.name, foreign), EventIgnored)


def read_event_actor(world, row):
    read = read_event("pull_request_review", review_event(world.fake, world.repo, row).payload)
    assert isinstance(read, ReviewSubmitted) and read.actor.login == row.user
    return read.actor


def test_generic_commands_can_be_left_to_other_bots(new):
    world = new(files={".prd2pr.yml": "generic_commands: false\n"})
    world.push_prd("prds/calc.md", PRD)
    world.act()
    number = world.pull().number
    shown = world.status_comment(number).body
    assert "`/tdd approve" in shown and "`/approve" not in shown
    head = world.bare.heads()[world.branch]
    world.comment(number, "/approve\n\n/state", by="wendy")
    assert world.act().status == 0
    assert world.bare.heads()[world.branch] == head and world.answers(number) == []
    world.comment(number, "/tdd approve", by="wendy")
    assert world.act().status == 0
    assert world.bare.heads()[world.branch] != head
