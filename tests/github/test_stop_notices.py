"""Cancelled, closed, forced back or deleted: reported once where people look, and respected until they decide."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from fakes.github.faults import Calls
from github_runner import Ending
from world import write

MESSAGES = "notify: {events: [waiting, blocked, done, budget]}\n"


@pytest.fixture
def inbox() -> Iterator[tuple[dict[str, str], list[str]]]:
    """A URL that accepts messages, and the titles received."""
    got: list[str] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["title"])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"PRD2PR_NOTIFY_URLS": f"json://127.0.0.1:{server.server_port}/"}, got
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("how", ["close", *(pytest.param(how, marks=pytest.mark.slow) for how in ("force", "merge"))])
def test_a_schedule_with_nothing_new_sends_nothing(started, inbox, how):
    env, got = inbox
    started.push({".prd2pr.yml": MESSAGES}, "ada")
    if how == "force":
        started.bare.git("update-ref", f"refs/heads/{started.branch}", f"{started.branch}~1")
    else:
        getattr(started, how)(started.pull().number)
    started.pending.clear()
    outcomes = []
    for _ in range(2):
        started.tick()
        outcomes.append(started.act(env=env).outputs["outcome"])
    assert outcomes == ["done" if how == "merge" else "waiting", "nothing-to-do"]
    assert len(got) == 1


@pytest.mark.slow
def test_a_blocked_story_fails_the_run_that_blocked_it_and_is_reported(started, inbox):
    env, got = inbox
    started.push({".prd2pr.yml": f"attempts: 1\n{MESSAGES}"}, "ada")
    started.pending.clear()
    nothing = write("tests/tdd/calc-1/test_calc_1_add.py", "def test_nothing():\n    assert 1 == 1\n")
    for name in [each for each in started.answers_of_model if each.startswith("calc-1/red")]:
        started.answers_of_model[name] = nothing
    started.comment(started.pull().number, "/tdd run", by="wendy")
    acted = started.act(env=env)
    assert (acted.status, acted.outputs["outcome"]) == (1, "blocked"), acted.output
    started.tick()
    acted = started.act(env=env)
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    answers = len(started.answers())
    started.comment(started.pull().number, "/state\n/tdd budget\n/tdd help", by="tria")
    acted = started.act(env=env)
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), "a question is no news"
    assert len(started.answers()) == answers + 3
    assert got == ["prd2pr: calc is blocked"]


@pytest.mark.slow
def test_a_cancelled_run_says_so(started):
    number = started.pull().number
    started.comment(number, "/tdd run calc-1", by="wendy")
    acted = started.act(ending=Ending(40, by=signal.SIGINT))
    assert acted.status == 130, acted.output
    body = started.status_comment(number).body
    assert "### Cancelled" in body and "comment `/tdd run`" in body, acted.output + body
    assert "prd2pr:blocked" not in started.pull().labels
    (report,) = json.loads((acted.workspace.parent / "temp/prd2pr-report.json").read_text())
    assert report["outcome"] == "waiting"


@pytest.mark.parametrize("how", ["force", pytest.param("delete", marks=pytest.mark.slow)])
def test_a_branch_removed_during_a_run_waits_for_a_person(started, how):
    number = started.pull().number

    def take_away() -> None:
        if how == "delete":
            started.bare.delete(f"refs/heads/{started.branch}")
        else:
            started.bare.git("update-ref", f"refs/heads/{started.branch}", f"{started.branch}~2")

    started.comment(number, "/tdd run calc-1", by="wendy")
    started.fake.faults.add(Calls(before=take_away), "*git-receive-pack*", skip=2)
    acted = started.act()
    # Deleting the branch closes the pull request, and an order under a closed one is refused.
    assert acted.outputs["outcome"] == ("waiting" if how == "force" else "refused"), acted.output
    left = started.phases() if how == "force" else []
    for again in (started.tick, lambda: started.comment(number, "/tdd next", by="wendy")):
        again()
        started.act()
        assert (started.phases() if how == "force" else []) == left
    said = started.status_comment(number).body
    assert "### Working" not in said, said
    everything = "".join(row.body for row in started.comments(number))
    assert "branch -f" not in everything and "starts anew" not in everything
    assert ("was force-pushed" if how == "force" else "was deleted") in said, said


@pytest.mark.slow
def test_a_story_issue_points_to_where_commands_are_read(started):
    story = next(row for row in started.repo.issues.values() if "prd2pr:story:" in row.body)
    before = started.phases()
    started.comment(story.number, "/tdd next", by="wendy")
    acted = started.act()
    assert acted.outputs["outcome"] == "refused" and started.phases() == before
    (answer,) = started.answers(story.number)
    assert f"Comment below #&#8203;{started.pull().number}." in answer.body


@pytest.mark.slow
def test_an_exhausted_story_time_limit_names_the_setting(started):
    number = started.pull().number
    started.push({".prd2pr.yml": "budget: {minutes_per_story: 0.0000001}\n"}, "ada")
    started.pending.clear()
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act()
    if acted.outputs["outcome"] != "budget":  # the first phase uses up the time
        started.comment(number, "/tdd next", by="wendy")
        acted = started.act()
    assert acted.outputs["outcome"] == "budget", acted.output
    assert "Next: Raise budget.minutes_per_story in .prd2pr.yml" in acted.out
    assert "Raise budget.minutes\\_per\\_story in .prd2pr.yml, then `/tdd next`" in started.answers(number)[-1].body
