"""Redaction of secrets in texts, in plain and in encoded form.

Detected are the value itself, base64 (at any offset, both alphabets), hex and percent-encoding, and each of them
reversed. Spaces, line ends, Markdown escapes and invisible characters in between, which rendering may add, are ignored.
"""

from __future__ import annotations

import base64
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

MIN_SECRET_LENGTH = 6  # shorter values may occur in ordinary text
REDACTED = "[redacted]"

# Separators between characters and entities for a character, from which a reader can still reconstruct the value.
SEPARATORS = re.compile(r"(?P<nothing>[\s\\\u200b]+|&\#8203;)|&\#(?P<number>\d{1,7});|&(?P<name>amp|lt|gt);")
ENTITIES = {"amp": "&", "lt": "<", "gt": ">"}
MIN_KEY_LINE = 16  # lines of a private key are separate secrets


@dataclass
class Secrets:
    """The values that must be removed from every text. More can be added later. The `repr` does not show them."""

    values: frozenset[str] = frozenset()

    @classmethod
    def from_values(cls, values: Iterable[str]) -> Secrets:
        whole = {value.strip() for value in values}
        lines = {line.strip() for value in whole for line in value.splitlines()}
        parts = {
            line for line in lines if len(line) >= MIN_KEY_LINE and not line.startswith(("-----BEGIN", "-----END"))
        }
        return cls(frozenset(value for value in whole | parts if len(strip_separators(value)) >= MIN_SECRET_LENGTH))

    def __repr__(self) -> str:
        return f"Secrets({len(self.values)} values)"

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        found = {strip_separators(form) for value in self.values for form in iter_encodings(value)}
        return tuple(sorted(form for form in found if len(form) >= MIN_SECRET_LENGTH))

    def learn(self, value: str) -> None:
        """Add a value, such as a new token."""
        self.values |= Secrets.from_values([value]).values
        self.__dict__.pop("_forms", None)

    def contains_secret(self, data: bytes) -> bool:
        """Return whether a file contains a secret, also if line ends in it are escaped as in JSON."""
        if not self.values:
            return False
        text = data.decode("utf-8", "replace")
        texts = {strip_separators(text), strip_separators(text.replace("\\n", "\n"))}
        return any(form in bare for bare in texts for form in self._forms)

    def scrub(self, text: str) -> str:
        bare = strip_separators(text)
        hits = [form for form in self._forms if form in bare]
        if not hits:
            return text
        spans = _merge_spans(span for form in hits for span in _find_occurrences(form, bare))
        places = _map_positions(text)
        for first, last in reversed(spans):
            text = f"{text[: places[first][0]]}{REDACTED}{text[places[last][1] :]}"
        return text


def strip_separators(text: str) -> str:
    return SEPARATORS.sub(_decode_match, text)


def _decode_match(found: re.Match[str]) -> str:
    if found["nothing"]:
        return ""
    if found["name"]:
        return ENTITIES[found["name"]]
    number = int(found["number"])
    return chr(number) if number <= sys.maxunicode else found[0]


def _map_positions(text: str) -> list[tuple[int, int]]:
    """Return the start and end in the text of each character that is not a separator."""
    places: list[tuple[int, int]] = []
    end = 0
    for found in SEPARATORS.finditer(text):
        places += [(at, at + 1) for at in range(end, found.start())]
        places += [found.span()] * len(_decode_match(found))
        end = found.end()
    return [*places, *((at, at + 1) for at in range(end, len(text)))]


def _find_occurrences(form: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(form)
    while at >= 0:
        yield at, at + len(form) - 1
        at = text.find(form, at + 1)


def _merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def iter_encodings(value: str) -> Iterator[str]:
    data = value.encode()
    straight = (value, *_iter_base64(data), data.hex(), data.hex().upper(), *_iter_percent_encodings(data))
    for form in straight:
        yield form
        yield form[::-1]
    yield from _iter_base64(data[::-1])
    yield data[::-1].hex()


def _iter_base64(data: bytes) -> Iterator[str]:
    """Yield the part of each base64 encoding that does not depend on the text around the value."""
    for offset in range(3):
        padded = bytes(offset) + data
        shared_before = (0, 2, 3)[offset]
        whole = base64.b64encode(padded).decode().rstrip("=")
        kept = whole[shared_before : len(whole) - (1 if len(padded) % 3 else 0)]
        yield kept
        yield kept.replace("+", "-").replace("/", "_")


def _iter_percent_encodings(data: bytes) -> Iterator[str]:
    yield "".join(f"%{byte:02X}" for byte in data)
    yield "".join(f"%{byte:02x}" for byte in data)
    for safe in (b"-_.~", b"-_.~/"):
        yield "".join(chr(byte) if chr(byte).isalnum() or byte in safe else f"%{byte:02X}" for byte in data)
