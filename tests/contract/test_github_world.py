"""The environment of the program: events as Actions gives them, a fresh checkout, outputs, and kills."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.github import ACTIONS_BOT
from fakes.github.faults import DropAfter
from fakes.github.on_pulls import open_pull
from github_runner import Ending, read_outputs
from github_world import GitHubWorld
from world import PRD

# What a job's step can do: it reads its event, pushes a branch, opens a pull request and writes outputs.
STEP = """
import json, os, subprocess, urllib.request

def call(method, path, body):
    request = urllib.request.Request(os.environ["GITHUB_API_URL"] + path, json.dumps(body).encode(), method=method)
    request.add_header("Authorization", "Bearer " + os.environ["GITHUB_TOKEN"])
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def git(*words):
    subprocess.run(["git", "-c", "user.name=bot", "-c", "user.email=bot@example.org", *words], check=True)

event = json.load(open(os.environ["GITHUB_EVENT_PATH"]))
where = os.environ["GITHUB_SERVER_URL"].replace("://", "://x-access-token:" + os.environ["GITHUB_TOKEN"] + "@")
git("commit", "-q", "--allow-empty", "-m", "plan: " + event["after"][:7])
git("push", "-q", where + "/octo/calc.git", "HEAD:prd2pr/calc")
pull = call("POST", "/repos/octo/calc/pulls", {"title": "t", "body": "b", "head": "prd2pr/calc", "base": "main"})
call("POST", f"/repos/octo/calc/issues/{pull['number']}/comments", {"body": "<!-- prd2pr:status:calc --> hello"})
with open(os.environ["GITHUB_OUTPUT"], "a") as out:
    out.write(f"pr={pull['number']}\\nreport<<END_7\\ntwo\\nlines\\nEND_7\\n")
with open(os.environ["GITHUB_STEP_SUMMARY"], "a") as out:
    out.write("# Done\\n")
print(os.environ["GITHUB_EVENT_NAME"], os.path.exists("prds/calc.md"))
"""
STEP_COMMAND = (sys.executable, "-c", STEP)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[GitHubWorld]:
    with GitHubWorld(tmp_path) as world:
        yield world
        assert world.fake.violations == []


def test_a_step_runs_on_a_fresh_checkout_and_its_effects_are_visible(world: GitHubWorld) -> None:
    event = world.push_prd("prds/calc.md", PRD, by="ada")
    acted = world.act(command=STEP_COMMAND)
    assert (acted.status, acted.err) == (0, "")
    assert acted.out == "push True\n"
    assert acted.outputs == {"pr": "1", "report": "two\nlines"}
    assert acted.summary == "# Done\n"
    assert world.subjects() == [f"plan: {event.sha[:7]}"]
    assert world.pull().user == world.status_comment().user == ACTIONS_BOT
    assert world.pending == []  # what GITHUB_TOKEN does starts no workflow


@pytest.mark.parametrize(
    ("call", "when", "pulls"), [(4, "before", 0), (4, "after", 1), (5, "before", 1)], ids=str
)  # 1 to 3 are git's push
def test_a_run_is_killed_before_or_after_one_of_its_calls(world: GitHubWorld, call: int, when: str, pulls: int) -> None:
    world.push_prd("prds/calc.md", PRD)
    acted = world.act(command=STEP_COMMAND, ending=Ending(call, when))  # type: ignore[arg-type]
    assert acted.status == -signal.SIGKILL
    assert len(world.pulls()) == pulls
    assert world.comments() == []
    assert world.fake.faults.scripted == []


def test_a_run_asked_to_stop_still_gets_its_answer(world: GitHubWorld) -> None:
    world.push_prd("prds/calc.md", PRD)
    acted = world.act(command=STEP_COMMAND, ending=Ending(4, "before", signal.SIGTERM))
    assert acted.status == -signal.SIGTERM  # this step has no handler
    assert len(world.pulls()) == 1


def test_faults_reach_a_separate_process(world: GitHubWorld) -> None:
    world.push_prd("prds/calc.md", PRD)
    world.fake.faults.add(DropAfter(), "POST */pulls")
    acted = world.act(command=STEP_COMMAND)
    assert "RemoteDisconnected" in acted.err
    assert len(world.pulls()) == 1


def test_every_action_of_a_person_is_an_event_with_its_sender(world: GitHubWorld) -> None:
    issue = world.open_issue("Wish", "please", by="rea", labels=("prd2pr",))
    comment = world.comment(issue.number, "/tdd next", by="wendy")
    world.edit_comment(comment.id, "/tdd run", by="wendy")
    world.unlabel(issue.number, "prd2pr", by="tria")
    world.close(issue.number, by="max")
    world.dispatch(by="ada", prd="calc")
    world.tick()
    seen = [(event.name, event.payload.get("action"), event.actor) for event in world.pending]
    assert seen == [
        ("issues", "opened", "rea"), ("issues", "labeled", "rea"), ("issue_comment", "created", "wendy"),
        ("issue_comment", "edited", "wendy"), ("issues", "unlabeled", "tria"), ("issues", "closed", "max"),
        ("workflow_dispatch", None, "ada"), ("schedule", None, ""),
    ]  # fmt: skip
    edited = world.pending[3].payload
    assert edited["comment"]["created_at"] < edited["comment"]["updated_at"]
    assert edited["changes"]["body"]["from"] == "/tdd next"
    assert all(event.payload["repository"]["full_name"] == "octo/calc" for event in world.pending)
    assert world.pending[2].payload["issue"]["labels"][0]["name"] == "prd2pr"


def test_people_move_branches_and_the_pull_request_follows(world: GitHubWorld) -> None:
    world.push({"src/calc/sums.py": "A = 1\n"}, "wendy", branch="prd2pr/calc")
    open_pull(world.fake, world.repo, "wendy", "Sums", None, "prd2pr/calc", "main")
    number = world.pull().number
    event = world.push({"src/calc/sums.py": "A = 2\n"}, "wendy", branch="prd2pr/calc", force=True)
    assert event.payload["forced"]
    assert world.pull().pull.head_sha == event.sha  # type: ignore[union-attr]
    world.merge(number, by="max")
    assert world.pending[-1].payload["pull_request"]["merged"]
    gone = world.delete_branch("prd2pr/calc", by="max")
    assert gone.payload["deleted"] and gone.payload["head_commit"] is None
    assert world.pull().state == "closed"


def test_an_output_without_an_end_is_ignored() -> None:
    with pytest.raises(ValueError, match="no end"):
        read_outputs("report<<E\none\n")
    with pytest.raises(ValueError, match="not an output"):
        read_outputs("one\n")
