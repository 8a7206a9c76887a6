"""The demo's stories as prompts on the wire, without running anything: the request each role gets.

The answers between them come from the transcript, without its failed attempts. Before there is code, the only names the
tests lack are those of the design, which are not reported to the builder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prd2pr.agents.models.anthropic_messages import to_anthropic_request
from prd2pr.agents.outputs.story_roles import DesignAnswer
from prd2pr.agents.roles import ARCHITECT, BUILDER, FUSED, REFACTORER, TESTER, Role
from prd2pr.agents.task import (
    AttemptContext,
    CodebaseContext,
    FoundationStory,
    HiddenExampleScope,
    RoleTask,
    StoryBackground,
)
from prd2pr.agents.tool_loop import build_first_request
from prd2pr.domain.costs.context_budget import get_context_budget
from prd2pr.domain.records import Design, Story
from prd2pr.domain.stack import PYTHON
from prd2pr.planning.plan import PlanDraft, to_backlog
from prd2pr.prd.parser import parse_prd
from prd2pr.verification.refactor_need import is_simple_enough, measure_sources

DEMO = Path(__file__).parents[2] / "templates" / "demo"
HELD_OUT = "_held_out.py"
STRICT: tuple[Role[Any], ...] = (ARCHITECT, TESTER, BUILDER, REFACTORER)
FUSED_STANDARD: tuple[Role[Any], ...] = (ARCHITECT, FUSED, REFACTORER)
QUICK: tuple[Role[Any], ...] = (FUSED,)


@dataclass
class Walk:
    """The stories in order, each starting from the files of the previous one."""

    roles: tuple[Role[Any], ...]
    more: dict[str, str] = field(default_factory=dict)  # files in addition to the demo's

    def bodies(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Story, role and body of each call."""
        answers = _answers()
        files = {**_files(), **self.more}
        prd = parse_prd(files["prds/loyalty.md"], "prds/loyalty.md")
        backlog = to_backlog(prd, PlanDraft.model_validate_json(answers["loyalty", "planner"][0]["text"]))
        began, designs = dict(files), dict[str, Design]()
        for story in backlog.stories:
            design: Design | None = None
            before = dict(files)
            built_on = tuple(_built_on(story, backlog.stories, designs))
            task = RoleTask(
                prd,
                "m",
                story,
                background=StoryBackground(backlog.assumptions, built_on),
                attempt=AttemptContext(limit=4),
            )
            for role in self.roles:
                if role is REFACTORER and is_simple_enough(*_measured(story, design, before, files)):
                    continue
                now = replace(
                    task,
                    design=design,
                    codebase=CodebaseContext(files=dict(files), files_at_start=began),
                    context_budget=get_context_budget(role.name),
                    hidden_examples=HiddenExampleScope(TESTER in self.roles, role in (TESTER, BUILDER)),
                )
                request = build_first_request(role, now, None)
                yield story.id, role.name, to_anthropic_request(request, "m")
                for name in ("tester", "builder") if role is FUSED else (role.name,):
                    design = _done(answers[story.id, name], files, role is FUSED) or design
                if role is BUILDER:
                    _add_hidden_examples(answers[story.id, "tester"], files)
            if design:
                designs[story.id] = design


def _answers() -> dict[tuple[str, str], list[dict[str, Any]]]:
    lines = (DEMO / "transcript.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    exchanges = ((json.loads(line)["key"].split("/"), json.loads(line)["content"]) for line in lines)
    return {(subject, role): content for (subject, _, role, *_), content in exchanges}


def _measured(
    story: Story, design: Design | None, before: dict[str, str], after: dict[str, str]
) -> Iterator[dict[str, int]]:
    own = {*story.source_paths, *(design.source_paths if design else ())}
    for files in (before, after):
        yield measure_sources(PYTHON, {path: files[path] for path in own if path in files})


def _files() -> dict[str, str]:
    found = (path for path in (DEMO / "repo").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(DEMO / "repo").as_posix(): path.read_text(encoding="utf-8") for path in sorted(found)}


def _built_on(story: Story, stories: tuple[Story, ...], designs: dict[str, Design]) -> Iterator[FoundationStory]:
    by_id = {each.id: each for each in stories}
    waiting, met = list(story.depends_on), set[str]()
    while waiting:
        name = waiting.pop(0)
        if name not in met and name in designs:
            met.add(name)
            waiting += by_id[name].depends_on
            yield FoundationStory(by_id[name], designs[name])


def _done(content: list[dict[str, Any]], files: dict[str, str], fused: bool) -> Design | None:
    for block in content:
        called = block.get("input", {})
        match block.get("name"):
            case "write_file" if not called["path"].endswith(HELD_OUT):
                files[called["path"]] = called["content"]
            case "edit_file":
                files[called["path"]] = files[called["path"]].replace(called["old"], called["new"])
            case "submit" if "symbols" in called and not fused:
                return DesignAnswer.model_validate(called).design()
    return None


def _add_hidden_examples(content: list[dict[str, Any]], files: dict[str, str]) -> None:
    """After GREEN hidden examples are ordinary tests."""
    for block in content:
        if block.get("name") == "write_file" and block["input"]["path"].endswith(HELD_OUT):
            files[block["input"]["path"]] = block["input"]["content"]
