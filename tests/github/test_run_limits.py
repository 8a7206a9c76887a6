"""Work that exceeds the limits of one run stops between phases, and another run continues."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from fakes.github.jwt import new_key_pair
from fakes.github.state import Token
from github_runner import Ending
from world import PRD, write

START = ["plan(calc)", "note(plan)", "note(plan)"]
FIRST = ["design(calc-1)", "red(calc-1)", "green(calc-1)", "integrated(calc-1)"]
A_MINUTE = {"PRD2PR_MAX_MINUTES": "1"}  # too little time for a second phase


@pytest.mark.slow
def test_the_next_run_is_started_before_the_deadline_and_finishes(started):
    number = started.pull().number
    started.comment(number, "/tdd run calc-1", by="wendy")
    acted = started.act(env=A_MINUTE)
    assert (acted.status, acted.outputs["outcome"]) == (0, "deadline"), acted.output
    assert started.phases() == [*START, "note(plan)", "design(calc-1)"]
    (dispatch,) = started.repo.dispatches
    assert (dispatch.workflow, dispatch.ref, dispatch.inputs["prd"]) == ("prd2pr.yml", "main", "calc")
    (event,) = started.pending
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases() == [*START, "note(plan)", *FIRST]
    assert len(started.repo.dispatches) == 1
    assert started.act(event).outputs["outcome"] == "waiting"
    assert started.phases() == [*START, "note(plan)", *FIRST]


def test_commands_left_at_the_deadline_are_for_the_next_run(started):
    number = started.pull().number
    for _ in range(2):
        started.comment(number, "/tdd next", by="wendy")
    started.pending.pop()  # the second one's event is lost
    acted = started.act(env=A_MINUTE)
    assert acted.outputs["outcome"] == "deadline", acted.output
    assert started.phases() == [*START, "design(calc-1)"]
    assert started.act(env=A_MINUTE).status == 0
    assert started.phases() == [*START, "design(calc-1)", "red(calc-1)"]
    assert started.pending == []


@pytest.mark.slow
def test_a_cancelled_run_keeps_what_it_has(started):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    acted = started.act(ending=Ending(40, by=signal.SIGTERM))
    assert acted.status == 130, acted.output
    assert "this run was cancelled" in acted.output
    kept = started.phases()
    assert [*START, "note(plan)"] == kept[:4] and len(kept) < 8, kept
    started.tick()
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases() == [*START, "note(plan)", *FIRST]


def with_usage(world, tokens: int) -> dict[str, str]:
    """The same transcript, with token usage on each answer."""
    lines = [json.loads(line) for line in world.transcript().read_text().splitlines()]
    for line in lines[1:]:
        line["usage"] = {"input_tokens": tokens}
    path = world.root / "spending.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"PRD2PR_MODEL": f"replay:{path}"}


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["tokens_per_prd", pytest.param("tokens_per_run", marks=pytest.mark.slow)])
def test_no_answer_promises_more_work_when_out_of_budget(started, limit):
    started.push({".prd2pr.yml": f"budget: {{{limit}: 60000}}\n"}, "ada")
    started.pending.clear()
    number, env = started.pull().number, with_usage(started, 70_000)
    started.comment(number, "/tdd run", by="wendy")
    assert started.act(env=env).outputs["outcome"] == "budget"
    before, phases = len(started.answers()), started.phases()
    started.comment(number, "/tdd budget\n/state", by="tria")
    acted = started.act(env=env)
    assert acted.status == 0, acted.output
    said = [row.body for row in started.answers()[before:]]
    helps = "Raise the limit under `budget` in `.prd2pr.yml` on the base branch, then comment"
    assert len(said) == 2 and all(helps in each and "continues automatically" not in each for each in said), said
    assert started.phases() == phases


@pytest.mark.slow
def test_an_exhausted_budget_ends_the_run_and_names_the_command_to_continue(started):
    number = started.pull().number
    started.push({".prd2pr.yml": "budget:\n  tokens_per_run: 60000\n"}, "ada")
    started.pending.clear()
    started.comment(number, "/tdd run calc-1", by="wendy")
    env = with_usage(started, 50_000)
    acted = started.act(env=env)
    assert (acted.status, acted.outputs["outcome"]) == (1, "budget"), acted.output
    assert (started.phases(), started.held_phases()) == ([*START, "note(plan)"], FIRST[:2])
    assert "under `budget` in `.prd2pr.yml`" in started.status_comment(number).body
    assert "`/tdd run`" in started.status_comment(number).body
    said = len(started.comments(number))
    started.tick()
    assert started.act(env=env).outputs["outcome"] == "nothing-to-do"  # order pending, budget used up
    assert (started.phases(), started.held_phases()) == ([*START, "note(plan)"], FIRST[:2])
    assert len(started.comments(number)) == said
    started.comment(number, "/tdd run calc-1", by="wendy")
    started.act(env=env)
    assert started.phases()[4:] == FIRST


@pytest.mark.slow
def test_an_exhausted_budget_before_the_plan_names_the_remedy(new):
    world = new(files={".prd2pr.yml": "budget: {minutes_per_run: 0.000001}\n"})
    issue = world.open_issue("A small calculator", PRD, labels=("prd2pr",))
    world.push_prd("prds/calc.md", PRD)
    of_issue, of_file = world.settle()[1:]
    assert (of_issue.outputs["outcome"], of_file.outputs["outcome"]) == ("budget", "budget")
    (told,) = (row.body for row in world.comments(issue.number))
    assert "under `budget` in `.prd2pr.yml`" in told and "remove the label `prd2pr`" in told
    assert "`prd2pr run`" not in told + of_file.output
    assert "run the workflow with `prd` set to `calc`" in of_file.output


@pytest.mark.slow
def test_a_command_without_budget_is_answered_and_not_retried_by_the_schedule(started):
    """The first attempt is refused, and a second one would cost more than the run may."""
    number = started.pull().number
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act()
    assert "waiting for red. Next: /tdd next" in acted.out
    started.push({".prd2pr.yml": "budget:\n  tokens_per_run: 40000\n"}, "ada")
    started.pending.clear()
    nothing = write("tests/tdd/calc-1/test_calc_1_add.py", "def test_nothing():\n    assert 1 == 1\n")
    started.answers_of_model["calc-1/red/tester/1/1"] = nothing
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act(env=with_usage(started, 50_000))
    assert (acted.status, acted.outputs["outcome"]) == (1, "budget"), acted.output
    (answer,) = started.answers(number)
    assert "budget" in answer.body and "/tdd next" in answer.body
    started.tick()
    assert started.act().outputs["outcome"] == "nothing-to-do"
    assert (len(started.answers(number)), started.phases()) == (1, [*START, "design(calc-1)", "note(calc-1)"])


def app(world, **settings):
    private, public = new_key_pair()
    row = world.fake.add_app("prd2pr-bot", "octo", public)
    installed = world.fake.install(row, [world.name], **settings)
    return {
        "PRD2PR_APP_ID": str(row.id),
        "PRD2PR_APP_PRIVATE_KEY": private,
        "PRD2PR_APP_INSTALLATION_ID": str(installed.id),
        "GITHUB_TOKEN": "",
    }


@pytest.mark.slow
def test_an_app_continues_what_the_workflow_token_started(started):
    number, env = started.pull().number, app(started)
    issues, told = list(started.repo.issues), [row.id for row in started.comments(number)]
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act(env=env)
    assert (acted.status, started.phases()[-1]) == (0, "design(calc-1)"), acted.output
    started.tick()
    assert started.act(env=env).status == 0
    assert list(started.repo.issues) == issues
    assert [row.id for row in started.comments(number) if row.user != "wendy"] == told
    assert started.bare.heads()[started.branch] in started.status_comment(number).body


@pytest.mark.slow
def test_an_app_token_is_renewed_before_it_expires_and_each_is_masked(new):
    world = new()
    env = app(world)
    world.push_prd("prds/calc.md", PRD)
    mint = world.fake.installation_token

    def short_lived(*about: Any) -> Token:
        token = mint(*about)
        token.expires_at = world.fake.now() + 300
        return token

    world.fake.installation_token = short_lived
    acted = world.act(env=env)
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    minted = [token.value for token in world.fake.state.tokens.values() if token.kind == "installation"]
    assert len(minted) > 3
    for token in minted:
        assert f"::add-mask::{token}" in acted.out
        assert acted.out.count(token) == 1
    assert world.pull().user == "prd2pr-bot[bot]"


@pytest.mark.slow
def test_commits_through_the_api_are_signed_and_verified(new, verify):
    world = new(files={".prd2pr.yml": "approval: none\ncommit: api\n"})
    world.push_prd("prds/calc.md", PRD)
    acted = world.act(env=app(world))
    assert (acted.status, acted.outputs["outcome"]) == (0, "done"), acted.output
    made = str(world.bare.git("rev-list", f"main..{world.branch}")).split()
    assert set(made) <= set(world.repo.signed)
    assert verify(world)["all_proved"]
