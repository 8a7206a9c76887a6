from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from model_requests import PRICE, a_request

from fakes.messages_api import OVERLOADED, MessagesApi
from prd2pr.agents.models import estimate_next_call, open_model, record_model
from prd2pr.agents.models.base import Model, Reply, Request
from prd2pr.errors import ModelMissing
from prd2pr.retry import RetryNotice


def test_each_kind_of_model_is_opened_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"transcript": 1, "title": "Loyalty"}\n', encoding="utf-8")
    env = {"ANTHROPIC_API_KEY": "sk-ant-x", "OPENAI_API_KEY": "sk-x", "PATH": os.environ["PATH"]}
    names = {
        spec: open_model(spec, env=env, cwd=tmp_path, stdin=io.StringIO(), stdout=io.StringIO()).name
        for spec in (
            *("anthropic:claude-opus-5-5", "claude-sonnet-5-5", "openai:gpt-x", "command:echo 'a b'", "human"),
            "replay:t.jsonl",
        )
    }
    assert list(names.values()) == [
        *("claude-opus-5-5", "claude-sonnet-5-5", "gpt-x", "command:echo 'a b'", "human"),
        "replay of Loyalty",
    ]


@pytest.mark.parametrize(
    ("spec", "remedy"),
    [
        ("antropic:claude-opus-5-5", "Did you mean `anthropic:claude-opus-5-5`?"),
        ("humn", "Did you mean `human`?"),
        ("gpt-7", "Did you mean `openai:gpt-7`?"),
        ("demo.jsonl", "Did you mean `replay:demo.jsonl`?"),
        ("", "A model is one of"),
        ("llama", "`command:PROGRAM ARGS`"),
        ("anthropic:", "Write `anthropic:MODEL`"),
        ("human:me", "Write `human`"),
    ],
)
def test_unknown_name_lists_the_known_ones(spec: str, remedy: str) -> None:
    with pytest.raises(ModelMissing) as caught:
        open_model(spec, env={})
    assert remedy in caught.value.remedy


def test_prices_retries_and_recording_reach_the_model(tmp_path: Path) -> None:
    notices: list[RetryNotice] = []
    slept: list[float] = []
    with MessagesApi(["Hello"], faults={1: OVERLOADED}) as api:
        env = {"ANTHROPIC_API_KEY": "sk-ant-x", "ANTHROPIC_BASE_URL": api.url}
        prices = {"claude-sonnet-5-5": PRICE}
        live = open_model("claude-sonnet-5-5", prices=prices, env=env, on_retry=notices.append, sleep=slept.append)
        model = record_model(live, tmp_path / "t.jsonl", title="Trial")
        reply = model.reply(a_request())
        assert estimate_next_call(model).usd == 0.0
    assert reply.spend.usd is not None
    assert reply.spend.usd > 0
    assert len(notices) == len(slept) == 1
    replay = open_model(f"replay:{tmp_path / 't.jsonl'}", env={})
    assert replay.reply(a_request()).blocks == reply.blocks


def test_model_without_cost_information_is_unpriced() -> None:
    class ForeignModel:
        name = "stranger"

        def reply(self, request: Request) -> Reply:
            raise NotImplementedError

    stranger: Model = ForeignModel()
    assert estimate_next_call(stranger, a_request()).usd is None


def test_sdk_is_imported_only_for_its_model_and_after_the_key_check() -> None:
    program = (
        "import sys\n"
        "from prd2pr.errors import ModelMissing\n"
        "from prd2pr.agents.models import open_model\n"
        "open_model('human', env={}); open_model('command:echo', env={'PATH': '/bin:/usr/bin'})\n"
        "try: open_model('claude-sonnet-5-5', env={})\n"
        "except ModelMissing: print('anthropic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
