"""Which token is used, when a new one is minted, and that nothing of GitHub is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from github_hubs import REPOSITORY, World

from fakes.github import transport
from fakes.github.jwt import new_key_pair
from prd2pr.domain.forge import Actor
from prd2pr.errors import BadCredentials, NotFoundThere, TokenMissing
from prd2pr.github.client.factory import make_token_source
from prd2pr.github.client.tokens import AppKey, AppTokens, StaticToken, parse_installation_token, read_token_config
from prd2pr.github.setup.app_permissions import STORY_ACCESS, WORK_ACCESS, get_requested_permissions

KEYS = cache(new_key_pair)


def test_the_workflow_token_is_used_without_an_app():
    assert read_token_config({"GITHUB_TOKEN": " t "}) == StaticToken("t")
    assert read_token_config({"GITHUB_TOKEN": "t", "PRD2PR_BOT_LOGIN": "x[bot]"}) == StaticToken("t", "x[bot]")


def test_an_app_takes_precedence():
    env = {"GITHUB_TOKEN": "t", "PRD2PR_APP_ID": "7", "PRD2PR_APP_PRIVATE_KEY": "a\\nb"}
    assert read_token_config(env) == AppKey("7", "a\nb")
    assert read_token_config({**env, "PRD2PR_APP_INSTALLATION_ID": "9"}) == AppKey("7", "a\nb", 9)


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({}, "no token for GitHub is set"),
        ({"GITHUB_TOKEN": "  "}, "no token for GitHub is set"),
        ({"GITHUB_TOKEN": "t", "PRD2PR_APP_ID": "7"}, "without PRD2PR_APP_PRIVATE_KEY"),
        ({"PRD2PR_APP_PRIVATE_KEY": "k"}, "without PRD2PR_APP_ID"),
        ({"PRD2PR_APP_ID": "7", "PRD2PR_APP_PRIVATE_KEY": "k", "PRD2PR_APP_INSTALLATION_ID": "x"}, "not a number"),
    ],
)
def test_an_incomplete_configuration_is_reported(env: dict[str, str], words: str):
    with pytest.raises(TokenMissing, match=words):
        read_token_config(env)


def test_tokens_and_keys_are_not_shown():
    assert "s3cret" not in repr(StaticToken("s3cret")) + repr(AppKey("7", "s3cret")) + repr(
        parse_installation_token({"token": "s3cret", "expires_at": "2026-01-01T00:00:00Z"})
    )


class Clock:
    now = 1_000_000.0


class Counting:
    """A mint whose tokens last an hour."""

    def __init__(self) -> None:
        self.made = 0

    def mint(self) -> dict[str, str]:
        from datetime import UTC, datetime

        self.made += 1
        ends = datetime.fromtimestamp(Clock.now + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%S.123Z")
        return {"token": f"t{self.made}", "expires_at": ends}

    def slug(self) -> str:
        return "builder"


def test_a_token_is_kept_until_ten_minutes_before_it_expires(monkeypatch: pytest.MonkeyPatch):
    heard: list[str] = []
    source = AppTokens(Counting(), heard.append, lambda: Clock.now)
    assert [source.token(), source.token()] == ["t1", "t1"]
    monkeypatch.setattr(Clock, "now", Clock.now + 2999)
    assert source.token() == "t1"
    monkeypatch.setattr(Clock, "now", Clock.now + 2)
    assert source.token() == "t2"
    assert heard == ["t1", "t2"] and source.login() == "builder[bot]"


def test_a_refused_token_is_replaced_unless_it_already_was():
    source = AppTokens(Counting(), lambda _: None, lambda: Clock.now)
    first = source.token()
    assert source.invalidate(first) and source.token() == "t2"
    assert source.invalidate(first) and source.token() == "t2"
    assert not StaticToken("x").invalidate("x")


@pytest.mark.parametrize("answer", [{}, {"token": ""}, {"token": "t"}, {"token": "t", "expires_at": "soon"}])
def test_an_answer_without_a_token_is_reported(answer: dict[str, str]):
    with pytest.raises(BadCredentials):
        parse_installation_token(answer)


def app_env(github: World, key: str | None = None, permissions: dict[str, str] | None = None) -> dict[str, str]:
    private, public = KEYS()
    app = github.fake.add_app("builder", "octo", public)
    github.fake.install(app, [REPOSITORY], permissions)
    return {"PRD2PR_APP_ID": str(app.id), "PRD2PR_APP_PRIVATE_KEY": key or private}


def test_an_app_mints_for_this_repository_only_and_acts_as_its_bot(github: World):
    minted: list[str] = []
    source = make_token_source(
        app_env(github), REPOSITORY, permissions=WORK_ACCESS, on_minted=minted.append, transport=transport(github.fake)
    )
    hub = github.hub(source)
    assert hub.me() == Actor("builder[bot]", github.fake.user("builder[bot]").id, bot=True)
    assert hub.default_branch() == "main"
    assert github.fake.state.tokens[minted[0]].repositories == [REPOSITORY]
    assert len(minted) == 1 == len(github.fake.asked("POST */access_tokens"))


@pytest.mark.parametrize("more", [{}, {"PRD2PR_APP_INSTALLATION_ID": "its number"}])
@pytest.mark.parametrize(
    ("granted", "permissions", "minted"),
    [
        pytest.param(get_requested_permissions(), WORK_ACCESS, WORK_ACCESS, id="no workflow files"),
        pytest.param(get_requested_permissions(), STORY_ACCESS, STORY_ACCESS, id="a story's branch only"),
        pytest.param(
            {"contents": "write", "issues": "read"},
            WORK_ACCESS,
            {"contents": "write", "issues": "read", "metadata": "read"},
            id="an App that has less",
        ),
    ],
)
def test_a_token_has_only_the_permissions_of_the_job(github: World, more, granted, permissions, minted):
    env = app_env(github, permissions=granted)
    (installation,) = github.fake.state.installations
    env |= dict.fromkeys(more, str(installation))
    source = make_token_source(
        env, REPOSITORY, permissions=permissions, on_minted=lambda _: None, transport=transport(github.fake)
    )
    assert github.fake.state.tokens[source.token()].permissions == dict(minted)
    assert github.fake.violations == []


def test_an_app_that_is_not_installed_is_reported(github: World):
    env = app_env(github)
    github.fake.state.installations.clear()
    source = make_token_source(
        env, REPOSITORY, permissions=WORK_ACCESS, on_minted=print, transport=transport(github.fake)
    )
    with pytest.raises(NotFoundThere):
        github.hub(source).default_branch()


def test_an_unreadable_key_is_reported(github: World):
    source = make_token_source(
        app_env(github, "no key"),
        REPOSITORY,
        permissions=WORK_ACCESS,
        on_minted=print,
        transport=transport(github.fake),
    )
    with pytest.raises(BadCredentials, match="private key"):
        source.token()


def test_another_apps_key_is_reported(github: World):
    env = app_env(github, new_key_pair()[0])
    source = make_token_source(
        env, REPOSITORY, permissions=WORK_ACCESS, on_minted=print, transport=transport(github.fake)
    )
    with pytest.raises(BadCredentials):
        source.token()


@pytest.mark.slow
def test_githubkit_is_imported_only_when_a_hub_is_opened():
    code = """
import sys
import prd2pr.github.client.factory, prd2pr.github.client.commits, prd2pr.github.branch_writer
import prd2pr.github.notifications
heavy = {"githubkit", "httpx", "hishel", "jwt", "cryptography", "apprise", "requests"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
from prd2pr.github.client.tokens import StaticToken
prd2pr.github.client.factory.open_hub("o/r", token=StaticToken("t")).close()
assert "githubkit" in sys.modules and "hishel" in sys.modules
assert not [name for name in sys.modules if name.startswith("githubkit_schemas") and "models" in name]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
