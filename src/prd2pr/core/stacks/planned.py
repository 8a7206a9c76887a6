"""Plans for a repository with several stacks: each story lies in one of them."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.plan_problems import PlanProblem
from prd2pr.core.records import UNTESTED_KINDS
from prd2pr.core.stacks.stack import Stack, owner_of
from prd2pr.core.stacks.words import ENDINGS


def across_stacks(key: str, kind: str, paths: tuple[str, ...], stacks: tuple[Stack, ...]) -> Iterator[PlanProblem]:
    """A story that no stack could prove alone."""
    if len(stacks) < 2 or kind in UNTESTED_KINDS:
        return
    owners = {path: owner_of(path, stacks, ENDINGS) for path in paths}
    names = dict.fromkeys(owner.name for owner in owners.values() if owner)
    if len(names) > 1:
        told = "; ".join(f"`{path}` is {owner.name}" for path, owner in owners.items() if owner)
        yield PlanProblem("PLN115", f"its files lie in {len(names)} stacks: {told}. Make a story for each", key)


def stack_lines(stacks: tuple[Stack, ...]) -> list[str]:
    """For whoever plans: where each stack lies, and what its tests are run by."""
    return [f"{stack.root}: {stack.language}, tests by {stack.runner}" for stack in stacks]
