"""The page that creates the App: the manifest, who may use it, and that its only key is kept from the start."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.testclient import TestClient

from fakes.github import FakeGitHub, serve, transport
from fakes.github.manifests import check_manifest, create_app
from fakes.github.wire import Violation
from prd2pr.cli.doctor.github_checks import run_app_check
from prd2pr.errors import HubProblem, SetupProblem, UsageProblem
from prd2pr.github.client.app import AppApi, convert_manifest
from prd2pr.github.client.tokens import AppKey
from prd2pr.github.setup.app_permissions import (
    get_requested_events,
    get_requested_permissions,
    list_missing_events,
    list_missing_permissions,
)
from prd2pr.server.settings import ServerSettings, read_settings
from prd2pr.server.setup.app_credentials import KEY_FILE, NewApp, prepare_credentials_directory, save_credentials
from prd2pr.server.setup.manifest import build_app_manifest, check_public_url, make_creation_url, make_github_web_url
from prd2pr.server.setup.page import STATE_SECONDS, PendingStates, SetupFlow, create_setup_app

PUBLIC = "https://prd2pr.example.org"


class Flow:
    def __init__(self, directory: Path, **settings: str) -> None:
        self.fake = FakeGitHub(directory / "github")
        self.place = directory / "app"
        prepare_credentials_directory(self.place)
        self.kept: list[NewApp] = []
        self.setup = SetupFlow(
            ServerSettings(public_url=PUBLIC, **settings),
            self.place,
            "the-word",
            8080,
            lambda app, _: self.kept.append(app),
            convert=self.convert,
        )
        self.browser = TestClient(create_setup_app(self.setup), base_url="http://127.0.0.1:8080")

    def convert(self, code: str, api_url: str) -> Mapping[str, Any]:
        assert api_url == self.setup.settings.github_api_url
        return convert_manifest(code, transport=transport(self.fake))

    def open(self) -> tuple[str, dict[str, Any]]:
        """The form that the person's browser would post, and its URL."""
        page = self.browser.get("/setup", params={"word": "the-word"})
        assert page.status_code == 200, page.text
        target = unescape(re.search(r'<form method="post" action="([^"]+)"', page.text)[1])
        value = unescape(re.search(r'name="manifest" value="([^"]+)"', page.text)[1])
        return target, json.loads(value)


def test_the_whole_flow_from_the_page_to_a_working_key(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    target, asked = flow.open()
    assert target.startswith("https://github.com/settings/apps/new?state=")
    assert asked["hook_attributes"] == {"url": f"{PUBLIC}/webhook", "active": True} and asked["public"] is False
    flow.fake.add_user("ada")
    code = create_app(flow.fake, asked, "ada")
    state = parse_qs(urlsplit(target).query)["state"][0]
    back = urlsplit(asked["redirect_url"])
    assert back.netloc == "127.0.0.1:8080"
    done = flow.browser.get(back.path, params={"code": code, "state": state})
    assert done.status_code == 200
    assert "https://github.com/apps/prd2pr-prd2pr-example-org/installations/new" in done.text
    assert [app.slug for app in flow.kept] == [next(iter(flow.fake.state.apps.values())).slug]
    for file in flow.place.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(flow.place.stat().st_mode) == 0o700

    variables = dict(line.split("=", 1) for line in (flow.place / "prd2pr.env").read_text().splitlines())
    settings = read_settings({}, variables, None)
    assert settings.public_url == PUBLIC and settings.webhook_secret.get_secret_value().startswith("hook")
    key = AppKey(settings.app_id, settings.app_private_key.get_secret_value())
    about = AppApi(key, transport=transport(flow.fake)).about()
    assert not list_missing_permissions(about["permissions"]) and not list_missing_events(about["events"])
    assert flow.fake.violations == []


def test_the_redirect_is_valid_once_for_this_browser_and_for_an_hour(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    flow.fake.add_user("ada")
    target, asked = flow.open()
    state = parse_qs(urlsplit(target).query)["state"][0]
    code = create_app(flow.fake, asked, "ada")
    stranger = TestClient(flow.browser.app, base_url="http://127.0.0.1:8080")
    for browser, given in ((flow.browser, "made-up"), (stranger, state), (flow.browser, state)):
        # The stranger's attempt has consumed the state, so the right browser starts again.
        assert browser.get("/setup/callback", params={"code": code, "state": given}).status_code == 403
    assert not flow.kept and not flow.fake.calls, "no code is exchanged for a way back that was not begun here"
    states = PendingStates(lambda: moment[0])
    moment = [0.0]
    late, cookie = (states.create(),) * 2
    moment[0] += STATE_SECONDS
    assert not states.consume(late, cookie)
    assert len({states.create() for _ in range(40)}) == 40 and len(states.pending) == 16


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "prd2pr.example.org"])
def test_the_redirect_leads_to_the_address_of_the_browser(tmp_path: Path, host: str) -> None:
    flow = Flow(tmp_path)
    flow.browser.headers["Host"] = host
    _, asked = flow.open()
    assert urlsplit(asked["redirect_url"]).netloc == host


@pytest.mark.parametrize("host", ["0.0.0.0:8080", "machine:8080", "127.0.0.1:9000", ""])
def test_no_app_is_created_without_a_usable_redirect(tmp_path: Path, host: str) -> None:
    """Its key would be lost: GitHub sends it to the redirect, and the cookie belongs to another host."""
    page = Flow(tmp_path).browser.get("/setup", params={"word": "the-word"}, headers={"Host": host})
    assert page.status_code == 403 and "<form" not in page.text and "ssh -L 8080:127.0.0.1:8080" in page.text


def test_without_the_code_from_the_terminal_there_is_no_form(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    for word in ("", "another"):
        page = flow.browser.get("/setup", params={"word": word})
        assert page.status_code == 403 and "<form" not in page.text
    policy = flow.browser.get("/setup", params={"word": "the-word"}).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "form-action https://github.com" in policy and "unsafe" not in policy
    assert flow.browser.get("/setup/style.css").headers["content-type"].startswith("text/css")


def test_a_code_unknown_to_github_is_reported_on_the_page(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    for code in ("never-given", "../../users/ada", ""):
        target, _ = flow.open()
        state = parse_qs(urlsplit(target).query)["state"][0]
        page = flow.browser.get("/setup/callback", params={"code": code, "state": state})
        assert page.status_code == 502 and "Start again" in page.text
    assert not flow.kept and flow.fake.violations == []
    with pytest.raises(HubProblem):
        convert_manifest("used-up", transport=transport(flow.fake))


def test_an_existing_app_is_never_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "my app"
    prepare_credentials_directory(place)
    file = save_credentials(place, NewApp("7", "builder", "PEM", "hook"), public_url=PUBLIC)
    assert f"PRD2PR_APP_PRIVATE_KEY_FILE='{place / KEY_FILE}'" in file.read_text()
    with pytest.raises(SetupProblem, match="contains the credentials of an App"):
        prepare_credentials_directory(place)
    with pytest.raises(FileExistsError):
        save_credentials(place, NewApp("8", "other", "OTHER", "hook"))
    assert (place / KEY_FILE).read_text() == "PEM\n" and "PEM" not in repr(NewApp("7", "b", "PEM", "hook"))


@pytest.mark.parametrize(
    ("settings", "pages"),
    [
        ({}, "https://github.com"),
        ({"github_api_url": "https://ghe.example.org/api/v3"}, "https://ghe.example.org"),
        ({"github_api_url": "https://api.octo.ghe.com"}, "https://octo.ghe.com"),
        ({"github_api_url": "http://127.0.0.1:9", "github_url": "http://127.0.0.1:8"}, "http://127.0.0.1:8"),
    ],
)
def test_enterprise_urls_follow_from_the_api_url(settings: dict[str, str], pages: str) -> None:
    made = ServerSettings(**settings)
    assert make_github_web_url(made) == pages
    assert make_creation_url(made, "octo", "s/1") == f"{pages}/organizations/octo/settings/apps/new?state=s%2F1"


def test_a_manifest_that_github_would_refuse_is_reported_before() -> None:
    with pytest.raises(UsageProblem):
        make_creation_url(ServerSettings(), "octo/../evil", "s")
    assert "PRD2PR_PUBLIC_URL" in check_public_url(ServerSettings())
    assert "not https" in check_public_url(ServerSettings(public_url="http://prd2pr.example.org"))
    assert check_public_url(ServerSettings(public_url=PUBLIC)) == ""


def test_the_fake_is_as_strict_about_manifests_as_github() -> None:
    good = build_app_manifest(ServerSettings(public_url=PUBLIC), PUBLIC)
    check_manifest(good)
    without = {name: access for name, access in get_requested_permissions().items() if name != "issues"}
    for bad in ({**good, "colour": "red"}, {**good, "url": ""}, {**good, "default_permissions": without}):
        with pytest.raises(Violation):
            check_manifest(bad)


@pytest.mark.slow
def test_the_command_ends_once_the_app_exists(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path / "github")
    fake.add_user("ada")
    with serve(fake) as url:
        env = {**os.environ, "PRD2PR_GITHUB_API_URL": url, "PRD2PR_GITHUB_URL": url, "PRD2PR_PUBLIC_URL": PUBLIC}
        command = [sys.executable, "-m", "prd2pr", "serve", "--port", "0", "--setup", str(tmp_path / "app")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
        try:
            page = next(line.strip() for line in process.stdout if "/setup?word=" in line)
            with httpx.Client(timeout=120) as browser:
                shown = browser.get(page).text
                asked = json.loads(unescape(re.search(r'name="manifest" value="([^"]+)"', shown)[1]))
                state = re.search(r"/settings/apps/new\?state=([^\"]+)", shown)[1]
                with fake.lock:
                    code = create_app(fake, asked, "ada")
                done = browser.get(asked["redirect_url"], params={"code": code, "state": state})
            assert done.status_code == 200, done.text
            said = process.stdout.read()
            assert process.wait(60) == 0 and "prd2pr.env; set +a; prd2pr serve" in said and "installations/new" in said
        finally:
            process.kill()
            process.wait()
    assert (tmp_path / "app" / KEY_FILE).read_text().startswith("-----BEGIN") and fake.violations == []


def test_doctor_compares_an_app_with_the_same_table() -> None:
    whole = {"slug": "mine", "permissions": get_requested_permissions(), "events": get_requested_events()}
    assert (run_app_check(whole).mark, "all permissions" in run_app_check(whole).found) == ("ok", True)
    action = {**whole, "permissions": {**get_requested_permissions(), "workflows": "read"}, "events": ["push"]}
    assert (
        run_app_check(action).mark == "ok"
        and "Workflows (write), the event issue_comment" in run_app_check(action).found
    )
    poor = run_app_check({"slug": "mine", "permissions": {**get_requested_permissions(), "checks": "read"}})
    assert poor.mark == "wrong" and "lacks Checks (write):" in poor.found
