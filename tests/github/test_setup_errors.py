"""Common set-up errors: each is reported with its remedy, the job fails, and work resumes after the fix."""

from __future__ import annotations

import pytest

from fakes.github.fake import ALL_PERMISSIONS
from prd2pr.errors import ModelMissing
from prd2pr.github.client.errors import PULLS_SETTING_REMEDY
from world import PRD

START = ["plan(calc)", "note(plan)", "note(plan)"]


def annotations(acted) -> str:
    """The annotations, one per line."""
    return "\n".join(line for line in acted.out.splitlines() if line.startswith("::error"))


@pytest.mark.slow
def test_actions_may_not_open_pull_requests(new):
    world = new(branch="prd2pr/issue-1")
    world.answers_of_model["issue-1/plan/planner/1/1"] = world.answers_of_model["calc/plan/planner/1/1"]
    world.repo.actions_may_open_pulls = False
    world.open_issue("A small calculator", PRD.partition("# A small calculator\n")[2])
    world.pending.clear()
    world.label(1, "prd2pr")
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert PULLS_SETTING_REMEDY in annotations(acted)
    world.act(acted.event)
    (told,) = world.comments(1)
    assert PULLS_SETTING_REMEDY in told.body
    assert (world.phases(), world.pulls()) == (["plan(issue-1)"], [])
    world.repo.actions_may_open_pulls = True
    world.dispatch(by="ada", prd="issue-1")
    assert world.act().status == 0
    assert world.phases() == ["plan(issue-1)"]
    assert world.pull().pull.draft


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "line", "visible"),
    [
        ("contents", "contents: write", False),
        ("pull_requests", "pull-requests: write", False),
        ("issues", "issues: write", True),
        ("checks", "checks: write", True),
    ],
)
def test_a_permission_is_missing(new, scope, line, visible):
    world = new(permissions={**ALL_PERMISSIONS, scope: "read"})
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert f"`{line}`" in annotations(acted)
    assert "permissions:" in annotations(acted)
    assert len(world.pulls()) == visible
    if visible:
        assert line in world.status_comment().body
    world.fake.state.tokens[world.token].permissions[scope] = "write"
    again = world.act(acted.event)
    assert (again.status, again.outputs["outcome"]) == (0, "waiting"), again.output
    assert world.phases() == ["plan(calc)"]
    assert line not in world.status_comment().body


@pytest.mark.slow
def test_no_key_for_the_model(started):
    number = started.pull().number
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act(env={"PRD2PR_MODEL": ""})
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert "ANTHROPIC_API_KEY" in annotations(acted)
    assert "No key for the model" in started.answers()[-1].body
    assert started.phases() == START
    started.tick()
    started.act()
    assert started.phases() == START, "what failed was answered, and is not tried again by itself"
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.phases() == [*START, "design(calc-1)"]


@pytest.mark.slow
def test_a_missing_key_before_planning_is_reported_under_the_issue(new):
    world = new()
    world.open_issue("A small calculator", PRD.partition("# A small calculator\n")[2], labels=("prd2pr",))
    for event in (world.pending[1], world.pending[1]):
        acted = world.act(event, env={"PRD2PR_MODEL": ""})
        assert acted.status == 1
    (told,) = world.comments(1)
    assert f"`/tdd explain {ModelMissing.code}`" in told.body
    assert world.bare.heads().keys() == {"main"}


@pytest.mark.slow
def test_the_workflow_cannot_be_dispatched(new):
    world = new(files={".github/workflows/prd2pr.yml": "on: push\njobs: {}\n", ".prd2pr.yml": "approval: none\n"})
    world.push_prd("prds/calc.md", PRD)
    acted = world.act(env={"PRD2PR_MAX_MINUTES": "1"})
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert "has no `workflow_dispatch`" in annotations(acted)
    assert "workflow_dispatch" in world.status_comment().body
    assert world.phases()[0] == "plan(calc)"
    head = world.bare.heads()[world.branch]
    world.tick()
    world.act(env={"PRD2PR_MAX_MINUTES": "1"})
    assert world.bare.heads()[world.branch] != head  # each run makes progress and keeps it


@pytest.mark.slow
def test_files_that_the_token_may_not_write(new):
    """The plan's commit changes a PRD under .github/workflows, which no GITHUB_TOKEN may push."""
    path = ".github/workflows/calc.md"
    world = new(files={".prd2pr.yml": 'prds: [".github/workflows/*.md"]\n'})
    world.push_prd(path, PRD)
    assert world.act().status == 0
    world.push_prd(path, f"{PRD}\nMore words.\n")
    acted = world.act()
    assert acted.status == 1, acted.output
    assert "Workflows: write" in annotations(acted), acted.output
    assert world.phases() == ["plan(calc)", "note(plan)"], "what it cost is on record, and nothing was planned"


@pytest.mark.parametrize(
    ("env", "words"),
    [
        pytest.param({"PRD2PR_MAX_MINUTES": "soon"}, "number of minutes", marks=pytest.mark.slow),
        pytest.param({"GITHUB_TOKEN": ""}, "Set GITHUB_TOKEN", marks=pytest.mark.slow),
        ({"GITHUB_TOKEN": "ghs_wrong"}, "does not accept the token"),
        pytest.param({"GITHUB_REPOSITORY": "octo/clac"}, "not found on GitHub", marks=pytest.mark.slow),
    ],
)
def test_a_misconfigured_job(planned, env, words):
    planned.tick()
    acted = planned.act(env=env)
    assert acted.status in (1, 2)
    assert acted.outputs == {"outcome": "error"}
    assert words in annotations(acted)


@pytest.mark.slow
def test_a_protected_branch_is_named(planned):
    planned.repo.protected.append(planned.branch)
    planned.comment(planned.pull().number, "/approve")
    acted = planned.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert "protects the branch" in annotations(acted)
    assert "protects the branch" in planned.status_comment().body
    assert planned.phases() == ["plan(calc)"]


@pytest.mark.slow
def test_a_broken_configuration_is_reported_per_command_and_the_fix_replays_none(started):
    number = started.pull().number
    started.push({".prd2pr.yml": "approval: plan\nbugdet: {}\n"}, "ada", message="Mistype")
    started.pending.clear()
    annotations = [started.comment(number, "/tdd next", by="wendy") for _ in range(3)]
    started.comment(number, "/tdd next", by="nobody")
    del started.pending[1]  # dropped while another one waited
    for event in started.pending[:2]:
        acted = started.act(event)
        assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
        assert "::error file=.prd2pr.yml,line=2,title=prd2pr::" in acted.out
    started.act(started.pending[2])
    told = [row.body for row in started.answers(number)]
    assert len(told) == 3 and all("`bugdet`" in body and ".prd2pr.yml:2" in body for body in told), told
    assert all("fixing the file does not execute it" in body for body in told), told
    assert [started.reactions(row.id) for row in annotations] == [["confused"]] * 3
    started.push({".prd2pr.yml": "approval: plan\n"}, "ada")
    started.pending.clear()
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.phases() == [*START, "design(calc-1)"]


@pytest.mark.slow
def test_every_problem_of_a_labelled_issue_is_reported_once_with_its_line(new):
    world = new()
    world.open_issue("T", "")
    world.pending.clear()
    for text in ("", "\n- **FR-1** One.\n- **FR-1** Two.\n") * 2:
        world.repo.issues[1].body = text
        world.label(1, "prd2pr")
        world.act()
        world.unlabel(1, "prd2pr")
        world.pending.clear()
    _, twice = [row.body for row in world.comments(1)]
    assert "on lines 2 and 3" in twice and "line 3 of the issue's text" in twice and "prds/" not in twice


def test_the_label_matches_case_insensitively(new):
    world = new()
    world.open_issue("T", "")
    world.pending.clear()
    world.label(1, "PRD2PR")
    assert world.act().outputs["outcome"] == "refused"  # it is read, and has no text
