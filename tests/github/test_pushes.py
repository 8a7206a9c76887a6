"""What GitHub receives: refs, and the authors of commits."""

from __future__ import annotations

from github_world import GitHubWorld
from world import PRD, World

ON_DEVELOP = {".prd2pr.yml": "approval: none\nbase_branch: develop\n"}
WITHOUT_APPROVAL = {".prd2pr.yml": "approval: none\n"}

FORMAT = "--format=%an <%ae>|%cn|%(trailers:key=Assisted-by,valueonly,separator=%x2C)"


def test_commits_are_the_accounts_own(tmp_path):
    with GitHubWorld(tmp_path) as world:
        world.push_prd("prds/calc.md", PRD)
        assert world.act().status == 0
        address = "41898282+github-actions[bot]@users.noreply.127.0.0.1"  # on github.com: users.noreply.github.com
        line = f"github-actions[bot] <{address}>|github-actions[bot]|replay"
        assert world.bare.git("log", "-1", FORMAT, world.branch) == line


def test_a_finished_branch_is_archived_and_a_squash_of_it_is_proved(tmp_path):
    with GitHubWorld(tmp_path, files=WITHOUT_APPROVAL) as world:
        world.push_prd("prds/calc.md", PRD)
        world.settle()
        row = world.pull()
        head = world.bare.heads()[world.branch]
        assert world.bare.refs("refs/prd2pr/archive/") == {f"refs/prd2pr/archive/calc/{row.number}": head}
        line = f"Tdd-Archive: calc/{row.number} {head}"
        assert line in row.body
        world.merge(row.number, method="squash", message=f"A small calculator\n\n{row.body}")
        world.bare.git("clone", "-q", "--no-local", str(world.bare.path), str(tmp_path / "clone" / "repo"))
        shown = World(tmp_path / "clone").verify("main", "--json")
        assert shown.status == 0, shown.out + shown.err
        assert shown.json["merge"]["proved"]


def test_pull_requests_are_opened_into_the_configured_base_branch(tmp_path):
    with GitHubWorld(tmp_path, files=ON_DEVELOP) as world:
        world.bare.git("update-ref", "refs/heads/develop", world.bare.heads()["main"])
        ignored = world.act(world.push({"prds/calc.md": PRD}, "ada"))
        assert ignored.outputs["outcome"] == "nothing-to-do" and world.pulls() == []
        acted = world.act(world.push({"prds/calc.md": PRD}, "ada", branch="develop"))
        assert acted.outputs["outcome"] == "done", acted.output
        assert (world.pull().pull.base, world.pull().pull.draft) == ("develop", False)
        assert world.fake.violations == []


def test_a_missing_base_branch_is_reported(tmp_path):
    with GitHubWorld(tmp_path, files=ON_DEVELOP) as world:
        acted = world.act(world.push({"prds/calc.md": PRD}, "ada"))
        assert acted.status == 1 and "the branch develop does not exist" in acted.output


CI = "on:\n  workflow_dispatch:\njobs: {}\n"


def test_configured_workflows_are_started_on_the_branch_when_its_code_changed(tmp_path):
    settings = "approval: none\nci_workflows: [ci.yml, gone.yml]\n"
    with GitHubWorld(tmp_path, files={".prd2pr.yml": settings, ".github/workflows/ci.yml": CI}) as world:
        acted = world.act(world.push({"prds/calc.md": PRD}, "ada"))
        assert acted.outputs["outcome"] == "done", acted.output
        started = [(row.workflow, row.ref) for row in world.repo.dispatches]
        assert started == [("ci.yml", world.branch)] * 2, "once per story, not for the plan"
        assert "gone.yml could not be started" in acted.output
        assert "prd2pr starts `ci.yml`, `gone.yml` on this branch" in world.status_comment().body
        assert world.fake.violations == []


def test_the_status_says_that_github_starts_no_checks(tmp_path):
    with GitHubWorld(tmp_path, files=WITHOUT_APPROVAL) as world:
        world.act(world.push({"prds/calc.md": PRD}, "ada"))
        assert "GitHub starts no workflows for pushes with `GITHUB_TOKEN`" in world.status_comment().body
        assert world.repo.dispatches == []


def test_the_status_comment_says_that_the_schedule_is_disabled(tmp_path):
    files = {".github/workflows/prd2pr-schedule.yml": "on:\n  schedule:\n    - cron: '1 1 * * *'\n"}
    with GitHubWorld(tmp_path, files=files) as world:
        world.push_prd("prds/calc.md", PRD)
        world.settle()
        assert "schedule" not in world.status_comment().body
        world.repo.disabled["prd2pr-schedule.yml"] = "disabled_inactivity"
        world.comment(world.pull().number, "/tdd next", by="wendy")
        world.settle()
        assert "gh workflow enable prd2pr-schedule.yml" in world.status_comment().body
        assert world.fake.violations == []


def test_a_push_that_the_workflow_files_of_the_base_prevent_is_explained(tmp_path):
    with GitHubWorld(tmp_path) as world:
        world.push_prd("prds/calc.md", PRD)
        world.act()
        world.repo.compares_workflows = True
        world.push({".github/workflows/ci.yml": CI}, "ada")
        world.pending.clear()
        world.comment(world.pull().number, "/tdd next", by="wendy")
        acted = world.act()
        assert acted.outputs["outcome"] == "error", acted.output
        assert "has changed on main since it was started" in acted.output
        assert "git merge origin/main" in acted.output
        main = world.bare.heads()["main"]
        world.by_git(lambda _, git: git("merge", "-q", "--no-edit", main), "ada", branch=world.branch)
        world.settle()
        world.comment(world.pull().number, "/tdd next", by="wendy")  # approves what is shown now
        done = world.settle()
        assert world.phases()[-1] == "design(calc-1)", [each.output for each in done]
