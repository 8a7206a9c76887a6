"""The real SDK against a strict server on loopback."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from model_requests import PRICE, READ_FILE, a_request, user
from pydantic import BaseModel, Field

from fakes.messages_api import (
    OVERLOADED,
    RATE_LIMITED,
    SERVER_ERROR,
    Cut,
    Drop,
    ErrorEvent,
    Fault,
    MessagesApi,
    Slow,
    Status,
)
from fakes.messages_rules import cache_marks
from prd2pr.agents.models.anthropic import AnthropicModel
from prd2pr.agents.models.base import Message, Text, ToolResult, ToolUse
from prd2pr.agents.models.retry import MODEL_RETRIES
from prd2pr.agents.models.usage import estimate_next_call
from prd2pr.errors import ModelMissing, ModelProblem, Prd2prError, SpendLimit
from prd2pr.retry import RetryNotice

KEY = "sk-ant-test-0123456789"
MODEL = "claude-sonnet-5-5"


class Waits:
    """A fake clock: records the sleeps and the messages about them."""

    def __init__(self, tries: int = 6) -> None:
        self.slept: list[float] = []
        self.notices: list[RetryNotice] = []
        self.policy = replace(
            MODEL_RETRIES, tries=tries, sleep=self.slept.append, on_retry=self.notices.append, jitter=lambda: 1.0
        )


def connect(
    api: MessagesApi, waits: Waits | None = None, *, model: str = MODEL, timeout: float = 30.0
) -> AnthropicModel:
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": api.url}
    policy = (waits or Waits()).policy
    return AnthropicModel(model, env=env, prices={MODEL: PRICE}, policy=policy, read_timeout=timeout)


def test_plain_answer_is_text_with_usage() -> None:
    usage = {
        "input_tokens": 100,
        "cache_read_input_tokens": 2_000,
        "cache_creation_input_tokens": 400,
        "output_tokens": 50,
    }
    with MessagesApi([{"content": "Grüße, " * 30, "usage": usage}]) as api:
        reply = connect(api).reply(a_request())

    assert api.violations == []
    assert reply.text == "Grüße, " * 30
    assert (reply.stop, reply.model) == ("end", MODEL)
    assert (reply.spend.calls, reply.spend.input_tokens, reply.spend.cached_tokens) == (1, 500, 2_000)
    assert reply.spend.output_tokens == 50
    assert reply.spend.usd == pytest.approx((100 * 3 + 2_000 * 0.3 + 400 * 3.75 + 50 * 15) / 1_000_000)
    sent = api.requests[0]
    assert sent.body["system"] == [{"type": "text", "text": "You write tests."}]
    assert (sent.body["max_tokens"], sent.body["stream"]) == (1_000, True)


def test_without_a_price_tokens_are_counted_and_dollars_are_unknown() -> None:
    with MessagesApi(["x"]) as api:
        reply = connect(api, model="claude-haiku-5-5").reply(a_request())
    assert reply.spend.usd is None
    assert reply.spend.tokens > 0


def test_tools_over_several_turns_with_results_in_api_order() -> None:
    first = [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "read_file", "input": {"path": "a.py"}}]
    with MessagesApi([first, "Done."]) as api:
        model = connect(api)
        opening = user("Write the test.")
        asked = model.reply(a_request(opening, tools=(READ_FILE,)))
        assert asked.stop == "tool_use"
        (use,) = asked.tool_uses
        assert (use.name, dict(use.input)) == ("read_file", {"path": "a.py"})
        results = Message("user", (Text("And hurry."), ToolResult(use.id, "no such file", is_error=True)))
        done = model.reply(a_request(opening, Message("assistant", asked.blocks), results, tools=(READ_FILE,)))

    assert api.violations == []
    assert (done.text, done.stop) == ("Done.", "end")
    last = api.bodies[1]["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert last[0]["is_error"] is True


def test_thinking_is_returned_with_its_tool_call() -> None:
    thought = {"type": "thinking", "thinking": "Let me see. " * 10, "signature": "c2lnbmVk"}
    call = {"type": "tool_use", "name": "read_file", "input": {}}
    with MessagesApi([[thought, call], "Done."]) as api:
        model = connect(api)
        asked = model.reply(a_request(tools=(READ_FILE,)))
        assert [type(block) for block in asked.blocks] == [ToolUse]
        talk = (user("Go."), Message("assistant", asked.blocks), _results(asked.tool_uses))
        model.reply(a_request(*talk, tools=(READ_FILE,)))
    assert api.violations == []
    assert api.bodies[1]["messages"][1]["content"][0] == thought


def _results(uses: tuple[ToolUse, ...]) -> Message:
    return Message("user", tuple(ToolResult(use.id, "") for use in uses))


def test_empty_texts_are_dropped_and_adjacent_messages_of_a_role_merged() -> None:
    with MessagesApi(["x"]) as api:
        connect(api).reply(a_request(user("One.", "  "), Message("assistant", (Text(""),)), user("Two.")))
    assert api.violations == []
    assert [block["text"] for block in api.bodies[0]["messages"][0]["content"]] == ["One.", "Two."]


class Line(BaseModel):
    text: str = Field(max_length=80)
    weight: int = Field(1, ge=1, le=10)
    kind: str | None = None


class Answer(BaseModel):
    lines: tuple[Line, ...] = Field(min_length=2)
    extra: Line | None = None


def test_structured_output_sends_a_schema_the_api_accepts() -> None:
    answer = '{"lines": [{"text": "a"}, {"text": "b"}]}'
    with MessagesApi([answer]) as api:
        reply = connect(api).reply(a_request(output_schema=Answer.model_json_schema()))
    assert api.violations == []
    assert json.loads(reply.text)["lines"][1] == {"text": "b"}
    sent = api.bodies[0]["output_config"]["format"]
    assert sent["type"] == "json_schema"
    assert sent["schema"]["additionalProperties"] is False
    assert sent["schema"]["$defs"]["Line"]["additionalProperties"] is False


@pytest.mark.parametrize(("marks", "kept"), [(0, 0), (1, 1), (4, 4), (9, 4)])
def test_at_most_four_cache_marks(marks: int, kept: int) -> None:
    system = tuple(Text(f"Rule {n}.", cache=n < marks) for n in range(9))
    with MessagesApi(["x"]) as api:
        connect(api).reply(a_request(system=system))
    assert api.violations == []
    assert len(list(cache_marks(api.bodies[0]))) == kept


def test_cache_marks_are_at_the_stable_prefix_and_the_end_of_the_conversation() -> None:
    system = tuple(Text(f"Rule {n}.", cache=True) for n in range(4))
    talk = (user("One."), Message("assistant", (Text("Yes."),)), user("Two.", "Three."))
    with MessagesApi(["x"]) as api:
        connect(api).reply(a_request(*talk, system=system))
    assert api.violations == []
    body = api.bodies[0]
    assert [("cache_control" in block) for block in body["system"]] == [True, True, False, True]
    assert [("cache_control" in block) for block in body["messages"][-1]["content"]] == [False, True]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("refusal", "refusal"),
        ("max_tokens", "max_tokens"),
        ("model_context_window_exceeded", "max_tokens"),
        ("stop_sequence", "end"),
    ],
)
def test_stop_reason_is_returned(reason: str, stop: str) -> None:
    with MessagesApi([{"content": "I", "stop_reason": reason}]) as api:
        assert connect(api).reply(a_request()).stop == stop


# --- faults -----------------------------------------------------------------------------------------------------------


def test_three_different_faults_are_retried_within_one_call() -> None:
    waits = Waits()
    with MessagesApi(["The whole answer."], faults={1: RATE_LIMITED, 2: OVERLOADED, 3: Cut()}) as api:
        reply = connect(api, waits).reply(a_request())

    assert api.violations == []
    assert reply.text == "The whole answer."
    assert reply.spend.calls == 1
    assert len(api.requests) == 4
    assert waits.slept == [7.0, 2.0, 4.0]  # retry-after, then the backoff of the second and third attempt
    assert [(news.attempt, news.of, news.seconds) for news in waits.notices] == [(1, 6, 7.0), (2, 6, 2.0), (3, 6, 4.0)]
    assert waits.notices[0].why.startswith("429 ")
    assert "cut off" in waits.notices[2].why


@pytest.mark.parametrize(
    "fault",
    [
        SERVER_ERROR,
        Status(502, "api_error"),
        Status(503, "api_error"),
        Cut(after_events=0),
        Cut(after_events=4),
        Cut(cleanly=True),
        Cut(after_events=0, cleanly=True),
        ErrorEvent("overloaded_error"),
        ErrorEvent("api_error", after_events=0),
        Drop(),
    ],
    ids=repr,
)
def test_transient_errors_are_retried_and_partial_answers_never_used(fault: Fault) -> None:
    waits = Waits()
    tool = [{"type": "tool_use", "name": "read_file", "input": {"path": "a" * 200}}]
    with MessagesApi([tool], faults={1: fault}) as api:
        reply = connect(api, waits).reply(a_request(tools=(READ_FILE,)))
    assert api.violations == []
    assert reply.tool_uses[0].input == {"path": "a" * 200}
    assert (len(api.requests), len(waits.slept)) == (2, 1)


@pytest.mark.parametrize("after", [0, 4])
def test_stalled_answer_is_retried(after: int) -> None:
    with MessagesApi(lambda _: "x" * 200, faults={1: Slow(6.0, after_events=after)}) as api:
        assert connect(api, timeout=3.0).reply(a_request()).text == "x" * 200
    assert len(api.requests) == 2


def test_slow_answer_within_the_timeout_is_accepted() -> None:
    with MessagesApi(["x" * 200], faults={1: Slow(0.3, after_events=4)}) as api:
        assert connect(api, timeout=60).reply(a_request()).text == "x" * 200
    assert len(api.requests) == 1


def test_retries_end_after_the_configured_number() -> None:
    waits = Waits(tries=3)
    with MessagesApi(faults=dict.fromkeys(range(1, 10), OVERLOADED)) as api, pytest.raises(ModelProblem) as caught:
        connect(api, waits).reply(a_request())
    assert (len(api.requests), waits.slept) == (3, [1.0, 2.0])
    assert "3 tries" in caught.value.what
    assert "529" in caught.value.what
    assert caught.value.remedy


def test_unreachable_server_is_retried_and_then_reported() -> None:
    with MessagesApi() as api:
        gone = api.url
    waits = Waits(tries=2)
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": gone}
    with pytest.raises(ModelProblem, match="no connection"):
        AnthropicModel(MODEL, env=env, prices={}, policy=waits.policy).reply(a_request())
    assert len(waits.slept) == 1


@pytest.mark.parametrize(
    ("fault", "kind", "remedy"),
    [
        (Status(400, "invalid_request_error", "prompt is too long"), ModelProblem, "split"),
        (Status(401, "authentication_error"), ModelProblem, "ANTHROPIC_API_KEY"),
        (Status(403, "permission_error"), ModelProblem, "another key"),
        (Status(404, "not_found_error"), ModelProblem, "model's name"),
        (Status(413, "request_too_large"), ModelProblem, "too large"),
        (ErrorEvent("invalid_request_error"), ModelProblem, ""),
        (Status(402, "billing_error"), SpendLimit, "credit"),
        (ErrorEvent("billing_error"), SpendLimit, "credit"),
        (Status(400, "invalid_request_error", "Your credit balance is too low."), SpendLimit, "credit"),
        (
            Status(429, "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
            SpendLimit,
            "credit",
        ),
    ],
    ids=repr,
)
def test_permanent_errors_are_reported_at_once(fault: Fault, kind: type[Prd2prError], remedy: str) -> None:
    waits = Waits()
    with MessagesApi(["never"], faults={1: fault}) as api, pytest.raises(Prd2prError) as caught:
        connect(api, waits).reply(a_request())
    assert type(caught.value) is kind
    assert (len(api.requests), waits.slept) == (1, [])
    assert "scripted" in caught.value.what or "prompt" in caught.value.what or "credit" in caught.value.what
    assert remedy in caught.value.remedy
    assert MODEL in caught.value.where


def test_misspelt_model_gets_a_suggestion() -> None:
    unknown = Status(404, "not_found_error", "model: claude-sonet-5-5")
    with MessagesApi(faults={1: unknown}) as api, pytest.raises(ModelProblem) as caught:
        connect(api, model="claude-sonet-5-5").reply(a_request())
    assert "Did you mean claude-sonnet-5-5?" in caught.value.remedy


def test_key_is_in_no_error_even_if_the_server_repeats_it() -> None:
    waits = Waits(tries=2)
    faults: Mapping[int, Fault] = {
        1: Status(500, "api_error", f"key {KEY}"),
        2: Status(401, "authentication_error", f"invalid key {KEY}"),
    }
    with MessagesApi(faults=faults) as api, pytest.raises(ModelProblem) as caught:
        connect(api, waits).reply(a_request())
    shown = " ".join([*caught.value.lines(), str(caught.value), *(news.why for news in waits.notices)])
    assert KEY not in shown
    assert "[hidden]" in shown
    assert caught.value.__suppress_context__


# --- set-up -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("env", "what"),
    [
        ({}, "ANTHROPIC_API_KEY is not set"),
        ({"ANTHROPIC_API_KEY": "  "}, "ANTHROPIC_API_KEY is not set"),
        ({"ANTHROPIC_API_KEY": "sk-ä"}, "characters"),
        ({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "localhost:8787"}, "ANTHROPIC_BASE_URL"),
    ],
)
def test_missing_key_or_invalid_url_is_reported_before_any_call(env: dict[str, str], what: str) -> None:
    with pytest.raises(ModelMissing) as caught:
        AnthropicModel(MODEL, env=env, prices={})
    assert what in caught.value.what
    assert caught.value.remedy


def test_estimate_has_a_cost_only_if_the_price_is_known() -> None:
    with MessagesApi() as api:
        request = a_request(user("x" * 40_000))
        known = estimate_next_call(connect(api), request)
        unknown = estimate_next_call(connect(api, model="claude-haiku-5-5"), request)
    assert known.usd is not None
    assert known.usd == pytest.approx((10_004 * 3 + 1_000 * 15) / 1_000_000)
    assert unknown.usd is None
    assert unknown.tokens == known.tokens == 11_004


def test_retry_after_may_be_a_date() -> None:
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 30))
    waits = Waits()
    with MessagesApi(["x"], faults={1: Status(429, "rate_limit_error", headers={"retry-after": later})}) as api:
        connect(api, waits).reply(a_request())
    assert 25 < waits.slept[0] <= 30
