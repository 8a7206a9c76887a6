"""Designer: describe the visible part of a plan, split into slices that can be shown and tested one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pydantic import Field

from prd2pr.agents.outputs.added_criteria import CriterionAnswer, RequestedCriterion
from prd2pr.domain.records import Backlog, Prd, Record

_PAGE_FILES = (".html", ".htm", ".css", ".scss", ".jsx", ".tsx", ".vue", ".svelte", ".jinja", ".j2", ".jinja2")
_PAGE_WORDS = re.compile(
    r"\b(?:front[- ]?end|user interface|\bUI\b|web ?page|pages?|screens?|buttons?|forms?|dashboards?|dialogs?|"
    r"browsers?|html|css|layout|responsive|accessib\w+|wireframes?)\b",
    re.IGNORECASE,
)
MIN_PAGE_WORDS = 2  # a single "form" may occur in a PRD about data; several such words indicate a page


class Slice(Record):
    story: str = Field(max_length=120, description="Id of the story that it belongs to.")
    shows: str = Field(max_length=400, description="What the user sees and can do, in one or two sentences.")
    states: tuple[str, ...] = Field(default=(), max_length=6, description="Empty, loading, error and the like.")
    criterion: CriterionAnswer | None = Field(
        default=None, description="One criterion that a test without a browser can check; null if the story has it."
    )


class DesignerAnswer(Record):
    """The front-end part of a plan."""

    slices: tuple[Slice, ...] = Field(default=(), max_length=20)
    notes: str = Field(
        default="", max_length=800, description="What applies to all pages: wording, keyboard, contrast."
    )


def has_front_end(prd: Prd, files: Iterable[str]) -> bool:
    """Return whether the PRD mentions pages several times, or once in a repository that has page files."""
    named = len({found.lower() for found in _PAGE_WORDS.findall(prd.text)})
    pages = any(path.endswith(_PAGE_FILES) for path in files)
    return named >= (1 if pages else MIN_PAGE_WORDS)


def drop_unknown_slices(answer: DesignerAnswer, backlog: Backlog) -> DesignerAnswer:
    """Drop slices of stories that do not exist."""
    known = {story.id for story in backlog.stories}
    return answer.model_copy(update={"slices": tuple(each for each in answer.slices if each.story in known)})


def list_designer_criteria(answer: DesignerAnswer) -> tuple[RequestedCriterion, ...]:
    return tuple(RequestedCriterion(each.story, each.criterion) for each in answer.slices if each.criterion)


def add_slice_hints(backlog: Backlog, answer: DesignerAnswer) -> Backlog:
    """Add what the user sees to the description of each story."""
    hints: Mapping[str, str] = {each.story: format_slice_hint(each) for each in answer.slices}
    stories = tuple(
        story.model_copy(update={"description": f"{story.description}\n\n{hints[story.id]}".strip()})
        if story.id in hints
        else story
        for story in backlog.stories
    )
    return backlog.model_copy(update={"stories": stories})


def format_slice_hint(slice_: Slice) -> str:
    states = f" States: {', '.join(slice_.states)}." if slice_.states else ""
    return f"What the user sees: {slice_.shows}{states}"
