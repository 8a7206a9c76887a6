"""`prd2pr run` and `prd2pr next`.

This module imports little; the rest of the program is imported while the first test run is in progress.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from prd2pr.cli.context import open_context
from prd2pr.cli.imports import suspend_gc
from prd2pr.errors import UsageProblem

if TYPE_CHECKING:
    from prd2pr.workflow.run import RunOutcome

FINISHED_OUTCOMES = ("done",)


def main(options: argparse.Namespace) -> int:
    if options.max_steps is not None and options.max_steps < 1:
        raise UsageProblem("--max-steps must be at least 1", where=f"--max-steps {options.max_steps}")
    outcome = run_with_options(options, options.max_steps)
    return 0 if outcome.stop.outcome in FINISHED_OUTCOMES else 1


def run_one_phase(options: argparse.Namespace) -> int:
    """Run one phase. It succeeds if the phase was passed, regardless of the next action."""
    outcome = run_with_options(options, 1)
    return 0 if outcome.steps or outcome.stop.outcome in FINISHED_OUTCOMES else 1


def run_with_options(options: argparse.Namespace, max_steps: int | None) -> RunOutcome:
    if not is_sequential(options, max_steps):
        with suspend_gc():
            from prd2pr.cli.local_run import run_and_publish  # it forks, so no thread may be running yet

        return run_and_publish(options, max_steps)
    context = open_context(options.repo, options.prd, many=max_steps != 1)
    with context.start_suite() as wait:
        with suspend_gc():
            from prd2pr.cli.local_run import run_and_publish

        wait()
        return run_and_publish(options, max_steps, context)


def is_sequential(options: argparse.Namespace, max_steps: int | None) -> bool:
    """Return whether stories run one after the other, because of a step limit, a transcript or a chosen story."""
    return max_steps is not None or bool(options.record) or bool(getattr(options, "story", None))
