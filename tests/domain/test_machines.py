"""The two state machines: their tables, and what no sequence of commands can reach."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from prd2pr.cli.reference import render_machines_page
from prd2pr.domain.evidence import Finding, Verdict
from prd2pr.domain.machines.project_machine import (
    PROJECT_COMMANDS,
    PROJECT_EVENTS,
    apply_project_command,
    apply_project_event,
    find_moves_to,
    list_project_commands,
    record_transition,
    render_project_mermaid,
)
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.machines.story_machine import (
    CYCLE_COMMANDS,
    GATED,
    OPEN,
    PHASE_TRANSITIONS,
    apply_cycle_command,
    check_cycle_command,
    list_phases_from,
    pass_phase,
    pass_pre_implemented,
    pass_untested,
    render_cycle_mermaid,
)
from prd2pr.domain.records import UNTESTED_KINDS, CycleState, Phase, ProjectState, Status

P = ProjectState
C = CycleState


# --- the project ------------------------------------------------------------------------------------------------------

ACTIVE_OR_HELD = (P.SPRINT_ACTIVE, P.SPRINT_PAUSED, P.BLOCKED)
NOT_REVIEW = tuple(state for state in P if state is not P.SPRINT_REVIEW)

# Repeated from the requirements, to detect a mistake in the table.
LEGAL: dict[str, dict[ProjectState, ProjectState]] = {
    "epic": {P.IDLE: P.BACKLOG_READY, P.BACKLOG_READY: P.BACKLOG_READY},
    "approve": {P.BACKLOG_READY: P.BACKLOG_READY},
    "sprint plan": {P.BACKLOG_READY: P.SPRINT_PLANNED},
    "sprint start": {P.SPRINT_PLANNED: P.SPRINT_ACTIVE},
    "sprint status": {state: state for state in ACTIVE_OR_HELD},
    "sprint pause": {P.SPRINT_ACTIVE: P.SPRINT_PAUSED},
    "sprint resume": {P.SPRINT_PAUSED: P.SPRINT_ACTIVE},
    "suggest_fix": {P.BLOCKED: P.SPRINT_ACTIVE, P.SPRINT_ACTIVE: P.SPRINT_ACTIVE},
    "skip_task": {P.BLOCKED: P.SPRINT_ACTIVE, P.SPRINT_ACTIVE: P.SPRINT_ACTIVE},
    "request_changes": {P.SPRINT_REVIEW: P.BACKLOG_READY},
    "feedback": {P.SPRINT_REVIEW: P.IDLE},
    "backlog view": {state: state for state in NOT_REVIEW},
    "backlog add_story": {state: state for state in NOT_REVIEW},
    "backlog prioritize": {state: state for state in NOT_REVIEW},
    "backlog remove": {state: state for state in NOT_REVIEW},
    "state": {state: state for state in P},
    "project register": {state: state for state in P},
}


def test_table_matches_the_requirements() -> None:
    assert set(LEGAL) == set(PROJECT_COMMANDS)


@pytest.mark.parametrize("command", PROJECT_COMMANDS)
@pytest.mark.parametrize("state", P)
def test_every_command_in_every_state(state: ProjectState, command: str) -> None:
    answer = apply_project_command(state, f"/{command}")
    if state in LEGAL[command]:
        assert answer == LEGAL[command][state]
        return
    assert isinstance(answer, CommandRefusal)
    assert answer.state == state
    assert answer.allowed_in == tuple(s for s in P if s in LEGAL[command])
    assert set(answer.allowed_now) == {f"/{name}" for name, legal in LEGAL.items() if state in legal}
    moves = find_moves_to(state, frozenset(LEGAL[command]))
    assert moves and all(move in answer.remedy for move in moves)
    assert (answer.is_unknown, answer.to_error().remedy) == (False, answer.remedy)
    assert command in answer.to_error().what and state in answer.to_error().what


def test_refusal_hint_names_a_way_to_the_command() -> None:
    answer = apply_project_command(P.SPRINT_ACTIVE, "/sprint plan")
    assert isinstance(answer, CommandRefusal)
    assert answer.remedy == "it is allowed after all stories are done, then `/request_changes`"
    assert find_moves_to(P.IDLE, frozenset({P.SPRINT_ACTIVE})) == ("`/epic`", "`/sprint plan`", "`/sprint start`")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("/sprint strat", "/sprint start"), ("/aprove", "/approve"), ("/skip-task", "/skip_task"), ("/xyzzy", "")],
)
def test_unknown_command_gets_a_suggestion(typed: str, meant: str) -> None:
    answer = apply_project_command(P.IDLE, typed)
    assert isinstance(answer, CommandRefusal)
    assert answer.is_unknown
    assert answer.did_you_mean == meant
    assert "/state" in answer.allowed_now


def test_events_cannot_be_given_as_commands() -> None:
    blocking = ("story out of attempts", "CI failed three times")
    assert [apply_project_event(P.SPRINT_ACTIVE, event) for event in blocking] == [P.BLOCKED, P.BLOCKED]
    assert apply_project_event(P.SPRINT_ACTIVE, "all stories done") == P.SPRINT_REVIEW
    assert apply_project_event(P.SPRINT_REVIEW, "the PRD changed") == P.BACKLOG_READY
    others = {
        "the PRD changed": {P.SPRINT_REVIEW, P.IDLE},
        "all stories done": {P.SPRINT_ACTIVE, P.BACKLOG_READY, P.SPRINT_PLANNED},
        "stories left": {P.IDLE},
    }
    for name in PROJECT_EVENTS:
        starts = others.get(name, {P.SPRINT_ACTIVE})
        assert isinstance(apply_project_command(P.SPRINT_ACTIVE, name), CommandRefusal)
        for state in set(P) - starts:
            assert isinstance(apply_project_event(state, name), CommandRefusal)


def test_every_command_has_help_and_an_example() -> None:
    for command in PROJECT_COMMANDS.values():
        assert command.help.endswith(".")
        assert command.example.startswith(f"/{command.name}")
    for cycle_command in CYCLE_COMMANDS.values():
        assert cycle_command.help.endswith(".")
        assert cycle_command.example.startswith(f"/tdd {cycle_command.name}")


def test_every_state_offers_a_command() -> None:
    for state in P:
        assert len(list_project_commands(state)) >= 3
        assert find_moves_to(state, frozenset({P.IDLE})) or state is P.IDLE


def test_the_last_twenty_transitions_are_kept() -> None:
    status = Status()
    for number in range(25):
        status = record_transition(
            status, P.BACKLOG_READY, command=f"/epic {number}", by="ada", at="2026-01-01T00:00:00Z"
        )
    assert status.state == P.BACKLOG_READY
    assert [entry.command for entry in status.transitions] == [f"/epic {number}" for number in range(5, 25)]
    assert (status.transitions[0].before, status.transitions[0].after) == ("BACKLOG_READY", "BACKLOG_READY")


# --- the story --------------------------------------------------------------------------------------------------------


def verdict(phase: Phase, *, accepted: bool = True, code: str = "") -> Verdict:
    findings = (Finding(code=code, severity="error", message="no"),) if code else ()
    return Verdict(phase=phase, accepted=accepted, findings=findings)


def test_story_passes_its_gates() -> None:
    state: CycleState | CommandRefusal | None = apply_cycle_command(None, "/tdd start")
    for phase, after in (
        (Phase.DESIGN, C.TEST_RED),
        (Phase.RED, C.CODE_GREEN),
        (Phase.GREEN, C.REFACTOR),
        (Phase.REFACTOR, C.REFACTOR),
        (Phase.INTEGRATED, C.COMMIT),
    ):
        assert isinstance(state, CycleState)
        assert phase in list_phases_from(state)
        state = pass_phase(state, phase, verdict(phase))
        assert state == after


@pytest.mark.parametrize(("state", "phase"), [key for key in PHASE_TRANSITIONS if key[1] in GATED])
def test_gate_needs_an_accepted_verdict_of_its_own_phase(state: CycleState, phase: Phase) -> None:
    wrong: list[Verdict | None] = [None, verdict(phase, accepted=False), verdict(phase, code="RED104")]
    wrong += [verdict(other) for other in Phase if other != phase]
    for answer in (pass_phase(state, phase, one) for one in wrong):
        assert isinstance(answer, CommandRefusal)
        assert answer.state == state
    refused = pass_phase(state, phase, verdict(phase, accepted=False, code="RED104"))
    assert isinstance(refused, CommandRefusal)
    assert "RED104" in refused.remedy


@pytest.mark.parametrize("state", C)
@pytest.mark.parametrize("phase", Phase)
def test_phase_is_left_only_from_its_own_state(state: CycleState, phase: Phase) -> None:
    answer = pass_phase(state, phase, verdict(phase))
    assert isinstance(answer, CommandRefusal) == ((state, phase) not in PHASE_TRANSITIONS)


@pytest.mark.parametrize("command", CYCLE_COMMANDS)
@pytest.mark.parametrize("state", [None, *C])
def test_no_command_passes_a_gate_without_a_verdict(state: CycleState | None, command: str) -> None:
    after = apply_cycle_command(state, f"/tdd {command}")
    if isinstance(after, CommandRefusal) or after == state:
        return
    backwards = {(C.CODE_GREEN, C.TEST_RED), (C.REFACTOR, C.CODE_GREEN)}
    assert after in {C.DESIGN, C.ABORTED} or (state, after) in {(C.DESIGN, C.TEST_RED), *backwards}


def test_a_gate_cannot_be_skipped() -> None:
    for state in (C.TEST_RED, C.CODE_GREEN):
        answer = apply_cycle_command(state, "/tdd skip_phase")
        assert isinstance(answer, CommandRefusal)
        assert "cannot be skipped" in answer.remedy
    assert apply_cycle_command(C.REFACTOR, "skip_phase") == C.REFACTOR
    answer = apply_cycle_command(C.TEST_RED, "commit-tests")
    assert isinstance(answer, CommandRefusal)
    assert answer.remedy == "a verdict is needed: RED"
    assert not answer.is_unknown


def test_start_is_refused_while_the_cycle_is_open() -> None:
    for state in OPEN:
        answer = apply_cycle_command(state, "start")
        assert isinstance(answer, CommandRefusal)
        assert "not finished" in answer.remedy
    assert (
        apply_cycle_command(C.COMMIT, "start")
        == apply_cycle_command(C.ABORTED, "start")
        == apply_cycle_command(None, "start")
        == C.DESIGN
    )


def test_unknown_and_misplaced_commands_are_explained() -> None:
    unknown = check_cycle_command(None, "/tdd nxet")
    assert isinstance(unknown, CommandRefusal)
    assert unknown.did_you_mean == "/tdd next"
    early = check_cycle_command(None, "/tdd code")
    assert isinstance(early, CommandRefusal)
    assert (early.state, early.allowed_in) == ("no cycle", ("CODE_GREEN",))
    assert "/tdd start" in early.remedy


def test_untested_kinds_pass_only_with_a_note() -> None:
    for kind in ("docs", "config", "chore"):
        assert pass_untested(C.DESIGN, kind, "why") == C.CODE_GREEN
    for state, kind, note in ((C.DESIGN, "feature", "why"), (C.DESIGN, "docs", " "), (C.REFACTOR, "docs", "why")):
        assert isinstance(pass_untested(state, kind, note), CommandRefusal)


def test_pre_implemented_needs_green_and_claims_no_red() -> None:
    assert pass_pre_implemented(C.TEST_RED, verdict(Phase.GREEN)) == C.REFACTOR
    for state, seen in (
        (C.TEST_RED, None),
        (C.TEST_RED, verdict(Phase.RED)),
        (C.TEST_RED, verdict(Phase.GREEN, accepted=False)),
        (C.DESIGN, verdict(Phase.GREEN)),
        (C.CODE_GREEN, verdict(Phase.GREEN)),
    ):
        assert isinstance(pass_pre_implemented(state, seen), CommandRefusal)


# --- no way around the gates ------------------------------------------------------------------------------------------

Situation = tuple[CycleState | None, frozenset[Phase]]  # state of the cycle, verdicts accepted since it began
NEEDED = frozenset({Phase.RED, Phase.GREEN, Phase.INTEGRATED})
VERDICTS: tuple[Verdict | None, ...] = (
    None,
    *(
        verdict(phase, accepted=accepted, code=code)
        for phase in Phase
        for accepted in (True, False)
        for code in ("", "X1")
    ),
)


def all_events(situation: Situation, kind: str) -> Iterator[Situation]:
    state, accepted = situation
    for name in CYCLE_COMMANDS:
        after = apply_cycle_command(state, name)
        if not isinstance(after, CommandRefusal):
            yield after, frozenset() if name == "start" else accepted
    if state is None:
        return
    for phase, seen in product(Phase, VERDICTS):
        after = pass_phase(state, phase, seen)
        if not isinstance(after, CommandRefusal):
            fine = seen is not None and seen.accepted and not seen.errors
            yield after, accepted | ({seen.phase} & NEEDED) if seen and fine else accepted
    after = pass_untested(state, kind, "a note")
    if not isinstance(after, CommandRefusal):
        yield after, accepted


def reachable(kind: str) -> set[Situation]:
    """All reachable states: there are few, so an exhaustive search replaces sampling."""
    seen: set[Situation] = {(None, frozenset())}
    queue = list(seen)
    while queue:
        fresh = set(all_events(queue.pop(), kind)) - seen
        seen |= fresh
        queue += fresh
    return seen


@pytest.mark.parametrize("kind", ["feature", "bug", "refactor"])
def test_no_sequence_reaches_commit_without_its_verdicts(kind: str) -> None:
    done = [accepted for state, accepted in reachable(kind) if state is C.COMMIT]
    assert done
    assert all(accepted >= NEEDED for accepted in done)


@pytest.mark.parametrize("kind", sorted(UNTESTED_KINDS))
def test_untested_kinds_still_need_green_and_integrated(kind: str) -> None:
    done = [accepted for state, accepted in reachable(kind) if state is C.COMMIT]
    assert {Phase.GREEN, Phase.INTEGRATED} in done
    assert all(accepted >= {Phase.GREEN, Phase.INTEGRATED} for accepted in done)


def test_diagrams_show_every_state_and_transition() -> None:
    project, cycle = render_project_mermaid(), render_cycle_mermaid()
    assert all(state.value in project for state in P)
    assert all(state.value in cycle for state in C)
    assert "SPRINT_ACTIVE --> SPRINT_REVIEW: all stories done" in project
    assert "TEST_RED --> CODE_GREEN: red gate" in cycle
    assert project.startswith("stateDiagram-v2\n")


def test_docs_page_names_every_command_and_gate() -> None:
    page = render_machines_page()
    for command in (*PROJECT_COMMANDS.values(), *CYCLE_COMMANDS.values()):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{command.shown}` |"))
        assert row.count("|") == 5
    assert f"| `/tdd commit-tests` | `TEST_RED` | {CYCLE_COMMANDS['commit-tests'].help} Gates: RED. |" in page
    assert page.count("```mermaid") == 2
