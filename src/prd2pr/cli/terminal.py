"""Progress for a person at a terminal, or plain lines for a log file.

A real terminal gets color and one moving line. Otherwise (a pipe, CI, NO_COLOR) each event is one complete line,
flushed immediately, without color or cursor control. `terminal_lines` sanitizes untrusted text.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from prd2pr.cli.terminal_lines import (
    MAX_WIDTH,
    check_event,
    format_changeset_lines,
    format_error_lines,
    format_verdict_lines,
    read_fact_text,
    render_event,
)
from prd2pr.domain.changeset import ChangesetEvidence, ChangesetVerdict
from prd2pr.domain.evidence import Evidence, Verdict
from prd2pr.domain.wording import clean_line, neutralize_log_commands
from prd2pr.errors import Prd2prError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

OFF = ("", "0", "false")


def is_interactive(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Return whether the stream is a terminal on which the user wants color and movement."""
    if env.get("NO_COLOR") or env.get("CI", "").lower() not in OFF or env.get("TERM") == "dumb":
        return False
    return stream.isatty()


def _make_console(stream: TextIO) -> Console:
    from rich.console import Console  # only needed on a terminal

    return Console(file=stream, force_terminal=True, highlight=False)


class ActivityLine:
    """The line with the current activity and its duration, which is updated in place."""

    def __init__(self, line: Text, clock: Callable[[], float]) -> None:
        self.line, self.clock, self.started = line, clock, clock()
        from rich.spinner import Spinner  # only needed on a terminal

        self.spinner = Spinner("dots")

    def __rich__(self) -> Text:
        now = self.clock()
        line = Text.assemble("  ", self.line, f"  {now - self.started:.0f} s ", str(self.spinner.render(now)))
        line.no_wrap, line.overflow = True, "ellipsis"
        return line


class Terminal:
    """Implements `workflow.interfaces.Progress`. As a context manager, it restores the cursor on exit."""

    def __init__(
        self, stream: TextIO, env: Mapping[str, str] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.stream, self.clock = stream, clock
        self.encoding = getattr(stream, "encoding", None) or "utf-8"
        self.reader_gone = False  # True once the pipe was closed
        environment = os.environ if env is None else env
        self.console = _make_console(stream) if is_interactive(stream, environment) else None
        self.live: Live | None = None
        self.activities: dict[str, ActivityLine] = {}  # keyed by story; "" is the run itself
        self.logged = ""
        self.lock = threading.Lock()  # protects against parallel calls

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
        return self.console.width if self.console else MAX_WIDTH

    @property
    def wrap_at(self) -> int | None:
        """The width at which lines are wrapped; None in a pipe or log, where each line stays whole."""
        return self.console.width if self.console else None

    def say(self, event: str, **facts: object) -> None:
        check_event(event, facts)
        lines = render_event(event, facts, self.width)
        with self.lock:
            if event == "working":
                self._set_activity("", lines[0])
                self._log(read_fact_text(facts, "log"))
            else:
                self.activities.pop("", None)
                self._print(lines)

    def say_from_worker(self, story: str, event: str, facts: Mapping[str, object]) -> None:
        """Show an event that a worker sent about its story."""
        check_event(event, facts)
        name = clean_line(story)
        lines = render_event(event, facts, self.width - len(name) - 2)
        named = [Text.assemble((name, "bold"), "  " if event != "story" else "", line) for line in lines]
        with self.lock:
            if event == "working":
                self._set_activity(story, named[0])
            else:
                self._print(lines if event == "story" else named)

    def clear_worker(self, story: str) -> None:
        """Remove the activity line of a story whose worker has finished."""
        with self.lock:
            self.activities.pop(story, None)
            self._refresh()

    def verdict(self, evidence: Evidence, verdict: Verdict) -> None:
        self._print(format_verdict_lines(evidence, verdict, self.width, self.wrap_at))

    def changeset_verdict(self, shown: str, evidence: Sequence[ChangesetEvidence], verdict: ChangesetVerdict) -> None:
        self._print(format_changeset_lines(shown, evidence, verdict, self.width, self.wrap_at))

    def error(self, error: Prd2prError) -> None:
        self._print(format_error_lines(error))

    def _set_activity(self, story: str, line: Text) -> None:
        if self.console and not self.reader_gone:
            self.activities[story] = ActivityLine(self._encodable(line), self.clock)
        self._refresh()

    def _log(self, text: str) -> None:
        """Print what is waited for, once, where no line with the current activity is shown."""
        if text and not self.console and text != self.logged:
            self.logged = text
            self._print([Text(text)])

    def _refresh(self) -> None:
        """Draw one updating line per activity if the terminal supports it."""
        self.close()
        if self.console and not self.reader_gone and self.activities:
            from rich.console import Group
            from rich.live import Live

            self.live = Live(Group(*self.activities.values()), console=self.console, transient=True)
            self.live.start()

    def _print(self, lines: list[Text]) -> None:
        """Print lines. A closed pipe (`| head`) must not stop the work, so progress may be lost."""
        if self.reader_gone:
            return
        try:
            self.close()
            for line in map(self._encodable, lines):
                if self.console:
                    self.console.print(line, soft_wrap=True)
                else:
                    self.stream.write(f"{neutralize_log_commands(line.plain.rstrip())}\n")
            self.stream.flush()
            if any(self.activities):
                self._refresh()
        except BrokenPipeError:
            self.reader_gone = True

    def _encodable(self, line: Text) -> Text:
        """Replace characters that the stream cannot encode with question marks.

        Each is replaced by exactly one, so that styles keep their positions.
        """
        encodable = Text(line.plain.encode(self.encoding, "replace").decode(self.encoding), style=line.style)
        encodable.spans = line.spans
        return encodable
