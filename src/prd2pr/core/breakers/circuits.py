"""How circuits open, let a probe through and close again.

A circuit opens after three failures without a success between them, and is open for 300 seconds. Then it is half-open:
one try goes through. If that fails, it opens at once; if it succeeds, the circuit closes. The system opens when half of
the workers have opened within 300 seconds. What opens four times within six hours flaps: it stays open until a person
resets it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from prd2pr.core.breakers.records import PUSH, SYSTEM, Circuit, Circuits, Event, Level, Success, Trouble
from prd2pr.core.wording import clip, plain

State = Literal["closed", "open", "half-open"]

FAILURES = 3
OPEN_FOR = timedelta(seconds=300)
SYSTEM_WINDOW = timedelta(seconds=300)
FLAPPING = 4  # openings
FLAP_WINDOW = timedelta(hours=6)
FORGOTTEN_AFTER = timedelta(hours=24)  # what failed yesterday says nothing of today
LONGEST_WHY = 300


def state_of(circuit: Circuit, at: str) -> State:
    if not circuit.opened_at:
        return "closed"
    if circuit.by_hand or _time(at) < _time(circuit.opened_at) + OPEN_FOR:
        return "open"
    return "half-open"


def tried_again_at(circuit: Circuit) -> str:
    """From when on an open circuit lets a probe through."""
    return (_time(circuit.opened_at) + OPEN_FOR).strftime("%Y-%m-%dT%H:%M:%SZ")


def not_closed(circuits: Circuits) -> tuple[Circuit, ...]:
    """The widest first."""
    order: tuple[Level, ...] = ("system", "worker", "stage")
    return tuple(sorted((each for each in circuits.circuits if each.opened_at), key=lambda it: order.index(it.level)))


def holding(circuits: Circuits, stage: str, worker: str, at: str) -> Circuit | None:
    """What keeps a step of this stage from being tried now. A commit that cannot be pushed is not worked for either."""
    concerned = {SYSTEM, PUSH, stage, worker}
    found = (each for each in not_closed(circuits) if each.name in concerned and state_of(each, at) == "open")
    return next(found, None)


# --- what happens to them ---------------------------------------------------------------------------------------------


def after(circuits: Circuits, events: Iterable[Event]) -> Circuits:
    for event in events:
        circuits = _failed(circuits, event) if isinstance(event, Trouble) else _worked(circuits, event)
    return circuits


def reset(circuits: Circuits, names: Iterable[str]) -> Circuits:
    """By a person: closed, and nothing is held against them any more."""
    gone = set(names)
    return circuits.model_copy(update={"circuits": tuple(each for each in circuits.circuits if each.name not in gone)})


def closed_without_a_person(before: Circuits, now: Circuits) -> tuple[str, ...]:
    """Circuits that only a person may close, and that are not as they were."""
    flapping = (each for each in before.circuits if each.by_hand)
    return tuple(each.name for each in flapping if not _still_held(now.named(each.name)))


def matters(circuits: Circuits, event: Event) -> bool:
    """Whether it changes anything: success where nothing had failed is not worth a line."""
    return after(circuits, (event,)) != circuits


def _still_held(circuit: Circuit | None) -> bool:
    return circuit is not None and circuit.by_hand and bool(circuit.opened_at)


def _failed(circuits: Circuits, trouble: Trouble) -> Circuits:
    circuits = _counted(circuits, trouble.stage, "stage", trouble)
    if trouble.worker:
        circuits = _counted(circuits, trouble.worker, "worker", trouble)
    return _system(circuits, trouble)


def _counted(circuits: Circuits, name: str, level: Level, trouble: Trouble) -> Circuits:
    circuit = circuits.named(name) or Circuit(name=name, level=level)
    stale = circuit.last and not circuit.opened_at and _time(trouble.at) - _time(circuit.last) > FORGOTTEN_AFTER
    failures = 1 if stale else circuit.failures + 1
    circuit = circuit.model_copy(
        update={
            "failures": failures,
            "since": circuit.since if circuit.since and failures > 1 else trouble.at,
            "last": trouble.at,
            "why": clip(plain(trouble.why), LONGEST_WHY),
        }
    )
    probed = state_of(circuit, trouble.at) == "half-open"
    opens = probed or (not circuit.opened_at and failures >= FAILURES)
    return _with(circuits, _opened(circuit, trouble.at) if opens else circuit)


def _system(circuits: Circuits, trouble: Trouble) -> Circuits:
    """Half of the workers, opened within the window; or the probe of a system that was open."""
    opened = [
        each
        for each in circuits.circuits
        if each.level == "worker" and each.opened_at and _time(trouble.at) - _time(each.opened_at) <= SYSTEM_WINDOW
    ]
    system = circuits.named(SYSTEM) or Circuit(name=SYSTEM, level="system")
    if state_of(system, trouble.at) == "open" or 2 * len(opened) < trouble.workers or not opened:
        return circuits
    names = ", ".join(each.name for each in opened)
    why = f"{len(opened)} of {trouble.workers} models opened: {names}; {trouble.why}"
    facts = {"failures": len(opened), "last": trouble.at, "why": clip(plain(why), LONGEST_WHY)}
    facts["since"] = min(each.since for each in opened)
    return _with(circuits, _opened(system.model_copy(update=facts), trouble.at))


def _worked(circuits: Circuits, success: Success) -> Circuits:
    """What has worked is closed, but for a circuit that flaps. That it was open counts on while flapping is looked for.

    A push has worked with every success: it is a commit. The system works if one of its workers does.
    """
    names = {success.stage, PUSH} | ({success.worker, SYSTEM} if success.worker else set())
    kept = (_closed(each, success.at) if each.name in names else each for each in circuits.circuits)
    return circuits.model_copy(update={"circuits": tuple(each for each in kept if each is not None)})


def _closed(circuit: Circuit, at: str) -> Circuit | None:
    if circuit.by_hand:
        return circuit
    openings = _recent(circuit.openings, at)
    return Circuit(name=circuit.name, level=circuit.level, openings=openings) if openings else None


def _opened(circuit: Circuit, at: str) -> Circuit:
    openings = (*_recent(circuit.openings, at), at)
    return circuit.model_copy(
        update={"opened_at": at, "openings": openings, "by_hand": circuit.by_hand or len(openings) >= FLAPPING}
    )


def _recent(openings: tuple[str, ...], at: str) -> tuple[str, ...]:
    return tuple(each for each in openings if _time(at) - _time(each) <= FLAP_WINDOW)


def _with(circuits: Circuits, circuit: Circuit) -> Circuits:
    others = (each for each in circuits.circuits if each.name != circuit.name)
    ordered = sorted((*others, circuit), key=lambda each: each.name)
    return circuits.model_copy(update={"circuits": tuple(ordered)})


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at)
