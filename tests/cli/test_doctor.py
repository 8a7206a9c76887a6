"""`prd2pr doctor` about GitHub: each common problem is named with its remedy, and unchecked is never called fine."""

from __future__ import annotations

import re
from dataclasses import asdict, replace

import pytest

from fakes.github.fake import FakeGitHub
from fakes.github.server import serve
from prd2pr.cli.doctor.checkup import SetupCheck, format_total
from prd2pr.cli.doctor.github_checks import ORIGIN, check_github, check_hosting
from prd2pr.cli.doctor.workflow_check import run_branch_check, run_schedule_check, run_workflow_checks
from prd2pr.cli.verbs.doctor import run_config_check, run_model_check, run_prds_check
from prd2pr.config import Config
from prd2pr.config_file import load_config
from prd2pr.errors import BadCredentials, ModelMissing, PrdInvalid
from prd2pr.github.client.errors import ERROR_PATTERNS, PULLS_SETTING_REMEDY
from prd2pr.github.setup.workflow_file import WORKFLOW_PATH, render_workflow
from prd2pr.state.git import Git
from world import World

COMMIT = "c" * 40
ACTION = f"prd2pr/prd2pr@{COMMIT}"


@pytest.fixture
def ready(world) -> World:
    """Set up, and committed."""
    assert world.program("init", "--action", ACTION).status == 0
    world.commit("init")
    return world


@pytest.fixture
def hosted(ready, tmp_path):
    """The same on the fake GitHub, with everything correct."""
    fake = FakeGitHub(tmp_path / "github")
    repository = fake.add_repository("octo/calc", {"ada": "admin", "wendy": "write", "rea": "read"})
    repository.secrets.append("ANTHROPIC_API_KEY")
    ready.git("push", "-q", str(fake.bare(repository).path), "main")
    with serve(fake) as url:
        yield Hosted(ready, fake, url)
        assert fake.violations == []


class Hosted:
    def __init__(self, world: World, fake: FakeGitHub, url: str) -> None:
        self.world, self.fake, self.url = world, fake, url
        self.repo = fake.repo("octo/calc")

    def env(self, by: str = "ada") -> dict[str, str]:
        token = self.fake.user_token(by)
        return {"GITHUB_TOKEN": token, "GITHUB_API_URL": self.url, "GITHUB_REPOSITORY": "octo/calc"}

    def doctor(self, by: str = "ada", **more: str) -> dict[str, dict[str, str]]:
        """What doctor finds on GitHub, without the rest of it."""
        with Git.open(self.world.repo) as git:
            found = [*check_github(git, Config(), {**self.env(by), **more})]
        assert len({check.name for check in found}) == len(found)
        return {check.name: asdict(check) for check in found}


def examine(world: World, **env: str) -> dict[str, dict[str, str]]:
    done = world.program("doctor", "--json", env={"PRD2PR_MODEL": f"replay:{world.transcript()}", **env})
    checks = done.json["checks"]
    assert done.status == (1 if any(check["mark"] == "wrong" for check in checks) else 0), done.err
    assert [done.json["wrong"], done.json["unchecked"]] == [
        sum(check["mark"] == mark for check in checks) for mark in ("wrong", "unchecked")
    ]
    return {check["name"]: check for check in checks}


def marks(checks: dict[str, dict[str, str]], *names: str) -> list[str]:
    return [checks[name]["mark"] for name in names]


def story_jobs(text: str, config: Config) -> SetupCheck | None:
    return next((each for each in run_workflow_checks(text, config, "main", COMMIT) if each.name == "story jobs"), None)


def test_a_workflow_without_the_configured_jobs():
    several = load_config("story_jobs: 4\n")
    asked = render_workflow(several, "main", ACTION, standalone=True)
    usual = (
        asked.replace("mode: plan", "mode: work").replace("mode: story", "mode: work").replace("integrate\n", "work\n")
    )
    assert story_jobs(asked, Config()) is None
    assert story_jobs(render_workflow(several, "main", ACTION), several) is None, "the shared workflow has them"
    found = story_jobs(asked, several)
    assert found is not None and (found.mark, found.found) == ("ok", "up to 4 in parallel")
    older = story_jobs(usual, several)
    assert older is not None and older.mark == "warning" and "one after the other" in older.found
    half = story_jobs(asked.replace("mode: integrate", "mode: work"), several)
    assert half is not None and half.mark == "wrong" and "no job in mode integrate" in half.found


SETTINGS = ("github", "published", "pull requests", "secrets")


@pytest.mark.slow
def test_all_is_well(hosted):
    found = examine(hosted.world, **hosted.env())
    assert marks(found, *SETTINGS, "triggers", "model key") == ["ok"] * 6, found
    assert found["github"]["found"] == "octo/calc, default branch main"


def test_actions_may_not_open_pull_requests(hosted):
    hosted.repo.actions_may_open_pulls = False
    check = hosted.doctor()["pull requests"]
    assert (check["mark"], check["remedy"]) == ("wrong", PULLS_SETTING_REMEDY)


def test_the_secret_for_the_model_is_missing(hosted):
    hosted.repo.secrets.clear()
    check = hosted.doctor()["secrets"]
    assert (check["mark"], "ANTHROPIC_API_KEY" in check["found"]) == ("warning", True)
    assert "New repository secret" in check["remedy"]


def test_the_workflow_is_not_on_the_default_branch(hosted):
    hosted.fake.bare(hosted.repo).git("update-ref", "refs/heads/main", hosted.world.git("rev-parse", "main~1"))
    check = hosted.doctor()["published"]
    assert check["mark"] == "wrong"
    assert "not on the default branch" in check["found"] and "merge" in check["remedy"]


def test_pushes_to_the_configured_base_branch_trigger_the_workflow():
    develop = Config(base_branch="develop")
    text = render_workflow(develop, "main", ACTION)
    found = {check.name: check.mark for check in run_workflow_checks(text, develop, "main", "")}
    assert found["triggers"] == "ok" == run_branch_check(text, "main", "develop").mark
    other = {
        check.name: check
        for check in run_workflow_checks(render_workflow(Config(), "main", ACTION), develop, "main", "")
    }
    assert "the base branch is develop" in other["triggers"].found


def test_the_schedule_is_a_file_of_its_own():
    text = render_workflow(Config(), "main", ACTION)
    assert run_schedule_check("", text).mark == "ok"
    assert "a lost event is not handled" in run_schedule_check(None, text).found
    older = text.replace("  workflow_dispatch:", "  schedule:\n    - cron: '1 1 * * *'\n  workflow_dispatch:")
    assert "60 days" in run_schedule_check("", older).found


def test_a_schedule_that_github_disabled_is_reported(hosted):
    assert hosted.doctor()["schedule on GitHub"]["found"] == "active"
    hosted.repo.disabled["prd2pr-schedule.yml"] = "disabled_inactivity"
    check = hosted.doctor()["schedule on GitHub"]
    assert check["mark"] == "warning" and "60 days" in check["found"] and "Enable workflow" in check["remedy"]


def test_signed_commits_need_the_api(hosted):
    assert hosted.doctor()["signed commits"]["found"] == "not required"
    hosted.repo.signed_branches = ["main"]
    check = hosted.doctor()["signed commits"]
    assert check["mark"] == "wrong" and "`main`" in check["found"] and "commit: api" in check["remedy"]


def test_what_the_token_may_not_read_is_not_called_fine(hosted):
    found = hosted.doctor(by="wendy")
    assert marks(found, "published", "pull requests") == ["ok", "unchecked"]
    assert "administrator" in found["pull requests"]["remedy"]
    reader = hosted.doctor(by="rea")
    assert marks(reader, "github", "pull requests", "secrets") == ["warning", "unchecked", "unchecked"]


def test_without_a_token_github_is_not_checked(hosted):
    found = hosted.doctor(GITHUB_TOKEN="")
    assert found["github"]["mark"] == "unchecked"
    assert found["github"]["found"].startswith("not checked: no token")
    assert not set(SETTINGS[1:]) & set(found)
    assert hosted.fake.calls == []


def test_an_invalid_token(hosted):
    check = hosted.doctor(GITHUB_TOKEN="ghp_wrong")["github"]
    refused = next(each for each in ERROR_PATTERNS if each.problem is BadCredentials)
    assert (check["mark"], check["remedy"]) == ("wrong", refused.remedy)
    assert check["found"].startswith(refused.what)


def test_an_archived_repository(hosted):
    hosted.repo.archived = True
    assert hosted.doctor()["github"]["mark"] == "wrong"


def test_without_a_workflow_or_a_repository_on_github(world):
    found = examine(world, GITHUB_TOKEN="x", GITHUB_REPOSITORY="")
    assert (found["workflow"]["mark"], found["workflow"]["remedy"]) == (
        "warning",
        "run prd2pr init and commit the file",
    )
    assert found["github"]["mark"] == "unchecked"


def test_a_workflow_on_this_branch_only(ready):
    ready.git("update-ref", "refs/remotes/origin/main", "main~1")
    ready.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    ready.git("remote", "add", "origin", "https://github.com/octo/calc")
    check = examine(ready)["workflow"]
    assert (check["mark"], check["affects"]) == ("wrong", "GitHub")
    assert check["found"].startswith(f"{WORKFLOW_PATH} is not on origin/main")


@pytest.mark.parametrize(
    ("change", "name", "mark", "words"),
    [
        (("", ""), "workflow", "ok", "commit cccccccccc"),
        ((COMMIT, "d" * 40), "workflow", "warning", "commit dddddddddd"),
        ((COMMIT, "v1"), "workflow", "wrong", "pinned to v1, which can be moved"),
        (("/prd2pr/.github", "/other/.github"), "workflow", "wrong", "does not use prd2pr"),
        (("name: prd2pr", "name: [prd2pr"), "workflow", "wrong", "not valid YAML"),
        (("  issues:", "  watch:"), "triggers", "warning", "not triggered by issues"),
        (('"prds/**/*.md"', '"specs/**"'), "triggers", "warning", "specs/**"),
        (('branches: ["main"]', 'branches: ["trunk"]'), "triggers", "wrong", "the default branch is main"),
        (("secrets.ANTHROPIC_API_KEY", "secrets.OTHER"), "model key", "wrong", "ANTHROPIC_API_KEY"),
    ],
)
def test_checks_of_a_workflow(change, name, mark, words):
    text = render_workflow(Config(), "main", ACTION).replace(*change)
    found = {check.name: check for check in run_workflow_checks(text, Config(), "main", COMMIT)}
    assert found[name].mark == mark
    assert words in found[name].found


def test_two_versions_in_one_workflow_are_wrong():
    text = render_workflow(Config(), "main", ACTION, standalone=True).replace(COMMIT, "d" * 40, 1)
    assert next(run_workflow_checks(text, Config(), "main", COMMIT)).mark == "wrong"


def test_a_workflow_for_another_branch(hosted):
    assert hosted.doctor()["default branch"]["mark"] == "ok"
    hosted.fake.bare(hosted.repo).git("branch", "trunk", "main")
    hosted.repo.default_branch = "trunk"
    check = hosted.doctor()["default branch"]
    assert check["mark"] == "wrong"
    assert "names main, but GitHub's default branch is trunk" in check["found"]
    older = render_workflow(Config(), "trunk", ACTION, standalone=True)
    half = older.replace("${{ github.event.repository.default_branch }}", "main")
    assert run_branch_check(older, "trunk").mark == "ok"
    assert run_branch_check(half, "trunk").mark == "wrong"  # the checkout is still that of main


@pytest.mark.parametrize(
    ("config", "change", "mark"),
    [
        ("notify: {events: [done]}\n", ("", ""), "ok"),
        ("notify: {events: [done]}\n", ("secrets.PRD2PR_NOTIFY_URLS", "secrets.OTHER"), "wrong"),
        ("notify: {events: [done], urls_from: MINE}\n", ("", ""), "wrong"),
    ],
)
def test_whether_notifications_can_be_sent(config, change, mark):
    wanted = load_config(config)
    text = render_workflow(wanted, "main", ACTION).replace(*change)
    assert {check.name: check.mark for check in run_workflow_checks(text, wanted, "main", "")}["notices"] == mark
    assert "notices" not in {check.name for check in run_workflow_checks(text, Config(), "main", "")}


def test_models_without_a_key_need_no_secret():
    human = load_config("models: {default: human, strong: human}\n")
    found = {
        check.name: check for check in run_workflow_checks(render_workflow(human, "main", ACTION), human, "main", "")
    }
    assert (found["model key"].mark, found["model key"].found) == ("ok", "none needed")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@github.com:octo/calc.git", "octo/calc"),
        ("https://github.com/octo/calc", "octo/calc"),
        ("https://github.com/ada_corp/calc.git", "ada_corp/calc"),
        ("https://x-access-token:abc@github.com/octo/calc.js.git", "octo/calc.js"),
        ("ssh://git@github.com:22/octo/calc.git", "octo/calc"),
        ("https://gitlab.com/octo/calc.git", ""),
        ("https://notgithub.com/octo/calc.git", ""),
        ("/srv/git/octo/calc.git", ""),
    ],
)
def test_only_an_origin_on_github_is_checked(url, name):
    found = re.search(ORIGIN.format(host=re.escape("github.com")), url)
    assert (found[1] if found else "") == name


def test_the_last_line_claims_no_more_than_was_checked():
    fine, skipped, bad = SetupCheck("a", "ok", ""), SetupCheck("b", "unchecked", ""), SetupCheck("c", "wrong", "")
    assert format_total([fine]) == "All checks passed.\n"
    assert format_total([fine, skipped]) == "No problems found in 1 check. Not checked: b.\n"
    assert format_total([fine, skipped, bad]) == "1 of 3 checks failed (c): `plan` and `run` do not work.\n"
    hosted = replace(bad, affects="GitHub")
    assert format_total([fine, hosted]) == "1 of 1 check for GitHub failed (c): prd2pr does not work on GitHub.\n"


def test_a_checkout_without_github_lacks_nothing_for_local_runs(ready, tmp_path):
    """The branch is missing on origin, but origin is not on GitHub."""
    ready.git("init", "-q", "--bare", str(tmp_path / "origin.git"))
    ready.git("remote", "add", "origin", str(tmp_path / "origin.git"))
    ready.git("push", "-q", "origin", "HEAD~1:refs/heads/main")
    ready.git("fetch", "-q", "origin")
    ready.git("remote", "set-head", "origin", "main")
    with Git.open(ready.repo) as git:
        local = {check.name: check for check in check_hosting(git, Config(), {})}
        hosted = {check.name: check for check in check_hosting(git, Config(), {"GITHUB_REPOSITORY": "octo/calc"})}
    assert "not on origin/main" in local["workflow"].found
    assert (local["workflow"].mark, hosted["workflow"].mark) == ("warning", "wrong")


def test_doctor_finds_what_plan_would_reject(world):
    world.write({"prds/empty.md": "", ".prd2pr.yml": "strategie: strict\n"})
    with Git.open(world.repo) as git:
        config = run_config_check(git, Config())
        with pytest.raises(PrdInvalid, match="empty"):
            run_prds_check(git, Config())
        (world.repo / "prds/empty.md").unlink()
        world.write({".prd2pr.yml": "strategy: fused\n"})
        uncommitted = run_config_check(git, Config())
    assert (config.mark, "strategie" in config.found) == ("warning", True)
    assert (uncommitted.mark, "not committed" in uncommitted.found) == ("warning", True)


def test_every_configured_model_is_checked(world, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("PRD2PR_MODEL", raising=False)
    config = load_config("models: {default: human, strong: 'anthropic:claude-opus-5-5'}\n")
    with Git.open(world.repo) as git, pytest.raises(ModelMissing) as missing:
        run_model_check(git, config)
    assert "export ANTHROPIC_API_KEY=" in missing.value.remedy and "--model" in missing.value.remedy


def test_the_cache_is_cleared(world, tmp_path):
    with Git.open(world.repo) as git:
        private = git.private
    verified = tmp_path / "user" / "prd2pr" / "verified"
    for directory in (private / "cache", private / "cache" / "dependencies", verified / "old"):
        directory.mkdir(parents=True)
        (directory / "entry").write_bytes(b"x")
    (private / "index.db").write_bytes(b"x")
    (private / "journal").mkdir(exist_ok=True)
    done = world.program("doctor", "--clear-cache", env={"XDG_CACHE_HOME": str(tmp_path / "user")})
    assert done.status == 0 and len(done.out.splitlines()) == 2
    assert not any(path.exists() for path in (private / "cache", private / "index.db", verified))
    assert (private / "journal").exists()
