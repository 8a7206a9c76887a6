"""An honest cycle as data: the files of each step. Every gate must accept it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prd2pr.domain.records import StoryKind

Files = Mapping[str, str | None]  # path -> text; None: deleted

STORY = "story-1"
PLACE = f"tests/tdd/{STORY}"


@dataclass(frozen=True)
class Honest:
    """With `planned` it is a story of the bot, with a design; without, the commits are by a person.

    Kinds without tests only have `green`.
    """

    name: str
    red: Files
    green: Files
    base: Files = field(default_factory=dict)
    refactor: Files | None = None
    integrated: bool = False  # only for stories: their tests move
    moved: Files | None = None  # a person moves the tests
    docs: bool = False  # the move also updates the living docs with `prd2pr docs --write`
    planned: tuple[str, ...] | None = None
    criteria: tuple[str, ...] = ()
    kind: StoryKind = "feature"
