"""The roles, as data. A new role is a row here and a template; no code is written for one role alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from prd2pr.agents.answers import DesignAnswer, WorkReport
from prd2pr.core.passes.drafts import CriteriaDraft, CyclesDraft, HintsDraft, TasksDraft
from prd2pr.core.plan import PlanDraft
from prd2pr.core.records import Phase

Output = TypeVar("Output", bound=BaseModel)

LOOK = ("read_file", "list_files", "search")
WORK = (*LOOK, "write_file", "edit_file", "run_tests")


@dataclass(frozen=True)
class Role(Generic[Output]):
    name: str
    title: str
    phase: Phase
    output: type[Output]
    tools: tuple[str, ...] = ()  # none: one structured answer
    may_block: bool = False  # "contradiction" stops the cycle and asks a person
    may_pass: bool = True  # "nothing_to_do" is an answer
    fused: bool = False  # writes tests and source in one answer
    turns: int = 24
    test_runs: int = 6
    max_tokens: int = 16_000

    @property
    def prompt(self) -> str:
        return f"prompts/{self.name}.j2"

    @property
    def writes(self) -> bool:
        return "write_file" in self.tools


PLANNER = Role("planner", "planner", Phase.PLAN, PlanDraft, turns=3, max_tokens=32_000)
# The four passes that plan what is too much for one call; each but the first is asked about one cycle at a time.
DECOMPOSER_CYCLES = Role("decomposer_cycles", "planner of cycles", Phase.PLAN, CyclesDraft, turns=3)
DECOMPOSER_TASKS = Role("decomposer_tasks", "planner of stories", Phase.PLAN, TasksDraft, turns=3)
DECOMPOSER_CRITERIA = Role("decomposer_criteria", "writer of criteria", Phase.PLAN, CriteriaDraft, turns=3)
DECOMPOSER_HINTS = Role("decomposer_hints", "writer of hints", Phase.PLAN, HintsDraft, turns=3)
ARCHITECT = Role("architect", "architect", Phase.DESIGN, DesignAnswer, LOOK, may_block=True, may_pass=False, turns=12)
TESTER = Role("tester", "test author", Phase.RED, WorkReport, WORK, may_block=True)
BUILDER = Role("builder", "programmer", Phase.GREEN, WorkReport, WORK, may_block=True)
FUSED = Role("fused", "programmer", Phase.RED, WorkReport, WORK, may_block=True, fused=True)
REFACTORER = Role("refactorer", "refactorer", Phase.REFACTOR, WorkReport, WORK, turns=16, test_runs=4)

DECOMPOSERS: tuple[Role[Any], ...] = (DECOMPOSER_CYCLES, DECOMPOSER_TASKS, DECOMPOSER_CRITERIA, DECOMPOSER_HINTS)
ROLES: dict[str, Role[Any]] = {
    role.name: role for role in (PLANNER, *DECOMPOSERS, ARCHITECT, TESTER, BUILDER, FUSED, REFACTORER)
}
