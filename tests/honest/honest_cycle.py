"""An honest cycle as data: the files of each step. Every gate on the way must let it pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prd2pr.domain.records import StoryKind

Files = Mapping[str, str | None]  # path -> text; None: deleted

STORY = "story-1"
PLACE = f"tests/tdd/{STORY}"


@dataclass(frozen=True)
class Honest:
    """`planned` makes it a story of the bot, with a design; without it, the commits are a person's.

    Of a kind that asks for no tests there is only `green`.
    """

    name: str
    red: Files
    green: Files
    base: Files = field(default_factory=dict)
    refactor: Files | None = None
    integrated: bool = False  # only for stories: their tests move
    moved: Files | None = None  # a person moves the tests
    docs: bool = False  # whoever moves them writes the living docs with `prd2pr docs --write`
    planned: tuple[str, ...] | None = None
    criteria: tuple[str, ...] = ()
    kind: StoryKind = "feature"
