"""PRDs and answers of the four passes, small enough to read."""

from __future__ import annotations

from typing import Any

from prd2pr.domain.records import Prd
from prd2pr.planning.passes.drafts import CriteriaDraft, CyclesDraft, TasksDraft
from prd2pr.prd.parser import parse_prd


def prd_of(body: str, title: str = "Shop") -> Prd:
    return parse_prd(f"---\nid: shop\ntitle: {title}\n---\n\n# {title}\n\n{body}", "prds/shop.md")


def functional(number: int) -> str:
    return "\n".join(f"- **FR-{n}** The shop can do thing {n}." for n in range(1, number + 1)) + "\n"


def task(key: str, *requirements: str, **facts: Any) -> dict[str, Any]:
    usual = {"complexity": 2, "tests": 6, "lines": 40, "minutes": 20, "description": "So that it can be done."}
    return {
        "key": key,
        "title": f"Thing {' '.join(requirements)} is done",
        "requirements": requirements,
        **usual,
        **facts,
    }


def tasks(*made: dict[str, Any], **facts: Any) -> TasksDraft:
    return TasksDraft.model_validate({"tasks": made, **facts})


def cycles(*made: dict[str, Any], **facts: Any) -> CyclesDraft:
    return CyclesDraft.model_validate({"cycles": made, **facts})


def cycle(key: str, *requirements: str, **facts: Any) -> dict[str, Any]:
    return {"key": key, "title": f"Group {key}", "requirements": requirements, **facts}


def criteria(**stories: list[str]) -> CriteriaDraft:
    """By key, with `__` for `/` and `_` for `-`."""
    keys = {name: name.replace("__", "/").replace("_", "-") for name in stories}
    return CriteriaDraft.model_validate(
        {"stories": [{"story": keys[n], "criteria": [{"text": t} for t in texts]} for n, texts in stories.items()]}
    )
