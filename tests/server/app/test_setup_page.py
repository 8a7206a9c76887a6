"""The page that creates the App: the manifest, who may use it, and that the one key is kept from its first moment."""

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
from prd2pr.core.app_needs import asked_events, asked_permissions, lacking_events, lacking_permissions
from prd2pr.entry.github_checks import app_check
from prd2pr.errors import HubProblem, SetupProblem, UsageProblem
from prd2pr.forges.github.app_api import AppApi, convert_manifest
from prd2pr.forges.github.tokens import AppKey
from prd2pr.server.settings import ServerSettings, read_settings
from prd2pr.server.setup.keeping import KEY, NewApp, keep, prepare
from prd2pr.server.setup.manifest import creation_url, github_pages, hook_warning, manifest
from prd2pr.server.setup.page import HOUR, Setup, States, setup_app

PUBLIC = "https://prd2pr.example.org"


class Flow:
    def __init__(self, directory: Path, **settings: str) -> None:
        self.fake = FakeGitHub(directory / "github")
        self.place = directory / "app"
        prepare(self.place)
        self.kept: list[NewApp] = []
        self.setup = Setup(
            ServerSettings(public_url=PUBLIC, **settings),
            self.place,
            "the-word",
            8080,
            lambda app, _: self.kept.append(app),
            convert=self.convert,
        )
        self.browser = TestClient(setup_app(self.setup), base_url="http://127.0.0.1:8080")

    def convert(self, code: str, api_url: str) -> Mapping[str, Any]:
        assert api_url == self.setup.settings.github_api_url
        return convert_manifest(code, transport=transport(self.fake))

    def open(self) -> tuple[str, dict[str, Any]]:
        """What the person's browser would post, and where."""
        page = self.browser.get("/setup", params={"word": "the-word"})
        assert page.status_code == 200, page.text
        target = unescape(re.search(r'<form method="post" action="([^"]+)"', page.text)[1])
        value = unescape(re.search(r'name="manifest" value="([^"]+)"', page.text)[1])
        return target, json.loads(value)


def test_the_whole_way_from_the_page_to_a_key_that_works(tmp_path: Path) -> None:
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
    assert not lacking_permissions(about["permissions"]) and not lacking_events(about["events"])
    assert flow.fake.violations == []


def test_the_way_back_counts_once_for_this_browser_and_for_an_hour(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    flow.fake.add_user("ada")
    target, asked = flow.open()
    state = parse_qs(urlsplit(target).query)["state"][0]
    code = create_app(flow.fake, asked, "ada")
    stranger = TestClient(flow.browser.app, base_url="http://127.0.0.1:8080")
    for browser, given in ((flow.browser, "made-up"), (stranger, state), (flow.browser, state)):
        # The stranger's try has used the state up, so that the right browser begins again.
        assert browser.get("/setup/callback", params={"code": code, "state": given}).status_code == 403
    assert not flow.kept and not flow.fake.calls, "no code is exchanged for a way back that was not begun here"
    states = States(lambda: moment[0])
    moment = [0.0]
    late, cookie = (states.new(),) * 2
    moment[0] += HOUR
    assert not states.take(late, cookie)
    assert len({states.new() for _ in range(40)}) == 40 and len(states.given) == 16


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "prd2pr.example.org"])
def test_the_way_back_leads_to_the_address_that_the_browser_is_on(tmp_path: Path, host: str) -> None:
    flow = Flow(tmp_path)
    flow.browser.headers["Host"] = host
    _, asked = flow.open()
    assert urlsplit(asked["redirect_url"]).netloc == host


@pytest.mark.parametrize("host", ["0.0.0.0:8080", "machine:8080", "127.0.0.1:9000", ""])
def test_where_no_way_leads_back_no_app_is_made(tmp_path: Path, host: str) -> None:
    """Its key would be lost: GitHub gives it to whom it leads back, and the cookie is another host's."""
    page = Flow(tmp_path).browser.get("/setup", params={"word": "the-word"}, headers={"Host": host})
    assert page.status_code == 403 and "<form" not in page.text and "ssh -L 8080:127.0.0.1:8080" in page.text


def test_without_the_terminals_word_there_is_no_form(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    for word in ("", "another"):
        page = flow.browser.get("/setup", params={"word": word})
        assert page.status_code == 403 and "<form" not in page.text
    policy = flow.browser.get("/setup", params={"word": "the-word"}).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "form-action https://github.com" in policy and "unsafe" not in policy
    assert flow.browser.get("/setup/style.css").headers["content-type"].startswith("text/css")


def test_a_code_that_github_does_not_know_is_said_on_the_page(tmp_path: Path) -> None:
    flow = Flow(tmp_path)
    for code in ("never-given", "../../users/ada", ""):
        target, _ = flow.open()
        state = parse_qs(urlsplit(target).query)["state"][0]
        page = flow.browser.get("/setup/callback", params={"code": code, "state": state})
        assert page.status_code == 502 and "Begin again" in page.text
    assert not flow.kept and flow.fake.violations == []
    with pytest.raises(HubProblem):
        convert_manifest("used-up", transport=transport(flow.fake))


def test_an_app_that_is_kept_is_never_written_over(tmp_path: Path) -> None:
    place = tmp_path / "my app"
    prepare(place)
    file = keep(place, NewApp("7", "builder", "PEM", "hook"), public_url=PUBLIC)
    assert f"PRD2PR_APP_PRIVATE_KEY_FILE='{place / KEY}'" in file.read_text()
    with pytest.raises(SetupProblem, match="kept here already"):
        prepare(place)
    with pytest.raises(FileExistsError):
        keep(place, NewApp("8", "other", "OTHER", "hook"))
    assert (place / KEY).read_text() == "PEM\n" and "PEM" not in repr(NewApp("7", "b", "PEM", "hook"))


@pytest.mark.parametrize(
    ("settings", "pages"),
    [
        ({}, "https://github.com"),
        ({"github_api_url": "https://ghe.example.org/api/v3"}, "https://ghe.example.org"),
        ({"github_api_url": "https://api.octo.ghe.com"}, "https://octo.ghe.com"),
        ({"github_api_url": "http://127.0.0.1:9", "github_url": "http://127.0.0.1:8"}, "http://127.0.0.1:8"),
    ],
)
def test_enterprise_follows_from_the_address_of_the_api(settings: dict[str, str], pages: str) -> None:
    made = ServerSettings(**settings)
    assert github_pages(made) == pages
    assert creation_url(made, "octo", "s/1") == f"{pages}/organizations/octo/settings/apps/new?state=s%2F1"


def test_what_github_would_refuse_is_said_before() -> None:
    with pytest.raises(UsageProblem):
        creation_url(ServerSettings(), "octo/../evil", "s")
    assert "PRD2PR_PUBLIC_URL" in hook_warning(ServerSettings())
    assert "not https" in hook_warning(ServerSettings(public_url="http://prd2pr.example.org"))
    assert hook_warning(ServerSettings(public_url=PUBLIC)) == ""


def test_the_fake_is_as_strict_about_manifests_as_github() -> None:
    good = manifest(ServerSettings(public_url=PUBLIC), PUBLIC)
    check_manifest(good)
    without = {name: access for name, access in asked_permissions().items() if name != "issues"}
    for bad in ({**good, "colour": "red"}, {**good, "url": ""}, {**good, "default_permissions": without}):
        with pytest.raises(Violation):
            check_manifest(bad)


def test_the_command_ends_by_itself_once_the_app_is_there(tmp_path: Path) -> None:
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
    assert (tmp_path / "app" / KEY).read_text().startswith("-----BEGIN") and fake.violations == []


def test_doctor_compares_an_app_with_the_same_table() -> None:
    whole = {"slug": "mine", "permissions": asked_permissions(), "events": asked_events()}
    assert (app_check(whole).mark, "all that is needed" in app_check(whole).found) == ("ok", True)
    action = {**whole, "permissions": {**asked_permissions(), "workflows": "read"}, "events": ["push"]}
    assert app_check(action).mark == "ok" and "Workflows (write), the event issue_comment" in app_check(action).found
    poor = app_check({"slug": "mine", "permissions": {**asked_permissions(), "checks": "read"}})
    assert poor.mark == "wrong" and "Checks (write): a check for each proven commit" in poor.found
