"""The machine of one story: DESIGN → TEST_RED → CODE_GREEN → REFACTOR → COMMIT.

`cross` is the one function that takes a cycle past a gate, and it takes the gate's verdict. What moves without one
(`move`) can only stay, go back, give up or leave a phase that has no gate; a test holds this for every command. Two
kinds of story have a road around RED, which is recorded and shown: `pass_untested` and `pass_pre_implemented`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prd2pr.core.evidence import Verdict
from prd2pr.core.records import UNTESTED_KINDS, CycleState, Phase
from prd2pr.core.refusal import Refusal, closest

S = CycleState
OPEN = frozenset({S.DESIGN, S.TEST_RED, S.CODE_GREEN, S.REFACTOR})
FINAL = frozenset({S.COMMIT, S.ABORTED})
NO_CYCLE = "no cycle"

# Phases that lead on: where they start, where they lead. All but DESIGN have a gate.
CROSSINGS: dict[tuple[CycleState, Phase], CycleState] = {
    (S.DESIGN, Phase.DESIGN): S.TEST_RED,
    (S.TEST_RED, Phase.RED): S.CODE_GREEN,
    (S.CODE_GREEN, Phase.GREEN): S.REFACTOR,
    (S.REFACTOR, Phase.REFACTOR): S.REFACTOR,  # as often as it is worth it
    (S.REFACTOR, Phase.INTEGRATED): S.COMMIT,
}
GATED = frozenset({Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED})


@dataclass(frozen=True)
class CycleCommand:
    name: str
    allowed: frozenset[CycleState | None]  # None: the story has no cycle yet
    help: str
    example: str
    moves: tuple[tuple[CycleState | None, CycleState], ...] = ()  # without a gate; where nothing is said, it stays
    gates: tuple[Phase, ...] = ()  # what has to accept it, in this order

    @property
    def shown(self) -> str:
        return f"/tdd {self.name}"


def _in(states: Iterable[CycleState | None]) -> frozenset[CycleState | None]:
    return frozenset(states)


ALWAYS = _in([None, *S])


def _reading(name: str, text: str, example: str = "") -> CycleCommand:
    return CycleCommand(name, ALWAYS, text, example or f"/tdd {name}")


_BACK = ((S.TEST_RED, S.DESIGN), (S.CODE_GREEN, S.TEST_RED), (S.REFACTOR, S.CODE_GREEN))

CYCLE_COMMANDS: dict[str, CycleCommand] = {
    command.name: command
    for command in (
        CycleCommand(
            "start",
            _in({None, *FINAL}),
            "Start the cycle of a story.",
            "/tdd start auth-2",
            moves=((None, S.DESIGN), (S.COMMIT, S.DESIGN), (S.ABORTED, S.DESIGN)),
        ),
        CycleCommand("design", _in({S.DESIGN}), "Work the design out.", "/tdd design"),
        CycleCommand(
            "test", _in({S.DESIGN, S.TEST_RED}), "Write the tests.", "/tdd test", moves=((S.DESIGN, S.TEST_RED),)
        ),
        CycleCommand(
            "commit-tests",
            _in({S.TEST_RED}),
            "Prove RED and commit the tests.",
            "/tdd commit-tests",
            gates=(Phase.RED,),
        ),
        CycleCommand("code", _in({S.CODE_GREEN}), "Write the code.", "/tdd code"),
        CycleCommand(
            "commit-code",
            _in({S.CODE_GREEN}),
            "Prove GREEN and commit the code.",
            "/tdd commit-code",
            gates=(Phase.GREEN,),
        ),
        CycleCommand("refactor", _in({S.REFACTOR}), "Make the code better.", "/tdd refactor"),
        CycleCommand(
            "commit-refactor",
            _in({S.REFACTOR}),
            "Prove that behaviour is held, then integrate.",
            "/tdd commit-refactor",
            gates=(Phase.REFACTOR, Phase.INTEGRATED),
        ),
        CycleCommand(
            "commit",
            _in({S.CODE_GREEN, S.REFACTOR}),
            "Prove what is missing, then integrate.",
            "/tdd commit",
            gates=(Phase.GREEN, Phase.INTEGRATED),
        ),
        CycleCommand(
            "next",
            _in(OPEN),
            "Do the current phase and cross its gate.",
            "/tdd next",
            gates=(Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED),
        ),
        CycleCommand(
            "run",
            _in(OPEN),
            "Go on until the story is done, blocked or out of budget.",
            "/tdd run",
            gates=(Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED),
        ),
        CycleCommand(
            "abort",
            _in(OPEN),
            "Give the cycle up, on record. Tests that nothing makes pass are taken away; what GREEN has proved stays.",
            "/tdd abort",
            moves=tuple((s, S.ABORTED) for s in S if s in OPEN),
        ),
        CycleCommand(
            "skip_phase",
            _in({S.DESIGN, S.REFACTOR}),
            "Leave design or refactoring out, on record; a gate cannot be skipped.",
            "/tdd skip_phase",
            moves=((S.DESIGN, S.TEST_RED),),
        ),
        CycleCommand(
            "undo", _in({S.TEST_RED, S.CODE_GREEN, S.REFACTOR}), "Go back one phase.", "/tdd undo", moves=_BACK
        ),
        CycleCommand("retry", _in(OPEN), "Try the phase again with fresh attempts.", "/tdd retry"),
        CycleCommand("pause", _in(OPEN), "Pause this story.", "/tdd pause auth-2"),
        CycleCommand("resume", _in(OPEN), "Go on with this story.", "/tdd resume auth-2"),
        _reading("halt_all", "Pause all stories."),
        _reading("reset", "Close what trouble has opened: one circuit, or all of them.", "/tdd reset green"),
        _reading("status", "Show the story's phase and attempts.", "/tdd status auth-2"),
        _reading("overview", "Show all stories."),
        _reading("logs", "Show what happened, step by step."),
        _reading("metrics", "Show time, cost and attempts."),
        _reading("run_tests", "Run the tests and show the result."),
        _reading("verify", "Prove every step again."),
        _reading("explain", "Say what a finding means.", "/tdd explain RED104"),
        _reading("budget", "Show what was spent and what is left."),
        _reading("help", "Show the commands."),
    )
}


# --- past a gate ------------------------------------------------------------------------------------------------------


def cross(state: CycleState, phase: Phase, verdict: Verdict | None) -> CycleState | Refusal:
    after = CROSSINGS.get((state, phase))
    if after is None:
        starts = tuple(source for source, crossed in CROSSINGS if crossed == phase)
        return _refusal(phase.value, state, starts, f"from {state} the phases {_names(phases_from(state))} lead on")
    if phase in GATED and not _accepts(verdict, phase):
        return _refusal(phase.value, state, (state,), why_not(verdict, phase))
    return after


def pass_untested(state: CycleState, kind: str, note: str) -> CycleState | Refusal:
    """Docs, configuration and chores have nothing that a test could prove first; the note says so on record."""
    if kind not in UNTESTED_KINDS:
        return _refusal("red", state, (S.TEST_RED,), f"a story of kind {kind} needs failing tests first")
    if state not in {S.DESIGN, S.TEST_RED}:
        return _refusal("red", state, (S.DESIGN, S.TEST_RED), "RED lies behind already")
    if not note.strip():
        return _refusal("red", state, (S.DESIGN, S.TEST_RED), "say in the note why no test is asked for")
    return S.CODE_GREEN


def pass_pre_implemented(state: CycleState, green: Verdict | None) -> CycleState | Refusal:
    """The tests pass before any code is written, since the code exists: GREEN is proved at once, RED never claimed."""
    if state is not S.TEST_RED:
        return _refusal("red", state, (S.TEST_RED,), "only tests that were just written can be found to pass already")
    if not _accepts(green, Phase.GREEN):
        return _refusal("green", state, (S.TEST_RED,), why_not(green, Phase.GREEN))
    return S.REFACTOR


def _accepts(verdict: Verdict | None, phase: Phase) -> bool:
    return verdict is not None and verdict.phase == phase and verdict.accepted and not verdict.errors


def why_not(verdict: Verdict | None, phase: Phase) -> str:
    gate = phase.value.upper()
    if verdict is None:
        return f"the {gate} gate has not judged it"
    if verdict.phase != phase:
        return f"this is a verdict of {verdict.phase.value.upper()}, not of {gate}"
    codes = ", ".join(dict.fromkeys(finding.code for finding in verdict.errors))
    return f"the {gate} gate refused it" + (f": {codes}" if codes else "")


# --- without a gate ---------------------------------------------------------------------------------------------------


def check_cycle(state: CycleState | None, command: str) -> CycleCommand | Refusal:
    """Whether a command may be given now. For one with gates this says no more than that it may be tried."""
    name = command.strip().removeprefix("/").removeprefix("tdd ").strip()
    known = CYCLE_COMMANDS.get(name)
    if known is None:
        meant = closest(name, CYCLE_COMMANDS)
        meant = f"/tdd {meant}" if meant else ""
        return Refusal(f"/tdd {name}", state or NO_CYCLE, allowed_cycle(state), did_you_mean=meant)
    if state not in known.allowed:
        return _command_refusal(state, known, _hint(state, known))
    return known


def _command_refusal(state: CycleState | None, known: CycleCommand, hint: str) -> Refusal:
    allowed_in = (*([NO_CYCLE] if None in known.allowed else []), *(s.value for s in S if s in known.allowed))
    return Refusal(known.shown, state or NO_CYCLE, allowed_cycle(state), allowed_in, hint)


def move(state: CycleState | None, command: str) -> CycleState | Refusal | None:
    """The state after a command that needs no verdict."""
    known = check_cycle(state, command)
    if isinstance(known, Refusal):
        return known
    if known.gates:
        return _command_refusal(state, known, f"a verdict is needed: {_names(known.gates)}")
    return dict(known.moves).get(state, state)


def allowed_cycle(state: CycleState | None) -> tuple[str, ...]:
    return tuple(command.shown for command in CYCLE_COMMANDS.values() if state in command.allowed)


def phases_from(state: CycleState) -> tuple[Phase, ...]:
    """The phases that can be worked on next; in REFACTOR the last one ends the cycle."""
    return tuple(phase for source, phase in CROSSINGS if source == state)


def _hint(state: CycleState | None, known: CycleCommand) -> str:
    if known.name == "start":
        return "this story's cycle is not finished: `/tdd next` goes on, `/tdd abort` gives it up"
    if known.name == "skip_phase" and state in OPEN:
        return "this phase has a gate, and a gate cannot be skipped: `/tdd next` works on it, `/tdd undo` goes back"
    if state is None:
        return "its cycle has not begun; in an active sprint, `/tdd start <story>` begins it"
    if state in FINAL:
        return "this cycle is over; in an active sprint, `/tdd start <story>` begins a new one"
    return "`/tdd next` does what the current phase needs"


def _refusal(what: str, state: CycleState, allowed_in: Iterable[CycleState], hint: str) -> Refusal:
    return Refusal(what, state, allowed_cycle(state), tuple(allowed_in), hint)


def _names(phases: Iterable[Phase]) -> str:
    return ", ".join(phase.value.upper() for phase in phases) or "none"


def cycle_mermaid() -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {S.DESIGN}: /tdd start"]
    for (source, phase), target in CROSSINGS.items():
        lines.append(f"    {source} --> {target}: {phase.value}{' gate' if phase in GATED else ''}")
    lines.append(f"    {S.DESIGN} --> {S.CODE_GREEN}: docs, config, chore (recorded)")
    lines.append(f"    {S.TEST_RED} --> {S.REFACTOR}: pre-implemented, green gate (recorded)")
    lines += [f"    {source} --> {target}: /tdd undo" for source, target in _BACK]
    lines += [f"    {source} --> {S.ABORTED}: /tdd abort" for source in S if source in OPEN]
    lines += [f"    {final} --> [*]" for final in S if final in FINAL]
    return "\n".join(lines) + "\n"
