"""Rule for plans in a repository with several stacks: the files of each story belong to one stack."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.records import UNTESTED_KINDS
from prd2pr.domain.stack import Stack, find_owner
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.planning.problems import PlanProblem


def check_single_stack(key: str, kind: str, paths: tuple[str, ...], stacks: tuple[Stack, ...]) -> Iterator[PlanProblem]:
    """Yield a problem if a story's files belong to more than one stack."""
    if len(stacks) < 2 or kind in UNTESTED_KINDS:
        return
    owners = {path: find_owner(path, stacks, ENDINGS) for path in paths}
    names = dict.fromkeys(owner.name for owner in owners.values() if owner)
    if len(names) > 1:
        files = "; ".join(f"`{path}` is {owner.name}" for path, owner in owners.items() if owner)
        yield PlanProblem("PLN115", f"its files belong to {len(names)} stacks: {files}. Make a story for each", key)


def format_stacks(stacks: tuple[Stack, ...]) -> list[str]:
    """Format the root, language and test runner of each stack for the planner."""
    return [f"{stack.root}: {stack.language}, tests by {stack.runner}" for stack in stacks]
