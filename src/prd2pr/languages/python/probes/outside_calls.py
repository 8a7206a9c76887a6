"""Compares the answers that the tests got with those that any other program gets.

Runs under the project's own Python, like the launcher, and uses only the standard library. The tests' calls are
replayed twice: in a fork of the test process, where everything except fixtures is as in a test, and by a separate
program in a copy of the checkout without tests. An answer that is the same in the fork as in the test does not depend
on the test's set-up. If the separate program then consistently gets a different answer, the code detects its caller.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MAX_FILES, MAX_BYTES = 2_000, 30_000_000
WALL = 30.0

Send = Callable[[dict[str, Any]], None]
Call = dict[str, Any]


class OutsideReplay:
    """Replays recorded calls inside and outside the test process."""

    def __init__(self, checkout: str, tests: list[str], tools: Any) -> None:
        """Prepare a replay. `tests` lists the test files relative to the checkout."""
        self._checkout = checkout
        self._tests = tests
        self._forks, self._replay = tools.forks, tools.call_replay
        self._calls: list[Call] = []
        self._inside: list[Call] = []
        self._nearby: list[dict[str, Any]] = []  # results of calls with nearby inputs
        self._process: subprocess.Popen[bytes] | None = None
        self._copy = ""
        self._name = f"run{secrets.token_hex(4)}"

    def start(self, calls: list[Call]) -> None:
        self._calls = calls
        self._copy = self._copy_checkout() if calls else ""
        if self._copy:
            self._start_program()
            self._inside = self._replay_inside()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _replay_inside(self) -> list[Call]:
        def caller(call: Call) -> Callable[..., Any]:
            path, _, name = call["test"].partition("::")
            os.environ["PYTEST_CURRENT_TEST"] = f"{call['test']} (call)"
            function = name.rpartition("::")[2].partition("[")[0]
            made: Callable[..., Any] = self._replay.make_caller(
                function, str(Path(self._checkout, path)), Path(path).stem
            )
            return made

        messages: list[dict[str, Any]] = []
        ended = self._forks.run_in_fork(
            lambda reply: reply({"outcomes": self._replay.replay_calls(self._calls, caller)}),
            messages.append,
            cpu=self._replay.CPU,
            wall=self._replay.WALL,
        )
        return [] if ended or not messages else messages[0]["outcomes"]

    # --- outside ------------------------------------------------------------------------------------------------------

    def _copy_checkout(self) -> str:
        """Copy the checkout without tests under a neutral name. Return an empty string if it would be too large."""
        tests = {str(Path(self._checkout, path)) for path in self._tests}
        found = list(_walk_files(self._checkout))
        if len(found) > MAX_FILES or sum(size for _, size in found) > MAX_BYTES:
            return ""
        copy = str(Path(tempfile.mkdtemp(), self._name))
        for path, _ in found:
            target = Path(copy + path[len(self._checkout) :])
            target.parent.mkdir(parents=True, exist_ok=True)
            if path not in tests:
                shutil.copyfile(path, target)
        return copy

    def _start_program(self) -> None:
        program = str(Path(__file__).with_name("call_replay.py"))
        request = {"calls": self._calls, "path": self._search_path(), "cwd": self._copy, "name": self._name}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-B", "-X", "utf8", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(request).encode())
            self._process.stdin.close()
            self._process.stdin = None

    def _search_path(self) -> list[str]:
        """Return the tests' import path without the directories from which only tests are imported."""
        kept = {self._checkout, str(Path(self._checkout, "src"))}
        only = {str(Path(self._checkout, path).parent) for path in self._tests} - kept
        return [self._to_copy(entry) for entry in sys.path if entry not in only]

    def _to_copy(self, path: str) -> str:
        inside = path == self._checkout or path.startswith(self._checkout + os.sep)
        return self._copy + path[len(self._checkout) :] if inside else path

    # --- compared -----------------------------------------------------------------------------------------------------

    def report(self, unrecorded: int, send: Send) -> None:
        """Send the differences and the counts. `unrecorded` is the number of calls that could not be recorded."""
        replays = self._read_answers()
        same, unjudged = 0, unrecorded
        for number, call in enumerate(self._calls):
            outside = [self._from_copy(each[number]) for each in replays]
            inside = self._inside[number] if number < len(self._inside) else {"text": ""}
            verdict = self._compare(call, inside, outside)
            same += verdict == "same"
            unjudged += verdict == "not_judged"
            if verdict == "differs":
                keys = ("path", "line", "function", "test", "shown")
                answers = {"inside": _get_first_line(inside["text"]), "outside": _get_first_line(outside[0]["text"])}
                send({"differs": {**{key: call[key] for key in keys}, **answers}})
        send({"replayed": same, "unjudged": unjudged})
        for each in self._nearby:
            send({"near": each})

    def _compare(self, call: Call, inside: Call, outside: list[Call]) -> str:
        texts = {each["text"] for each in outside}
        if len(outside) != 2 or len(texts) != 1 or not call["text"] or inside["text"] != call["text"] or "" in texts:
            return "not_judged"
        if inside["text"] in texts:
            return "same"
        # A file written by a test is missing in the copy, but code has no reason to read test files.
        missing = outside[0].get("file", "")
        if "file" in outside[0] and not any(missing.endswith(path) for path in self._tests):
            return "not_judged"
        return "differs"

    def _from_copy(self, outcome: Call) -> Call:
        """Return the outcome with the copy's paths replaced by those of the checkout."""
        text = outcome["text"].replace(self._copy, self._checkout).replace(self._name, "pytest")
        return {**outcome, "text": text}

    def _read_answers(self) -> list[list[Call]]:
        if self._process is None:
            return []
        try:
            messages = json.loads(self._process.communicate(timeout=WALL)[0])
        except (subprocess.TimeoutExpired, ValueError):
            self._process.kill()
            self._process.wait()
            return []
        finally:
            shutil.rmtree(Path(self._copy).parent, ignore_errors=True)
        self._nearby = next((each["near"] for each in messages if "near" in each), [])
        return [each["outcomes"] for each in messages if len(each.get("outcomes", ())) == len(self._calls)]


def _walk_files(directory: str) -> Iterator[tuple[str, int]]:
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield str(path), path.stat().st_size


def _get_first_line(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 120 else line[:117] + "…"
