"""The fake is only useful if it refuses what the real API refuses."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from fakes.messages_api import MessagesApi, stream_events

HEADERS = {"x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
GOOD: dict[str, Any] = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}
MARK = {"cache_control": {"type": "ephemeral"}}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}]}


def post(
    api: MessagesApi, body: Any, headers: dict[str, str] = HEADERS, route: str = "/v1/messages"
) -> tuple[int, Any]:
    request = urllib.request.Request(api.url + route, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def marked(count: int) -> list[dict[str, Any]]:
    return [{"type": "text", "text": "x", **MARK} for _ in range(count)]


def result(ident: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": ident, "content": "ok"}


def talk(*messages: Any) -> dict[str, Any]:
    return {**GOOD, "messages": list(messages)}


def with_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {**GOOD, "output_config": {"format": {"type": "json_schema", "schema": schema}}}


ASKED = GOOD["messages"][0]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"model": "m", "max_tokens": 10}, "messages"),
        ({**GOOD, "temperature": 1}, "temperature"),
        ({**GOOD, "max_tokens": "10"}, "max_tokens"),
        ({**GOOD, "tools": []}, "tools"),
        ({**GOOD, "tools": [{"name": "f", "input_schema": {}}]}, "input_schema"),
        (talk(), "at least one"),
        (talk(ASKED, ASKED), "alternate"),
        (talk(ASKED, {"role": "assistant", "content": "Yes"}), "last message"),
        (talk({"role": "user", "content": [{"type": "text", "text": " "}]}), "non-empty"),
        (talk({"role": "user", "content": []}), "empty"),
        (talk(ASKED, USE, {"role": "user", "content": "and?"}), "without tool_result"),
        (talk(ASKED, USE, {"role": "user", "content": [result("t2")]}), "without tool_result"),
        (talk(ASKED, USE, {"role": "user", "content": [result("t1"), result("t2")]}), "unexpected"),
        (talk(ASKED, USE, {"role": "user", "content": [{"type": "text", "text": "x"}, result("t1")]}), "before"),
        ({**GOOD, "system": marked(5)}, "maximum of 4"),
        ({**GOOD, "system": marked(3), "messages": [{"role": "user", "content": marked(2)}]}, "maximum of 4"),
        (with_schema({"type": "object", "properties": {}}), "additionalProperties"),
        (with_schema({"type": "integer", "minimum": 1}), "minimum"),
    ],
)
def test_invalid_request_is_refused_and_recorded(body: Any, named: str) -> None:
    with MessagesApi(["x"]) as api:
        status, answer = post(api, body)
    assert status == 400
    assert named in answer["error"]["message"]
    assert len(api.violations) == 1


def test_headers_and_routes_are_checked() -> None:
    with MessagesApi(["x"]) as api:
        assert post(api, GOOD, {**HEADERS, "x-api-key": ""})[0] == 400
        assert (
            post(api, GOOD, {name: value for name, value in HEADERS.items() if name != "anthropic-version"})[0] == 400
        )
        assert post(api, GOOD, route="/v1/complete")[0] == 404
    assert len(api.violations) == 3


@pytest.mark.parametrize("key", [{"x-api-key": "k"}, {"x-api-key": "", "authorization": "Bearer k"}])
def test_good_requests_are_answered_in_order_until_the_script_ends(key: dict[str, str]) -> None:
    with MessagesApi(["one", "two"]) as api:
        said = [post(api, GOOD, HEADERS | key)[1]["content"][0]["text"] for _ in range(2)]
        assert api.violations == []
        assert post(api, GOOD, HEADERS | key)[0] == 400
    assert said == ["one", "two"]
    assert api.violations == ["the script has no reply left"]


def test_a_function_may_answer() -> None:
    with MessagesApi(lambda body: f"{len(body['messages'])} message") as api:
        assert post(api, GOOD)[1]["content"][0]["text"] == "1 message"


def test_stream_events_contain_the_whole_message() -> None:
    message = {
        "content": [
            {"type": "text", "text": "a" * 100},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"n": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }
    events = list(stream_events(message))
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(delta.get("text", "") for delta in deltas) == "a" * 100
    assert json.loads("".join(delta.get("partial_json", "") for delta in deltas)) == {"n": 1}
    assert events[-1] == {"type": "message_stop"}
