"""From a task to the first message, ordered for caching: what more of the later calls share stands first.

    tools · system                the same for all roles that have tools, and all stories
    PRD                           the same for all stories of a PRD
    story, map, modules around    the same for all steps of a story: its own files are not part of it
    design, own files · step      the same for all attempts at a step
    feedback, test run            this attempt
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from prd2pr.agents.roles import Role
from prd2pr.agents.task import Task
from prd2pr.core.complexity import measure
from prd2pr.core.context import fence, in_full, repository_map, trim
from prd2pr.core.line_length import line_length
from prd2pr.core.policy import policy_for
from prd2pr.core.relevance import designs_in_brief, imported_by, spoken_of
from prd2pr.core.run_words import finding_lines
from prd2pr.ports import Message, Text
from prd2pr.templating import Filters, environment

FILTERS: Filters = {"fence": fence, "trim_to": trim}
AROUND_LIMIT = 6_000  # characters of modules that the story names
IMPORTED_LIMIT = 4_000  # characters of modules that its own files import


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
    values = {**_subject(task), **_own(role, task), "earlier": _refused(task)}

    def filled(name: str) -> str:
        return templates.get_template(f"prompts/{name}.j2").render(values).strip() + "\n"

    last = filled("feedback") if task.earlier or task.test_output or task.advice else ""
    blocks = (
        Text(filled("prd"), cache=True),
        Text(filled("story"), cache=True),
        *([Text(filled("work"))] if task.story else []),
        Text(filled(role.name), cache=True),
        *([Text(last)] if last else []),
    )
    return Opening(system=(Text(filled("system")),), message=Message("user", blocks))


def _subject(task: Task) -> dict[str, object]:
    """What does not depend on how far the story is."""
    apart = {*task.own_sources(), *task.own_tests()}
    others = {path: text for path, text in task.files.items() if path not in apart}
    named = spoken_of(others, task.story) if task.story else ()
    around = in_full(others, named, limit=AROUND_LIMIT)
    return {
        "task": task,
        "prd": task.prd,
        "story": task.story,
        "requirements": task.requirements(),
        "general": task.general_requirements(),
        "foundations": designs_in_brief(task.foundations),
        "line_length": line_length(task.files),
        "around": around,
        "map": repository_map(others, near=task.own_sources(), shown=[path for path, _ in around.files]),
    }


def _own(role: Role[Any], task: Task) -> dict[str, object]:
    """The step, and what has been written for the story so far."""
    policy = policy_for(role.phase, task.subject, fused=role.fused)
    own = (*task.own_tests(), *task.own_sources())
    around = {path for path, _ in in_full(task.files, spoken_of(task.files, task.story), limit=AROUND_LIMIT).files}
    return {
        "role": role,
        "design": task.design,
        "own": in_full(task.files, own),
        "imported": in_full(task.files, imported_by(task.files, own), limit=IMPORTED_LIMIT),
        "measures": _measures(task),
        "test_directory": policy.test_directory,
        "test_file": _test_file(task, policy.test_directory),
    }
