"""A PRD with any number of requirements, and scripted answers that plan it in four passes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from prd2pr.agents.models.transcript import format_header_line
from prd2pr.planning.passes.part import MAX_STORIES_PER_CALL

NAME = "large"
PRD = f"prds/{NAME}.md"
A_STORY = 3  # requirements
MAX_CYCLES = 40


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
    stories = [list(range(n, min(n + A_STORY, size + 1))) for n in range(1, size + 1, A_STORY)]
    yield f"{NAME}/plan/planner/1/1", {"stories": [one_call(n, ids) for n, ids in enumerate(stories, 1)]}
    count = min(MAX_CYCLES, max(1, size // 6))
    groups = [stories[len(stories) * n // count : len(stories) * (n + 1) // count] for n in range(count)]
    yield f"{NAME}/plan-cycles/decomposer_cycles/1/1", {"cycles": [cycle(n, each) for n, each in enumerate(groups, 1)]}
    for n, group in enumerate(groups, 1):
        yield (
            f"{NAME}/plan-tasks-cycle-{n}/decomposer_tasks/1/1",
            {"tasks": [task(n, k, ids) for k, ids in enumerate(group, 1)]},
        )
    for names in bundle([[f"cycle-{n}/s{k}" for k in range(1, len(group) + 1)] for n, group in enumerate(groups, 1)]):
        key = f"{NAME}/plan-criteria-{names[0].partition('/')[0]}/decomposer_criteria/1/1"
        yield key, {"stories": [{"story": name, "criteria": [criterion(name, k) for k in (1, 2)]} for name in names]}


def bundle(cycles: list[list[str]]) -> list[list[str]]:
    """Group stories as the third pass does."""
    made: list[list[str]] = []
    for names in cycles:
        if made and len(made[-1]) + len(names) <= MAX_STORIES_PER_CALL:
            made[-1] += names
        elif names:
            made.append(list(names))
    return made


def cycle(number: int, group: list[list[int]]) -> dict[str, object]:
    ids = [f"FR-{n}" for requirements in group for n in requirements]
    before = [f"c{number - 1}"] if number > 1 else []
    return {"key": f"c{number}", "title": f"Counts of group {number}", "requirements": ids, "depends_on": before}


def task(group: int, number: int, ids: list[int]) -> dict[str, object]:
    return {
        "key": f"s{number}",
        "title": f"Products {ids[0]} to {ids[-1]} are counted",
        "description": f"How often products {ids[0]} to {ids[-1]} were sold on a day is kept, and shown on request.",
        "requirements": [f"FR-{n}" for n in ids],
        "files": [f"src/shop/counts_{group}.py"],
        "complexity": 2,
        "tests": 6,
        "lines": 30,
        "minutes": 20,
    }


def one_call(number: int, ids: list[int]) -> dict[str, object]:
    made = {name: value for name, value in task(1, number, ids).items() if name in ("key", "title", "requirements")}
    return {**made, "criteria": [criterion(f"s{number}", k) for k in (1, 2)]}


def criterion(story: str, number: int) -> dict[str, str]:
    return {"text": f"GIVEN {number} pieces of {story} sold WHEN its count is asked THEN the answer is {number}."}
