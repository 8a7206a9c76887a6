"""What the terminal shows: finished lines in a log, colour and one moving line for a person."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from prd2pr.cli.terminal import Terminal, is_interactive
from prd2pr.cli.terminal_lines import EVENTS, RENDERERS, format_error_lines, format_verdict_lines, render_event
from prd2pr.domain.costs.estimate import Estimate
from prd2pr.domain.evidence import Evidence, Finding, RunSummary, TestResult, Verdict
from prd2pr.domain.records import Phase
from prd2pr.domain.results.isolation import PROTECTIONS, format_sandbox
from prd2pr.errors import ConfigInvalid

RUN = """\
import sys
from prd2pr.cli.terminal import Terminal
with Terminal(sys.stdout) as terminal:
    terminal.say("story", id="loyalty-1", title="Earn points")
    terminal.say("working", phase="red", what="writing the tests", attempt=2)
    terminal.say("phase", story="loyalty-1", phase="red", outcome="9 tests fail as expected", seconds=11, tokens=3100,
                 sha="a1b2c3d4e5f6")
    terminal.say("working", phase="green", what="writing the code", attempt=1)
    if "boom" in sys.argv:
        raise SystemExit(4)
"""


def log(*news: tuple[str, dict[str, object]], env: dict[str, str] | None = None) -> list[str]:
    stream = io.StringIO()
    with Terminal(stream, env or {}) as terminal:
        for event, facts in news:
            terminal.say(event, **facts)
    return stream.getvalue().splitlines()


def test_a_whole_run_in_a_log() -> None:
    lines = log(
        ("plan", {"stories": 5, "criteria": 17, "questions": 2, "estimate": "$1.10–2.40, 20–35 min",
                  "models": ("opus",)}),
        ("story", {"id": "loyalty-1", "title": "Earn points on purchase"}),
        ("working", {"phase": "design", "what": "architect", "attempt": 1}),
        ("phase", {"story": "loyalty-1", "phase": "design", "outcome": "ok", "seconds": 4, "tokens": 1200, "sha": ""}),
        ("phase", {"story": "loyalty-1", "phase": "red", "outcome": "9 tests fail as expected", "seconds": 11.2,
                   "tokens": 3100, "sha": "a1b2c3d4e5f6"}),
        ("refused_write", {"path": "tests/tdd/a.py", "code": "GRN201"}),
        ("refused", {"story": "loyalty-1", "phase": "green", "codes": ["GRN201", "GRN301"], "attempt": 1, "of": 4,
                     "summary": "the tests were changed"}),
        ("retry", {"why": "the model is overloaded (529)", "seconds": 4}),
        ("refused", {"story": "loyalty-1", "phase": "green", "codes": ("GRN101",), "attempt": 4, "of": 4}),
        ("note", {"text": "the branch moved meanwhile"}),
        ("resumed", {"text": "loyalty-2, green"}),
        ("stopped", {"reason": "loyalty-1 is blocked", "next": "prd2pr run prds/loyalty.md --story loyalty-1"}),
        ("done", {"page": ".git/prd2pr/pr/loyalty.html", "branch": "prd2pr/loyalty", "proved": 12, "steps": 12}),
    )  # fmt: skip
    assert lines == [
        "Plan     5 stories, 17 criteria, 2 questions        est. $1.10–2.40, 20–35 min        model opus",
        "loyalty-1  Earn points on purchase",
        "  design      ok                                                           4 s    1.2k tok",
        "  red         9 tests fail as expected                                    11 s    3.1k tok   a1b2c3d",
        "              not written: tests/tdd/a.py (GRN201)",
        "  green       refused GRN201 GRN301, retrying (2 of 4)",
        "              the tests were changed",
        "              the model is overloaded (529), retrying in 4 s",
        "  green       refused GRN101, no attempts left (4 of 4)",
        "Note     the branch moved meanwhile",
        "Resumed  loyalty-2, green",
        "Stopped  loyalty-1 is blocked",
        "Next     prd2pr run prds/loyalty.md --story loyalty-1",
        "PR page: .git/prd2pr/pr/loyalty.html        branch prd2pr/loyalty        12 of 12 steps proved",
    ]


def test_every_event_has_its_lines() -> None:
    assert set(RENDERERS) == set(EVENTS)


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        ("finished", {}),
        ("story", {"id": "x"}),
        ("story", {"id": "x", "title": "y", "colour": "red"}),
        ("working", {"phase": "red"}),
    ],
)
def test_unknown_events_and_facts_raise(event: str, facts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="event"):
        log((event, facts))


def test_foreign_text_cannot_control_the_terminal() -> None:
    (line,) = log(("story", {"id": "x\x1b[2J", "title": "a\x1b]0;owned\x07b\r\nc \u202ed [bold]e[/bold]"}))
    assert line == "x  ab c d [bold]e[/bold]"
    (line,) = log(("refused_write", {"path": "a\nb\x1b[1A", "code": "GRN101"}))
    assert line == "              not written: a\\u{a}b\\u{1b}[1A (GRN101)"


def test_wide_characters_keep_the_columns() -> None:
    facts = {"story": "s", "phase": "red", "seconds": 4, "tokens": 10, "sha": "a" * 40}
    (one,) = render_event("phase", {**facts, "outcome": "積分を貯める"})
    (other,) = render_event("phase", {**facts, "outcome": "earn points"})
    assert cell_len(one.plain) == cell_len(other.plain)


@pytest.mark.parametrize("width", [48, 71, 72, 80, 200])
def test_a_phase_fits_the_width(width: int) -> None:
    facts = {"story": "s", "phase": "integrated", "outcome": "ok", "seconds": 4, "tokens": 1200, "sha": "a" * 40}
    (line,) = render_event("phase", facts, width)
    assert cell_len(line.plain) <= width
    assert all(words in line.plain for words in ("integrated", "ok", "4 s", "1.2k tok", "aaaaaaa"))


def test_a_long_outcome_is_never_cut() -> None:
    (line,) = render_event("phase", {"story": "s", "phase": "red", "outcome": "x" * 300, "sha": "b" * 40}, 80)
    assert "x" * 300 in line.plain
    assert "bbbbbbb" in line.plain


def test_an_encoding_without_the_characters() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="\n")
    Terminal(stream, {}).say("note", text="20–35 min, caf\udce9")
    assert raw.getvalue() == b"Note     20?35 min, caf?\n"


def test_a_closed_pipe_does_not_stop_the_work() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(os.dup(writing), "w") as stream:
        terminal = Terminal(stream, {})
        terminal.say("note", text="nobody reads this")
        assert terminal.reader_gone
        terminal.say("note", text="nor this")
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    os.close(writing)


def test_lines_are_flushed_to_a_pipe() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        Terminal(stream, {}).say("note", text="hello")
        assert os.read(reading, 100) == b"Note     hello\n"
    os.close(reading)


def test_when_colour_is_used() -> None:
    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert is_interactive(Tty(), {})
    assert is_interactive(Tty(), {"CI": "false"})
    assert not is_interactive(Tty(), {"NO_COLOR": "1"})
    assert not is_interactive(Tty(), {"CI": "true"})
    assert not is_interactive(Tty(), {"TERM": "dumb"})
    assert not is_interactive(io.StringIO(), {})


def on_a_terminal(tmp_path: Path, *arguments: str, **env: str) -> tuple[int, str]:
    """The output of a child with a real pseudo-terminal."""
    script = tmp_path / "run.py"
    script.write_text(RUN)
    leader, follower = pty.openpty()
    settings = {key: value for key, value in os.environ.items() if key not in ("CI", "NO_COLOR", "FORCE_COLOR")}
    child = subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdout=follower,
        env={**settings, "TERM": "xterm-256color", "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "90", **env},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # Linux raises EIO when the last writer has gone
            break
        if not piece:
            break
        seen += piece
    os.close(leader)
    return child.wait(), seen.decode()


@pytest.mark.parametrize("arguments", [(), ("boom",)])
def test_a_person_sees_colour_and_a_moving_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    status, seen = on_a_terminal(tmp_path, *arguments)
    assert status == (4 if arguments else 0)
    assert "writing the tests, attempt 2" in seen
    assert "\x1b[32mred" in seen
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") == 2  # the cursor is restored, also after a failure
    assert "9 tests fail as expected" in seen


def test_no_color_on_a_terminal_is_plain(tmp_path: Path) -> None:
    status, seen = on_a_terminal(tmp_path, NO_COLOR="1")
    assert status == 0
    assert "\x1b" not in seen
    assert "writing" not in seen
    assert seen.splitlines()[0] == "loyalty-1  Earn points"


# --- verdicts, errors, estimates --------------------------------------------------------------------------------------


def evidence(**changes: object) -> Evidence:
    story = tuple(TestResult(id=f"t::test_{n}", outcome="passed") for n in range(12))
    facts = {"collected": 53, "passed": 53, "failed": 0, "errors": 0, "skipped": 0, "seconds": 1.0, "exit_status": 1,
             "sandbox": format_sandbox("namespaces", PROTECTIONS), "honest": True, "story": story,
             **changes}  # fmt: skip
    return Evidence(phase=Phase.GREEN, head_run=RunSummary(**facts))


FINDINGS = (
    Finding(code="GRN101", severity="error", path="src/shop/conftest.py", message="changes how tests run"),
    Finding(code="GRN402", severity="warning", path="src/shop/points.py", line=31, message="two\nliterals"),
)


def test_a_refusal() -> None:
    lines = format_verdict_lines(evidence(), Verdict(phase=Phase.GREEN, accepted=False, findings=FINDINGS))
    assert [line.plain for line in lines] == [
        "refused: 1 error, 1 warning                       12 story tests, 41 others, sandboxed, trusted run",
        "  error   GRN101  src/shop/conftest.py   changes how tests run",
        "  warning GRN402  src/shop/points.py:31  two literals",
    ]


def test_an_acceptance_of_a_run_without_sandbox() -> None:
    (line,) = format_verdict_lines(evidence(sandbox="none"), Verdict(phase=Phase.GREEN, accepted=True), 60)
    assert line.plain == "accepted: 0 errors, 0 warnings   12 story tests, 41 others, no sandbox, trusted run"


def test_an_invalid_run_says_why() -> None:
    seen = evidence(honest=False, problems=("a canary is missing",))
    (line,) = format_verdict_lines(seen, Verdict(phase=Phase.GREEN, accepted=False))
    assert line.plain.endswith("run NOT trusted: a canary is missing")


def test_no_run_at_all() -> None:
    (line,) = format_verdict_lines(Evidence(phase=Phase.RED), Verdict(phase=Phase.RED, accepted=False))
    assert line.plain.endswith("no test run")


def test_an_error_says_what_where_and_what_to_do() -> None:
    error = ConfigInvalid("no key `modle`\x1b[31m", where=".prd2pr.yml:3", remedy="did you mean `model`?")
    assert [line.plain for line in format_error_lines(error)] == [
        "error: no key `modle`",
        "where: .prd2pr.yml:3",
        "to do: did you mean `model`?",
    ]


def test_verdicts_and_errors_through_the_terminal() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, {})
    terminal.verdict(evidence(), Verdict(phase=Phase.GREEN, accepted=True))
    terminal.error(ConfigInvalid("wrong"))
    assert stream.getvalue().splitlines()[0].startswith("accepted: 0 errors, 0 warnings")
    assert stream.getvalue().splitlines()[1] == "error: wrong"


def test_estimates_with_and_without_a_price() -> None:
    guess = Estimate(tokens_low=40_000, tokens_high=100_000, minutes_low=20, minutes_high=35, usd_low=1.1, usd_high=2.4)
    sizes = {"stories": 1, "criteria": 1, "questions": 0}
    assert "est. $1.10–2.40, 20–35 min" in log(("plan", {**sizes, "estimate": guess}))[0]
    taught = {"stories_guessed": 15, "stories_minutes": 30, "learnt": "times 2.00, learnt from 3 stories"}
    corrected = log(("plan", {**sizes, "estimate": guess.model_copy(update=taught)}))
    assert "stories 30 min (15 times 2.00, learnt from 3 stories)" in " ".join(corrected)
    unpriced = guess.model_copy(update={"usd_low": None, "usd_high": None, "unpriced": ("sonnet",)})
    (line,) = log(("plan", {**sizes, "estimate": unpriced}))
    assert line.startswith("Plan     1 story, 1 criterion, 0 questions")
    assert "est. 40k–100k tokens, 20–35 min, no price configured for sonnet" in line


def test_a_foreign_line_is_not_a_workflow_command_in_a_job_log():
    stream = io.StringIO()
    with Terminal(stream, env={}) as terminal:
        terminal.say("note", text="hello\n::error::forged")
        terminal.say("note", text="::add-mask::forged")
    assert not any(line.lstrip().startswith("::") for line in stream.getvalue().splitlines())


def test_a_log_says_once_that_a_plan_is_awaited() -> None:
    stream = io.StringIO()
    progress = Terminal(stream, {})
    for attempt in (1, 2):
        progress.say(
            "working", phase="plan", what="Planner", attempt=attempt, log="planning prds/shop.md with claude-sonnet-5-5"
        )
    progress.say("working", phase="red", what="Tester")
    assert stream.getvalue() == "planning prds/shop.md with claude-sonnet-5-5\n"
