"""The questions of a plan: their numbers, and which stories wait for an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from prd2pr.domain.records import AnsweredQuestion, Backlog, Criterion, Story
from prd2pr.domain.wording import clip

AS_PLANNED = "as planned"  # the answer that confirms the plan's reading
MAX_ANSWER_IN_CRITERION = 200  # characters; the story's description has all of it


def number_questions(backlog: Backlog) -> dict[int, str]:
    """Number the open questions. A number is never used again, so answering one does not renumber the others."""
    used = {each.number for each in backlog.answers}
    free = (number for number in count(1) if number not in used)
    return dict(zip(free, backlog.questions, strict=False))


def format_questions(backlog: Backlog) -> tuple[str, ...]:
    return tuple(f"Q{number}: {question}" for number, question in number_questions(backlog).items())


def parse_question_number(word: str) -> int | None:
    """Return the number of a question given as `Q2`, `q2` or `2`."""
    found = re.fullmatch(r"[Qq]?([1-9][0-9]{0,3}):?", word)
    return int(found[1]) if found else None


def names_requirement(text: str, requirement: str) -> bool:
    return bool(re.search(rf"(?<![\w.-]){re.escape(requirement)}(?![\w-]|\.\w)", text))


def add_answer_note(description: str, requirements: Iterable[str], answered: AnsweredQuestion) -> str:
    """Add the answer to a story's description if the question names one of its requirements."""
    if not any(names_requirement(answered.question, name) for name in requirements):
        return description
    note = f"{answered.by} answers «{answered.question}»: {answered.answer} "
    return f"{description}\n{note}This decides where a criterion says something else.".strip()


def apply_answer(story: Story, answered: AnsweredQuestion) -> Story:
    """Add the answer to the story and to the criteria that it decides. `as planned` confirms them unchanged."""
    if confirms_plan(answered):
        return story
    named = {name for name in story.requirements if names_requirement(answered.question, name)}
    criteria = tuple(
        _amend_criterion(each, answered) if named.intersection(each.requirements) else each for each in story.criteria
    )
    description = add_answer_note(story.description, story.requirements, answered)
    return story.model_copy(update={"description": description, "criteria": criteria})


def _amend_criterion(criterion: Criterion, answered: AnsweredQuestion) -> Criterion:
    decided = clip(" ".join(answered.answer.split()), MAX_ANSWER_IN_CRITERION)
    text = f"{criterion.text.rstrip('.')}, unless the answer to Q{answered.number} says otherwise: {decided}"
    return criterion.model_copy(update={"text": text, "example": ""})


def confirms_plan(answered: AnsweredQuestion) -> bool:
    return answered.answer.strip().strip(".!").casefold() == AS_PLANNED


def list_contradictions(backlog: Backlog, story: Story) -> tuple[str, ...]:
    """Return the story's requirements that contradict others, as long as nobody has answered."""
    open_ones = {each.id for each in backlog.classified if each.status == "contradictory"}
    return tuple(name for name in story.requirements if name in open_ones)


def find_awaited_question(backlog: Backlog, story: Story) -> tuple[int, str] | None:
    """Return the question that the story waits for, with its number, or None if it waits for none."""
    names = list_contradictions(backlog, story)
    asked = number_questions(backlog).items()
    return next(
        ((number, text) for number, text in asked if any(names_requirement(text, each) for each in names)), None
    )
