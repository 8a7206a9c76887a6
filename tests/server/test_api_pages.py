"""Filters of `/tasks`, the summary of `/health`, Swagger UI at `/docs`, and pages of other origins."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from api_server import ApiServer, api_server
from state_repo import OPEN, StateRepo, run

ORIGIN = "https://status.example.org"


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[ApiServer]:
    place = tmp_path_factory.mktemp("pages")
    shop = StateRepo(place / "shop")
    shop.put("shop", {"shop-1": "done", "shop-2": "blocked", "shop-3": "backlog"}, circuits=[OPEN], runs=[run("r1")])
    with api_server(place, {"octo/shop": shop.path}, cors_origins=(ORIGIN,)) as server:
        yield server


@pytest.fixture(scope="module")
def token(served) -> str:
    return served.token("read", ["octo/shop"])


def test_tasks_are_filtered_by_status_and_phase(served, token):
    def ids(query: str) -> list[str]:
        return [each["id"] for each in served.get(f"/tasks?{query}", token).json()["items"]]

    everything = served.get("/tasks", token).json()["items"]
    assert ids("status=BLOCKED") == ids("column=BLOCKED") == ["shop-2"]
    assert ids("status=BLOCKED&column=COMPLETE") == []
    phases = {each["phase"] for each in everything} - {""}
    assert phases
    for phase in phases:
        assert ids(f"phase={phase}") == [each["id"] for each in everything if each["phase"] == phase]


@pytest.mark.parametrize("query", ["status=DONE", "phase=purple", "kind=wish", "state=BLOCKED"])
def test_an_unknown_filter_or_value_is_refused_and_not_ignored(served, token, query):
    answer = served.get(f"/tasks?{query}", token)
    assert answer.status_code == 422, answer.text


def test_health_counts_the_circuit_breakers_by_state_without_names(served):
    health = served.get("/health").json()
    assert health["circuits"]["open"] == 1
    assert set(health["circuits"]) == {"closed", "open", "half-open"}
    assert "shop" not in str(health)


def test_swagger_ui_needs_a_token_and_loads_nothing_from_elsewhere(served, token):
    page = served.get("/docs", token)
    assert page.status_code == 200 and 'src="docs/swagger-ui-bundle.js"' in page.text
    assert "http" not in page.text and "default-src 'none'" in page.headers["content-security-policy"]
    for name in ("swagger-ui.css", "swagger-ui-bundle.js", "start.js"):
        asset = served.get(f"/docs/{name}", token)
        assert asset.status_code == 200 and len(asset.content) > 50
        assert served.get(f"/docs/{name}").status_code == 401
    assert served.get("/docs/../secret", token).status_code == 404
    assert served.get("/docs").status_code == 401
    browser = served.get("/docs", headers={"Accept": "text/html"})
    assert (browser.status_code, browser.headers["location"]) == (303, "/dashboard/log-in")


def test_only_configured_origins_may_call_the_api_and_never_with_a_cookie(served, token):
    asked = {
        "Origin": ORIGIN,
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    allowed = served.ask("OPTIONS", "/tasks", headers=asked)
    assert allowed.headers["access-control-allow-origin"] == ORIGIN
    assert "access-control-allow-credentials" not in allowed.headers
    assert served.get("/tasks", token, headers={"Origin": ORIGIN}).headers["access-control-allow-origin"] == ORIGIN
    other = served.ask("OPTIONS", "/tasks", headers={**asked, "Origin": "https://elsewhere.example.org"})
    assert "access-control-allow-origin" not in other.headers
