from __future__ import annotations

import json
import os
import stat
import textwrap
import time
from pathlib import Path

import pytest
from model_requests import PRICE, READ_FILE, a_request

from prd2pr.agents.models.base import Request
from prd2pr.agents.models.command import CommandModel
from prd2pr.errors import ModelMissing, ModelProblem

ENV = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "ANTHROPIC_API_KEY": "sk-secret-1", "GITHUB_TOKEN": "ghs_secret"}


class ProgramDirectory:
    """A directory with a program written in Python."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.workspace = directory / "workspace"
        self.workspace.mkdir()

    def model(self, program: str, *, env: dict[str, str] | None = None, timeout: float = 20.0) -> CommandModel:
        head = "import json, os, subprocess, sys, time\nfrom pathlib import Path\n"
        (self.directory / "worker.py").write_text(head + textwrap.dedent(program), encoding="utf-8")
        prices = {"mine-1": PRICE}
        return CommandModel(
            "python3 worker.py --fast", env=env or ENV, prices=prices, timeout=timeout, cwd=self.directory
        )

    def request(self) -> Request:
        return a_request(tools=(READ_FILE,), workspace=self.workspace, writable=("tests/tdd/loyalty-1/*",))


@pytest.fixture
def programs(tmp_path: Path) -> ProgramDirectory:
    return ProgramDirectory(tmp_path)


def test_the_program_gets_the_request_and_answers_with_blocks(programs: ProgramDirectory) -> None:
    model = programs.model("""
        asked = json.load(sys.stdin)
        Path("asked.json").write_text(json.dumps(asked))
        use = {"type": "tool_use", "name": "read_file", "input": {"path": "ä.py"}}
        usage = {"input_tokens": 1000, "cached_tokens": 0, "output_tokens": 100}
        print(json.dumps({"content": [{"type": "text", "text": "Look."}, use], "usage": usage, "model": "mine-1"}))
    """)
    reply = model.reply(programs.request())
    assert (reply.text, reply.stop, reply.model) == ("Look.", "tool_use", "mine-1")
    assert reply.tool_uses[0].input == {"path": "ä.py"}
    assert reply.spend.usd == pytest.approx((1000 * 3 + 100 * 15) / 1_000_000)

    asked = json.loads((programs.workspace / "asked.json").read_text(encoding="utf-8"))
    assert asked["purpose"]["key"] == "loyalty-1/red/tester/1/1"
    assert asked["messages"] == [{"role": "user", "content": [{"type": "text", "text": "Write the test."}]}]
    assert asked["tools"][0]["input_schema"]["required"] == ["path"]
    assert asked["workspace"] == str(programs.workspace)
    assert asked["writable"] == ["tests/tdd/loyalty-1/*"]


def test_plain_text_is_an_answer_with_unknown_cost(programs: ProgramDirectory) -> None:
    reply = programs.model('print("  All done.  ")').reply(programs.request())
    assert (reply.text, reply.stop) == ("All done.", "end")
    assert reply.spend.usd is None


def test_stated_cost_is_used(programs: ProgramDirectory) -> None:
    reply = programs.model('print(json.dumps({"content": "x", "usage": {"usd": 0.5}}))').reply(programs.request())
    assert reply.spend.usd == 0.5
    assert reply.spend.calls == 1


def test_file_changes_need_no_text_answer(programs: ProgramDirectory) -> None:
    reply = programs.model('Path("new.py").write_text("x = 1")').reply(programs.request())
    assert (programs.workspace / "new.py").read_text(encoding="utf-8") == "x = 1"
    assert reply.text


def test_bare_json_is_the_answer_if_json_is_requested(programs: ProgramDirectory) -> None:
    model = programs.model("""print('{"stories": []}')""")
    assert model.reply(a_request(output_schema={"type": "object"})).text == '{"stories": []}'


def test_program_does_not_get_our_secrets(programs: ProgramDirectory) -> None:
    env = ENV | {"PRD2PR_COMMAND_ENV": "ITS_OWN, ABSENT", "ITS_OWN": "yes"}
    names = programs.model("print(' '.join(sorted(os.environ)))", env=env).reply(programs.request()).text.split()
    assert "ITS_OWN" in names
    assert {"PATH", "HOME"} <= set(names)
    assert not {"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "PRD2PR_COMMAND_ENV"} & set(names)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("sys.exit('the disk is full')", "status 1.* the disk is full"),
        ("os.kill(os.getpid(), 9)", "status -9"),
        ("print('{oops')", "not valid JSON"),
        ("print('{\"text\": 1}')", "without"),
        ('print(\'{"content": [{"type": "image"}]}\')', "block 1"),
        ('print(\'{"content": "x", "stop": "tired"}\')', "stop"),
        ('print(\'{"content": "x", "usage": 3}\')', "usage"),
        ('print(\'{"content": "x", "usage": {"coins": 3}}\')', "usage"),
        ("sys.stdout.buffer.write(bytes([255, 254]))", "not UTF-8"),
    ],
)
def test_failing_or_verbose_program_is_reported_with_its_last_output(
    programs: ProgramDirectory, program: str, what: str
) -> None:
    with pytest.raises(ModelProblem, match=what) as caught:
        programs.model(program).reply(programs.request())
    assert caught.value.where == "command:python3 worker.py --fast"
    assert caught.value.remedy


def test_empty_output_without_a_workspace_is_no_answer(programs: ProgramDirectory) -> None:
    with pytest.raises(ModelProblem, match="empty"):
        programs.model("pass").reply(a_request())


@pytest.mark.slow
def test_hanging_program_is_killed_with_its_children(programs: ProgramDirectory) -> None:
    model = programs.model(
        """
        child = subprocess.Popen(["sleep", "60"])
        Path("child.pid").write_text(str(child.pid))
        print("thinking", file=sys.stderr, flush=True)
        time.sleep(60)
        """,
        timeout=3.0,
    )
    started = time.monotonic()
    with pytest.raises(ModelProblem, match=r"within 3 s.*thinking"):
        model.reply(programs.request())
    assert time.monotonic() - started < 30
    assert_gone(int((programs.workspace / "child.pid").read_text(encoding="utf-8")))


def test_leftover_processes_are_killed_and_not_waited_for(programs: ProgramDirectory) -> None:
    model = programs.model("""
        child = subprocess.Popen(["sleep", "60"])
        Path("child.pid").write_text(str(child.pid))
        print("done")
    """)
    started = time.monotonic()
    assert model.reply(programs.request()).text == "done"
    assert time.monotonic() - started < 30
    assert_gone(int((programs.workspace / "child.pid").read_text(encoding="utf-8")))


def assert_gone(pid: int) -> None:
    """A killed orphan may stay a zombie until its new parent reaps it."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.02)
    pytest.fail(f"process {pid} is still alive")


def test_command_is_not_run_by_a_shell(tmp_path: Path) -> None:
    model = CommandModel("echo '$HOME; ls' && true", env=ENV, prices={}, cwd=tmp_path)
    assert model.reply(a_request()).text == "$HOME; ls && true"


def test_relative_program_path_is_resolved_against_the_working_directory(tmp_path: Path) -> None:
    program = tmp_path / "say"
    program.write_text("#!/bin/sh\ncat >/dev/null\necho said\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    assert CommandModel("./say", env=ENV, prices={}, cwd=tmp_path).reply(a_request()).text == "said"


@pytest.mark.parametrize(
    ("command", "what"), [("no-such-program-x", "no-such-program-x"), ("./none", "./none"), ("a 'b", "parsed")]
)
def test_missing_program_is_reported_on_opening(tmp_path: Path, command: str, what: str) -> None:
    with pytest.raises(ModelMissing, match=what) as caught:
        CommandModel(command, env=ENV, prices={}, cwd=tmp_path)
    assert caught.value.remedy


def test_the_next_call_is_expected_to_be_as_large_as_the_largest_of_its_role(programs: ProgramDirectory) -> None:
    """A program may make many turns of its own, so its prompt alone says little about what a call takes."""
    model = programs.model("""
        print(json.dumps({"content": "done", "usage": {"input_tokens": 90000, "output_tokens": 10000}}))
    """)
    first = model.estimate(programs.request())
    assert 0 < first.tokens < 10_000, "the prompt and a typical answer"
    assert (model.estimate(None).tokens, first.usd) == (0, 0.0)
    model.reply(programs.request())
    assert model.estimate(programs.request()).tokens == 100_000
