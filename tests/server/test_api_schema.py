"""The short form of `make schemathesis`, and what the API description must contain for client generators."""

from __future__ import annotations

from collections.abc import Iterator

import api_schema_check
import pytest
from api_server import ApiServer, api_server
from sqlalchemy import event
from state_repo import OPEN, StateRepo, run

from prd2pr.client.errors import Invalid, NotFound
from prd2pr.server.api.routes import ROUTES


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def served(request, tmp_path_factory) -> Iterator[ApiServer]:
    place = tmp_path_factory.mktemp("described")
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""
    shop = StateRepo(place / "shop")
    shop.put("shop", {"shop-1": "done", "shop-2": "blocked"}, circuits=[OPEN], runs=[run("r1")])
    with api_server(place, {"octo/shop": shop.path}, database=url, api_rate_per_minute=1_000_000) as server:
        server.add_order(*api_schema_check.REAL["order_id"])
        yield server


@pytest.mark.slow
@pytest.mark.skipif(
    not api_schema_check.is_installed(), reason="schemathesis is not here: make .venv/.installed fetches it"
)
def test_every_response_is_as_described(served):
    tokens = ("", served.token("read", ["octo/*"]), served.token("admin"), served.token("admin"))
    found = api_schema_check.check_all(served.url, tokens, 5, both_names=False)
    assert {200, 202, 401, 404, 422} <= set(found), "it has not been everywhere"


def test_each_path_describes_its_responses(served):
    paths = served.get("/openapi.json").json()["paths"]
    for route in ROUTES:
        path = route.path.replace(":taskkey", "").replace(":path", "")
        for name in (path, f"/api/v1{path}"):
            told = paths[name][route.method.lower()]
            assert set(told["responses"]) == {str(route.status), *map(str, route.refusals)}, name
            assert ("security" in told) is (401 in route.refusals)
            for status in route.refusals:
                assert list(told["responses"][str(status)]["content"]) == ["application/problem+json"]


def test_every_reference_in_the_description_resolves(served):
    described_api = served.get("/openapi.json").json()
    schemas = described_api["components"]["schemas"]
    assert "HTTPValidationError" not in schemas and "Problem" in schemas
    for name in references(described_api):
        assert name.removeprefix("#/components/schemas/") in schemas


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


LISTS = ("/tasks", "/runs", "/circuits", "/workers", "/projects", "/orders")


@pytest.mark.parametrize("path", LISTS)
def test_a_token_without_repositories_sees_none(served, path):
    answer = served.get(path, served.token("read", ["else/where"]))
    assert (answer.status_code, answer.json()["items"]) == (200, [])


@pytest.mark.parametrize("asked", ["/orders?repo=%00", "/orders?subject=%00", "/runs?repo=%00", "/tasks?repo=%00"])
def test_a_value_that_no_database_accepts_is_invalid(served, asked):
    assert served.get(asked, served.token()).status_code == 422


def test_a_body_that_is_too_large_is_not_read_to_its_end(served):
    token, path = served.token("operate"), "/tasks/octo/shop:shop-2/retry"
    large = served.ask("POST", path, token, content=b'{"why": "' + b"x" * 20_000 + b'"}')
    assert large.status_code == 413 and large.headers["content-type"] == "application/problem+json"
    for wrong in (b"{", b"[]", b'{"why": 1}', b'{"reason": "x"}', b"\xff"):
        assert served.ask("POST", path, token, content=wrong).status_code == 422


def test_a_repeated_request_with_the_same_key_is_one_order(served):
    token, path = served.token("operate", name="nightly"), "/tasks/octo/shop:shop-2/retry"
    before = len(served.orders.placed)
    first = served.ask("POST", path, token, headers={"Idempotency-Key": "a"}).json()
    again = served.ask("POST", path, token, headers={"Idempotency-Key": "a"}).json()
    assert again == {**first, "repeated": True} and first["by"] == "nightly"
    other = served.ask("POST", "/circuits/octo/shop:shop:green/reset", token, headers={"Idempotency-Key": "a"})
    assert other.status_code == 409
    elsewhere = served.ask("POST", path, served.token("operate"), headers={"Idempotency-Key": "a"}).json()
    assert elsewhere["id"] != first["id"], "another token's key is another key"
    assert len(served.orders.placed) == before + 2
    audited = served.get("/audit", served.token("admin")).json()["items"]
    assert first["id"] in {each["id"] for each in audited}


def test_without_a_key_the_same_request_about_the_same_state_is_one_order(served):
    token, path = served.token("operate"), "/circuits/octo/shop:shop:green/reset"
    before = len(served.orders.placed)
    ids = {served.ask("POST", path, token).json()["id"] for _ in range(3)}
    assert len(ids) == 1 and len(served.orders.placed) - before <= 1
    repo, order = next(each for each in served.orders.placed if each[1].id in ids)
    assert (repo, order.prd, order.verb, order.circuit) == ("octo/shop", "shop", "tdd reset", "green")


def test_requests_per_token_are_rate_limited(tmp_path):
    with api_server(tmp_path, api_rate_per_minute=3) as served:
        token = served.token()
        answers = [served.get("/projects", token) for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        assert 1 <= int(answers[-1].headers["Retry-After"]) <= 21
        assert served.get("/projects", served.token()).status_code == 200


def test_a_database_that_cannot_be_written_can_still_be_read(tmp_path):
    shop = StateRepo(tmp_path / "shop")
    shop.put("shop", {"shop-2": "blocked"})
    with api_server(tmp_path, {"octo/shop": shop.path}) as served:
        token = served.token("operate")
        event.listen(served.database.engine, "begin", lambda it: it.exec_driver_sql("PRAGMA query_only=ON"))
        assert served.get("/tasks", token).status_code == 200
        refused = served.ask("POST", "/tasks/octo/shop:shop-2/retry", token)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
        assert refused.headers["content-type"] == "application/problem+json" and "database" in refused.json()["detail"]


@pytest.mark.slow
def test_a_server_without_workers_says_so(tmp_path):
    shop = StateRepo(tmp_path / "shop")
    shop.put("shop", {"shop-2": "blocked"})
    with api_server(tmp_path, {"octo/shop": shop.path}) as served:
        served.app.state.orders = None
        assert served.ask("POST", "/tasks/octo/shop:shop-2/retry", served.token("operate")).status_code == 503


def test_any_command_can_be_ordered_and_a_line_that_is_none_is_refused(served):
    token = served.token("operate", ["octo/shop"])
    with served.client(token) as client:
        order = client.command("octo/shop:shop", "/sprint pause", why="a freeze")
        assert (order.command, order.subject, order.state) == ("/sprint pause", "octo/shop:shop", "waiting")
        assert client.command("octo/shop:shop", '/feedback "good"').id != order.id
        for line in ("hello", "/sprint plam", "/state", "/tdd run shop-1\n/tdd run shop-2"):
            with pytest.raises(Invalid):
                client.command("octo/shop:shop", line)
        with pytest.raises(NotFound):
            client.command("octo/shop:other", "/sprint pause")
