"""Honest cycles written as plain text: see the head of each file under `corpus/`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from honest_cycle import Honest

from prd2pr.domain.records import StoryKind

CORPUS = Path(__file__).with_name("corpus")


def kinds() -> dict[str, list[Honest]]:
    """By the first line of each file."""
    found = {}
    for path in sorted(CORPUS.glob("*.txt")):
        head, *cases = path.read_text(encoding="utf-8").split("\n==== ")
        found[head.partition("\n")[0].removesuffix(".")] = [_cycle(case) for case in cases]
    return found


def _cycle(text: str) -> Honest:
    head, _, body = text.partition("\n")
    name, *options = (part.strip() for part in head.split("|"))
    steps: dict[str, dict[str, str | None]] = {"red": {}, "green": {}}
    for part in f"\n{body}".split("\n---- ")[1:]:
        title, _, content = part.partition("\n")
        step, path, *verb = title.split()
        steps.setdefault(step, {})[path] = None if verb == ["!delete"] else f"{content.rstrip()}\n"
    return Honest(name, **cast("dict[str, Any]", steps), **_options(options))


def _options(words: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition(" ")
        if key == "kind":
            found["kind"] = cast("StoryKind", value)
        elif key == "docs":
            found["docs"] = True
        elif key in {"planned", "criteria"}:
            found[key] = tuple(value.split())
        else:
            raise ValueError(f"an honest cycle has no option {key!r}")
    return found
