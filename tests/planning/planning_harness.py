"""A repository, a PRD and a model that plans well by default, driven through the real planning workflow."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fakes.scripted_model import KeyedModel, says
from planning.samples import functional, story
from prd2pr.agents.models.base import Reply, Request, Text
from prd2pr.cli.wiring import open_session
from prd2pr.domain.records import Backlog
from prd2pr.workflow.planning.planner import make_plan
from prd2pr.workflow.session import RoleModel, Session
from world import World

HEAD = "---\nid: shop\ntitle: Shop\n---\n\n# Shop\n\n"
LISTED = (
    "\n## Implementation plan\n\n- Cycle 1: One (FR-1, FR-2)\n- Cycle 2: Two (FR-3, FR-4)\n- Cycle 3: Three (FR-5)\n"
)


def prompt_text(request: Request) -> str:
    return "".join(block.text for block in request.messages[0].blocks if isinstance(block, Text))


def answer(value: object, tokens: int = 10) -> Reply:
    return says(json.dumps(value), tokens=tokens)


def good(request: Request) -> Reply:
    """A valid plan with one story for each requirement that the call is about."""
    assert request.purpose.role == "planner", request.purpose
    text = prompt_text(request)
    part = re.search(r'<material name="to plan">\n(.*?)</material>', text, re.DOTALL)
    names = re.findall(r"\b(?:N?FR)-\d+", part[1]) if part else re.findall(r"^(FR-\d+)$", text, re.MULTILINE)
    return answer({"stories": [story(f"s{n}", name) for n, name in enumerate(dict.fromkeys(names), start=1)]})


class RecordingListener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, object]]] = []

    def say(self, event: str, **facts: object) -> None:
        self.heard.append((event, facts))

    def of(self, event: str) -> list[dict[str, object]]:
        return [facts for heard, facts in self.heard if heard == event]


@dataclass
class PlanningHarness:
    root: Path
    body: str = functional(5)
    config: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    remembers: bool = False

    def __post_init__(self) -> None:
        self.world = World(self.root)
        self.world.write(
            {
                "src/shop/__init__.py": "",
                "prds/shop.md": HEAD + self.body,
                ".prd2pr.yml": self.config or "profile: standard\n",
            }
        )
        self.world.git("init", "-q", "-b", "main")
        self.world.commit("start")
        self.model = KeyedModel(self.answers, good)
        self.strong = KeyedModel(self.answers, good)
        self.progress = RecordingListener()

    @contextmanager
    def session(self) -> Iterator[Session]:
        options = argparse.Namespace(
            repo=str(self.world.repo), prd=str(self.world.repo / "prds/shop.md"), model="human", record=None, story=None
        )
        session = open_session(options, self.progress)
        with session.git:
            hire = lambda _, strong: RoleModel(self.strong if strong else self.model, remembers=self.remembers)  # noqa: E731
            yield replace(session, services=replace(session.services, select_model=hire))

    def plan(self) -> Backlog:
        with self.session() as session:
            return make_plan(session, session.target.base_commit, session.git.code_tree(session.target.base_commit))

    def calls(self, *models: KeyedModel) -> list[str]:
        """Purposes without the PRD's id."""
        return [key.removeprefix("shop/") for model in models or (self.model, self.strong) for key in model.keys]
