"""Tokens: shown once, stored as digests, limited in time, scope and repositories."""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, text

from prd2pr.cli.main import main
from prd2pr.errors import InputInvalid
from prd2pr.server.api.tokens import create_token, find_bearer, list_tokens, revoke_token
from prd2pr.server.database import Database, open_database
from prd2pr.server.token_scopes import Bearer, Scope, matches_repo_pattern

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.fixture
def database(tmp_path):
    opened = open_database(f"sqlite:///{tmp_path}/s.db")
    yield opened
    opened.close()


def made(database, **more):
    given = {"name": "ci", "scope": Scope.READ, "repos": ("octo/shop",), "days": 30, "now": NOW, **more}
    return create_token(database, given.pop("name"), given.pop("scope"), given.pop("repos"), **given)


def test_a_token_is_recognized_and_only_its_digest_is_stored(database):
    issued = made(database)
    assert find_bearer(database, issued.token, NOW) == Bearer(issued.id, "ci", Scope.READ, ("octo/shop",))
    secret = issued.token.rpartition("_")[2]
    with database.reading() as connection:
        kept = " ".join(str(value) for row in connection.execute(text("SELECT * FROM tokens")) for value in row)
    assert secret not in kept and issued.token not in repr(issued)


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
        lambda token: token[:-1],
        lambda token: f"{token} ",
        lambda token: token.upper(),
        lambda token: token.replace("prd2pr_", ""),
        lambda token: f"prd2pr_{'0' * 12}_{token.rpartition('_')[2]}"[:63],
        lambda token: "",
        lambda token: "é" * 63,
    ],
)
def test_an_altered_token_is_unknown(database, spoilt):
    assert find_bearer(database, spoilt(made(database).token), NOW) is None


def test_it_expires_to_the_second(database):
    token = made(database, days=1).token
    assert find_bearer(database, token, NOW + timedelta(days=1, seconds=-1))
    assert find_bearer(database, token, NOW + timedelta(days=1)) is None


def test_a_revoked_token_stays_revoked(database):
    issued = made(database)
    first = revoke_token(database, issued.id, NOW)
    again = revoke_token(database, issued.id, NOW + timedelta(days=1))
    assert first == again and first.revoked_at == "2026-11-17T12:00:00Z"
    assert find_bearer(database, issued.token, NOW) is None
    assert revoke_token(database, "nobody's", NOW) is None


def test_its_last_use_is_recorded_to_the_minute(database):
    token = made(database).token
    for seconds in (0, 30, 59, 61):
        find_bearer(database, token, NOW + timedelta(seconds=seconds))
    assert list_tokens(database)[0].last_used_at == "2026-11-17T12:01:01Z"


def test_a_token_is_valid_even_if_its_use_cannot_be_recorded(database, tmp_path, caplog):
    issued = made(database)
    full = Database(create_engine(f"sqlite:///file:{tmp_path}/s.db?mode=ro&uri=true"))
    with closing(full), caplog.at_level(logging.WARNING, logger="prd2pr"):
        bearer = find_bearer(full, issued.token, NOW)
    assert bearer == Bearer(issued.id, "ci", Scope.READ, ("octo/shop",))
    assert "readonly" in caplog.text and issued.token not in caplog.text


@pytest.mark.parametrize(
    ("pattern", "repo", "covered"),
    [
        ("octo/shop", "octo/shop", True),
        ("octo/shop", "Octo/SHOP", True),
        ("octo/shop", "octo/shopping", False),
        ("octo/*", "octo/anything", True),
        ("octo/*", "octopus/anything", False),
        ("octo/*", "octo", True),
        ("*", "who/ever", True),
        ("octo/s*", "octo/shop", False),
    ],
)
def test_which_repositories_a_pattern_covers(pattern, repo, covered):
    assert matches_repo_pattern(pattern, repo) is covered


def test_a_scope_includes_the_lower_ones():
    assert [[a.includes(b) for b in Scope] for a in Scope] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize("wrong", [{"repos": ()}, {"repos": ("shop",)}, {"repos": ("a/b/c",)}, {"repos": ("o/s*",)}])
def test_a_token_needs_a_repository(database, wrong):
    with pytest.raises(InputInvalid):
        made(database, **wrong)


@pytest.mark.parametrize("wrong", [{"name": ""}, {"name": "a\nb"}, {"name": "x" * 101}, {"days": -1}, {"days": 9999}])
def test_a_token_needs_a_name_and_a_valid_expiry(database, wrong):
    with pytest.raises(InputInvalid):
        made(database, **wrong)


def test_the_program_creates_lists_and_revokes_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PRD2PR_DATABASE", f"sqlite:///{tmp_path}/s.db")
    create = ["serve", "token", "create", "--name", "ci", "--scope", "operate", "--repo", "octo/shop", "--repo", "a/*"]
    assert main(create) == 0
    token = capsys.readouterr().out.split("\n")[0]
    assert main(["serve", "token", "list"]) == 0
    told = capsys.readouterr().out
    assert "valid" in told and "octo/shop,a/*" in told and token not in told
    assert main(["serve", "token", "revoke", token.split("_")[1]]) == 0
    assert main(["serve", "token", "list"]) == 0
    assert "revoked" in capsys.readouterr().out
    assert main(["serve", "token", "create", "--name", "ci", "--repo", "*"]) == 2
    assert "--scope" in capsys.readouterr().err
    assert main(["serve", "tokens"]) == 2
