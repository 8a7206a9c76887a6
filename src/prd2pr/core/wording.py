"""Small words and numbers, the same on the pull request, on its local page and in the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Characters that reorder or hide text: direction overrides, invisible spaces and letters, byte order marks, tags.
DECEIVERS = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
SURROGATES = re.compile("[\ud800-\udfff]")
SPACES = re.compile(r"\s+")


def plain(text: str) -> str:
    """One line that says what it shows: no control sequences, no direction tricks, no lone surrogates."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()  # as nearly all is: titles of ten thousand stories are asked for at once
    text = CONTROLS.sub(" ", ANSI.sub("", text.replace("\r\n", "\n")))
    text = SURROGATES.sub("\ufffd", DECEIVERS.sub("", text))
    return SPACES.sub(" ", text).strip()


def visible(text: str) -> str:
    """Code, paths and ids: nothing is dropped, what would not show is spelt out."""
    text = SURROGATES.sub("\ufffd", text.replace("\t", "    "))
    for pattern in (CONTROLS, DECEIVERS):
        text = pattern.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text)
    return text


def clip(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


_COMPLAINT = re.compile(
    r"^\W*(?:(?:npm |yarn )?(?:error|err!|fatal)\b|(?:\w+ ){0,3}\w*(?:Error|Exception)\b[^\n]{0,40}:)", re.IGNORECASE
)
_REPEATED = re.compile(r"^(?:npm (?:error|ERR!)|\[ERROR\]|error:?)\s*", re.IGNORECASE)


def complaint_in(text: str, length: int) -> str:
    """Why a program failed, on one line: from its first line that complains; without one, the end of what it said."""
    lines = ANSI.sub("", text).splitlines()
    first = next((at for at, line in enumerate(lines) if _COMPLAINT.match(line)), None)
    if first is None:
        return plain(text)[-length:]
    return clip(plain("\n".join(_REPEATED.sub("", line) for line in lines[first:])), length)


# What a job's log would obey: `::set-output …::` at the start of a line, `##[…]` anywhere in it.
LOG_COMMAND = re.compile(r"^(\s*:)(?=:)|(##)(?=\[)", re.MULTILINE)


def quiet_commands(text: str) -> str:
    """Text for the log of a job: it can be read there and starts nothing."""
    return LOG_COMMAND.sub("\\g<0>\u200b", text)


@dataclass(frozen=True)
class Span:
    text: str
    code: bool = False


def spans(text: str) -> tuple[Span, ...]:
    """Prose with `code` in backticks, taken apart. A backtick without a partner is an ordinary character."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return tuple(Span(piece, code=i % 2 == 1) for i, piece in enumerate(pieces) if piece)


def plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def named(number: int, noun: str) -> str:
    return noun if number == 1 else plural(noun)


def count(number: int, noun: str) -> str:
    return f"{number:,} {named(number, noun)}"


def passing(passed: int, whole: int, noun: str) -> str:
    """0 of 1 test passes; 1 of 3 tests passes; 2 of 3 tests pass"""
    return f"{passed:,} of {count(whole, noun)} {'passes' if 1 in (passed, whole) else 'pass'}"


# An ordinary word. What holds a slash, a dot, a digit or a hyphen is a path, a name or an id, and stays as it is.
WORD = re.compile(r"[a-z']+(?=[,;:.!?]?(?:\s|$))")


def first_capital(text: str) -> str:
    return text[:1].upper() + text[1:] if WORD.match(text) else text


def stopped(text: str) -> str:
    """With its full stop, and one only."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def ordinal(number: int) -> str:
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def tokens(number: int) -> str:
    """1200 -> 1.2k: three digits are enough to compare by."""
    if number < 1000:
        return str(number)
    if number < 9950:
        return f"{number / 1000:.1f}k"
    if number < 999_500:
        return f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def token_count(used: int, limit: int | None = None) -> str:
    """1 token; 62k of 200k tokens"""
    of = "" if limit is None else f" of {tokens(limit)}"
    return f"{tokens(used)}{of} {named(used if limit is None else limit, 'token')}"


MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d+)?)?Z")


def moment(at: str) -> str:
    """2026-11-16T09:02:30Z -> 2026-11-16 09:02 UTC"""
    found = MOMENT.fullmatch(at)
    return f"{found[1]} {found[2]} UTC" if found else plain(at)


def duration(seconds: float) -> str:
    if 0 < seconds < 0.95:
        return f"{max(seconds, 0.1):.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def dollars(usd: float) -> str:
    """Cents, and more digits where cents would say zero of something that is not."""
    return f"${usd:.4f}" if 0 < usd < 0.01 else f"${usd:,.2f}"


def money(usd: float | None, limit: float | None = None, *, unlimited: bool = True) -> str:
    """`usd` None: a model without a known price took part, so no sum can be named.

    `unlimited`: nothing else is limited either, not even tokens or minutes.
    """
    if usd is None:
        return "no price known" if limit is None else f"no price known, budget {dollars(limit)}"
    if limit is not None:
        return f"{dollars(usd)} of {dollars(limit)}"
    return f"{dollars(usd)}, no budget set" if unlimited else dollars(usd)


def models_text(names: Sequence[str]) -> str:
    """model a; models a, b"""
    return f"{'model' if len(names) == 1 else 'models'} {', '.join(map(plain, names))}" if names else ""
