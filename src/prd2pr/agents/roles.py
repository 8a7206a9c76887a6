"""The roles, as data. A new role is a row here and a template; no code is written for one role alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from prd2pr.agents.answers import DesignAnswer, WorkReport
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
ARCHITECT = Role("architect", "architect", Phase.DESIGN, DesignAnswer, LOOK, may_block=True, may_pass=False, turns=12)
TESTER = Role("tester", "test author", Phase.RED, WorkReport, WORK, may_block=True)
BUILDER = Role("builder", "programmer", Phase.GREEN, WorkReport, WORK, may_block=True)
FUSED = Role("fused", "programmer", Phase.RED, WorkReport, WORK, may_block=True, fused=True)
REFACTORER = Role("refactorer", "refactorer", Phase.REFACTOR, WorkReport, WORK, turns=16, test_runs=4)

ROLES: dict[str, Role[PlanDraft] | Role[DesignAnswer] | Role[WorkReport]] = {
    role.name: role for role in (PLANNER, ARCHITECT, TESTER, BUILDER, FUSED, REFACTORER)
}
