"""Build the first message of a task, ordered for prompt caching: the most widely shared parts come first.

tools · system                the same for all roles that have tools, and all stories
conventions, map, PRD         the same for all stories of a PRD: the map shows the tree at the start of its work
story, nearby files           the same for all phases of a story: its own files are not part of it
files that it will change     the same until GREEN has changed them
design                        the same for all phases after it
own tests, other files · task the same for all attempts at a phase
part of the plan              the same for all attempts at it; what precedes it, for all parts
feedback, test run            this attempt
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from prd2pr.agents.context import (
    Outliner,
    RepositoryMap,
    ShownFiles,
    build_repository_map,
    fence,
    outline_python_file,
    select_full_files,
    trim,
)
from prd2pr.agents.findings_text import format_findings
from prd2pr.agents.models.base import Message, Text
from prd2pr.agents.relevance import (
    find_covering_tests,
    find_importing_tests,
    find_named_files,
    find_relevant_files,
    format_design_text,
    format_story_text,
    summarize_designs,
)
from prd2pr.agents.roles import Role
from prd2pr.agents.task import EarlierAttempt, RoleTask
from prd2pr.domain.costs.context_budget import CHARACTERS_PER_TOKEN, MAX_FEEDBACK_CHARACTERS, divide_budget
from prd2pr.domain.paths import get_story_test_root
from prd2pr.domain.records import Prd, Story
from prd2pr.domain.stack import Stack, is_python_stack
from prd2pr.domain.stack_policy import CODE_ENDINGS
from prd2pr.languages.conventions import Conventions
from prd2pr.languages.python.test_naming import DEFAULT_NAMING
from prd2pr.languages.registry import get_language
from prd2pr.planning.classification import quote_requirement
from prd2pr.planning.stack_assignment import format_stacks
from prd2pr.prd.parser import find_interface_text
from prd2pr.templating import Filters, get_environment
from prd2pr.verification.gates.refactor import MEASURE_LABELS
from prd2pr.verification.refactor_need import measure_sources

NO_FILES = ShownFiles((), ())
SHOWN_START = 50  # characters of a requirement without an id by which it is found in the PRD
COVERING_TESTS_LIMIT = 1_200  # characters of existing tests that cover the files changed by the story
# The path prefix of a test file that is named after its story.
_STORY_TEST_PREFIX = re.compile(r"([\w-]{1,60}/){0,8}tdd_\w{1,80}_", re.ASCII)


def abbreviate_quoted(text: str, whole: str) -> str:
    """Return only the beginning of a long text if the prompt already shows it as a part of `whole`."""
    start = text[:SHOWN_START]
    return f"{start.rsplit(' ', 1)[0]} …" if len(text) > SHOWN_START and start in whole else text


FILTERS: Filters = {"fence": fence, "trim_to": trim, "abbreviate": abbreviate_quoted}

# Each block of the first message: its template, its part in the token report, and whether a cached prefix ends there.
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
# What the planner, the author of hidden examples and the programmer see in addition to the shared blocks. The first is
# the same for all of them, the second for the last two; `added` is for the programmer alone.
CONVERSATION_BLOCKS = (
    ("relevant", "files", True),
    ("stories", "story", True),
    ("added", "files", False),
)


MAX_STORY_CHARACTERS = 6000  # of a story in a later message of a conversation

_TOML_SETTINGS = (
    ("pyproject.toml", ("tool", "ruff", "line-length")),
    ("ruff.toml", ("line-length",)),
    (".ruff.toml", ("line-length",)),
    ("pyproject.toml", ("tool", "black", "line-length")),
    ("pyproject.toml", ("tool", "flake8", "max-line-length")),
)
_INI_FILES = (".flake8", "setup.cfg", "tox.ini")


def build_outliner(name: str) -> Outliner:
    """Return a function that extracts the signatures of files in this language, and in Python for all other files."""
    language = get_language(name)

    def outline(path: str, text: str) -> tuple[str, ...]:
        if not language.owns(path) or language.is_test_file(path):
            return outline_python_file(path, text)
        module = language.name_module(path)
        found = (each for each in language.list_signatures(path, text))
        return tuple(f"{each.name.removeprefix(f'{module}.')} {each.text}" for each in found)

    return outline


def read_line_length(files: Mapping[str, str]) -> int | None:
    """Return the line length configured for ruff, black or flake8, or None."""
    lengths = [_lookup_length(_read_toml(files.get(path, "")), keys) for path, keys in _TOML_SETTINGS]
    lengths += [_read_flake8_length(files.get(path, "")) for path in _INI_FILES]
    return next((length for length in lengths if length), None)


def _read_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _lookup_length(value: object, keys: tuple[str, ...]) -> int | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, int) and 20 <= value <= 1000 else None


def _read_flake8_length(text: str) -> int | None:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
        return _lookup_length(parser.getint("flake8", "max-line-length", fallback=None), ())
    except (configparser.Error, ValueError):
        return None


class Prompt(NamedTuple):
    system: tuple[Text, ...]
    message: Message


class RefusedAttemptText(NamedTuple):
    """An earlier attempt as text. Only the last one includes its test run and patch."""

    number: int
    findings: str
    output: str = ""
    patch: str = ""


def build_prompt(role: Role[Any], task: RoleTask) -> Prompt:
    templates = get_environment(FILTERS)
    values = {
        **_subject_variables(role, task),
        **_file_variables(role, task),
        "earlier": _render_refused_attempts(task),
    }

    def filled(template: str, part: str, *, cache: bool = False) -> Text:
        text = templates.get_template(template).render(values).strip()
        return Text(f"{text}\n" if text else "", cache=cache, part=part)

    shared = (block for block in SHARED_BLOCKS if block[1] not in role.omitted_parts)
    about_story = (block for block in STORY_BLOCKS if block[1] not in role.omitted_parts)
    about_stories = CONVERSATION_BLOCKS if role.shared_start else ()
    blocks = [
        *(filled(f"prompts/{name}.j2", part, cache=cache) for name, part, cache in shared),
        *(filled(f"prompts/{name}.j2", part, cache=cache) for name, part, cache in about_story if task.story),
        *(filled(f"prompts/{name}.j2", part, cache=cache) for name, part, cache in about_stories),
        filled(role.prompt, "step", cache=True),
        *([filled("prompts/part.j2", "part of the plan", cache=True)] if task.plan.part else []),
        filled("prompts/feedback.j2", "earlier attempts" if task.attempt.earlier else "test run"),
    ]
    marked = _drop_redundant_cache_marks(block for block in blocks if block.text)
    return Prompt(system=(filled("prompts/system.j2", "system"),), message=Message("user", marked))


def _drop_redundant_cache_marks(blocks: Iterable[Text]) -> tuple[Text, ...]:
    """Drop the cache mark after the story's files if a design follows, since providers accept at most four marks."""
    listed = tuple(blocks)
    designed = any(block.part == "design" for block in listed)
    return tuple(replace(block, cache=False) if designed and block.part == "files" else block for block in listed)


def _subject_variables(role: Role[Any], task: RoleTask) -> dict[str, object]:
    files, stack, stacks = task.codebase.files, task.codebase.stack, task.codebase.stacks
    conventions = task.codebase.language_conventions
    example = task.material.stories[0].id if task.material.stories else task.subject
    return {
        "role": role,
        "task": task,
        "part": task.plan.part,
        "prd": task.prd,
        "story": task.story,
        "design": task.design,
        "requirements": task.requirements(),
        "general": task.general_requirements(),
        "interfaces": find_interface_text(task.prd) if task.story else "",
        "numbered": any(each.id.startswith("R-") for each in task.prd.requirements),
        "foundations": summarize_designs(task.background.foundations),
        "line_length": read_line_length(files),
        "measures": "\n".join(
            _format_measures(path, files[path], stack) for path in task.own_sources() if path in files
        ),
        "conventions": conventions,
        "stacks": format_stacks(stacks) if len(stacks) > 1 else [],
        "test_pattern": f"{stack.test_directory(example)}{conventions.test_file(example)}",
        "shared_helper": stack.shared_helper,
        "test_directory": (directory := stack.test_directory(task.subject)),
        "test_file": (test_file := _choose_test_file(task, directory)),
        "limits": _compute_limits(task),
        "sample_examples": _format_sample_examples(conventions),
        "examples_directory": stack.test_directory(example),
        "own_words": frozenset(map(quote_requirement, task.prd.requirements)),
        "hidden_examples_file": conventions.held_out_file(test_file) if task.hidden_examples.in_task else "",
    }


def _format_sample_examples(conventions: Conventions) -> str:
    """Return a sample answer for the author of hidden examples, in the language of the tests."""
    lines = conventions.example.strip().splitlines()
    if lines:
        imports = "\n".join(line for line in lines if line.startswith("import"))
        return json.dumps({"shop-1": {"imports": imports, "c1": [lines[-2].strip()]}}, ensure_ascii=False)
    sample = {
        "imports": "from shop.cart import Cart\n\ndef cart(*cents):\n    return Cart(list(cents))",
        "shop-1": {
            "c1": ["assert cart(61, 8).total() == 69"],
            "c3": ["with pytest.raises(ValueError):\n    cart(-7).total()"],
        },
        "shop-2": {"c1": ["assert cart(7000).shipping() == 0"]},
    }
    return json.dumps(sample, ensure_ascii=False)


def _compute_limits(task: RoleTask) -> dict[str, int]:
    shared = {name: task.context_budget.get_characters(part) for name, part in (("prd", "PRD"), ("story", "story"))}
    for_each = task.context_budget.get_characters("conventions") // max(1, len(task.codebase.conventions))
    return {**shared, "conventions": for_each, **_compute_own_limits(task)}


def _compute_own_limits(task: RoleTask) -> dict[str, int]:
    """Divide the role's own budget among its tests, its source files and the feedback."""
    files = task.codebase.files
    fed_back = sum(map(len, _attempt_texts(task).values())) or len(task.attempt.test_output)
    wanted = {
        "tests": sum(len(files[path]) for path in task.own_tests()),
        "sources": sum(len(files.get(path, "")) for path in task.own_sources()),
        "feedback": min(MAX_FEEDBACK_CHARACTERS, fed_back),
    }
    return divide_budget(task.context_budget.own_characters, wanted)


def _file_variables(role: Role[Any], task: RoleTask) -> dict[str, object]:
    """Return the template variables about files.

    The map shows the tree at the start of the work on the PRD, so it is the same for all stories. The files near a
    story follow without the story's own files, so this part is the same for all phases of the story.
    """
    code = task.codebase
    initial = _files_before_story(task) if code.files_at_start is None else code.files_at_start
    relevant = _select_relevant_files(task) if role.shared_start else NO_FILES
    near_prd = find_relevant_files(initial, task.prd.text)
    whole = _build_map(task, initial, near_prd, "map", full=dict(relevant.files))
    own_tests, limits = task.own_tests(), _compute_own_limits(task)
    others = {path: text for path, text in code.files.items() if path not in own_tests}
    near = _map_nearby_files(task, initial, others, whole) if task.story else RepositoryMap("")
    early = _select_planned_files(task)
    late = [path for path in task.own_sources() if path not in early]
    return {
        "map": whole.text,
        "near": near.text,
        "covering_tests": select_full_files(
            others,
            find_covering_tests(others, task.story.source_paths if task.story else ()),
            limit=COVERING_TESTS_LIMIT,
        ),
        "tests": select_full_files(code.files, own_tests, limit=limits["tests"]),
        "planned": select_full_files(code.files, early, limit=_planned_files_limit(task)),
        "planned_later": not early and bool(task.story and {*task.story.source_paths} & {*code.files}),
        "sources": select_full_files(code.files, late, limit=limits["sources"]),
        "relevant": relevant,
        "added": _select_added_files(task, relevant) if role.converses else NO_FILES,
        "used": _map_used_files(task, others, whole.detailed | near.detailed) if task.design else "",
        "tests_unseen": own_tests if "tests" in role.omitted_parts else (),
    }


def _select_planned_files(task: RoleTask) -> tuple[str, ...]:
    """List the existing files that the story plans to change and that are short enough to show to all its roles."""
    files = task.codebase.files
    planned = tuple(path for path in (task.story.source_paths if task.story else ()) if path in files)
    return planned if sum(len(files[path]) for path in planned) <= _planned_files_limit(task) else ()


def _select_relevant_files(task: RoleTask) -> ShownFiles:
    """Select the files that the PRD names, the files that these import, and their tests.

    The result is the same before and after the plan. If the repository is small, all source files are selected, which
    is cheaper than another turn.
    """
    files, limit = task.codebase.files, task.context_budget.own_characters
    wanted = find_relevant_files(files, task.prd.text, find_named_files(files, task.prd.text))
    others = [path for path in sorted(files) if path.endswith(CODE_ENDINGS) and not path.startswith("tests/")]
    is_small = sum(len(files[path]) for path in {*others, *wanted}) <= limit // 2
    shown = (task.codebase.stack.shared_helper, *wanted, *(others if is_small else ()))
    return select_full_files(files, shown, limit=limit)


def _select_added_files(task: RoleTask, shown: ShownFiles) -> ShownFiles:
    """Select the files that the stories plan to change, and their tests, unless the prompt shows them already."""
    files = task.codebase.files
    planned = [path for story in task.material.stories for path in story.source_paths]
    seen = {*dict(shown.files), *shown.left_out}
    wanted = (path for path in (*planned, *find_importing_tests(files, planned)) if path not in seen)
    return select_full_files(files, wanted, limit=task.context_budget.own_characters)


def render_next_delivery(variables: Mapping[str, object]) -> str:
    """Return a later message of a conversation: results of the delivered stories, and the stories to deliver next."""
    absent = dict.fromkeys(("judged", "returned", "refactored", "now", "later", "cut", "advice"), "")
    return get_environment(FILTERS).get_template("prompts/next_delivery.j2").render(absent | dict(variables)).strip()


def render_unseen_stories(prd: Prd, stories: Iterable[Story], seen: str) -> str:
    """Render the stories that the conversation does not contain yet, or whose description has changed since."""
    template, limits = get_environment(FILTERS).get_template("prompts/wanted_story.j2"), {"story": MAX_STORY_CHARACTERS}
    own_words = frozenset(map(quote_requirement, prd.requirements))
    unseen = (each for each in stories if f'"story {each.id}"' not in seen or each.description not in seen)
    return "\n".join(template.render(story=each, limits=limits, own_words=own_words).strip() for each in unseen)


def _planned_files_limit(task: RoleTask) -> int:
    """Return a third of the shared budget, because these files are shown to all roles of the story."""
    return task.context_budget.shared * CHARACTERS_PER_TOKEN // 3


def _files_before_story(task: RoleTask) -> dict[str, str]:
    """Return all files except the story's own.

    The result is the same for all phases of the story, as long as they write only its own files.
    """
    own = {*task.own_tests(), *task.own_sources()}
    return {path: text for path, text in task.codebase.files.items() if path not in own}


def _map_nearby_files(
    task: RoleTask, initial: Mapping[str, str], others: Mapping[str, str], whole: RepositoryMap
) -> RepositoryMap:
    """Map files that are relevant to the story or changed since the start of the PRD, except tests and mapped files."""
    assert task.story is not None
    # Not the design's paths: the architect has no design yet and must see the same prompt.
    own = task.story.source_paths
    files = {path: text for path, text in others.items() if path not in own and not DEFAULT_NAMING.is_module(path)}
    built_on = (path for each in task.background.foundations for path in each.design.source_paths)
    near = find_relevant_files(files, format_story_text(task.story), built_on)
    mapped = whole.detailed.intersection(path for path in files if initial.get(path) == files[path])
    wanted = {*near, *(path for path in files if initial.get(path) != files[path])} - mapped
    return _build_map(task, {path: files[path] for path in files if path in wanted}, near, "near")


def _map_used_files(task: RoleTask, others: Mapping[str, str], mapped: Collection[str]) -> str:
    """Map the files that the design names or the story's own files import, except those in another map."""
    assert task.design is not None
    own = task.own_sources()
    used = find_relevant_files(others, format_design_text(task.design), (*own, *task.own_tests()))
    unmapped = {
        path: others[path] for path in used if path not in {*own, *mapped} and not DEFAULT_NAMING.is_module(path)
    }
    return _build_map(task, unmapped, used, "near").text


def _build_map(
    task: RoleTask, files: Mapping[str, str], near: Iterable[str], part: str, full: Collection[str] = ()
) -> RepositoryMap:
    """Map the files. Those that the prompt shows in `full` are listed without their signatures."""
    limit, stack = task.context_budget.get_characters(part), task.codebase.stack
    outline = outline_python_file if is_python_stack(stack) else build_outliner(stack.language)
    return build_repository_map(
        files, near=near, limit=limit, outlines=lambda path, text: () if path in full else outline(path, text)
    )


def _format_measures(path: str, source: str, stack: Stack) -> str:
    measures = measure_sources(stack, {path: source})
    values = ", ".join(f"{label} {measures[name]}" for name, label in MEASURE_LABELS.items())
    return f"{path}: {values}, functions {measures['functions']}"


def _render_refused_attempts(task: RoleTask) -> list[RefusedAttemptText]:
    texts = _attempt_texts(task)
    limits = divide_budget(_compute_own_limits(task)["feedback"], {name: len(text) for name, text in texts.items()})
    shown = {name: trim(text, limits[name]) if text else "" for name, text in texts.items()}
    last = len(task.attempt.earlier) - 1
    return [
        RefusedAttemptText(
            each.attempt, shown[f"findings {at}"], *((shown["output"], shown["patch"]) if at == last else ())
        )
        for at, each in enumerate(task.attempt.earlier)
    ]


def _attempt_texts(task: RoleTask) -> dict[str, str]:
    """Collect the findings of each attempt, and for the last one also its test output and patch."""
    if not task.attempt.earlier:
        return {}
    *before, last = task.attempt.earlier
    earlier = {f"findings {at}": _format_attempt_findings(each) for at, each in enumerate(before)}
    return {
        **earlier,
        f"findings {len(before)}": _format_attempt_findings(last, last.output),
        "output": last.output,
        "patch": last.patch,
    }


def _format_attempt_findings(attempt: EarlierAttempt, run: str = "") -> str:
    refused = (f"{write.code} refused write: {write.message}" for write in attempt.refused_writes)
    return "\n".join([*format_findings(attempt.findings, run), *refused])


def _choose_test_file(task: RoleTask, directory: str) -> str:
    """Return the design's test file if it is in the story's own directory, otherwise the pattern of its name.

    The name is shown outside of any fence, so only a plain file name is accepted.
    """
    planned = task.design.test_paths if task.design else ()
    language = task.codebase.language_conventions
    places = ((path, get_story_test_root(path, task.subject)) for path in planned)
    inside = ((path, place) for path, place in places if place == directory or _STORY_TEST_PREFIX.fullmatch(place))
    chosen = (path for path, place in inside if language.is_test_file(path.removeprefix(place)))
    return next(chosen, directory + language.test_file(task.subject))
