"""A pull request whose base was changed stays the only one: the change is reported, and no second one is opened."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_a_pull_request_with_a_changed_base_waits_and_gets_no_duplicate(planned):
    planned.push({"x.txt": "x"}, "ada", branch="develop")
    planned.pending.clear()
    row = planned.pull()
    row.pull.base = "develop"
    planned.comment(row.number, "/tdd next", by="wendy")
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert [(each.number, each.pull.base) for each in planned.pulls()] == [(row.number, "develop")]
    said = planned.status_comment().body
    assert "was changed from main to develop" in said and "back to main" in said
    assert "was changed from main to develop" in planned.answers()[-1].body
    row.pull.base = "main"
    planned.comment(row.number, "/approve\n/tdd pause", by="ada")
    assert planned.act().status == 0
    assert [each.number for each in planned.pulls()] == [row.number]
    assert "was changed from main to develop" not in planned.status_comment().body
