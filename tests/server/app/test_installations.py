"""Installation tokens: least permissions, only the repositories needed, minted once for concurrent callers."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from fakes.github import FakeGitHub, serve, transport
from fakes.github.jwt import new_key_pair
from prd2pr.errors import HubProblem, TokenMissing, UsageProblem
from prd2pr.github.client.app import AppApi
from prd2pr.github.client.tokens import AppKey
from prd2pr.github.events.events import READERS
from prd2pr.github.setup import app_permissions
from prd2pr.server.installations import MAX_TOKEN_SOURCES, Installations, open_installations
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.hubs import HubPool

keys = cache(new_key_pair)


class CountingMint:
    """Counts the tokens; slow enough to notice two at once."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, tuple[str, ...], dict[str, str]]] = []
        self.now = 1_000_000.0
        self.gate: threading.Event | None = None

    def mint(self, installation: int, repositories: tuple[str, ...], permissions: Mapping[str, str]) -> dict[str, Any]:
        self.asked.append((installation, repositories, dict(permissions)))
        if self.gate is not None:
            assert self.gate.wait(120)
        ends = datetime.fromtimestamp(self.now + 3600, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"token": f"t{len(self.asked)}", "expires_at": ends}

    def about(self) -> dict[str, Any]:
        return {"slug": "builder"}

    def installation_of(self, owner: str, name: str) -> int:
        self.looked_up = [*getattr(self, "looked_up", []), f"{owner}/{name}"]
        return 7

    def close(self) -> None:
        pass


def test_a_token_is_minted_for_one_job_cached_and_renewed_before_it_expires() -> None:
    mint, heard = CountingMint(), list[str]()
    installations = Installations(mint, heard.append, lambda: mint.now)
    read = installations.token(7, ["octo/calc"], app_permissions.READ_ACCESS)
    assert installations.token(7, ["octo/calc"], dict(reversed(app_permissions.READ_ACCESS.items()))) == read
    assert installations.token(7, ["octo/calc"], app_permissions.DISPATCH_ACCESS) != read
    assert installations.token(7, ["octo/shop", "octo/calc"], app_permissions.READ_ACCESS) != read
    assert mint.asked[0] == (7, ("calc",), {"contents": "read", "metadata": "read"})
    assert mint.asked[2][1] == ("calc", "shop")
    mint.now += 3001
    assert installations.token(7, ["octo/calc"], app_permissions.READ_ACCESS) == "t4" and heard == [
        "t1",
        "t2",
        "t3",
        "t4",
    ]
    installations.forget(7)
    assert installations.token(7, ["octo/calc"], app_permissions.READ_ACCESS) == "t5"
    assert installations.source(7, ["octo/calc"], app_permissions.READ_ACCESS).login() == "builder[bot]"
    assert [installations.source_for("octo/calc", app_permissions.READ_ACCESS).token() for _ in range(2)] == [
        "t5",
        "t5",
    ]
    assert mint.looked_up == ["octo/calc"], "it is looked up once"


def test_concurrent_callers_wait_for_one_token() -> None:
    mint = CountingMint()
    mint.gate = threading.Event()
    installations = Installations(mint, now=lambda: mint.now)
    got: list[str] = []
    threads = [
        threading.Thread(target=lambda: got.append(installations.token(7, ["octo/calc"], app_permissions.READ_ACCESS)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    # Another repository does not wait for this one.
    other = threading.Thread(target=installations.token, args=(7, ["octo/shop"], app_permissions.READ_ACCESS))
    other.start()
    mint.gate.set()
    for thread in (*threads, other):
        thread.join(120)
    assert got == [got[0]] * 8 and len(mint.asked) == 2


@pytest.mark.parametrize(
    ("repositories", "permissions"),
    [([], app_permissions.READ_ACCESS), (["octo/calc"], {}), (["octo/calc", "evil/calc"], app_permissions.READ_ACCESS)],
)
def test_an_unrestricted_token_cannot_be_requested(repositories: list[str], permissions: dict[str, str]) -> None:
    mint = CountingMint()
    with pytest.raises(UsageProblem):
        Installations(mint).token(7, repositories, permissions)
    with pytest.raises(UsageProblem):
        Installations(mint).token(7, ["octo/../app"], app_permissions.READ_ACCESS)
    assert not mint.asked


def test_the_cache_is_bounded() -> None:
    mint = CountingMint()
    installations = Installations(mint, now=lambda: mint.now)
    for number in range(MAX_TOKEN_SOURCES + 5):
        installations.source(number, ["octo/calc"], app_permissions.READ_ACCESS)
    assert len(installations._sources) == MAX_TOKEN_SOURCES


def test_github_grants_what_was_requested_and_nothing_more(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path)
    private, public = keys()
    for name in ("octo/calc", "octo/shop"):
        fake.add_repository(name)
    app = fake.add_app("builder", "octo", public)
    installed = fake.install(app, ["octo/calc", "octo/shop"], app_permissions.get_requested_permissions())
    installations = Installations(AppApi(AppKey(str(app.id), private), transport=transport(fake)), now=fake.now)
    for part in (
        app_permissions.READ_ACCESS,
        app_permissions.DISPATCH_ACCESS,
        app_permissions.SETUP_ACCESS,
        app_permissions.WORK_ACCESS,
    ):
        token = fake.state.tokens[installations.token(installed.id, ["octo/calc"], part)]
        assert (token.repositories, token.permissions) == (["octo/calc"], dict(part))
    with pytest.raises(HubProblem):
        installations.token(installed.id, ["octo/other"], app_permissions.READ_ACCESS)
    found = installations.source_for("octo/shop", app_permissions.READ_ACCESS)
    assert fake.state.tokens[found.token()].repositories == ["octo/shop"]
    assert installations.slug() == "builder" and fake.violations == []


def test_the_servers_work_has_a_token_for_its_repository_only(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path)
    private, public = keys()
    fake.add_repository("octo/calc")
    fake.add_repository("octo/shop")
    app = fake.add_app("builder", "octo", public)
    fake.install(app, ["octo/calc", "octo/shop"], app_permissions.get_requested_permissions())
    with serve(fake) as url:
        settings = ServerSettings(app_id=str(app.id), app_private_key=SecretStr(private), github_api_url=url)
        with closing(HubPool(settings)) as hubs:
            assert hubs.get_hub("octo/calc").default_branch() == "main"
    (token,) = fake.state.tokens.values()
    assert (token.repositories, token.permissions) == (["octo/calc"], dict(app_permissions.DISPATCH_ACCESS))
    assert len(fake.asked("POST */access_tokens")) == 1 and fake.violations == []


def test_a_server_without_an_app_says_how_to_create_one() -> None:
    with pytest.raises(TokenMissing) as caught:
        open_installations(ServerSettings(app_private_key=SecretStr("x")))
    assert "--setup" in caught.value.remedy


def test_every_part_stays_within_the_permissions_of_the_app() -> None:
    for part in (
        app_permissions.READ_ACCESS,
        app_permissions.DISPATCH_ACCESS,
        app_permissions.SETUP_ACCESS,
        app_permissions.WORK_ACCESS,
    ):
        assert not {
            name
            for name, access in part.items()
            if app_permissions.get_requested_permissions()[name] not in (access, "write")
        }
    assert set(app_permissions.get_requested_events()) <= set(READERS)
    used = set().union(
        app_permissions.READ_ACCESS,
        app_permissions.DISPATCH_ACCESS,
        app_permissions.SETUP_ACCESS,
        app_permissions.WORK_ACCESS,
    )
    assert used == set(app_permissions.get_requested_permissions()), "nothing is asked for that no job is given"
