"""`command:PROGRAM ARGS`: any program that reads a request on its standard input and writes a reply on its output.

The program gets one JSON object:

    {"purpose": {"key": …, "role": …, "subject": …, "phase": …, "attempt": 1, "turn": 1}, "model": "…",
     "system": [blocks], "messages": [{"role": "user" | "assistant", "content": [blocks]}],
     "tools": [{"name": …, "description": …, "input_schema": {…}}],
     "output_schema": {…} or null, "max_tokens": 16000, "workspace": "/path" or null, "writable": ["globs"]}

and answers with one of

    {"content": [blocks] or "text", "stop": "end" | "tool_use" | "max_tokens" | "refusal", "model": "…",
     "usage": {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "usd": 0.0}}
    plain text                      (where `output_schema` is set: the JSON text itself)
    nothing at all                  (only where it had a workspace: its work is what it edited there)

Blocks are those of `blocks.py`; all but "content" may be left out. Where `usd` is left out, the dollars are unknown
unless `prices:` has the reply's model. It may edit the files under "workspace", which is its working directory; what it
may write is checked afterwards, not trusted.

It runs without a shell, in a process group of its own that is killed at the end, and sees none of our keys: only the
variables of `PASSED_ON`, and those that PRD2PR_COMMAND_ENV names (comma-separated). An argument that names a file is
made absolute when the model is opened, so that `command:python3 worker.py` works from any working directory.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from prd2pr.core.budget import CallEstimate
from prd2pr.core.records import Spend
from prd2pr.errors import ModelMissing, ModelProblem
from prd2pr.models.blocks import content_from_json, stop_from_json, to_json
from prd2pr.models.usage import Prices, Usage, estimate_call, find_price
from prd2pr.ports import Reply, Request

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ")
MORE_PASSED_ON = "PRD2PR_COMMAND_ENV"
LONGEST_REPLY = 20_000_000
TAIL = 2_000


class CommandModel:
    def __init__(
        self, command: str, *, env: Mapping[str, str], prices: Prices, timeout: float = 1800.0, cwd: Path | None = None
    ) -> None:
        self.name = f"command:{command}"
        self._argv = resolve_argv(command, env, cwd or Path.cwd())
        self._env = passed_environment(env)
        self._prices = prices
        self._timeout = timeout

    def reply(self, request: Request) -> Reply:
        output = self._run(json.dumps(request_to_json(request), ensure_ascii=False), request.workspace)
        try:
            return self._to_reply(output, request)
        except ValueError as error:
            what = f"The command's answer cannot be used: {error}"
            raise self._problem(what, "Let it print a reply as `prd2pr.models.command` describes.", output) from error

    def estimate(self, request: Request | None) -> CallEstimate:
        """A program may state its own cost, so only a dollar limit with no word on cost at all can stop it."""
        price = find_price(self._prices, self.name)
        return estimate_call(self.name, price, request) if price else CallEstimate(self.name)

    def _run(self, request: str, workspace: Path | None) -> str:
        """Files instead of pipes: a grandchild that keeps a pipe open can then not make us wait."""
        with contextlib.ExitStack() as stack:
            given, said, complained = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(request.encode())
            given.seek(0)
            place = workspace or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prd2pr-command-")))
            status = self._wait_for(given, said, complained, place)
            if status is None:
                what = f"The command gave no answer within {self._timeout:.0f} s"
                raise self._problem(what, "Make it quicker, or give it less to do.", _tail(complained))
            if status != 0:
                what = f"The command ended with status {status}"
                raise self._problem(what, "Run it by hand to see why.", _tail(complained))
            return self._read(said)

    def _wait_for(self, given: IO[bytes], said: IO[bytes], complained: IO[bytes], place: Path) -> int | None:
        try:
            process = subprocess.Popen(
                self._argv,
                stdin=given,
                stdout=said,
                stderr=complained,
                cwd=place,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            raise self._problem(
                f"The command cannot be started: {error.strerror}", "Check its path and mode."
            ) from error
        try:
            return process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:  # also on Ctrl-C: nothing of it may go on editing the workspace
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _read(self, said: IO[bytes]) -> str:
        said.seek(0)
        data = said.read(LONGEST_REPLY + 1)
        if len(data) > LONGEST_REPLY:
            raise self._problem(f"The command's answer is longer than {LONGEST_REPLY} bytes", "Let it say less.")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self._problem("The command's answer is not UTF-8 text", "Let it print UTF-8.") from error

    def _to_reply(self, output: str, request: Request) -> Reply:
        answer = parse_answer(output, request)
        blocks = content_from_json(answer["content"])
        model = str(answer.get("model") or self.name)
        return Reply(blocks, self._spend(answer.get("usage"), model), stop_from_json(answer.get("stop"), blocks), model)

    def _spend(self, usage: object, model: str) -> Spend:
        if usage is None:
            return Spend(calls=1, usd=None)
        if not isinstance(usage, dict):
            raise ValueError('"usage" is not an object')  # noqa: TRY004 - bad data, not a bad call
        try:
            spend = Spend.model_validate({"usd": None, **usage, "calls": 1})
        except ValidationError as error:
            raise ValueError(f'"usage" cannot be read: {error.errors()[0]["msg"]}') from error
        price = find_price(self._prices, model, self.name)
        if spend.usd is not None or price is None:
            return spend
        return Usage(spend.input_tokens, spend.cached_tokens, 0, spend.output_tokens).spend(price)

    def _problem(self, what: str, remedy: str, tail: str = "") -> ModelProblem:
        said = f" It said: {tail.strip()[-TAIL:]}" if tail.strip() else ""
        return ModelProblem(f"{what}.{said}", where=self.name, remedy=remedy)


def resolve_argv(command: str, env: Mapping[str, str], cwd: Path) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ModelMissing(
            f"The command cannot be read: {error}", where=f"command:{command}", remedy="Close its quotes."
        ) from error
    if not words:
        raise ModelMissing("`command:` names no program", remedy="Write `command:PROGRAM ARGS`.")
    name = str(cwd / words[0]) if "/" in words[0] else words[0]
    program = shutil.which(name, path=env.get("PATH", os.defpath))
    if program is None:
        raise ModelMissing(
            f"There is no program {words[0]} that can be run",
            where=f"command:{command}",
            remedy="Check its spelling and its mode (chmod +x), or give its whole path.",
        )
    return [program, *(str(cwd / word) if (cwd / word).is_file() else word for word in words[1:])]


def passed_environment(env: Mapping[str, str]) -> dict[str, str]:
    named = [name.strip() for name in env.get(MORE_PASSED_ON, "").split(",")]
    return {name: env[name] for name in (*PASSED_ON, *named) if name in env}


def request_to_json(request: Request) -> dict[str, Any]:
    return {
        "purpose": {"key": request.purpose.key(), **asdict(request.purpose)},
        "model": request.model,
        "system": [to_json(block) for block in request.system],
        "messages": [
            {"role": message.role, "content": [to_json(block) for block in message.blocks]}
            for message in request.messages
        ],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ],
        "output_schema": None if request.output_schema is None else dict(request.output_schema),
        "max_tokens": request.max_tokens,
        "workspace": None if request.workspace is None else str(request.workspace),
        "writable": list(request.writable),
    }


def parse_answer(output: str, request: Request) -> dict[str, Any]:
    """The answer's object; plain text becomes one. ValueError where it is neither."""
    text = output.strip()
    if not text:
        if request.workspace is None:
            raise ValueError("it is empty")
        return {"content": "The program ended without a word; its work is in the files."}
    if not text.startswith("{"):
        return {"content": text}
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it begins like JSON, but is none ({error})") from error
    if "content" in answer:
        return dict(answer)
    if request.output_schema is not None:
        return {"content": text}
    raise ValueError('it is a JSON object without "content"')


def _tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL))
    return file.read().decode(errors="replace")
