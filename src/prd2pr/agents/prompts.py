"""From a task to the first message, ordered for caching: what more of the later calls share stands first.

tools · system                the same for all roles that have tools, and all stories
PRD                           the same for all stories of a PRD
story, map, modules around    the same for all steps of a story: its own files are not part of it
design, own files · step      the same for all attempts at a step
part of the plan              the same for all attempts at it; what stands before it, for all parts of a pass
feedback, test run            this attempt
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from prd2pr.agents.roles import Role
from prd2pr.agents.task import EarlierAttempt, Task
from prd2pr.core.complexity import measure
from prd2pr.core.context import fence, in_full, repository_map, trim
from prd2pr.core.gates.refactor import BETTER
from prd2pr.core.line_length import line_length
from prd2pr.core.paths import story_place
from prd2pr.core.relevance import design_text, designs_in_brief, imported_by, spoken_of, story_text, tests_of
from prd2pr.core.run_words import finding_lines
from prd2pr.core.stacks.planned import stack_lines
from prd2pr.core.stacks.stack import Stack, is_python
from prd2pr.ports import Message, Text
from prd2pr.templating import Filters, environment

FILTERS: Filters = {"fence": fence, "trim_to": trim}
AROUND_LIMIT = 6_000  # characters of modules that the story names or directly builds on
HELD_LIMIT = 3_000  # characters of tests that hold the files which the story changes
_BEGINNING = re.compile(r"([\w-]{1,60}/){0,8}tdd_\w{1,80}_", re.ASCII)  # of a test file that is named by its story
USED_LIMIT = 4_000  # characters of modules that its own files import or its design names


class Opening(NamedTuple):
    system: tuple[Text, ...]
    message: Message


class Refused(NamedTuple):
    """An earlier attempt in words; of the last one also what it ran and wrote."""

    number: int
    said: str
    output: str = ""
    patch: str = ""


def opening(role: Role[Any], task: Task) -> Opening:
    templates = environment(FILTERS)
    values = {**_subject(role, task), **_files(task), "earlier": _refused(task)}

    def filled(name: str) -> str:
        return templates.get_template(name).render(values).strip() + "\n"

    blocks = [
        # Without a story the map follows anyway, and providers take few marks.
        Text(filled("prompts/prd.j2"), cache=task.story is not None),
        Text(filled("prompts/story.j2"), cache=True),
        *([Text(filled("prompts/made.j2"), cache=bool(task.own_tests()))] if task.story else []),
        *([Text(filled("prompts/sources.j2"))] if task.story else []),
        Text(filled(role.prompt), cache=True),
        *([Text(filled("prompts/part.j2"), cache=True)] if task.part else []),
        Text(filled("prompts/feedback.j2")),
    ]
    told = tuple(block for block in blocks if block.text.strip())
    return Opening(system=(Text(filled("prompts/system.j2")),), message=Message("user", told))


def _subject(role: Role[Any], task: Task) -> dict[str, object]:
    return {
        "role": role,
        "task": task,
        "part": task.part,
        "prd": task.prd,
        "story": task.story,
        "design": task.design,
        "requirements": task.requirements(),
        "general": task.general_requirements(),
        "numbered": any(each.id.startswith("R-") for each in task.prd.requirements),
        "foundations": designs_in_brief(task.foundations),
        "line_length": line_length(task.files),
        "measures": "\n".join(
            _measured(path, task.files[path], task.stack) for path in task.own_sources() if path in task.files
        ),
        "conventions": task.conventions_of_language,
        "stacks": stack_lines(task.stacks) if len(task.stacks) > 1 else [],
        "test_directory": (directory := task.stack.test_directory(task.subject)),
        "test_file": (test_file := _test_file(task, directory)),
        "held_out_file": task.conventions_of_language.held_out_file(test_file) if task.held_out else "",
    }


def _files(task: Task) -> dict[str, object]:
    """`map` and `around` leave the story's own files out, so that they stay the same while these are written."""
    own = (*task.own_tests(), *task.own_sources())
    others = {path: text for path, text in task.files.items() if path not in own}
    named = spoken_of(others, story_text(task.story)) if task.story else ()
    around = in_full(others, (*named, *task.foundation_sources()), limit=AROUND_LIMIT)
    held = in_full(others, tests_of(others, task.story.source_paths if task.story else ()), limit=HELD_LIMIT)
    shown = [path for path, _ in (*around.files, *held.files)]
    planned = spoken_of(others, design_text(task.design)) if task.design else ()
    used = dict.fromkeys((*imported_by(task.files, own), *planned))
    return {
        "map": task.map if task.map is not None else _map(task, others, shown),
        "around": around,
        "held": held,
        "tests": in_full(task.files, task.own_tests()),
        "sources": in_full(task.files, task.own_sources()),
        "used": in_full(others, (path for path in used if path not in shown), limit=USED_LIMIT),
    }


def _map(task: Task, files: Mapping[str, str], shown: Iterable[str]) -> str:
    if is_python(task.stack):
        return repository_map(files, near=task.own_sources(), shown=shown)
    from prd2pr.core.other.outline import outlines_of

    return repository_map(files, near=task.own_sources(), shown=shown, outlines=outlines_of(task.stack.language))


def _measured(path: str, source: str, stack: Stack) -> str:
    measures = measure(source) if is_python(stack) else _measures_of(stack, path, source)
    told = ", ".join(f"{words} {measures[name]}" for name, words in BETTER.items())
    return f"{path}: {told}, functions {measures['functions']}"


def _measures_of(stack: Stack, path: str, source: str) -> dict[str, int]:
    from prd2pr.core.other.language import language_of

    return {**dict.fromkeys((*BETTER, "functions"), 0), **language_of(stack.language).measure({path: source})}


def _refused(task: Task) -> list[Refused]:
    if not task.earlier:
        return []
    *before, last = task.earlier
    told = [Refused(attempt.attempt, _said(attempt)) for attempt in before]
    return [*told, Refused(last.attempt, _said(last, last.output), last.output, last.patch)]


def _said(attempt: EarlierAttempt, run: str = "") -> str:
    refused = (f"{write.code} refused write: {write.message}" for write in attempt.refused_writes)
    return "\n".join([*finding_lines(attempt.findings, run), *refused])


def _test_file(task: Task, directory: str) -> str:
    """The design's, where it names one in the story's own directory; else the form of its name.

    The name stands outside of any fence, so nothing but a plain one is taken over.
    """
    planned = task.design.test_paths if task.design else ()
    language = task.conventions_of_language
    places = ((path, story_place(path, task.subject)) for path in planned)
    inside = ((path, place) for path, place in places if place == directory or _BEGINNING.fullmatch(place))
    chosen = (path for path, place in inside if language.is_test_file(path.removeprefix(place)))
    return next(chosen, directory + language.test_file(task.subject))
