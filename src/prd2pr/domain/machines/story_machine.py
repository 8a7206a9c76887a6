"""The state machine of one story: DESIGN → TEST_RED → CODE_GREEN → REFACTOR → COMMIT.

Only `pass_phase` takes a cycle past a gate, and it needs the gate's verdict. A command without a verdict
(`apply_cycle_command`) can only stay, go back, abort or leave a phase without a gate; a test checks this for every
command. Two kinds of stories pass without RED, which is recorded and shown: `pass_untested` and `pass_pre_implemented`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.domain.evidence import Verdict
from prd2pr.domain.machines.refusal import CommandRefusal, find_closest_command
from prd2pr.domain.records import UNTESTED_KINDS, CycleState, Phase

S = CycleState
OPEN = frozenset({S.DESIGN, S.TEST_RED, S.CODE_GREEN, S.REFACTOR})
FINAL = frozenset({S.COMMIT, S.ABORTED})
NO_CYCLE = "no cycle"

# The state in which each phase starts and the state after it. All phases except DESIGN have a gate.
PHASE_TRANSITIONS: dict[tuple[CycleState, Phase], CycleState] = {
    (S.DESIGN, Phase.DESIGN): S.TEST_RED,
    (S.TEST_RED, Phase.RED): S.CODE_GREEN,
    (S.CODE_GREEN, Phase.GREEN): S.REFACTOR,
    (S.REFACTOR, Phase.REFACTOR): S.REFACTOR,  # may be repeated
    (S.REFACTOR, Phase.INTEGRATED): S.COMMIT,
}
GATED = frozenset({Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED})


@dataclass(frozen=True)
class CycleCommand:
    name: str
    allowed: frozenset[CycleState | None]  # None for a story without a cycle
    help: str
    example: str
    state_changes: tuple[
        tuple[CycleState | None, CycleState], ...
    ] = ()  # changes without a gate; in all other states nothing changes
    gates: tuple[Phase, ...] = ()  # the gates that must accept it, in this order

    @property
    def shown(self) -> str:
        return f"/tdd {self.name}"


def _states(states: Iterable[CycleState | None]) -> frozenset[CycleState | None]:
    return frozenset(states)


ALWAYS = _states([None, *S])


def _allow_always(name: str, text: str, example: str = "") -> CycleCommand:
    return CycleCommand(name, ALWAYS, text, example or f"/tdd {name}")


_BACK = ((S.TEST_RED, S.DESIGN), (S.CODE_GREEN, S.TEST_RED), (S.REFACTOR, S.CODE_GREEN))

CYCLE_COMMANDS: dict[str, CycleCommand] = {
    command.name: command
    for command in (
        CycleCommand(
            "start",
            _states({None, *FINAL}),
            "Start the cycle of a story.",
            "/tdd start auth-2",
            state_changes=((None, S.DESIGN), (S.COMMIT, S.DESIGN), (S.ABORTED, S.DESIGN)),
        ),
        CycleCommand("design", _states({S.DESIGN}), "Draft the design.", "/tdd design"),
        CycleCommand(
            "test",
            _states({S.DESIGN, S.TEST_RED}),
            "Write the tests.",
            "/tdd test",
            state_changes=((S.DESIGN, S.TEST_RED),),
        ),
        CycleCommand(
            "commit-tests",
            _states({S.TEST_RED}),
            "Prove RED and commit the tests.",
            "/tdd commit-tests",
            gates=(Phase.RED,),
        ),
        CycleCommand("code", _states({S.CODE_GREEN}), "Write the code.", "/tdd code"),
        CycleCommand(
            "commit-code",
            _states({S.CODE_GREEN}),
            "Prove GREEN and commit the code.",
            "/tdd commit-code",
            gates=(Phase.GREEN,),
        ),
        CycleCommand("refactor", _states({S.REFACTOR}), "Improve the code.", "/tdd refactor"),
        CycleCommand(
            "commit-refactor",
            _states({S.REFACTOR}),
            "Prove that the behavior is unchanged, then integrate.",
            "/tdd commit-refactor",
            gates=(Phase.REFACTOR, Phase.INTEGRATED),
        ),
        CycleCommand(
            "commit",
            _states({S.CODE_GREEN, S.REFACTOR}),
            "Prove what is missing, then integrate.",
            "/tdd commit",
            gates=(Phase.GREEN, Phase.INTEGRATED),
        ),
        CycleCommand(
            "next",
            _states(OPEN),
            "Do the current phase and pass its gate.",
            "/tdd next",
            gates=(Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED),
        ),
        CycleCommand(
            "run",
            _states(OPEN),
            "Continue until the story is done, blocked or out of budget.",
            "/tdd run",
            gates=(Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED),
        ),
        CycleCommand(
            "abort",
            _states(OPEN),
            "Abort the cycle and record it. Failing tests are removed; what GREEN has proved stays.",
            "/tdd abort",
            state_changes=tuple((s, S.ABORTED) for s in S if s in OPEN),
        ),
        CycleCommand(
            "skip_phase",
            _states({S.DESIGN, S.REFACTOR}),
            "Skip design or refactoring and record it; a gate cannot be skipped.",
            "/tdd skip_phase",
            state_changes=((S.DESIGN, S.TEST_RED),),
        ),
        CycleCommand(
            "undo",
            _states({S.TEST_RED, S.CODE_GREEN, S.REFACTOR}),
            "Go back one phase.",
            "/tdd undo",
            state_changes=_BACK,
        ),
        CycleCommand("retry", _states(OPEN), "Retry the phase with fresh attempts.", "/tdd retry"),
        CycleCommand("pause", _states(OPEN), "Pause this story.", "/tdd pause auth-2"),
        CycleCommand("resume", _states(OPEN), "Resume this story.", "/tdd resume auth-2"),
        _allow_always("halt_all", "Pause all stories."),
        _allow_always("answer", "Answer a question of the plan.", '/tdd answer Q2 "14 days"'),
        _allow_always("reset", "Reset one tripped circuit breaker, or all of them.", "/tdd reset green"),
        _allow_always("status", "Show the story's phase and attempts.", "/tdd status auth-2"),
        _allow_always("overview", "Show all stories."),
        _allow_always("logs", "Show the log, step by step."),
        _allow_always("metrics", "Show time, cost and attempts."),
        _allow_always("run_tests", "Run the tests and show the result."),
        _allow_always("verify", "Prove every step again."),
        _allow_always("explain", "Explain a finding.", "/tdd explain RED104"),
        _allow_always("budget", "Show the spending and the remaining budget."),
        _allow_always("help", "Show the commands."),
    )
}


# --- past a gate ------------------------------------------------------------------------------------------------------


def pass_phase(state: CycleState, phase: Phase, verdict: Verdict | None) -> CycleState | CommandRefusal:
    after = PHASE_TRANSITIONS.get((state, phase))
    if after is None:
        starts = tuple(source for source, passed in PHASE_TRANSITIONS if passed == phase)
        return _refuse_phase(
            phase.value, state, starts, f"in {state} the allowed phases are {_join_phases(list_phases_from(state))}"
        )
    if phase in GATED and not _is_accepted(verdict, phase):
        return _refuse_phase(phase.value, state, (state,), explain_missing_verdict(verdict, phase))
    return after


def pass_untested(state: CycleState, kind: str, note: str) -> CycleState | CommandRefusal:
    """Pass RED without tests for docs, configuration and chores. The note records this."""
    if kind not in UNTESTED_KINDS:
        return _refuse_phase("red", state, (S.TEST_RED,), f"a story of kind {kind} needs failing tests first")
    if state not in {S.DESIGN, S.TEST_RED}:
        return _refuse_phase("red", state, (S.DESIGN, S.TEST_RED), "RED is already passed")
    if not note.strip():
        return _refuse_phase("red", state, (S.DESIGN, S.TEST_RED), "the note must say why no test is required")
    return S.CODE_GREEN


def pass_pre_implemented(state: CycleState, green: Verdict | None) -> CycleState | CommandRefusal:
    """Pass GREEN without RED, since the new tests pass with code that already existed."""
    if state is not S.TEST_RED:
        return _refuse_phase("red", state, (S.TEST_RED,), "this is possible only for tests that were just written")
    if not _is_accepted(green, Phase.GREEN):
        return _refuse_phase("green", state, (S.TEST_RED,), explain_missing_verdict(green, Phase.GREEN))
    return S.REFACTOR


def _is_accepted(verdict: Verdict | None, phase: Phase) -> bool:
    return verdict is not None and verdict.phase == phase and verdict.accepted and not verdict.errors


def explain_missing_verdict(verdict: Verdict | None, phase: Phase) -> str:
    gate = phase.value.upper()
    if verdict is None:
        return f"there is no verdict of the {gate} gate"
    if verdict.phase != phase:
        return f"this is a verdict of {verdict.phase.value.upper()}, not of {gate}"
    codes = ", ".join(dict.fromkeys(finding.code for finding in verdict.errors))
    return f"the {gate} gate refused it" + (f": {codes}" if codes else "")


# --- without a gate ---------------------------------------------------------------------------------------------------


def check_cycle_command(state: CycleState | None, command: str) -> CycleCommand | CommandRefusal:
    """Return the command if it is allowed now, or why it is refused. A gate may still refuse it later."""
    name = command.strip().removeprefix("/").removeprefix("tdd ").strip()
    known = CYCLE_COMMANDS.get(name)
    if known is None:
        meant = find_closest_command(name, CYCLE_COMMANDS)
        meant = f"/tdd {meant}" if meant else ""
        return CommandRefusal(f"/tdd {name}", state or NO_CYCLE, list_cycle_commands(state), did_you_mean=meant)
    if state not in known.allowed:
        return _refuse_command(state, known, _suggest(state, known))
    return known


def _refuse_command(state: CycleState | None, known: CycleCommand, remedy: str) -> CommandRefusal:
    allowed_in = (*([NO_CYCLE] if None in known.allowed else []), *(s.value for s in S if s in known.allowed))
    return CommandRefusal(known.shown, state or NO_CYCLE, list_cycle_commands(state), allowed_in, remedy)


def apply_cycle_command(state: CycleState | None, command: str) -> CycleState | CommandRefusal | None:
    """Return the state after a command that needs no verdict, or why it is refused."""
    known = check_cycle_command(state, command)
    if isinstance(known, CommandRefusal):
        return known
    if known.gates:
        return _refuse_command(state, known, f"a verdict is needed: {_join_phases(known.gates)}")
    return dict(known.state_changes).get(state, state)


def list_cycle_commands(state: CycleState | None) -> tuple[str, ...]:
    return tuple(command.shown for command in CYCLE_COMMANDS.values() if state in command.allowed)


def list_phases_from(state: CycleState) -> tuple[Phase, ...]:
    """Return the phases that can start in a state. In REFACTOR, the last of them ends the cycle."""
    return tuple(phase for source, phase in PHASE_TRANSITIONS if source == state)


def _suggest(state: CycleState | None, known: CycleCommand) -> str:
    if known.name == "start":
        return "this story's cycle is not finished: `/tdd next` continues it, `/tdd abort` aborts it"
    if known.name == "skip_phase" and state in OPEN:
        return "this phase has a gate, and a gate cannot be skipped: `/tdd next` works on it, `/tdd undo` goes back"
    if state is None:
        return "the story has no cycle yet; in an active sprint, `/tdd start <story>` starts one"
    if state in FINAL:
        return "this cycle is finished; in an active sprint, `/tdd start <story>` starts a new one"
    return "`/tdd next` works on the current phase"


def _refuse_phase(what: str, state: CycleState, allowed_in: Iterable[CycleState], remedy: str) -> CommandRefusal:
    return CommandRefusal(what, state, list_cycle_commands(state), tuple(allowed_in), remedy)


def _join_phases(phases: Iterable[Phase]) -> str:
    return ", ".join(phase.value.upper() for phase in phases) or "none"


def render_cycle_mermaid() -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {S.DESIGN}: /tdd start"]
    for (source, phase), target in PHASE_TRANSITIONS.items():
        lines.append(f"    {source} --> {target}: {phase.value}{' gate' if phase in GATED else ''}")
    lines.append(f"    {S.DESIGN} --> {S.CODE_GREEN}: docs, config, chore (recorded)")
    lines.append(f"    {S.TEST_RED} --> {S.REFACTOR}: pre-implemented, green gate (recorded)")
    lines += [f"    {source} --> {target}: /tdd undo" for source, target in _BACK]
    lines += [f"    {source} --> {S.ABORTED}: /tdd abort" for source in S if source in OPEN]
    lines += [f"    {final} --> [*]" for final in S if final in FINAL]
    return "\n".join(lines) + "\n"
