"""Every route of the application with every kind of token: exactly the expected status.

A route without a row here fails: adding a route includes deciding who may use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from api_server import ApiServer, api_server
from fastapi import FastAPI
from state_repo import OPEN, StateRepo, run

from prd2pr.server.app import SERVER_PARTS

# `read` and `operate` are for octo/shop; `reads` and `admin` are for all; `other` may do anything, elsewhere.
ROLES = ("none", "bad", "expired", "revoked", "read", "operate", "reads", "admin", "other")

PUBLIC = (200,) * 9
SEEN = (401, 401, 401, 401, 200, 200, 200, 200, 200)  # a list of what the token may see, which may be empty
ONE = (401, 401, 401, 401, 200, 200, 200, 200, 404)
ALL = (401, 401, 401, 401, 403, 403, 200, 200, 403)
ADMIN = (401, 401, 401, 401, 403, 403, 403, 200, 403)
REGISTER = (401, 401, 401, 401, 403, 200, 403, 200, 200)
CHANGE = (401, 401, 401, 401, 403, 202, 403, 202, 404)
# Pages are for browsers, which send the token in a cookie.
PAGE = (303, 303, 303, 303, 200, 200, 200, 200, 200)
PAGE_OF_ONE = (303, 303, 303, 303, 200, 200, 200, 200, 404)
LOGGING_IN = (200, 200, 200, 200, 303, 303, 303, 303, 303)
FORM = (403,) * 9  # without the CSRF token of the page

ORDER = "0123456789abcdef"  # for octo/shop; see `served`

API: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("GET", "/health"): ("/health", PUBLIC),
    ("GET", "/health/live"): ("/health/live", PUBLIC),
    ("GET", "/health/ready"): ("/health/ready", PUBLIC),
    ("GET", "/tasks"): ("/tasks", SEEN),
    ("GET", "/tasks/{key}"): ("/tasks/octo/shop:shop-2", ONE),
    ("POST", "/tasks/{key}/retry"): ("/tasks/octo/shop:shop-2/retry", CHANGE),
    ("GET", "/workers"): ("/workers", SEEN),
    ("GET", "/circuits"): ("/circuits", SEEN),
    ("POST", "/circuits/{circuit_id}/reset"): ("/circuits/octo/shop:shop:green/reset", CHANGE),
    ("POST", "/prds/{key}/commands"): ("/prds/octo/shop:shop/commands", CHANGE),
    ("POST", "/servers"): ("/servers", REGISTER),
    ("GET", "/runs"): ("/runs", SEEN),
    ("GET", "/orders"): ("/orders", SEEN),
    ("GET", "/orders/{order_id}"): (f"/orders/{ORDER}", ONE),
    ("GET", "/projects"): ("/projects", SEEN),
    ("GET", "/audit"): ("/audit", ADMIN),
    ("GET", "/metrics"): ("/metrics", ALL),
    ("GET", "/events"): ("/events", SEEN),
}
OTHERS: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("GET", "/openapi.json"): ("/openapi.json", PUBLIC),
    ("GET", "/docs"): ("/docs", SEEN),
    ("GET", "/docs/{name}"): ("/docs/start.js", SEEN),
    ("POST", "/webhook"): ("/webhook", (401,) * 9),  # it accepts signatures, and no token
    ("GET", "/"): ("/", (307,) * 9),
    ("GET", "/dashboard"): ("/dashboard", PAGE),
    ("GET", "/dashboard/projects/{repo}"): ("/dashboard/projects/octo/shop", PAGE_OF_ONE),
    ("GET", "/dashboard/projects/{repo}/stories/{story}"): (
        "/dashboard/projects/octo/shop/stories/shop-2",
        PAGE_OF_ONE,
    ),
    ("GET", "/dashboard/runs"): ("/dashboard/runs", PAGE),
    ("GET", "/dashboard/workers"): ("/dashboard/workers", PAGE),
    ("GET", "/dashboard/circuits"): ("/dashboard/circuits", PAGE),
    ("GET", "/dashboard/metrics"): ("/dashboard/metrics", PAGE),
    ("GET", "/dashboard/costs"): ("/dashboard/costs", PAGE),
    ("GET", "/dashboard/log-in"): ("/dashboard/log-in", LOGGING_IN),
    ("POST", "/dashboard/log-in"): ("/dashboard/log-in", (401,) * 9),
    ("POST", "/dashboard/log-out"): ("/dashboard/log-out", FORM),
    ("POST", "/dashboard/circuits/reset"): ("/dashboard/circuits/reset", FORM),
    ("POST", "/dashboard/stories/retry"): ("/dashboard/stories/retry", FORM),
    ("GET", "/dashboard/static/{name}"): ("/dashboard/static/style.css", PUBLIC),
}
MATRIX = {
    **OTHERS,
    **API,
    **{(method, f"/api/v1{path}"): (f"/api/v1{asked}", row) for (method, path), (asked, row) in API.items()},
}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def served(request, tmp_path_factory) -> Iterator[ApiServer]:
    place = tmp_path_factory.mktemp("roles")
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    shop = StateRepo(place / "shop")
    shop.put("shop", {"shop-1": "done", "shop-2": "blocked"}, circuits=[OPEN], runs=[run("r1")])
    StateRepo(place / "secret").put("plan", {"plan-1": "in_progress"}, runs=[run("r2")])
    repositories = {"octo/shop": place / "shop", "octo/secret": place / "secret"}
    with api_server(place, repositories, database=url, added=SERVER_PARTS) as server:
        server.add_order(ORDER)
        yield server


@pytest.fixture(scope="module")
def tokens(served) -> dict[str, str]:
    from datetime import UTC, datetime

    from prd2pr.server.api.tokens import revoke_token

    made = {
        "none": "",
        "bad": f"prd2pr_{'0' * 12}_{'A' * 43}",
        "expired": served.expired(),
        "revoked": served.token("admin"),
        "read": served.token("read", ["octo/shop"]),
        "operate": served.token("operate", ["OCTO/Shop"]),
        "reads": served.token("read", ["*"]),
        "admin": served.token("admin", ["*"]),
        "other": served.token("admin", ["else/*"]),
    }
    revoke_token(served.database, made["revoked"].split("_")[1], datetime.now(UTC))
    return made


def routes_of(app: FastAPI) -> set[tuple[str, str]]:
    return {(method, path) for method, path in flatten_routes(app.routes, "") if method != "HEAD"}


def flatten_routes(routes: list[Any], prefix: str) -> Iterator[tuple[str, str]]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from flatten_routes(inner.routes, prefix + route.include_context.prefix)
            continue
        path = prefix + (getattr(route, "path_format", None) or route.path)
        for method in getattr(route, "methods", None) or {"*"}:
            yield method, path


def test_every_route_has_a_row_and_every_row_a_route(served):
    assert routes_of(served.app) == set(MATRIX)


@pytest.mark.parametrize("route", sorted(MATRIX), ids=" ".join)
def test_status_of_every_route_and_token(served, tokens, route):
    path, expected = MATRIX[route]
    with httpx.Client(base_url=served.url, timeout=120) as client:
        seen = tuple(status(client, route[0], path, tokens[role]) for role in ROLES)
    assert dict(zip(ROLES, seen, strict=True)) == dict(zip(ROLES, expected, strict=True))


def status(client: httpx.Client, method: str, path: str, token: str) -> int:
    page = path.startswith("/dashboard")
    headers = {"Authorization": f"Bearer {token}"} if token and not page else {}
    if token and page:
        headers["Cookie"] = f"prd2pr_session={token}"
    bodies = {"commands": {"command": "/sprint pause"}, "servers": {"url": "https://team.example"}}
    body = bodies.get(path.rpartition("/")[2])
    with client.stream(method, path, headers=headers, json=body) as response:  # an event stream has no end to wait for
        return response.status_code


def test_lists_contain_only_what_the_token_may_see(served, tokens):
    served.ask("POST", "/tasks/octo/secret:plan-1/retry", tokens["admin"])
    for path in ("/tasks", "/circuits", "/runs", "/projects", "/workers", "/orders"):
        text = served.get(path, tokens["read"]).text
        assert "octo/shop" in text and "octo/secret" not in text, path
        assert "octo/" not in served.get(path, tokens["other"]).text, path
        assert "octo/secret" in served.get(path, tokens["reads"]).text, path


def test_hidden_and_missing_resources_look_the_same(served, tokens):
    hidden = served.get("/tasks/octo/secret:plan-1", tokens["read"])
    missing = served.get("/tasks/octo/nothing:plan-1", tokens["read"])
    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text) == (404, missing.text)


def test_a_cookie_can_read_and_change_nothing(served, tokens):
    cookie = {"Cookie": f"prd2pr_session={tokens['admin']}"}
    assert served.get("/tasks", headers=cookie).status_code == 200
    assert served.ask("POST", "/tasks/octo/shop:shop-2/retry", headers=cookie).status_code == 401
