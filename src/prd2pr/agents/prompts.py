"""From a task to the first message, ordered for caching: what more of the later calls share stands first.

tools · system                the same for all roles that have tools, and all stories
conventions, map, PRD         the same for all stories of a PRD: the map is that of the tree which its work began with
story, what is near to it     the same for all steps of a story: its own files are not part of it
files that it will change     the same until GREEN has changed them
design                        the same for all steps after it
own tests, other files · step the same for all attempts at a step
part of the plan              the same for all attempts at it; what stands before it, for all parts of a pass
feedback, test run            this attempt
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from prd2pr.agents.roles import Role
from prd2pr.agents.task import EarlierAttempt, Task
from prd2pr.core.context import Mapped, fence, in_full, repository_map, trim
from prd2pr.core.gates.refactor import BETTER
from prd2pr.core.line_length import line_length
from prd2pr.core.packs import CHARACTERS_PER_TOKEN, MOST_FED_BACK, share_out
from prd2pr.core.paths import story_place
from prd2pr.core.refactoring import measures_of
from prd2pr.core.relevance import design_text, designs_in_brief, held_by, relevant_to, story_text
from prd2pr.core.run_words import finding_lines
from prd2pr.core.stacks.planned import stack_lines
from prd2pr.core.stacks.stack import Stack, is_python
from prd2pr.core.test_naming import USUAL
from prd2pr.ports import Message, Text
from prd2pr.templating import Filters, environment

FILTERS: Filters = {"fence": fence, "trim_to": trim}
HELD_LIMIT = 1_200  # characters of tests that hold the files which the story changes
_BEGINNING = re.compile(r"([\w-]{1,60}/){0,8}tdd_\w{1,80}_", re.ASCII)  # of a test file that is named by its story

# Each block of the first message: its template, the part of the prompt that it is, and whether a prefix ends there.
SHARED_BLOCKS = (
    ("conventions", "conventions", False),
    ("map", "map", False),
    ("prd", "PRD", True),
)
STORY_BLOCKS = (
    ("story", "story", True),
    ("near", "near", False),
    ("planned", "files", True),
    ("design", "design", True),
    ("tests", "tests", False),
    ("sources", "files", False),
)


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
    values = {**_subject(role, task), **_files(role, task), "earlier": _refused(task)}

    def filled(template: str, part: str, *, cache: bool = False) -> Text:
        text = templates.get_template(template).render(values).strip()
        return Text(f"{text}\n" if text else "", cache=cache, part=part)

    about_story = (block for block in STORY_BLOCKS if block[1] not in role.spared)
    blocks = [
        *(filled(f"prompts/{name}.j2", part, cache=cache) for name, part, cache in SHARED_BLOCKS),
        *(filled(f"prompts/{name}.j2", part, cache=cache) for name, part, cache in about_story if task.story),
        filled(role.prompt, "step", cache=True),
        *([filled("prompts/part.j2", "part of the plan", cache=True)] if task.part else []),
        filled("prompts/feedback.j2", "earlier attempts" if task.earlier else "test run"),
    ]
    told = _without_needless_marks(block for block in blocks if block.text)
    return Opening(system=(filled("prompts/system.j2", "system"),), message=Message("user", told))


def _without_needless_marks(blocks: Iterable[Text]) -> tuple[Text, ...]:
    """Providers take four. The story's files end a prefix only until there is a design: that follows them, and reads
    it."""
    listed = tuple(blocks)
    designed = any(block.part == "design" for block in listed)
    return tuple(replace(block, cache=False) if designed and block.part == "files" else block for block in listed)


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
        "limits": _limits(task),
        "held_out_file": task.conventions_of_language.held_out_file(test_file) if task.held_out else "",
    }


def _limits(task: Task) -> dict[str, int]:
    shared = {name: task.pack.characters(part) for name, part in (("prd", "PRD"), ("story", "story"))}
    for_each = task.pack.characters("conventions") // max(1, len(task.conventions))
    return {**shared, "conventions": for_each, **_own_limits(task)}


def _own_limits(task: Task) -> dict[str, int]:
    """Of what the role alone is shown: its tests, its files and what is fed back share one budget."""
    fed_back = sum(map(len, _texts_of_earlier(task).values())) or len(task.test_output)
    wanted = {
        "tests": sum(len(task.files[path]) for path in task.own_tests()),
        "sources": sum(len(task.files.get(path, "")) for path in task.own_sources()),
        "feedback": min(MOST_FED_BACK, fed_back),
    }
    return share_out(task.pack.own_characters, wanted)


def _files(role: Role[Any], task: Task) -> dict[str, object]:
    """The map is that of the tree which the PRD's work began with, so that it is the same for all its stories; what is
    near to one story follows it, without the story's own files, so that it is the same for all its steps."""
    began = _before_the_story(task) if task.begun_with is None else task.begun_with
    whole = _map(task, began, relevant_to(began, task.prd.text), "map") if task.map is None else Mapped(task.map)
    own_tests, limits = task.own_tests(), _own_limits(task)
    others = {path: text for path, text in task.files.items() if path not in own_tests}
    near = _near(task, began, others, whole) if task.story else Mapped("")
    early = _early(task)
    late = [path for path in task.own_sources() if path not in early]
    return {
        "map": whole.text,
        "near": near.text,
        "held": in_full(others, held_by(others, task.story.source_paths if task.story else ()), limit=HELD_LIMIT),
        "tests": in_full(task.files, own_tests, limit=limits["tests"]),
        "planned": in_full(task.files, early, limit=_early_limit(task)),
        "planned_later": not early and bool(task.story and {*task.story.source_paths} & {*task.files}),
        "sources": in_full(task.files, late, limit=limits["sources"]),
        "used": _used(task, others, whole.detailed | near.detailed) if task.design else "",
        "tests_unseen": own_tests if "tests" in role.spared else (),
    }


def _early(task: Task) -> tuple[str, ...]:
    """The files that the story plans to change, where they are short enough to be shown to all its roles alike."""
    planned = tuple(path for path in (task.story.source_paths if task.story else ()) if path in task.files)
    return planned if sum(len(task.files[path]) for path in planned) <= _early_limit(task) else ()


def _early_limit(task: Task) -> int:
    """Of what all roles share, since it is the same for all of them, whatever they have for themselves."""
    return task.pack.shared * CHARACTERS_PER_TOKEN // 3


def _before_the_story(task: Task) -> dict[str, str]:
    """Next best: the same for all steps of the story, as long as they write nothing but its own files."""
    own = {*task.own_tests(), *task.own_sources()}
    return {path: text for path, text in task.files.items() if path not in own}


def _near(task: Task, began: Mapping[str, str], others: Mapping[str, str], whole: Mapped) -> Mapped:
    """What the map does not say of files that the story is about, or that came or changed since; no test modules."""
    assert task.story is not None
    own = task.story.source_paths  # not the design's: the architect has none yet, and is shown the same
    files = {path: text for path, text in others.items() if path not in own and not USUAL.is_module(path)}
    built_on = (path for each in task.foundations for path in each.design.source_paths)
    near = relevant_to(files, story_text(task.story), built_on)
    told = whole.detailed.intersection(path for path in files if began.get(path) == files[path])
    wanted = {*near, *(path for path in files if began.get(path) != files[path])} - told
    return _map(task, {path: files[path] for path in files if path in wanted}, near, "near")


def _used(task: Task, others: Mapping[str, str], told: Collection[str]) -> str:
    """What the design names, or own files import, where neither map has said it."""
    assert task.design is not None
    own = task.own_sources()
    used = relevant_to(others, design_text(task.design), (*own, *task.own_tests()))
    unsaid = {path: others[path] for path in used if path not in {*own, *told} and not USUAL.is_module(path)}
    return _map(task, unsaid, used, "near").text


def _map(task: Task, files: Mapping[str, str], near: Iterable[str], part: str) -> Mapped:
    limit = task.pack.characters(part)
    if is_python(task.stack):
        return repository_map(files, near=near, limit=limit)
    from prd2pr.core.other.outline import outlines_of

    return repository_map(files, near=near, limit=limit, outlines=outlines_of(task.stack.language))


def _measured(path: str, source: str, stack: Stack) -> str:
    measures = measures_of(stack, {path: source})
    told = ", ".join(f"{words} {measures[name]}" for name, words in BETTER.items())
    return f"{path}: {told}, functions {measures['functions']}"


def _refused(task: Task) -> list[Refused]:
    texts = _texts_of_earlier(task)
    limits = share_out(_own_limits(task)["feedback"], {name: len(text) for name, text in texts.items()})
    told = {name: trim(text, limits[name]) if text else "" for name, text in texts.items()}
    last = len(task.earlier) - 1
    return [
        Refused(each.attempt, told[f"said {at}"], *((told["output"], told["patch"]) if at == last else ()))
        for at, each in enumerate(task.earlier)
    ]


def _texts_of_earlier(task: Task) -> dict[str, str]:
    """What was said of each attempt; of the last one also what it ran and wrote."""
    if not task.earlier:
        return {}
    *before, last = task.earlier
    said = {f"said {at}": _said(each) for at, each in enumerate(before)}
    return {**said, f"said {len(before)}": _said(last, last.output), "output": last.output, "patch": last.patch}


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
