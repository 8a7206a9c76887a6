"""Commands are read from the code host, not from the event: none is lost, repeated or executed without permission."""

from __future__ import annotations

import json
import threading

import pytest

from fakes.github import ACTIONS_BOT
from fakes.github.faults import Calls, Stale
from fakes.github.on_issues import add_comment
from fakes.github.on_pulls import open_pull
from prd2pr.github.events.event_filter import NOT_A_NEW_COMMENT
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import CommandTooOld
from world import PRD

START = ["plan(calc)", "note(plan)", "note(plan)"]


def answers_to(world, comment) -> list[str]:
    return [row.body for row in world.answers() if f"prd2pr:answer:{comment.id}:" in row.body]


def test_lost_repeated_and_reordered_events_run_one_phase_per_command(started):
    number = started.pull().number
    for _ in range(3):
        started.comment(number, "/tdd next", by="wendy")
    first, _, third = started.pending
    started.pending.clear()
    assert started.act(third).status == 0  # the others' events come late, twice or never
    assert started.phases() == [*START, "design(calc-1)", "red(calc-1)", "green(calc-1)"]
    for late in (first, third):
        again = started.act(late)
        assert (again.status, again.outputs["outcome"]) == (0, "nothing-to-do"), again.output
    assert started.phases() == [*START, "design(calc-1)", "red(calc-1)", "green(calc-1)"]
    assert len(started.status_comment(number).body) > 0
    assert started.answers() == []


def test_two_concurrent_runs_do_one_phase(started):
    """The first one is held at its push until the second has done the same work."""
    started.comment(started.pull().number, "/tdd next")
    event, other = started.pending[0], []

    def run_the_other() -> None:
        other.append(started.act(event))

    def hold() -> None:
        second = threading.Thread(target=run_the_other)
        second.start()
        second.join()

    started.fake.faults.add(Calls(before=hold), "POST */git-receive-pack")
    acted = started.act(event)
    assert [started.fake.faults.unmet, len(other)] == [[], 1]
    assert (acted.status, other[0].status) == (0, 0), acted.output + other[0].output
    assert started.phases() == [*START, "design(calc-1)"]
    assert len(started.pulls()) == 1
    assert started.status_comment().number == started.pull().number


@pytest.mark.slow
def test_two_concurrent_runs_answer_a_query_once_and_show_one_status(started):
    """One by a comment on the pull request, one on the tracking issue: no concurrency group separates them."""
    number = started.pull().number
    tracking = next(row.number for row in started.repo.issues.values() if "prd2pr:tracking:" in (row.body or ""))
    with started.fake.lock:
        del started.repo.comments[started.status_comment(number).id]
    asked = started.comment(number, "/tdd status calc-1", by="wendy")
    also = started.comment(tracking, "/tdd status calc-2", by="max")
    first, second = started.pending
    started.pending.clear()
    other = []

    def hold() -> None:
        run = threading.Thread(target=lambda: other.append(started.act(second)))
        run.start()
        run.join()

    started.fake.faults.add(Calls(before=hold), "POST */comments")
    acted = started.act(first)
    assert (acted.status, other[0].status) == (0, 0), acted.output + other[0].output
    assert [len(answers_to(started, asked)), len(answers_to(started, also))] == [1, 1]
    assert started.status_comment(number)


@pytest.mark.slow
def test_plain_text_commands_of_one_comment_run_in_order(started):
    text = "\n".join(
        (
            "> /tdd run", "", "```", "/tdd run", "```", "<!-- /tdd run -->", "", "/tdd next", "/tdd status calc-1",
            "/tdd nxet", "/tdd pause calc-1 \"lunch\"", "/tdd next calc-1",
        )
    )  # fmt: skip
    said = started.comment(started.pull().number, text, by="max")
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases() == [*START, "design(calc-1)", "note(calc-1)"]
    status, unknown, paused = answers_to(started, said)
    assert "calc-1" in status
    assert "/tdd next" in unknown
    assert "paused" in paused
    assert started.act(acted.event).outputs["outcome"] == "nothing-to-do"
    assert len(answers_to(started, said)) == 3


@pytest.mark.slow
def test_the_edited_text_is_ignored_and_the_original_counts(started):
    number = started.pull().number
    waiting = started.comment(number, "/tdd halt_all", by="wendy")
    started.edit_comment(waiting.id, "/tdd run", by="ada")
    started.pending.clear()
    said = started.comment(number, "/tdd next", by="wendy")
    event = started.pending.pop()
    started.edit_comment(said.id, "/tdd run", by="wendy")
    acted = started.act(event)
    assert acted.status == 0, acted.output
    assert started.phases() == [*START, "design(calc-1)"]
    edited = started.act()
    assert (edited.status, edited.outputs) == (0, {})
    assert NOT_A_NEW_COMMENT in edited.out


@pytest.mark.slow
def test_a_comment_deleted_meanwhile_still_counts(started):
    said = started.comment(started.pull().number, "/tdd next", by="wendy")
    event = started.pending.pop()
    started.delete_comment(said.id)
    assert started.act(event).status == 0
    assert started.phases() == [*START, "design(calc-1)"]


@pytest.mark.slow
def test_bots_outsiders_and_readers_get_no_answer_and_insiders_one(started):
    number = started.pull().number
    started.fake.add_user("helper[bot]", kind="Bot")
    started.repo.collaborators["helper[bot]"] = "admin"
    for login in ("helper[bot]", ACTIONS_BOT):
        with started.fake.lock:
            add_comment(started.fake, started.repo, number, login, "/tdd run")
    for login in ("nobody", "rea"):
        started.comment(number, "/tdd run", by=login)
    before = len(started.comments(number))
    outcomes = [acted.outputs["outcome"] for acted in started.settle()]
    assert outcomes == ["nothing-to-do", "nothing-to-do"]
    assert len(started.comments(number)) == before
    told = started.comment(number, "/tdd run\n/tdd status", by="tria")
    event = started.pending[0]
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert "/tdd run needs the permission `write`; tria has `triage`" in acted.out
    started.act(event)
    started.tick()
    started.act()
    refusal, status = answers_to(started, told)
    assert "write" in refusal and "calc-1" in status
    assert started.phases() == START


@pytest.mark.slow
def test_a_pull_request_from_a_fork_is_ignored_whatever_its_branch_name(started):
    fork = started.fake.add_fork(started.name, "nobody")
    with started.fake.lock:
        pull = open_pull(started.fake, started.repo, "nobody", "Mine", "", f"{fork.owner}:{started.branch}", "main")
    said = started.comment(pull.number, "/tdd run", by="wendy")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert "has no PRD" in answers_to(started, said)[0]
    assert started.phases() == START


@pytest.mark.slow
def test_a_revoked_permission_is_checked_again(started):
    number = started.pull().number
    started.comment(number, "/tdd next", by="wendy")

    def leave() -> None:
        started.repo.collaborators["wendy"] = "read"
        with started.fake.lock:
            add_comment(started.fake, started.repo, number, "wendy", "/tdd run")

    started.fake.faults.add(Calls(after=leave), "POST */git-receive-pack")
    assert started.act().status == 0
    assert started.phases() == [*START, "design(calc-1)"]


@pytest.mark.slow
def test_an_order_for_one_story_ends_with_it(started):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases()[-1] == "integrated(calc-1)"
    assert started.pull().pull.draft
    started.tick()
    assert started.act().outputs["outcome"] == "nothing-to-do"
    assert started.phases()[-1] == "integrated(calc-1)"


@pytest.mark.slow
def test_a_pause_takes_effect_after_the_current_phase(started):
    number = started.pull().number

    def pause() -> None:
        with started.fake.lock:
            add_comment(started.fake, started.repo, number, "wendy", '/tdd halt_all "not now"')

    started.comment(number, "/tdd run", by="wendy")
    started.fake.faults.add(Calls(after=pause), "POST */git-receive-pack", skip=1)
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert started.phases()[3:] == ["note(plan)", "design(calc-1)", "note(plan)"]
    assert "halted" in started.status_comment(number).body


@pytest.mark.slow
def test_an_order_from_before_the_plan_approves_nothing(planned):
    """Nobody can approve a plan that they have not seen."""
    planned.fake.skip(-3600)
    late = planned.comment(planned.pull().number, "/tdd run", by="wendy")
    planned.fake.skip(3600)
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "refused"), acted.output
    assert planned.phases() == ["plan(calc)"]
    assert "changed after this comment" in answers_to(planned, late)[0]


@pytest.mark.slow
def test_a_stale_comment_list_loses_no_earlier_command(started):
    number = started.pull().number
    started.comment(number, '/tdd halt_all "stop"', by="ada")
    started.comment(number, "/tdd next", by="wendy")
    late = started.pending.pop()
    started.fake.faults.add(Stale(2), f"GET */issues/{number}/comments*", times=3)
    acted = started.act(late)
    assert started.fake.faults.unmet == []
    assert acted.outputs["outcome"] == "waiting" and started.phases() == [*START, "note(plan)"], acted.output
    assert json.loads(started.show(".orch-state/prds/calc/status.json"))["halted"]


@pytest.mark.slow
def test_an_old_command_is_not_executed_for_a_new_collaborator(started):
    number, days = started.pull().number, 24 * 3600
    started.fake.skip(-4 * days)
    old = started.comment(number, "/tdd run", by="nobody")
    silent = started.comment(number, "/tdd run", by="tria")
    started.fake.skip(4 * days)
    started.pending.clear()
    started.tick()
    started.act()
    assert answers_to(started, old) == answers_to(started, silent) == []
    started.repo.collaborators["nobody"] = "write"
    for _ in range(2):
        started.tick()
        assert started.act().outputs["outcome"] == "nothing-to-do"
    assert started.phases() == START
    (answer,) = answers_to(started, old)
    assert answer.endswith(render_reply(CommandTooOld("/tdd run", 3)))
    assert answers_to(started, silent) == []


@pytest.mark.slow
def test_a_pull_request_opened_by_an_outsider_takes_nothing_over(started):
    ours = started.pull().number
    started.push({"x.txt": "x"}, "ada", branch="release")
    started.pending.clear()
    with started.fake.lock:
        foreign = open_pull(started.fake, started.repo, "nobody", "Mine", "", started.branch, "release")
    started.comment(ours, "/tdd next", by="wendy")
    acted = started.act()
    assert acted.outputs["pr"].endswith(f"/{ours}"), acted.output
    assert started.phases() == [*START, "design(calc-1)"]
    assert (foreign.body, started.comments(foreign.number)) == ("", [])


@pytest.mark.slow
def test_an_outsiders_earlier_pull_request_is_named_and_ours_opens_once_it_closes(new):
    world, foreign = new(), []

    def sneak() -> None:
        with world.fake.lock:
            foreign.append(open_pull(world.fake, world.repo, "nobody", "Mine", "", world.branch, "main"))

    world.fake.faults.add(Calls(before=sneak), "POST */pulls")
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert f"nobody, who has no write permission, opened #{foreign[0].number}" in acted.output
    world.close(foreign[0].number, by="nobody")
    world.pending.clear()
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output
    assert [each.user for each in world.pulls()] == ["nobody", ACTIONS_BOT]


@pytest.mark.slow
def test_one_comment_gets_few_answers_and_identical_ones_once_across_runs(started):
    number = started.pull().number
    forbidden = started.comment(number, "\n".join(["/tdd next"] * 20), by="tria")
    refused = started.comment(number, "\n".join(["/sprint start"] * 2 + ["/approve", "/sprint resume"] * 9))
    for _ in range(2):
        started.act()
    for _ in range(2):  # unanswered commands are not executed later either
        (told,) = answers_to(started, forbidden)
        assert "write" in told
        *some, last = answers_to(started, refused)
        assert len(some) == 5 and "at most 5 replies" in last
        started.tick()
        started.act()
    assert started.phases() == START


@pytest.mark.slow
def test_an_answered_order_is_not_executed_when_its_answer_is_deleted(started):
    number = started.pull().number
    order = started.comment(number, "/tdd next", by="wendy")
    started.act(env={"PRD2PR_MODEL": "anthropic:claude-sonnet-5-5"})  # without a key
    (answer,) = started.answers(number)
    order.reactions.clear()  # as if the run was killed right after the answer
    started.tick()
    started.act()
    assert started.reactions(order.id) == ["confused"], "what is missing is done by the next run"
    before = started.phases()
    started.delete_comment(answer.id, by="ada")
    started.pending.clear()
    started.tick()
    acted = started.act()
    assert (started.phases(), started.answers(number)) == (before, []), acted.output
