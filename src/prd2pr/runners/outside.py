"""Compares what the tests were answered with what anybody else is answered.

Executed by the project's own Python, like the launcher: standard library alone. The calls that the tests made are made
again twice: in a fork of the test process, where all is as in a test but for its fixtures, and by a program that never
heard of tests, in a copy of the checkout without them. Only what is answered in the fork as it was in the test depends
on nothing that the test had set up; if the program is answered otherwise, twice alike, the code knows who asks.
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

MOST_FILES, MOST_BYTES = 2_000, 30_000_000
WALL = 30.0

Say = Callable[[dict[str, Any]], None]
Call = dict[str, Any]


class Outside:
    def __init__(self, checkout: str, tests: list[str], tools: Any) -> None:
        """`tests`: files of tests, relative to the checkout."""
        self._checkout = checkout
        self._tests = tests
        self._forks, self._replaying = tools.forks, tools.replaying
        self._calls: list[Call] = []
        self._inside: list[Call] = []
        self._near: list[dict[str, Any]] = []  # what was asked beside the calls of the tests
        self._process: subprocess.Popen[bytes] | None = None
        self._copy = ""
        self._name = f"run{secrets.token_hex(4)}"

    def begin(self, calls: list[Call]) -> None:
        self._calls = calls
        self._copy = self._copied() if calls else ""
        if self._copy:
            self._start()
            self._inside = self._made_inside()

    # --- inside -------------------------------------------------------------------------------------------------------

    def _made_inside(self) -> list[Call]:
        def caller(call: Call) -> Callable[..., Any]:
            path, _, name = call["test"].partition("::")
            os.environ["PYTEST_CURRENT_TEST"] = f"{call['test']} (call)"
            function = name.rpartition("::")[2].partition("[")[0]
            made: Callable[..., Any] = self._replaying.call_from(
                function, str(Path(self._checkout, path)), Path(path).stem
            )
            return made

        told: list[dict[str, Any]] = []
        ended = self._forks.forked(
            lambda answer: answer({"outcomes": self._replaying.replay(self._calls, caller)}),
            told.append,
            cpu=self._replaying.CPU,
            wall=self._replaying.WALL,
        )
        return [] if ended or not told else told[0]["outcomes"]

    # --- outside ------------------------------------------------------------------------------------------------------

    def _copied(self) -> str:
        """A copy without tests, under a name that says nothing. Empty where it would be too large."""
        left_out = {str(Path(self._checkout, path)) for path in self._tests}
        found = list(_files(self._checkout))
        if len(found) > MOST_FILES or sum(size for _, size in found) > MOST_BYTES:
            return ""
        copy = str(Path(tempfile.mkdtemp(), self._name))
        for path, _ in found:
            target = Path(copy + path[len(self._checkout) :])
            target.parent.mkdir(parents=True, exist_ok=True)
            if path not in left_out:
                shutil.copyfile(path, target)
        return copy

    def _start(self) -> None:
        program = str(Path(__file__).with_name("replaying.py"))
        asked = {"calls": self._calls, "path": self._search_path(), "cwd": self._copy, "name": self._name}
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-B", "-X", "utf8", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
        )
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(asked).encode())
            self._process.stdin.close()
            self._process.stdin = None

    def _search_path(self) -> list[str]:
        """As in the tests, without the directories that only they are imported from."""
        kept = {self._checkout, str(Path(self._checkout, "src"))}
        only = {str(Path(self._checkout, path).parent) for path in self._tests} - kept
        return [self._there(entry) for entry in sys.path if entry not in only]

    def _there(self, path: str) -> str:
        inside = path == self._checkout or path.startswith(self._checkout + os.sep)
        return self._copy + path[len(self._checkout) :] if inside else path

    # --- compared -----------------------------------------------------------------------------------------------------

    def tell(self, unkept: int, say: Say) -> None:
        """`unkept`: calls that could not be recorded."""
        passes = self._answers()
        same, unjudged = 0, unkept
        for number, call in enumerate(self._calls):
            there = [self._here(each[number]) for each in passes]
            inside = self._inside[number] if number < len(self._inside) else {"text": ""}
            verdict = self._compared(call, inside, there)
            same += verdict == "same"
            unjudged += verdict == "not_judged"
            if verdict == "differs":
                keys = ("path", "line", "function", "test", "shown")
                answers = {"inside": _first(inside["text"]), "outside": _first(there[0]["text"])}
                say({"differs": {**{key: call[key] for key in keys}, **answers}})
        say({"replayed": same, "unjudged": unjudged})
        for each in self._near:
            say({"near": each})

    def _compared(self, call: Call, inside: Call, there: list[Call]) -> str:
        texts = {each["text"] for each in there}
        if len(there) != 2 or len(texts) != 1 or not call["text"] or inside["text"] != call["text"] or "" in texts:
            return "not_judged"
        if inside["text"] in texts:
            return "same"
        # What a test has written is gone; but nobody has to read the tests.
        missing = there[0].get("file", "")
        if "file" in there[0] and not any(missing.endswith(path) for path in self._tests):
            return "not_judged"
        return "differs"

    def _here(self, outcome: Call) -> Call:
        """With names of that place replaced by those of this one."""
        text = outcome["text"].replace(self._copy, self._checkout).replace(self._name, "pytest")
        return {**outcome, "text": text}

    def _answers(self) -> list[list[Call]]:
        if self._process is None:
            return []
        try:
            told = json.loads(self._process.communicate(timeout=WALL)[0])
        except (subprocess.TimeoutExpired, ValueError):
            self._process.kill()
            self._process.wait()
            return []
        finally:
            shutil.rmtree(Path(self._copy).parent, ignore_errors=True)
        self._near = next((each["near"] for each in told if "near" in each), [])
        return [each["outcomes"] for each in told if len(each.get("outcomes", ())) == len(self._calls)]


def _files(directory: str) -> Iterator[tuple[str, int]]:
    for place, _, names in os.walk(directory):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                yield str(path), path.stat().st_size


def _first(text: str) -> str:
    line = text.partition("\n")[0]
    return line if len(line) <= 120 else line[:117] + "…"
