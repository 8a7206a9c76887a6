"""Format texts, counts, times and costs in the same way on GitHub, on HTML pages and in the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Characters that reorder or hide text: direction overrides, invisible spaces and letters, byte order marks, tags.
INVISIBLE_CHARACTERS = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
SURROGATES = re.compile("[\ud800-\udfff]")
SPACES = re.compile(r"\s+")


def clean_line(text: str) -> str:
    """Return the text as one line without control sequences, invisible characters and lone surrogates."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()  # the common case, kept fast since a page may show ten thousand titles
    text = CONTROLS.sub(" ", ANSI.sub("", text.replace("\r\n", "\n")))
    text = SURROGATES.sub("\ufffd", INVISIBLE_CHARACTERS.sub("", text))
    return SPACES.sub(" ", text).strip()


def escape_invisible(text: str) -> str:
    """Replace control and invisible characters by visible escapes, for code, paths and ids."""
    text = SURROGATES.sub("\ufffd", text.replace("\t", "    "))
    for pattern in (CONTROLS, INVISIBLE_CHARACTERS):
        text = pattern.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)
    return text


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


_ERROR_LINE = re.compile(
    r"^\W*(?:(?:npm |yarn )?(?:error|err!|fatal)\b|(?:\w+ ){0,3}\w*(?:Error|Exception)\b[^\n]{0,40}:)", re.IGNORECASE
)
_ERROR_PREFIX = re.compile(r"^(?:npm (?:error|ERR!)|\[ERROR\]|error:?)\s*", re.IGNORECASE)


def extract_error_line(text: str, length: int) -> str:
    """Return a program's error on one line: its output from the first error line on, or the end of its output."""
    lines = ANSI.sub("", text).splitlines()
    first = next((n for n, line in enumerate(lines) if _ERROR_LINE.match(line)), None)
    if first is None:
        return clean_line(text)[-length:]
    return clip(clean_line("\n".join(_ERROR_PREFIX.sub("", line) for line in lines[first:])), length)


# Workflow commands in a job's log: `::set-output …::` at the start of a line, `##[…]` anywhere in a line.
LOG_COMMAND = re.compile(r"^(\s*:)(?=:)|(##)(?=\[)", re.MULTILINE)


def neutralize_log_commands(text: str) -> str:
    """Make workflow commands in a text harmless before it is written to a job's log."""
    return LOG_COMMAND.sub("\\g<0>\u200b", text)


@dataclass(frozen=True)
class Span:
    text: str
    code: bool = False


def split_code_spans(text: str) -> tuple[Span, ...]:
    """Split prose into text and `code` in backticks. An unpaired backtick is an ordinary character."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return tuple(Span(piece, code=i % 2 == 1) for i, piece in enumerate(pieces) if piece)


def pluralize(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def inflect_noun(number: int, noun: str) -> str:
    return noun if number == 1 else pluralize(noun)


def count(number: int, noun: str) -> str:
    return f"{number:,} {inflect_noun(number, noun)}"


def format_share(part: int, whole: int, noun: str) -> str:
    """Return a phrase such as "the only test", "all 3 tests" or "1 of 3 tests"."""
    if part == whole:
        return f"the only {noun}" if whole == 1 else f"all {count(whole, noun)}"
    return f"{part:,} of {count(whole, noun)}"


def format_pass_count(passed: int, whole: int, noun: str) -> str:
    """Return a phrase such as "0 of 1 test passes", "1 of 3 tests passes" or "2 of 3 tests pass"."""
    return f"{passed:,} of {count(whole, noun)} {'passes' if 1 in (passed, whole) else 'pass'}"


# An ordinary word. A word with a slash, dot, digit or hyphen is a path, name or id and is not capitalized.
WORD = re.compile(r"[a-z']+(?=[,;:.!?]?(?:\s|$))")


def capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:] if WORD.match(text) else text


def end_sentence(text: str) -> str:
    """Add a full stop unless the text ends with a punctuation mark."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def format_ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def format_tokens(number: int) -> str:
    """Return a shortened number, such as "1.2k" for 1200."""
    if number < 1000:
        return str(number)
    if number < 9950:
        return f"{number / 1000:.1f}k"
    if number < 999_500:
        return f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def format_token_count(used: int, limit: int | None = None) -> str:
    """Return a phrase such as "1 token" or "62k of 200k tokens"."""
    of = "" if limit is None else f" of {format_tokens(limit)}"
    return f"{format_tokens(used)}{of} {inflect_noun(used if limit is None else limit, 'token')}"


# States of a project or story as predicates: "the project is in progress", "the story is waiting for green".
STATE_TEXTS = {
    "IDLE": "idle",
    "BACKLOG_READY": "planned",
    "SPRINT_PLANNED": "ready to start",
    "SPRINT_ACTIVE": "in progress",
    "SPRINT_PAUSED": "paused",
    "SPRINT_REVIEW": "ready for review",
    "BLOCKED": "blocked",
    "DESIGN": "waiting for design",
    "TEST_RED": "waiting for red",
    "CODE_GREEN": "waiting for green",
    "REFACTOR": "waiting for refactoring or integration",
    "COMMIT": "integrated",
    "ABORTED": "aborted",
    "no cycle": "not started",
}


def format_state(state: str) -> str:
    """Return a state of one of the two state machines in plain words, and any other text unchanged."""
    return STATE_TEXTS.get(state, state)


UTC_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z")


def format_time(at: str) -> str:
    """Return a readable time, such as "2026-11-16 09:02 UTC" for 2026-11-16T09:02:30Z."""
    found = UTC_TIMESTAMP.fullmatch(at)
    return f"{found[1]} {found[2]} UTC" if found else clean_line(at)


def format_duration(seconds: float) -> str:
    if 0 < seconds < 0.95:
        return f"{max(seconds, 0.1):.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def format_dollars(usd: float) -> str:
    """Return dollars and cents, with more digits where cents would be zero."""
    return f"${usd:.4f}" if 0 < usd < 0.01 else f"${usd:,.2f}"


def format_cost(usd: float | None, limit: float | None = None, *, unlimited: bool = True) -> str:
    """Return a text with the cost, and with the limit if there is one.

    `usd` is None if a model's price is unknown. `unlimited` means that tokens and minutes have no limit either.
    """
    if usd is None:
        return "no price known" if limit is None else f"no price known, budget {format_dollars(limit)}"
    if limit is not None:
        return f"{format_dollars(usd)} of {format_dollars(limit)}"
    return f"{format_dollars(usd)}, no budget set" if unlimited else format_dollars(usd)


def format_models(names: Sequence[str]) -> str:
    """Return a phrase such as "model a" or "models a, b"."""
    return f"{'model' if len(names) == 1 else 'models'} {', '.join(map(clean_line, names))}" if names else ""


def limit_lines(lines: Iterable[str], limit: int) -> Iterator[str]:
    """Yield the first lines that fit into `limit` characters, then the number of omitted lines."""
    used, omitted = 0, 0
    for line in lines:
        if omitted or used + len(line) > limit:
            omitted += 1
            continue
        used += len(line) + 1
        yield line
    if omitted:
        yield f"… and {omitted} more"
