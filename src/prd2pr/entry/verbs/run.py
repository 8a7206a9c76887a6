"""`prd2pr run` and `prd2pr next`.

Light, as is what it opens: the rest of the program is loaded while the first test run goes on.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from prd2pr.entry.ground import open_ground
from prd2pr.entry.loading import loading
from prd2pr.errors import UsageProblem

if TYPE_CHECKING:
    from prd2pr.flows.drive import Driven

FINISHED = ("done",)


def main(options: argparse.Namespace) -> int:
    if options.max_steps is not None and options.max_steps < 1:
        raise UsageProblem("--max-steps takes a number from 1 on", where=f"--max-steps {options.max_steps}")
    driven = driven_by(options, options.max_steps)
    return 0 if driven.rest.outcome in FINISHED else 1


def next_phase(options: argparse.Namespace) -> int:
    """One phase. It is a success when the phase was crossed, whatever comes after it."""
    driven = driven_by(options, 1)
    return 0 if driven.steps or driven.rest.outcome in FINISHED else 1


def driven_by(options: argparse.Namespace, max_steps: int | None) -> Driven:
    if not works_alone(options, max_steps):
        with loading():
            from prd2pr.entry.driving import drive_and_publish  # which forks, so nothing may have been begun

        return drive_and_publish(options, max_steps)
    opened = open_ground(options.repo, options.prd, many=max_steps != 1)
    with opened.suite_begun() as begun:
        with loading():
            from prd2pr.entry.driving import drive_and_publish

        begun()
        return drive_and_publish(options, max_steps, opened)


def works_alone(options: argparse.Namespace, max_steps: int | None) -> bool:
    """What is counted, recorded or named is done one after the other."""
    return max_steps is not None or bool(options.record) or bool(getattr(options, "story", None))
