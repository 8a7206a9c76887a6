"""Hidden examples: the answer of their author, who sees no code, and the rulings of a judge on failing examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from prd2pr.domain.records import Prd, Record, Story

MAX_TEST = 1_500  # characters of one example
MAX_EXAMPLES = 12  # of one story
RulingVerdict = Literal["code wrong", "example wrong", "requirement unclear"]


class ExampleDraft(Record):
    criterion: str = Field(max_length=140, description="Id of the criterion that it follows from.")
    test: str = Field(max_length=MAX_TEST, description="The lines of one test: a call and its expected result.")


class StoryExamples(Record):
    story: str = Field(max_length=140, description="Id of the story.")
    imports: str = Field(default="", max_length=6_000, description="The imports and helper functions of its examples.")
    examples: tuple[ExampleDraft, ...] = Field(default=(), max_length=MAX_EXAMPLES)
    about: SkipJsonSchema[str] = ""  # digest of the story that the examples were written for; set by code


class ExamplesAnswer(Record):
    """Hidden examples of the stories for which the PRD gives enough information."""

    stories: tuple[StoryExamples, ...] = Field(default=(), max_length=200)

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, answer: object) -> object:
        """Accept the compact form that the prompt asks for: `{"imports": "…", "shop-1": {"c1": ["assert …"]}}`.

        A story may have imports of its own.
        """
        if not isinstance(answer, dict) or "stories" in answer or not answer:
            return answer
        shared = answer.get("imports", "")
        stories = ((name, given) for name, given in answer.items() if name != "imports" or not isinstance(given, str))
        return {"stories": [_expand_story(name, given, shared) for name, given in stories]}


def _expand_story(name: str, given: object, shared: object) -> object:
    if not isinstance(given, dict):
        return {"story": name, "examples": given}
    texts = {key: value if isinstance(value, list) else [value] for key, value in given.items() if key != "imports"}
    examples = [{"criterion": key, "test": test} for key, tests in texts.items() for test in tests]
    imports = given.get("imports", "")
    if isinstance(shared, str) and isinstance(imports, str):
        imports = "\n".join(filter(None, (shared, imports)))
    return {"story": name, "imports": imports, "examples": examples}


class Ruling(Record):
    example: str = Field(max_length=60, description="Its name, as given.")
    verdict: RulingVerdict
    reason: str = Field(min_length=1, max_length=600, description="What the requirement says about these values.")
    quote: str = Field(
        default="", max_length=600, description="For `example wrong`: the words of the requirement, copied exactly."
    )
    feedback: str = Field(
        default="",
        max_length=600,
        description="For `code wrong`: the rule that the code breaks, in words, without any value of the example.",
    )
    question: str = Field(default="", max_length=400, description="For `requirement unclear`: what a person must say.")
    answer: SkipJsonSchema[str] = ""  # what the code did when it was ruled on, set by code


class JudgeAnswer(Record):
    """One ruling for each failing example."""

    rulings: tuple[Ruling, ...] = Field(max_length=60)


def find_example_problems(answer: ExamplesAnswer, stories: Iterable[Story]) -> tuple[str, ...]:
    """Return the problems that make the whole answer unusable. A single bad example is dropped instead."""
    known = {story.id for story in stories}
    unknown = [each.story for each in answer.stories if each.story not in known]
    return tuple(f"`{name}` is not one of the stories" for name in dict.fromkeys(unknown))


def find_ruling_problems(answer: JudgeAnswer, examples: dict[str, str], prd: Prd, story: Story) -> tuple[str, ...]:
    """Return the problems in a judge's answer. `examples` are the texts of the failing examples by name."""
    given = [each.example for each in answer.rulings]
    return (
        *(f"`{name}` is not one of the examples" for name in given if name not in examples),
        *(f"`{name}` has no ruling" for name in examples if name not in given),
        *(f"`{name}` has two rulings" for name in dict.fromkeys(given) if given.count(name) > 1),
        *(problem for each in answer.rulings for problem in _check_ruling(each, examples, prd, story)),
    )


def _check_ruling(ruling: Ruling, examples: dict[str, str], prd: Prd, story: Story) -> Iterator[str]:
    told = (*_list_criteria_texts(story), story.description)
    required = "\n".join((prd.text, *(each.text for each in prd.requirements), *told))
    match ruling.verdict:
        case "example wrong" if not _is_quote(ruling.quote, required):
            yield f"`{ruling.example}`: `quote` must repeat words of the requirement or criterion exactly"
        case "code wrong" if not ruling.feedback.strip():
            yield f"`{ruling.example}`: `feedback` is missing"
        case "code wrong":
            secret = _list_literals(examples.get(ruling.example, "")) - _list_literals(required)
            if shown := sorted(secret & _list_literals(ruling.feedback)):
                yield f"`{ruling.example}`: `feedback` reveals values of the example: {', '.join(shown[:3])}"
        case "requirement unclear" if not ruling.question.strip():
            yield f"`{ruling.example}`: `question` is missing"


def _list_criteria_texts(story: Story) -> Iterator[str]:
    for each in story.criteria:
        yield from (each.text, each.example)


MIN_QUOTE_WORDS = 3


def _is_quote(quote: str, text: str) -> bool:
    """Return whether the quote is part of the text, ignoring case, white space and marks of Markdown."""
    wanted, found = _normalize(quote), _normalize(text)
    return len(wanted.split()) >= MIN_QUOTE_WORDS and f" {wanted} " in f" {found} "


def _normalize(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+|[<>=%+-]+", text.casefold()))


def _list_literals(text: str) -> set[str]:
    """Return the numbers of at least two digits and the quoted texts. They could reveal an example."""
    numbers = {each for each in re.findall(r"\d+(?:[.,]\d+)?", text) if len(each) > 1}
    quoted = {each.strip() for pair in re.findall(r'"([^"\n]{3,})"|\'([^\'\n]{3,})\'', text) for each in pair if each}
    return numbers | quoted
