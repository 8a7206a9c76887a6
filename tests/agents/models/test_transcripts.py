from __future__ import annotations

import json
from pathlib import Path

import pytest
from model_requests import a_request

from prd2pr.agents.models.base import Purpose, Reply, Request, Text, ToolUse
from prd2pr.agents.models.recorder import RecordingModel
from prd2pr.agents.models.replay import ReplayModel
from prd2pr.agents.models.usage import estimate_next_call
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.records import Spend
from prd2pr.errors import InputInvalid, SetupProblem, TranscriptEnded

SPEND = Spend(calls=1, input_tokens=10, cached_tokens=20, output_tokens=5, usd=0.25)
HEADER = '{"transcript": 1, "title": "Loyalty", "note": "…"}\n'


class Echo:
    """Answers each request with its key and a count."""

    name = "echo"

    def __init__(self) -> None:
        self.asked = 0

    def reply(self, request: Request) -> Reply:
        self.asked += 1
        blocks = (
            Text(f"{request.purpose.key()} ü {self.asked}"),
            ToolUse("t1", "submit", {"status": "done", "n": [1]}),
        )
        return Reply(blocks, SPEND, "tool_use", "echo-1")


def request_for(turn: int = 1, phase: str = "red") -> Request:
    return a_request(purpose=Purpose("tester", "loyalty-1", phase, turn=turn))


def test_recorded_answers_are_replayed_at_no_cost(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "loyalty.jsonl"
    recorder = RecordingModel(Echo(), path, title="Loyalty points")
    recorded = [recorder.reply(request_for(turn)) for turn in (1, 2)]

    replay = ReplayModel(path)
    assert (recorder.name, replay.name) == ("echo", "replay of Loyalty points")
    for _ in range(2):  # the same request gets the same answer, in any order
        for turn in (2, 1):
            reply = replay.reply(request_for(turn))
            assert reply.blocks == recorded[turn - 1].blocks
            assert (reply.stop, reply.model) == ("tool_use", "echo-1")
            assert reply.spend == SPEND.model_copy(update={"usd": 0.0})
    assert estimate_next_call(replay, request_for()) == CallEstimate("replay of Loyalty points")


def test_file_states_its_format(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    RecordingModel(Echo(), path).reply(request_for())
    header, line = (json.loads(text) for text in path.read_text(encoding="utf-8").splitlines())
    assert (header["transcript"], header["title"], header["model"]) == (1, "t", "echo")
    assert header["note"] == "Recorded replies. Nothing here is a live model."
    assert line["key"] == "loyalty-1/red/tester/1/1"
    assert line["usage"]["usd"] == 0.25
    assert line["request_digest"].startswith("sha256:")


def test_recording_again_appends_and_the_later_answer_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    RecordingModel(Echo(), path).reply(request_for(1))
    later = Echo()
    later.asked = 10
    recorder = RecordingModel(later, path)
    recorder.reply(request_for(1))
    recorder.reply(request_for(2))
    replay = ReplayModel(path)
    assert replay.reply(request_for(1)).text.endswith(" 11")
    assert replay.reply(request_for(2)).text.endswith(" 12")
    assert path.read_text(encoding="utf-8").count('"transcript"') == 1


@pytest.mark.slow
def test_a_kill_at_any_byte_loses_at_most_the_line_being_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    recorder = RecordingModel(Echo(), path)
    recorder.reply(request_for(1))
    whole = len(path.read_bytes())
    recorder.reply(request_for(2))
    data = path.read_bytes()
    header = data.index(b"\n") + 1

    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        RecordingModel(Echo(), path).reply(request_for(3))
        replay = ReplayModel(path)
        assert replay.reply(request_for(3)).text
        for turn, written in ((1, whole), (2, len(data))):
            if cut >= max(header, written - 1):  # a line without its line feed is complete
                assert replay.reply(request_for(turn)).text.startswith("loyalty-1/red"), cut


def test_truncated_last_line_is_ignored_on_replay(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(HEADER.encode() + b'{"key": "a", "content": "x"}\n{"key": "b", "content": "\xc3')
    assert ReplayModel(path).reply(a_request(purpose=_keyed("a"))).text == "x"


def _keyed(key: str) -> Purpose:
    class Fixed(Purpose):
        def key(self) -> str:
            return key

    return Fixed("r", "s", "p")


def test_missing_answer_names_the_request_the_file_and_similar_keys(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    RecordingModel(Echo(), path).reply(request_for(1))
    with pytest.raises(TranscriptEnded) as caught:
        ReplayModel(path).reply(request_for(1, phase="green"))
    assert "loyalty-1/green/tester/1/1" in caught.value.what
    assert "loyalty-1/red/tester/1/1" in caught.value.what
    assert caught.value.where == str(path)
    assert "--record" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "empty"),
        ("# Notes\nabout this\n", 1, "not JSON"),
        ('{"transcript": 2}\n', 1, "version 1"),
        ('{"key": "a", "content": "x"}\n', 1, "version 1"),
        (HEADER + "{oops\n" + '{"key": "a", "content": "x"}\n', 2, "not JSON"),
        (HEADER + "[1]\n", 2, "JSON object"),
        (HEADER + '{"content": "x"}\n', 2, "key"),
        (HEADER + '\n{"key": "a"}\n', 3, "content"),
        (HEADER + '{"key": "a", "content": [{"type": "image"}]}\n', 2, "block 1"),
        (HEADER + '{"key": "a", "content": "x", "stop": "tired"}\n', 2, "stop"),
        (HEADER + '{"key": "a", "content": "x", "usage": {"tokens": 1}}\n', 2, "tokens"),
        (HEADER + '{"key": "a", "content": "x", "usage": [1]}\n', 2, "cannot be used"),
    ],
)
def test_damaged_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputInvalid) as caught:
        ReplayModel(path)
    assert caught.value.where == f"{path}:{line}"
    assert what in caught.value.what
    assert caught.value.remedy


def test_bytes_that_are_not_text_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(HEADER.encode() + b'{"key": "\xff"}\n')
    with pytest.raises(InputInvalid) as caught:
        ReplayModel(path)
    assert caught.value.where == f"{path}:2"


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="not found"):
        ReplayModel(tmp_path / "none.jsonl")


@pytest.mark.parametrize("text", ["# My notes\nlast line", "one line", '{"transcript": 9}\n'])
def test_recording_does_not_overwrite_other_files(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputInvalid):
        RecordingModel(Echo(), path)
    assert path.read_text(encoding="utf-8") == text


def test_unwritable_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(SetupProblem, match="cannot be written"):
        RecordingModel(Echo(), tmp_path / "file" / "t.jsonl")
