"""The command advised by any answer in any state is accepted when a person gives it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from branch_stage import Stage, every_project_state, stage_of
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.github.commands.dispatch import REGISTER
from prd2pr.github.commands.parser import COMMANDS, ParsedCommand, parse_comment
from prd2pr.github.messages.replies import IllegalReply, NotNow, is_refusal
from prd2pr.workflow.next_action import find_branch_action
from prd2pr.workflow.sprint_start import prepare_sprint
from world import World

# They run roles, tests or the whole proof, and have their own tests.
AT_WORK = ("epic", "request_changes", "tdd run_tests", "tdd verify", "tdd design", "tdd test", "tdd code",
           "tdd refactor", "tdd commit-tests", "tdd commit-code", "tdd commit-refactor", "tdd commit")  # fmt: skip
TOLD = [name for name in COMMANDS if name not in AT_WORK and name != REGISTER]
MORE_STATES = ("halted", "paused", "given up", "another is not approved", "left out", "one waits", "ordered")
STATES = ("BACKLOG_READY", "SPRINT_PLANNED", "SPRINT_ACTIVE", "SPRINT_PAUSED", "BLOCKED", "SPRINT_REVIEW", "IDLE")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("next")).start()) as made:
        every_project_state(made)
        keep_states_of_active_sprint(made)
        yield made


def keep_states_of_active_sprint(stage: Stage) -> None:
    ways = {
        "halted": ("/tdd halt_all",),
        "paused": ("/tdd pause calc-1",),
        "given up": ("/tdd abort calc-1",),
        "another is not approved": ('/backlog add_story "Subtract two numbers"', "/tdd abort calc-1"),
        "left out": ("/tdd skip_phase calc-1",),
        "one waits": ("/tdd pause calc-1", '/backlog add_story "Subtract two numbers"'),
        "ordered": ("/tdd run calc-1", "/tdd pause calc-1"),
    }
    for name in MORE_STATES:
        stage.back_to("SPRINT_ACTIVE")
        for text in ways[name]:
            assert not refuses_to(stage, text), text
        stage.keep(name)


def refuses_to(stage: Stage, text: str) -> bool:
    answer = stage.give(text).answer
    return answer is not None and is_refusal(answer)


def settle(stage: Stage) -> None:
    """Prepare the sprint, as each run does before it reads comments."""
    prepare_sprint(stage.session, stage.head)


def accepted(stage: Stage, told: str) -> bool:
    (command,) = parse_comment(told)
    assert isinstance(command, ParsedCommand), told
    if command.name in AT_WORK:
        return True  # `/epic`: allowed in IDLE, the only state that advises it
    return not refuses_to(stage, told)


@pytest.mark.parametrize("state", [*STATES, *MORE_STATES])
def test_the_next_action_is_accepted(stage: Stage, state: str) -> None:
    stage.back_to(state)
    settle(stage)
    following = find_branch_action(stage.session, stage.state)
    told = following.next if isinstance(following, NoAction) else "/tdd next"
    assert told or state in ("SPRINT_REVIEW", "IDLE"), following
    assert not told or accepted(stage, told), following


def quick_and_slow() -> list[object]:
    quick = ("SPRINT_PLANNED", "given up")
    return [pytest.param(each, marks=() if each in quick else pytest.mark.slow) for each in (*STATES, *MORE_STATES)]


@pytest.mark.parametrize("state", quick_and_slow())
def test_the_advice_of_an_answer_is_accepted(stage: Stage, state: str) -> None:
    known: dict[tuple[str, str], bool] = {}  # by head and command: most answers advise the same
    wrong = []
    for name in TOLD:
        for text in examples_of(name):
            stage.back_to(state)
            settle(stage)
            answer = stage.give(text).answer
            told = getattr(answer, "next", None)
            settle(stage)
            key = (stage.head, told.command.replace("…", "more")) if told else ("", "")
            if key[1] and key not in known:
                known[key] = accepted(stage, key[1])
            if key[1] and not known[key]:
                wrong.append(f"{text}: {told}")
            if isinstance(answer, NotNow | IllegalReply) and state not in ("SPRINT_REVIEW", "IDLE"):
                assert told and (told.command or told.sentence), f"{text}: what is next is not said"
    assert wrong == []


def examples_of(name: str) -> list[str]:
    spec = COMMANDS[name]
    filled = {
        "text": '"because"',
        "number": "1",
        "question": "Q1",
        "code": "RED104",
        "command": "",
        "circuit": "green",
        "stories": "",
        "story": "",
    }
    plain = " ".join((spec.shown, *(filled[slot.kind] for slot in spec.slots)))
    if not any(slot.kind in ("story", "stories") for slot in spec.slots):
        return [plain]
    rest = " ".join(filled[slot.kind] for slot in spec.slots if slot.kind not in ("story", "stories"))
    named = [f"{spec.shown} {story} {rest}".strip() for story in ("calc-1", "calc-2", "calc-9")]
    required = any(slot.kind == "story" and slot.required for slot in spec.slots)
    return named if required else [plain.strip(), *named]


def test_only_possible_events_are_waited_for(stage: Stage) -> None:
    stage.back_to("paused")
    again, waits, gone = (stage.give(text).answer for text in ("/tdd pause calc-1", "/tdd next", "/tdd next calc-9"))
    assert isinstance(again, NotNow) and isinstance(waits, NotNow) and isinstance(gone, NotNow)
    assert (again.waits, waits.waits, gone.waits) == (False, True, False)


def test_a_finished_story_cannot_be_aborted(stage: Stage) -> None:
    stage.back_to("given up")
    for story in ("calc-1", "calc-2"):
        stage.back_to("given up")
        answer = stage.give(f"/backlog remove {story}").answer
        assert "/tdd abort" not in str(answer), answer


def test_undo_without_a_cycle_claims_no_phase(stage: Stage) -> None:
    stage.back_to("BACKLOG_READY")
    answer = stage.give("/tdd undo calc-1").answer
    assert isinstance(answer, IllegalReply)
    assert answer.refusal.state == "no cycle"
