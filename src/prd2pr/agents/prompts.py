"""From a task to the first message, ordered for caching: what changes least stands first."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from prd2pr.agents.roles import Role
from prd2pr.agents.task import Task
from prd2pr.core.context import fence, in_full, neighbours, repository_map, trim
from prd2pr.core.policy import policy_for
from prd2pr.ports import Message, Text
from prd2pr.templating import Filters, environment

FILTERS: Filters = {"fence": fence, "trim_to": trim}


class Opening(NamedTuple):
    system: tuple[Text, ...]
    message: Message


def opening(role: Role[Any], task: Task) -> Opening:
    """System · repository and conventions · PRD and story · the step and what earlier attempts taught."""
    templates = environment(FILTERS)
    values = _values(role, task)

    def filled(name: str) -> str:
        return templates.get_template(name).render(values).strip() + "\n"

    step = filled(role.prompt) + ("\n" + filled("prompts/feedback.j2") if task.earlier or task.advice else "")
    subject = "prompts/story.j2" if task.story else "prompts/prd.j2"
    return Opening(
        system=(Text(filled("prompts/system.j2"), cache=True),),
        message=Message(
            "user",
            (Text(filled("prompts/repository.j2")), Text(filled(subject), cache=True), Text(step)),
        ),
    )


def _values(role: Role[Any], task: Task) -> dict[str, object]:
    own = task.own_paths()
    shown = in_full(task.files, (*own, *neighbours(task.files, own)))
    policy = policy_for(role.phase, task.subject, fused=role.fused)
    return {
        "role": role,
        "task": task,
        "prd": task.prd,
        "story": task.story,
        "design": task.design,
        "requirements": task.requirements(),
        "map": repository_map(task.files, near=own, shown=[path for path, _ in shown.files]),
        "shown": shown,
        "test_directory": policy.test_directory,
        "test_file": _test_file(task, policy.test_directory),
    }


def _test_file(task: Task, directory: str) -> str:
    """The design's, where it names one in the story's own directory; else the form of its name.

    The name stands outside of any fence, so nothing but a plain one is taken over.
    """
    planned = task.design.test_paths if task.design else ()
    plain = re.compile(re.escape(directory) + r"test_\w{1,80}\.py", re.ASCII)
    return next(filter(plain.fullmatch, planned), f"{directory}test_{task.subject.replace('-', '_')}_<topic>.py")
