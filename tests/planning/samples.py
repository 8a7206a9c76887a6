"""PRDs and planner's answers that are small enough to read."""

from __future__ import annotations

from typing import Any

from prd2pr.domain.records import Prd
from prd2pr.prd.parser import parse_prd


def prd_of(body: str, title: str = "Shop") -> Prd:
    return parse_prd(f"---\nid: shop\ntitle: {title}\n---\n\n# {title}\n\n{body}", "prds/shop.md")


def functional(number: int, first: int = 1) -> str:
    return "\n".join(f"- **FR-{n}** The shop can do thing {n}." for n in range(first, first + number)) + "\n"


def story(key: str, *requirements: str, **facts: Any) -> dict[str, Any]:
    criterion = {"text": f"{' '.join(requirements) or key} can be done.", "requirements": requirements}
    return {
        "key": key,
        "title": f"Thing {' '.join(requirements)} is done",
        "requirements": requirements,
        "criteria": [criterion],
        **facts,
    }
