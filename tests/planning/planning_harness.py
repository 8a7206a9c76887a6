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
from planning.pass_samples import functional, task
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


def last_text(request: Request) -> str:
    """The part of the prompt that holds the actual question."""
    texts = [block.text for block in request.messages[0].blocks if isinstance(block, Text)]
    return next(text for text in reversed(texts) if "Attempt " not in text.partition("\n")[0])


def answer(value: object, tokens: int = 10) -> Reply:
    return says(json.dumps(value), tokens=tokens)


def good(request: Request) -> Reply:
    """A short valid answer for any role."""
    return answer(good_answer(request))


def good_answer(request: Request) -> dict[str, Any]:
    asked = last_text(request)
    match request.purpose.role:
        case "decomposer_cycles":
            whole = "".join(block.text for block in request.messages[0].blocks if isinstance(block, Text))
            names = list(dict.fromkeys(re.findall(r"^(FR-\d+) \(functional\)", whole, re.MULTILINE)))
            groups = [names[n : n + 3] for n in range(0, len(names), 3)]
            return {
                "cycles": [{"key": f"c{n}", "title": f"Group {n}", "requirements": g} for n, g in enumerate(groups)]
            }
        case "decomposer_tasks":
            (listed,) = re.findall(r"^Its requirements .*", asked, re.MULTILINE)
            return {"tasks": [task(f"s{n}", name) for n, name in enumerate(re.findall(r"\bFR-\d+", listed))]}
        case "decomposer_criteria":
            keys = re.findall(r"^Story (\S+):", asked, re.MULTILINE)
            return {
                "stories": [{"story": key, "criteria": [{"text": f"{key} a"}, {"text": f"{key} b"}]} for key in keys]
            }
        case "decomposer_hints":
            keys = re.findall(r"^Story (\S+):", asked, re.MULTILINE)
            return {"stories": [{"story": key, "module": "shop.x", "test_ideas": ["none"]} for key in keys]}
    raise AssertionError(request.purpose)


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
    body: str = functional(14)
    config: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    remembers: bool = False

    def __post_init__(self) -> None:
        self.world = World(self.root)
        self.world.write(
            {
                "src/shop/__init__.py": "",
                "prds/shop.md": HEAD + self.body,
                ".prd2pr.yml": self.config or "profile: full\n",
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
        """Purposes without the PRD's id, sorted because the threads finish in any order."""
        return sorted(key.removeprefix("shop/") for model in models or (self.model,) for key in model.keys)
