"""Every command of the project machine in every state: what the table allows happens, anything else changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branch_stage import PULL, Stage, every_project_state, stage_of
from prd2pr.domain.machines.project_machine import PROJECT_COMMANDS
from prd2pr.domain.records import ProjectState
from prd2pr.github.commands.dispatch import REGISTER
from prd2pr.github.messages.replies import CommandDone, IllegalReply, NotNow
from prd2pr.planning.decisions import EFFECTS
from prd2pr.state.cursors import get_cursor
from world import World

WRITTEN = {
    "epic": '/epic "Halve numbers"',
    "approve": "/approve",
    "suggest_fix": '/suggest_fix "mend the linter"',
    "request_changes": '/request_changes "halve numbers"',
    "feedback": '/feedback "good"',
    "backlog add_story": '/backlog add_story "Subtract two numbers"',
    "backlog prioritize": "/backlog prioritize calc-2 1",
    "backlog remove": "/backlog remove calc-2",
}
# Legal, but without a target: the stories there are integrated or aborted, or none is blocked.
POINTLESS = {("backlog remove", ProjectState.IDLE), ("skip_task", ProjectState.SPRINT_ACTIVE)}
# One command is three of the table: approving also starts the sprint.
AFTER = {"approve": ProjectState.SPRINT_ACTIVE}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("project")).start()) as made:
        every_project_state(made)
        yield made


@pytest.mark.parametrize("state", ProjectState)
@pytest.mark.parametrize("name", [name for name in PROJECT_COMMANDS if name != REGISTER])
def test_the_table_decides(stage: Stage, name: str, state: ProjectState) -> None:
    stage.back_to(state)
    assert stage.state.status.state is state
    before, known = stage.head, PROJECT_COMMANDS[name]
    obeyed = stage.give(WRITTEN.get(name, f"/{name}"))
    if state not in known.allowed:
        assert isinstance(obeyed.answer, IllegalReply)
        assert stage.head == before == obeyed.head
        assert f"/{name}" == obeyed.answer.refusal.command
        assert obeyed.answer.refusal.state == state
    elif name not in EFFECTS:
        assert stage.head == before
        assert not isinstance(obeyed.answer, IllegalReply | NotNow | CommandDone)
    elif (name, state) in POINTLESS:
        assert isinstance(obeyed.answer, NotNow)
        assert stage.head == before
    else:
        assert isinstance(obeyed.answer, CommandDone)
        assert stage.session.git.commit_info(stage.head).parents == (before,)
        assert obeyed.head == stage.head == obeyed.answer.sha
        assert stage.state.status.state is (AFTER.get(name) or known.result or state)
        assert get_cursor(stage.state.status, PULL).comment == stage.comment
        assert stage.state.status.transitions[-1].by == "ann"
        assert stage.wrong() == []
