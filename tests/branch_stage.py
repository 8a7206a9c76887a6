"""A branch in every state of both machines, and a command given to each: `Stage.give("/sprint pause")`.

What stands on the branch is set back before each command, so that one repository serves for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.approval import ApprovalMode
from prd2pr.domain.records import Cursor
from prd2pr.github.commands import CommandRequest, CommandResult, execute
from prd2pr.github.commands.parser import ParsedCommand, parse_comment
from prd2pr.proof.claims.commits import check_records
from prd2pr.proof.verify import load_claim
from prd2pr.state.commit_message import read_step
from prd2pr.state.store import BranchState
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.session import Session
from world import PLAN, World, say
from world_session import session_of

EPIC = {
    "epics": [],
    "stories": [{
        **PLAN["stories"][0],
        "key": "S1", "epic": "", "title": "Halve a number", "requirements": ["ASKED"], "depends_on": ["calc-1"],
    }],
    "questions": ["Of odd numbers too?"],
    "assumptions": ["Halves are floored."],
}  # fmt: skip
PULL = 7


@dataclass
class Stage:
    world: World
    session: Session
    comment: int = 1000
    heads: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return self.session.git.branch_head(self.session.target.branch) or ""

    @property
    def state(self) -> BranchState:
        return self.session.store.load(self.head)

    def keep(self, name: str) -> None:
        self.heads[name] = self.head

    def back_to(self, name: str) -> None:
        self.world.git("update-ref", f"refs/heads/{self.session.target.branch}", self.heads[name])
        self.session.log.branch_writes.pending = None

    def give(self, text: str, *, by: str = "ann") -> CommandResult:
        (command,) = parse_comment(text)
        assert isinstance(command, ParsedCommand), command
        self.comment += 1
        return execute(self.session, CommandRequest(command, by=by, settles=Cursor(number=PULL, comment=self.comment)))

    def event(self, name: str, text: str = "") -> None:
        decided = apply_decision(
            self.session, self.head, Decision(command=name, by="prd2pr", at=self.session.clock.now(), text=text)
        )
        assert isinstance(decided, AppliedDecision), decided

    def step(self, count: int = 1) -> None:
        assert run_prd(self.session, count).steps == count

    def wrong(self, since: str = "main") -> list[str]:
        """What the records of any commit claim beyond what its step leads to; no test is run for that."""
        found = []
        for commit in self.session.git.log(f"{since}..{self.head}"):
            step = read_step(commit.trailers)
            assert step is not None, commit.subject
            found += [f"{commit.subject}: {each}" for each in check_records(load_claim(self.session.git, commit, step))]
        return found


@contextmanager
def stage_of(world: World, approval: ApprovalMode = "plan") -> Iterator[Stage]:
    world.answers |= {f"calc-e{n}/plan/planner/1/1": say(EPIC) for n in (2, 3)}
    with session_of(world) as session:
        yield Stage(world, replace(session, constraints=replace(session.constraints, approval=approval)))


def every_project_state(stage: Stage) -> None:
    """By commands alone: no test runs, so it is quick."""
    stage.step()
    stage.keep("BACKLOG_READY")
    stage.give("/sprint plan")
    stage.keep("SPRINT_PLANNED")
    stage.give("/sprint start")
    stage.keep("SPRINT_ACTIVE")
    stage.give("/sprint pause")
    stage.keep("SPRINT_PAUSED")
    stage.back_to("SPRINT_ACTIVE")
    stage.give("/tdd abort calc-1")
    stage.event("CI failed three times", "lint failed on three commits")
    stage.keep("BLOCKED")
    stage.give("/skip_task calc-1")
    stage.give("/tdd abort calc-2")
    stage.event("CI failed three times", "lint failed again")
    stage.give("/skip_task")
    stage.keep("SPRINT_REVIEW")
    stage.give('/feedback "went well: all; improve: nothing"')
    stage.keep("IDLE")
