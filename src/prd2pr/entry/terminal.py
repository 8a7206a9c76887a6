"""Progress for a person at a terminal, and plain lines for a log file.

On a real terminal there is colour and one line that moves. Anywhere else (a pipe, CI, NO_COLOR) each event is a
finished line, flushed at once, without colour or cursor control. Text of others is cleaned in `terminal_lines`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from prd2pr.core.evidence import Evidence, Verdict
from prd2pr.core.news import check_news
from prd2pr.core.wording import plain, quiet_commands
from prd2pr.entry.terminal_lines import WIDEST, error_lines, lines_of, verdict_lines
from prd2pr.errors import Prd2prError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

OFF = ("", "0", "false")


def lively(stream: TextIO, env: Mapping[str, str]) -> bool:
    """A person watches, and wants colour and movement."""
    if env.get("NO_COLOR") or env.get("CI", "").lower() not in OFF or env.get("TERM") == "dumb":
        return False
    return stream.isatty()


def _console(stream: TextIO) -> Console:
    from rich.console import Console  # loaded where somebody watches

    return Console(file=stream, force_terminal=True, highlight=False)


class UnderWay:
    """The moving line: what is being done, and for how long."""

    def __init__(self, line: Text, clock: Callable[[], float]) -> None:
        self.line, self.clock, self.started = line, clock, clock()
        from rich.spinner import Spinner  # loaded where somebody watches

        self.spinner = Spinner("dots")

    def __rich__(self) -> Text:
        now = self.clock()
        moved = Text.assemble("  ", self.line, f"  {now - self.started:.0f} s ", str(self.spinner.render(now)))
        moved.no_wrap, moved.overflow = True, "ellipsis"
        return moved


class Terminal:
    """Implements `ports.Progress`. Use it as a context manager: it leaves the cursor as it found it."""

    def __init__(
        self, stream: TextIO, env: Mapping[str, str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.stream, self.clock = stream, clock
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self.lost = False  # nobody reads any more
        environment = os.environ if env is None else env
        self.console = _console(stream) if lively(stream, environment) else None
        self.live: Live | None = None
        self.moving: dict[str, UnderWay] = {}  # by the story; empty: of the run itself
        self.lock = threading.Lock()  # calls that are made side by side speak one after the other

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.live:
            self.live.stop()
            self.live = None

    @property
    def width(self) -> int:
        return self.console.width if self.console else WIDEST

    def say(self, event: str, **facts: object) -> None:
        check_news(event, facts)
        lines = lines_of(event, facts, self.width)
        with self.lock:
            if event == "working":
                self._move("", lines[0])
            else:
                self.moving.pop("", None)
                self._print(lines)

    def beside(self, story: str, event: str, facts: Mapping[str, object]) -> None:
        """What a worker says of its story, while others are at work too."""
        check_news(event, facts)
        name = plain(story)
        lines = lines_of(event, facts, self.width - len(name) - 2)
        named = [Text.assemble((name, "bold"), "  " if event != "story" else "", line) for line in lines]
        with self.lock:
            if event == "working":
                self._move(story, named[0])
            else:
                self._print(lines if event == "story" else named)

    def left(self, story: str) -> None:
        """Nobody is at work on it any more."""
        with self.lock:
            self.moving.pop(story, None)
            self._show()

    def verdict(self, evidence: Evidence, verdict: Verdict) -> None:
        self._print(verdict_lines(evidence, verdict, self.width))

    def error(self, error: Prd2prError) -> None:
        self._print(error_lines(error))

    def _move(self, story: str, line: Text) -> None:
        if self.console and not self.lost:
            self.moving[story] = UnderWay(self._writable(line), self.clock)
        self._show()

    def _show(self) -> None:
        """A line for each that is at work; where there is no cursor, none."""
        self.close()
        if self.console and not self.lost and self.moving:
            from rich.console import Group
            from rich.live import Live

            self.live = Live(Group(*self.moving.values()), console=self.console, transient=True)
            self.live.start()

    def _print(self, lines: list[Text]) -> None:
        """A reader who has gone (`| head`) must not stop the work: progress can be lost."""
        if self.lost:
            return
        try:
            self.close()
            for line in map(self._writable, lines):
                if self.console:
                    self.console.print(line, soft_wrap=True)
                else:
                    self.stream.write(f"{quiet_commands(line.plain.rstrip())}\n")
            self.stream.flush()
            if any(self.moving):
                self._show()
        except BrokenPipeError:
            self.lost = True

    def _writable(self, line: Text) -> Text:
        """What the stream's encoding cannot say becomes a question mark, one for one, so that the styles still fit."""
        said = Text(line.plain.encode(self.encoding, "replace").decode(self.encoding), style=line.style)
        said.spans = line.spans
        return said
