"""No secret leaves in a text: looked for as it is and as somebody who wants it out would disguise it.

Looked for: the value itself, base64 (at any offset, both alphabets), hex, percent-encoding, each also reversed; and all
of these with spaces, line ends, Markdown escapes or invisible characters in between, since rendering puts such there.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

SHORTEST = 6  # a shorter value occurs in honest text
REDACTED = "[redacted]"

# What stands between characters, or for one, without hiding a value from a reader who wants to put it together.
WRITTEN = re.compile(r"(?P<nothing>[\s\\\u200b]+|&\#8203;)|&\#(?P<number>\d{1,7});|&(?P<name>amp|lt|gt);")
NAMED = {"amp": "&", "lt": "<", "gt": ">"}
LINE = 16  # lines of a private key are secrets of their own


@dataclass(frozen=True)
class Scrubbed:
    text: str
    found: int = 0  # how many places were redacted


@dataclass
class Secrets:
    """Values that no text may hold; more become known on the way. Nothing about them is shown when this is printed."""

    values: frozenset[str] = frozenset()

    @classmethod
    def of(cls, values: Iterable[str]) -> Secrets:
        whole = {value.strip() for value in values}
        lines = {line.strip() for value in whole for line in value.splitlines()}
        parts = {line for line in lines if len(line) >= LINE and not line.startswith(("-----BEGIN", "-----END"))}
        return cls(frozenset(value for value in whole | parts if len(squeezed(value)) >= SHORTEST))

    def __repr__(self) -> str:
        return f"Secrets({len(self.values)} values)"

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        found = {squeezed(form) for value in self.values for form in disguises(value)}
        return tuple(sorted(form for form in found if len(form) >= SHORTEST))

    def learn(self, value: str) -> None:
        """One that came up later, such as a token that was minted."""
        self.values |= Secrets.of([value]).values
        self.__dict__.pop("_forms", None)

    def holds(self, data: bytes) -> bool:
        """Whether a file would give one away. JSON writes a line end as two characters, so that is read as well."""
        if not self.values:
            return False
        text = data.decode("utf-8", "replace")
        texts = {squeezed(text), squeezed(text.replace("\\n", "\n"))}
        return any(form in bare for bare in texts for form in self._forms)

    def scrub(self, text: str) -> Scrubbed:
        bare = squeezed(text)
        hits = [form for form in self._forms if form in bare]
        if not hits:
            return Scrubbed(text)
        spans = _merged(span for form in hits for span in _occurrences(form, bare))
        places = _places(text)
        for first, last in reversed(spans):
            text = f"{text[: places[first][0]]}{REDACTED}{text[places[last][1] :]}"
        return Scrubbed(text, len(spans))


def squeezed(text: str) -> str:
    return WRITTEN.sub(_meant, text)


def _meant(found: re.Match[str]) -> str:
    if found["nothing"]:
        return ""
    if found["name"]:
        return NAMED[found["name"]]
    number = int(found["number"])
    return chr(number) if number <= sys.maxunicode else found[0]


def _places(text: str) -> list[tuple[int, int]]:
    """Of each character of the squeezed text, where it starts and ends in the text."""
    places: list[tuple[int, int]] = []
    end = 0
    for found in WRITTEN.finditer(text):
        places += [(at, at + 1) for at in range(end, found.start())]
        places += [found.span()] * len(_meant(found))
        end = found.end()
    return [*places, *((at, at + 1) for at in range(end, len(text)))]


def _occurrences(form: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form) - 1
        at = text.find(form, at + 1)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def disguises(value: str) -> Iterator[str]:
    data = value.encode()
    straight = (value, *_base64(data), data.hex(), data.hex().upper(), *_percent(data))
    for form in straight:
        yield form
        yield form[::-1]
    yield from _base64(data[::-1])
    yield data[::-1].hex()


def _base64(data: bytes) -> Iterator[str]:
    """What of it is the same wherever the value stands in a longer text: without bits that it shares at its ends."""
    for offset in range(3):
        padded = bytes(offset) + data
        shared_before = (0, 2, 3)[offset]
        whole = base64.b64encode(padded).decode().rstrip("=")
        kept = whole[shared_before : len(whole) - (1 if len(padded) % 3 else 0)]
        yield kept
        yield kept.replace("+", "-").replace("/", "_")


def _percent(data: bytes) -> Iterator[str]:
    yield "".join(f"%{byte:02X}" for byte in data)
    yield "".join(f"%{byte:02x}" for byte in data)
    for safe in (b"-_.~", b"-_.~/"):
        yield "".join(chr(byte) if chr(byte).isalnum() or byte in safe else f"%{byte:02X}" for byte in data)
