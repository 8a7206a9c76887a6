"""Each story belongs to one stack of the repository."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.stack import PYTHON, Stack
from prd2pr.planning.stack_assignment import check_single_stack

SERVICE, WEB = replace(PYTHON, root="service"), Stack(language="typescript", runner="vitest", root="web")


def test_story_in_two_stacks_is_a_plan_problem() -> None:
    both = ("service/src/shop/points.py", "web/src/points.ts")
    (problem,) = check_single_stack("S1", "feature", both, (SERVICE, WEB))
    assert (problem.code, problem.story) == ("PLN115", "S1")
    assert "`web/src/points.ts` is typescript, vitest in web" in problem.message
    assert not [*check_single_stack("S1", "chore", both, (SERVICE, WEB))]  # no tests are run for it
    assert not [*check_single_stack("S1", "feature", both, (SERVICE,))]


def test_files_of_one_stack_or_none_are_fine() -> None:
    paths = ("web/src/points.ts", "web/public/points.css", "README.md")
    assert not [*check_single_stack("S1", "feature", paths, (SERVICE, WEB))]
