"""A PRD with any number of requirements, and scripted answers that plan it, in parts if it is large."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from prd2pr.agents.models.transcript import format_header_line
from prd2pr.planning.parts import split_into_parts
from prd2pr.prd.parser import parse_prd

NAME = "large"
PRD = f"prds/{NAME}.md"
A_STORY = 3  # requirements


def prd_text(size: int) -> str:
    requirements = "\n".join(
        f"- **FR-{n}** The shop counts how often product number {n} was sold on a day, and shows it on request."
        for n in range(1, size + 1)
    )
    title = "Sales counts"
    return f"---\nid: {NAME}\ntitle: {title}\n---\n\n# {title}\n\n## Functional requirements\n\n{requirements}\n"


def write_large_prd(repo: Path, size: int) -> Path:
    """Write the PRD into the checkout and the answers next to the repository."""
    (repo / PRD).write_text(prd_text(size))
    place = repo.with_suffix(".answers.jsonl")
    lines = [
        json.dumps({"key": key, "model": "scripted", "content": as_content(value)}) for key, value in answers(size)
    ]
    place.write_text(format_header_line(NAME, "scripted") + "\n".join(lines) + "\n")
    return place


def as_content(value: object) -> list[dict[str, str]]:
    return [{"type": "text", "text": json.dumps(value)}]


def answers(size: int) -> Iterator[tuple[str, object]]:
    parts = split_into_parts(parse_prd(prd_text(size), PRD))
    for part in parts:
        names = [each.id for each in part.requirements]
        groups = [names[n : n + A_STORY] for n in range(0, len(names), A_STORY)]
        phase = f"plan-{part.name}" if len(parts) > 1 else "plan"
        yield f"{NAME}/{phase}/planner/1/1", {"stories": [story(n, ids) for n, ids in enumerate(groups, 1)]}


def story(number: int, ids: list[str]) -> dict[str, object]:
    text = "GIVEN {n} pieces of {name} sold WHEN its count is asked THEN the answer is {n}."
    return {
        "key": f"s{number}",
        "title": f"{ids[0]} to {ids[-1]} are counted",
        "requirements": ids,
        "source_paths": [f"src/shop/counts_{number}.py"],
        "criteria": [{"text": text.format(n=n, name=ids[0]), "requirements": ids} for n in (1, 2)],
    }
