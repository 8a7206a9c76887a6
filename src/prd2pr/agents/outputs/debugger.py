"""Debugger: find the common cause of all refused attempts at a phase, before the last attempt."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from prd2pr.domain.records import Record


class DebuggerAnswer(Record):
    """The common cause of several refusals."""

    root_cause: str = Field(max_length=1200, description="The one mistake behind all refusals, and how you know.")
    lies_in: Literal["the code", "the tests", "the story", "the surroundings"] = Field(
        description="Where it has to be fixed."
    )
    do_instead: tuple[str, ...] = Field(
        min_length=1, max_length=6, description="Fixes, each one sentence, the most important first."
    )
    keep: str = Field(default="", max_length=400, description="What earlier attempts had right.")
    lesson: str = Field(max_length=300, description="One sentence that spares the next story the same mistake.")


def format_debugger_advice(answer: DebuggerAnswer) -> str:
    """Format the advice for the last attempt. It does not change what the gate checks."""
    contradiction = (
        ["If you agree, do not work around it: submit `contradiction`."]
        if answer.lies_in in ("the tests", "the story")
        else []
    )
    return "\n".join(
        [
            f"Root cause, from a review of all attempts (it lies in {answer.lies_in}): {answer.root_cause}",
            *(f"{rank}. {fix}" for rank, fix in enumerate(answer.do_instead, start=1)),
            *([f"Keep: {answer.keep}"] if answer.keep else []),
            *contradiction,
        ]
    )
