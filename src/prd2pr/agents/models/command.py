"""`command:PROGRAM ARGS`: any program that reads a request on its standard input and writes a reply on its output.

The program receives one JSON object:

    {"purpose": {"key": …, "role": …, "subject": …, "phase": …, "attempt": 1, "turn": 1}, "model": "…",
     "system": [blocks], "messages": [{"role": "user" | "assistant", "content": [blocks]}],
     "tools": [{"name": …, "description": …, "input_schema": {…}}],
     "output_schema": {…} or null, "max_tokens": 16000, "workspace": "/path" or null, "writable": ["globs"]}

and answers with one of

    {"content": [blocks] or "text", "stop": "end" | "tool_use" | "max_tokens" | "refusal", "model": "…",
     "usage": {"input_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "usd": 0.0}}
    plain text                      (the JSON text itself if `output_schema` is set)
    no output                       (only with a workspace, in which it has edited files)

Blocks have the format of `message_blocks.py`; all fields except "content" are optional. Without `usd`, the cost is
unknown unless `prices:` has the reply's model. The program may edit the files under "workspace", which is its working
directory; its writes are checked afterwards.

It runs without a shell, in its own process group that is killed at the end. It sees none of our keys, but only the
variables in `PASSED_VARIABLES` and those that PRD2PR_COMMAND_ENV names (comma-separated). An argument that names a file
is made absolute when the model is opened, so that `command:python3 worker.py` works from any working directory. Unless
`permissions` allow everything, it runs in the sandbox (`command_sandbox.py`).
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

from prd2pr.agents.models.base import Reply, Request
from prd2pr.agents.models.command_sandbox import CommandSandbox
from prd2pr.agents.models.message_blocks import block_to_json, content_from_json, stop_from_json
from prd2pr.agents.models.usage import Prices, Usage, estimate_call, find_price
from prd2pr.config import Permissions
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.domain.records import Spend
from prd2pr.errors import ModelMissing, ModelProblem

PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ")
EXTRA_VARIABLES_SETTING = "PRD2PR_COMMAND_ENV"
MAX_REPLY_BYTES = 20_000_000
MAX_TAIL_BYTES = 2_000


class CommandModel:
    def __init__(
        self,
        command: str,
        *,
        env: Mapping[str, str],
        prices: Prices,
        timeout: float = 1800.0,
        cwd: Path | None = None,
        permissions: Permissions | None = None,
    ) -> None:
        self.name = f"command:{command}"
        self._argv = resolve_argv(command, env, cwd or Path.cwd())
        self._env = select_environment(env)
        self._sandbox: CommandSandbox | None = None
        if permissions and permissions != Permissions():
            extra = {name: value for name, value in self._env.items() if name not in PASSED_VARIABLES}
            self._sandbox = CommandSandbox(self.name, tuple(self._argv), self._env, extra, permissions.programs)
        self._prices = prices
        self._timeout = timeout
        self._largest: dict[str, int] = {}  # tokens of the largest call so far, by role

    def reply(self, request: Request) -> Reply:
        output = self._run(json.dumps(request_to_json(request), ensure_ascii=False), request.workspace)
        try:
            reply = self._to_reply(output, request)
        except ValueError as error:
            what = f"The command's answer is not usable: {error}"
            raise self._problem(
                what, "Print a reply in the format that `prd2pr.agents.models.command` describes.", output
            ) from error
        role = request.purpose.role
        self._largest[role] = max(reply.spend.tokens, self._largest.get(role, 0))
        return reply

    def estimate(self, request: Request | None) -> CallEstimate:
        """Estimate the next call from its prompt and the role's largest call, since a program may make many calls.

        Without a configured price the cost is zero, since the program may report its own.
        """
        price = find_price(self._prices, self.name)
        expected = estimate_call(self.name, price, request)
        seen = self._largest.get(request.purpose.role, 0) if request else 0
        return CallEstimate(self.name, tokens=max(expected.tokens, seen), usd=0.0 if price is None else expected.usd)

    def _run(self, request: str, workspace: Path | None) -> str:
        """Run the program with files instead of pipes, so that a grandchild that keeps a pipe open cannot block us."""
        with contextlib.ExitStack() as stack:
            stdin, stdout, stderr = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            stdin.write(request.encode())
            stdin.seek(0)
            place = workspace or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prd2pr-command-")))
            if self._sandbox:
                status, complaint = self._sandbox.run(stdin, stdout, stderr, place, self._timeout)
                if complaint:
                    raise self._problem(f"The command was stopped: {complaint}", "Run `prd2pr doctor`.")
            else:
                status = self._wait_for(stdin, stdout, stderr, place)
            if status is None:
                what = f"The command gave no answer within {self._timeout:.0f} s"
                raise self._problem(what, "Make it faster, or split the story.", _read_tail(stderr))
            if status != 0:
                what = f"The command ended with status {status}"
                raise self._problem(what, "Run it by hand to find the cause.", _read_tail(stderr))
            return self._read(stdout)

    def _wait_for(self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], place: Path) -> int | None:
        try:
            process = subprocess.Popen(
                self._argv,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
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
        finally:  # even on Ctrl-C, none of its processes may keep editing the workspace
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _read(self, stdout: IO[bytes]) -> str:
        stdout.seek(0)
        data = stdout.read(MAX_REPLY_BYTES + 1)
        if len(data) > MAX_REPLY_BYTES:
            raise self._problem(f"The command's answer is longer than {MAX_REPLY_BYTES} bytes", "Shorten its output.")
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self._problem("The command's answer is not UTF-8 text", "Print UTF-8.") from error

    def _to_reply(self, output: str, request: Request) -> Reply:
        answer = parse_command_answer(output, request)
        blocks = content_from_json(answer["content"])
        model = str(answer.get("model") or self.name)
        return Reply(blocks, self._spend(answer.get("usage"), model), stop_from_json(answer.get("stop"), blocks), model)

    def _spend(self, usage: object, model: str) -> Spend:
        if usage is None:
            return Spend(calls=1, usd=None)
        if not isinstance(usage, dict):
            raise ValueError('"usage" is not an object')  # noqa: TRY004 - invalid data, not a wrong call
        try:
            spend = Spend.model_validate({"usd": None, **usage, "calls": 1})
        except ValidationError as error:
            raise ValueError(f'"usage" cannot be read: {error.errors()[0]["msg"]}') from error
        price = find_price(self._prices, model, self.name)
        if spend.usd is not None or price is None:
            return spend
        return Usage(spend.input_tokens, spend.cached_tokens, 0, spend.output_tokens).spend(price)

    def _problem(self, what: str, remedy: str, tail: str = "") -> ModelProblem:
        output = f" Last output: {tail.strip()[-MAX_TAIL_BYTES:]}" if tail.strip() else ""
        return ModelProblem(f"{what}.{output}", where=self.name, remedy=remedy)


def resolve_argv(command: str, env: Mapping[str, str], cwd: Path) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ModelMissing(
            f"The command cannot be parsed: {error}", where=f"command:{command}", remedy="Close its quotes."
        ) from error
    if not words:
        raise ModelMissing("`command:` does not name a program", remedy="Write `command:PROGRAM ARGS`.")
    name = str(cwd / words[0]) if "/" in words[0] else words[0]
    program = shutil.which(name, path=env.get("PATH", os.defpath))
    if program is None:
        raise ModelMissing(
            f"No executable program {words[0]} found",
            where=f"command:{command}",
            remedy="Check its spelling and its mode (chmod +x), or give its full path.",
        )
    return [program, *(str(cwd / word) if (cwd / word).is_file() else word for word in words[1:])]


def select_environment(env: Mapping[str, str]) -> dict[str, str]:
    named = [name.strip() for name in env.get(EXTRA_VARIABLES_SETTING, "").split(",")]
    return {name: env[name] for name in (*PASSED_VARIABLES, *named) if name in env}


def request_to_json(request: Request) -> dict[str, Any]:
    return {
        "purpose": {"key": request.purpose.key(), **asdict(request.purpose)},
        "model": request.model,
        "system": [block_to_json(block) for block in request.system],
        "messages": [
            {"role": message.role, "content": [block_to_json(block) for block in message.blocks]}
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


def parse_command_answer(output: str, request: Request) -> dict[str, Any]:
    """Return the answer as an object, wrapping plain text in one; raise ValueError if it is neither."""
    text = output.strip()
    if not text:
        if request.workspace is None:
            raise ValueError("it is empty")
        return {"content": "The program printed nothing; its work is in the files."}
    if not text.startswith("{"):
        return {"content": text}
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it starts like JSON but is not valid JSON ({error})") from error
    if "content" in answer:
        return dict(answer)
    if request.output_schema is not None:
        return {"content": text}
    raise ValueError('it is a JSON object without "content"')


def _read_tail(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MAX_TAIL_BYTES))
    return file.read().decode(errors="replace")
