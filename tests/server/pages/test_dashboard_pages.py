"""Pages over HTTP: access, accepted forms, and the headers of every response."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from dashboard_app import OF_ONE, OWNER, READER, Shown
from starlette.testclient import TestClient

from fakes.board_sample import hostile, source_of, thousand
from prd2pr.client.models import Source
from prd2pr.server.dashboard.access import COOKIE, is_dashboard_path, make_csrf_token
from prd2pr.server.dashboard.access import PUBLIC_VISITOR as EVERYBODY
from prd2pr.views.models import PageView

PAGES = (
    "/dashboard",
    "/dashboard/projects/acme/shop",
    "/dashboard/projects/acme/shop/stories/loyalty-2",
    "/dashboard/projects/acme/shop/stories/loyalty-5",
    "/dashboard/runs",
    "/dashboard/workers",
    "/dashboard/circuits",
    "/dashboard/metrics",
    "/dashboard/costs",
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=1">',
    "' onmouseover=alert(1) x='",
    "{{ 7*7 }} {% raw %} ${7*7} <%= 7 %>",
    "\u202eevil\u202d \u05d0\u05d1\u05d2 \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "</title></style></textarea><svg onload=alert(1)>",
    "x" * 10_000,
    "javascript:alert(1)",
)


class ParsedPage(HTMLParser):
    """A page as a browser's parser sees it: every element and every attribute."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.wrong: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def sign_in(client: TestClient, token: str = OWNER) -> None:
    client.cookies.set(COOKIE, token)


def parse_page(text: str) -> ParsedPage:
    found = ParsedPage(text)
    assert found.wrong == [] and found.open == []
    assert len(found.ids) == len(set(found.ids))
    return found


# --- access -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_without_a_token_every_page_leads_to_the_log_in(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/dashboard/log-in?next={path}"
    assert answer.text == ""


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_valid_html_with_landmarks(client: TestClient, path: str) -> None:
    sign_in(client)
    answer = client.get(path)
    assert answer.status_code == 200
    found = parse_page(answer.text)
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert landmark in found.tags, landmark
    assert found.tags.count("h1") == found.tags.count("main") == 1
    assert not [name for name, _ in found.attributes if name == "style" or name.startswith("on")]
    assert "style" not in found.tags
    assert found.tags.count("script") == 1


@pytest.mark.parametrize(
    "path", [*PAGES, "/dashboard/log-in", "/dashboard/projects/no/such", "/dashboard/static/live.js"]
)
def test_the_strict_policy_is_on_every_response(client: TestClient, path: str) -> None:
    for token in ("", OWNER):
        client.cookies.clear()
        if token:
            sign_in(client, token)
        answer = client.get(path)
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == (
            "no-store" if "static" not in path else "public, max-age=31536000, immutable"
        )


def test_a_token_for_one_repository_sees_nothing_of_another(client: TestClient, shown: Shown) -> None:
    sign_in(client, OF_ONE)
    for path in PAGES:
        assert "acme/other" not in client.get(path).text, path
    assert client.get("/dashboard/projects/acme/other").status_code == 404
    assert client.get("/dashboard/projects/acme/other/stories/loyalty-1").status_code == 404
    assert "2 of 7" in unescape(client.get("/dashboard/metrics").text)
    sign_in(client, OWNER)
    assert "4 of 14" in unescape(client.get("/dashboard/metrics").text)


def test_forbidden_looks_like_missing(client: TestClient) -> None:
    sign_in(client, OF_ONE)
    hidden, absent = (client.get(f"/dashboard/projects/acme/{name}") for name in ("other", "nothing"))
    assert (hidden.status_code, hidden.text) == (absent.status_code, absent.text)


def test_a_guest_can_read_without_a_token_and_reset_nothing(client: TestClient, shown: Shown) -> None:
    shown.guest = EVERYBODY
    assert client.get("/dashboard").status_code == 200
    assert "<button" not in client.get("/dashboard/circuits").text
    sent = client.post(
        "/dashboard/circuits/reset", data={"circuit": "acme/shop:loyalty:green", "csrf": make_csrf_token("x")}
    )
    assert sent.status_code == 403
    assert shown.asked == []


def test_projects_of_other_servers_have_no_links_to_local_boards(
    client: TestClient, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(client)
    (first, *_) = shown.reading.projects()
    monkeypatch.setattr(
        shown.reading, "projects", lambda repos=None: (first.model_copy(update={"server": "prd2pr.example.org"}),)
    )
    text = client.get("/dashboard").text
    assert "on prd2pr.example.org" in text and "acme/other" in text
    assert "/dashboard/projects/" not in text


def test_missing_servers_are_shown(client: TestClient, shown: Shown) -> None:
    sign_in(client)
    assert "Other servers" not in client.get("/dashboard").text
    shown.servers = (
        Source(name="team-a", url="https://a.example", stale=False, age_seconds=4),
        Source(name="<b>", url="https://b.example", stale=True, age_seconds=None, problem="<i>refused"),
    )
    text = client.get("/dashboard").text
    assert text.index("team-a") < text.index(">up<") < text.index("&lt;b&gt;") < text.index(">missing<")
    assert "&lt;i&gt;refused" in text and not parse_page(text).wrong


# --- logging in -------------------------------------------------------------------------------------------------------


def test_logging_in_and_out(client: TestClient) -> None:
    sent = client.post("/dashboard/log-in", data={"token": OWNER, "next": "/dashboard/costs"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/dashboard/costs")
    cookie = sent.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    page = client.get("/dashboard/costs")
    assert page.status_code == 200
    assert OWNER not in page.text
    mark = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text)
    assert mark
    assert client.post("/dashboard/log-out", data={"csrf": "0" * 64}).status_code == 403
    assert client.post("/dashboard/log-out", data={"csrf": mark[1]}).status_code == 303
    assert client.get("/dashboard/costs").status_code == 303


def test_over_https_the_cookie_is_secure(shown: Shown) -> None:
    from dashboard_app import dashboard_app

    with TestClient(dashboard_app(shown), base_url="https://dashboard.test", follow_redirects=False) as client:
        assert "Secure" in client.post("/dashboard/log-in", data={"token": OWNER}).headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "wrong", "x" * 600, "token\u0000", "tökén"])
def test_an_invalid_token_is_reported(client: TestClient, token: str) -> None:
    sent = client.post("/dashboard/log-in", data={"token": token})
    assert sent.status_code == 401
    assert "invalid, expired or revoked" in sent.text
    assert "set-cookie" not in sent.headers


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.test/",
        "//evil.test",
        "/dashboard//evil.test",
        "/dashboard\\..\\evil",
        "/webhook",
        "javascript:alert(1)",
    ],
)
def test_login_redirects_nowhere_else(client: TestClient, wanted: str) -> None:
    sent = client.post("/dashboard/log-in", data={"token": OWNER, "next": wanted})
    assert sent.headers["location"] == "/dashboard"
    assert not is_dashboard_path(wanted, "/dashboard")


def test_a_link_from_elsewhere_is_reloaded_once_from_our_own_site(client: TestClient) -> None:
    answer = client.get("/dashboard/costs", headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 200
    assert 'http-equiv="refresh" content="0"' in answer.text
    assert client.get("/dashboard/costs", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


# --- resetting --------------------------------------------------------------------------------------------------------

GREEN = "acme/shop:loyalty:green"


def test_a_reset_is_passed_on_with_its_token(client: TestClient, shown: Shown) -> None:
    sign_in(client)
    sent = client.post("/dashboard/circuits/reset", data={"circuit": GREEN, "csrf": make_csrf_token(OWNER)})
    assert (sent.status_code, sent.headers["location"]) == (303, "/dashboard/circuits#orders")
    assert shown.asked == [("owner", GREEN)]
    page = client.get("/dashboard/circuits").text
    assert "<code>/tdd reset green</code>" in page and "waiting for a run" in page


def test_a_refused_reset_says_why(client: TestClient, shown: Shown) -> None:
    sign_in(client)
    shown.refusal = "`green` is closed: there is nothing to reset."
    sent = client.post("/dashboard/circuits/reset", data={"circuit": GREEN, "csrf": make_csrf_token(OWNER)})
    assert sent.status_code == 200 and "is closed: there is nothing to reset" in sent.text


@pytest.mark.parametrize(
    ("token", "mark", "headers", "status"),
    [
        (OWNER, "", {}, 403),
        (OWNER, make_csrf_token(READER), {}, 403),
        (OWNER, make_csrf_token(OWNER), {"Origin": "https://evil.test"}, 403),
        (OWNER, make_csrf_token(OWNER), {"Origin": "null"}, 403),
        (OWNER, make_csrf_token(OWNER), {"Sec-Fetch-Site": "cross-site"}, 403),
        (OWNER, make_csrf_token(OWNER), {"Sec-Fetch-Site": "same-site"}, 403),
        (READER, make_csrf_token(READER), {}, 403),
        ("", make_csrf_token(OWNER), {}, 403),
        (OWNER, make_csrf_token(OWNER), {"Origin": "http://dashboard.test", "Sec-Fetch-Site": "same-origin"}, 303),
    ],
)
def test_only_our_own_form_with_permission_is_accepted(
    client: TestClient, shown: Shown, token: str, mark: str, headers: dict[str, str], status: int
) -> None:
    if token:
        sign_in(client, token)
    sent = client.post("/dashboard/circuits/reset", data={"circuit": GREEN, "csrf": mark}, headers=headers)
    assert sent.status_code == status
    assert bool(shown.asked) is (status == 303)
    told = {"repo": "acme/shop", "story": "loyalty-4", "csrf": mark}
    assert client.post("/dashboard/stories/retry", data=told, headers=headers).status_code == status
    assert len(shown.asked) == (2 if status == 303 else 0)


def test_a_circuit_of_a_hidden_repository_cannot_be_reset(client: TestClient, shown: Shown) -> None:
    sign_in(client, OF_ONE)
    sent = client.post(
        "/dashboard/circuits/reset", data={"circuit": "acme/other:loyalty:green", "csrf": make_csrf_token(OF_ONE)}
    )
    assert (sent.status_code, shown.asked) == (404, [])


def test_a_story_of_a_hidden_repository_cannot_be_retried(client: TestClient, shown: Shown) -> None:
    sign_in(client, OF_ONE)
    told = {"repo": "acme/other", "story": "loyalty-4", "csrf": make_csrf_token(OF_ONE)}
    assert (client.post("/dashboard/stories/retry", data=told).status_code, shown.asked) == (404, [])


def test_buttons_are_shown_only_if_they_would_work(client: TestClient) -> None:
    def retries(story: str) -> int:
        return client.get(f"/dashboard/projects/acme/shop/stories/{story}").text.count(">Retry<")

    sign_in(client)
    assert client.get("/dashboard/circuits").text.count(">Reset<") == 3
    assert (retries("loyalty-4"), retries("loyalty-7"), retries("loyalty-1")) == (1, 1, 0), "what is done is done"
    sign_in(client, READER)
    assert client.get("/dashboard/circuits").text.count(">Reset<") == 0
    assert retries("loyalty-4") == 0


def test_a_huge_form_is_refused(client: TestClient) -> None:
    assert client.post("/dashboard/log-in", data={"token": "x" * 40_000}).status_code == 413


def test_a_story_shows_its_coverage_and_screenshots(
    client: TestClient, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(client)
    page = shown.reading.story("acme/shop", "loyalty-2")
    assert page is not None
    taken = PageView("/cart", ".orch-state/prds/loyalty/pages/loyalty-2/1.png", "sha256:ab", "iVBORw==")
    replaced = PageView("/sums", ".orch-state/prds/loyalty/pages/loyalty-2/2.png", "sha256:cd")
    more = {"pages": (taken, replaced), "coverage": "98.5% of 400 statements; 24 of 24 of the story's own"}
    monkeypatch.setattr(shown.reading, "story", lambda *_: page.model_copy(update=more))
    text = client.get("/dashboard/projects/acme/shop/stories/loyalty-2").text
    found = parse_page(text)
    assert [value for name, value in found.attributes if name == "src"][-1] == "data:image/png;base64,iVBORw=="
    assert found.tags.count("img") == 1, "only an image that matches its evidence"
    assert "<b>98.5%</b>" in text


# --- hostile text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_hostile_text_stays_text(client: TestClient, shown: Shown, text: str) -> None:
    sign_in(client)
    plain = {path: parse_page(client.get(path).text) for path in PAGES}
    shown.reading.show(source_of(hostile(text)))
    for path in PAGES:
        answer = client.get(path)
        assert answer.status_code == 200
        found = parse_page(answer.text)
        assert set(found.tags) <= set(plain[path].tags) | {"code", "bdi", "p", "ul", "details", "summary"}
        assert found.tags.count("script") == 1 and "img" not in found.tags
        assert not [name for name, _ in found.attributes if name.startswith("on") or name == "style"]
        assert not [value for name, value in found.attributes if name in ("href", "src", "action") and ":" in value]
        assert "\u202e" not in answer.text


def test_template_syntax_is_shown_verbatim(client: TestClient, shown: Shown) -> None:
    sign_in(client)
    shown.reading.show(source_of(hostile("{{ 7*7 }} {% raw %} ${7*7}")))
    for path in PAGES[:3]:
        assert "{{ 7*7 }} {% raw %} ${7*7}" in unescape(client.get(path).text), path


def test_a_thousand_stories_fit_one_page_of_moderate_size(client: TestClient, shown: Shown) -> None:
    sign_in(client)
    shown.reading.show(source_of(thousand()))
    text = client.get("/dashboard/projects/acme/shop").text
    assert text.count('class="card"') <= 5 * 15
    assert text.count("data-key") == 1000
    assert len(text) < 500_000
    assert "and 885 more" in text


# --- small things -----------------------------------------------------------------------------------------------------


def test_no_other_static_files_are_served(client: TestClient) -> None:
    assert client.get("/dashboard/static/style.css").headers["content-type"] == "text/css; charset=utf-8"
    assert client.get("/dashboard/static/..%2flayout.html.j2").status_code == 404
    assert client.get("/dashboard/static/layout.html.j2").status_code == 404


def test_all_links_stay_below_the_path_of_a_proxy(shown: Shown) -> None:
    from dashboard_app import dashboard_app

    with TestClient(dashboard_app(shown), root_path="/tools", cookies={COOKIE: OWNER}) as client:
        found = parse_page(client.get("/dashboard/projects/acme/shop").text)
    links = [value for name, value in found.attributes if name in ("href", "src", "action", "data-events")]
    assert [value for value in links if not value.startswith(("/tools/", "#"))] == []


def test_pages_name_the_events_they_listen_to(client: TestClient) -> None:
    sign_in(client)
    text = client.get("/dashboard/projects/acme/shop").text
    assert 'data-events="/events" data-kinds="task_status_changed run_completed" data-repo="acme/shop"' in text
