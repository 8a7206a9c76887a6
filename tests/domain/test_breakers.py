"""Circuit breakers: when they open, let a probe through, close, and stay open until a person resets them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

import pytest

from prd2pr.domain.breaker_text import describe_circuit, describe_open_circuits, find_circuit_stop
from prd2pr.domain.breakers.circuits import (
    apply_circuit_events,
    close_circuits,
    find_blocking_circuit,
    find_unauthorized_resets,
    get_circuit_state,
    list_open_circuits,
)
from prd2pr.domain.breakers.records import SYSTEM, Circuits, OperationFailure, OperationSuccess
from prd2pr.state.codec import decode_document, encode_document

START = datetime(2026, 11, 17, 12, 4)
NONE = Circuits()
SONNET, OPUS, OTHER = "anthropic:sonnet", "anthropic:opus", "openai:other"


def at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def failed(seconds: float, stage: str = "green", worker: str = "", workers: int = 5) -> OperationFailure:
    return OperationFailure(stage=stage, at=at(seconds), why="no connection", worker=worker, workers=workers)


def worked(seconds: float, stage: str = "green", worker: str = "") -> OperationSuccess:
    return OperationSuccess(stage=stage, at=at(seconds), worker=worker)


def opened(seconds: float = 2, **more: object) -> Circuits:
    return apply_circuit_events(NONE, [failed(seconds - n, **more) for n in (2, 1, 0)])  # type: ignore[arg-type]


def names(circuits: Circuits) -> list[str]:
    return [circuit.name for circuit in list_open_circuits(circuits)]


def state(circuits: Circuits, name: str, seconds: float) -> str:
    circuit = circuits.find_circuit(name)
    return get_circuit_state(circuit, at(seconds)) if circuit else "closed"


def test_stage_opens_for_300_seconds_after_three_failures() -> None:
    two = apply_circuit_events(NONE, [failed(0), failed(10)])
    assert names(two) == []
    three = apply_circuit_events(two, [failed(20)])
    assert names(three) == ["green"]
    assert [state(three, "green", second) for second in (20, 319, 320)] == ["open", "open", "half-open"]
    assert find_blocking_circuit(three, "red", "", at(20)) is None, "another stage goes on"
    assert find_blocking_circuit(three, "green", "", at(320)) is None, "a probe is let through"


def test_success_resets_the_count() -> None:
    assert names(apply_circuit_events(NONE, [failed(0), failed(1), worked(2), failed(3), failed(4)])) == []


def test_old_failures_expire() -> None:
    day = 24 * 3600 + 1
    assert names(apply_circuit_events(NONE, [failed(0), failed(1), failed(1 + day)])) == []
    assert names(apply_circuit_events(NONE, [failed(0), failed(1), failed(day)])) == ["green"]


def test_failed_probe_reopens_and_successful_probe_closes() -> None:
    again = apply_circuit_events(opened(), [failed(303)])
    assert [state(again, "green", second) for second in (303, 602, 603)] == ["open", "open", "half-open"]
    assert names(apply_circuit_events(opened(), [worked(303)])) == []


def test_worker_opens_after_three_failures_in_a_row_in_any_stage() -> None:
    stages = apply_circuit_events(
        NONE, [failed(n, stage, SONNET) for n, stage in enumerate(("design", "red", "green"))]
    )
    assert names(stages) == [SONNET]
    assert find_blocking_circuit(stages, "design", SONNET, at(3)) is not None
    assert find_blocking_circuit(stages, "design", OPUS, at(3)) is None
    assert names(apply_circuit_events(stages, [worked(400, "red", SONNET)])) == [], "one probe lets it close"


def test_system_opens_when_half_of_the_workers_open_within_300_seconds() -> None:
    one = opened(worker=SONNET, stage="red", workers=4)
    assert SYSTEM not in names(one)
    both = apply_circuit_events(one, [failed(100 + n, "design", OPUS, 4) for n in range(3)])
    assert names(both)[0] == SYSTEM
    assert find_blocking_circuit(both, "integrated", "", at(103)) is not None, "everything stops"
    late = apply_circuit_events(one, [failed(400 + n, "design", OPUS, 4) for n in range(3)])
    assert SYSTEM not in names(late), "not within 300 seconds"
    assert SYSTEM in names(opened(worker=SONNET, workers=1)), "the only worker is more than half of them"


def test_system_is_probed_and_closes_when_a_worker_succeeds() -> None:
    stopped = opened(worker=SONNET, workers=1)
    assert state(stopped, SYSTEM, 303) == "half-open"
    assert names(apply_circuit_events(stopped, [failed(303, worker=SONNET, workers=1)])) == [SYSTEM, SONNET, "green"]
    assert names(apply_circuit_events(stopped, [worked(303, "integrated")])) == [SYSTEM, SONNET, "green"], (
        "no worker was asked"
    )
    assert names(apply_circuit_events(stopped, [worked(303, "green", SONNET)])) == []


def flapping() -> Circuits:
    return apply_circuit_events(opened(), [failed(303), failed(604), failed(905)])


def test_four_openings_within_six_hours_require_a_person() -> None:
    assert state(apply_circuit_events(opened(), [failed(303), failed(604)]), "green", 1000) == "half-open"
    assert state(flapping(), "green", 10**6) == "open"
    assert names(apply_circuit_events(flapping(), [worked(906)])) == ["green"], "no success closes it"
    assert names(close_circuits(flapping(), ["green"])) == []
    closed_between = apply_circuit_events(opened(), [worked(303), *(failed(304 + n) for n in range(3)), worked(700)])
    for start in (800, 1300):
        closed_between = apply_circuit_events(
            closed_between, [*(failed(start + n) for n in range(3)), worked(start + 400)]
        )
    assert state(closed_between, "green", 10**6) == "open", "opening again after a success is flapping too"


def test_distant_openings_are_not_flapping() -> None:
    hours = [n * 3 * 3600 for n in range(6)]
    slow = apply_circuit_events(NONE, [failed(0), failed(1), *(failed(2 + hour) for hour in hours)])
    assert state(slow, "green", hours[-1] + 400) == "half-open"


def test_only_a_person_closes_a_flapping_breaker() -> None:
    assert find_unauthorized_resets(flapping(), NONE) == ("green",)
    assert find_unauthorized_resets(flapping(), apply_circuit_events(flapping(), [worked(906), failed(907)])) == ()
    assert find_unauthorized_resets(opened(), NONE) == ()


def test_open_push_breaker_blocks_all_work() -> None:
    push = opened(stage="push")
    assert find_blocking_circuit(push, "design", SONNET, at(3)) is not None
    assert names(apply_circuit_events(push, [worked(303, "red")])) == [], "what was committed was pushed"


SINCE = "since 2026-11-17 12:04 UTC: no connection"


@pytest.mark.parametrize(
    ("circuits", "second", "standing", "then"),
    [
        (opened(), 3, "open after 3 failures", "it is tried again after 2026-11-17 12:09 UTC, or once it is reset"),
        (opened(), 400, "half-open after 3 failures", "the next step tries it again"),
        (
            flapping(),
            1000,
            "open after 6 failures",
            "it opened 4 times within 6 hours, so it stays open until it is reset",
        ),
    ],
)
def test_report_has_start_reason_and_next_step(circuits: Circuits, second: float, standing: str, then: str) -> None:
    assert describe_open_circuits(circuits, at(second)) == (f"`green` is {standing} {SINCE}; {then}",)


def test_widest_scope_is_reported_first_and_reasons_are_one_line() -> None:
    trouble = [OperationFailure(stage="red", at=at(n), why="bad\n\x1b[31mgateway", worker=SONNET) for n in range(3)]
    rest = find_circuit_stop(apply_circuit_events(NONE, trouble), "red", SONNET, at(3), "/tdd reset")
    assert rest is not None
    assert (rest.outcome, rest.next) == ("waiting", "/tdd reset")
    assert rest.reason.startswith(
        "all work is stopped since 2026-11-17 12:04 UTC: the breakers of 1 of 1 models are open"
    )
    assert "bad gateway" in rest.reason


def test_breakers_round_trip_through_json() -> None:
    circuits = flapping()
    assert decode_document(Circuits, encode_document(circuits), "circuits.json") == circuits
    assert decode_document(Circuits, encode_document(NONE), "circuits.json") == NONE


def test_invariants_hold_for_any_sequence() -> None:
    chance = random.Random(5)
    for _ in range(300):
        circuits, now = NONE, 0.0
        for _ in range(40):
            now += chance.choice((1, 20, 310, 4000))
            stage, worker = chance.choice(("red", "green", "push")), chance.choice(("", SONNET, OPUS, OTHER))
            event = failed(now, stage, worker, 3) if chance.random() < 0.7 else worked(now, stage, worker)
            before, circuits = circuits, apply_circuit_events(circuits, [event])
            assert find_unauthorized_resets(before, circuits) == ()
            for circuit in circuits.circuits:
                assert circuit.by_hand <= bool(circuit.opened_at)
                assert list(circuit.openings) == sorted(circuit.openings)
                assert not circuit.opened_at or circuit.failures or circuit.level == "system"
                if circuit.opened_at:
                    assert describe_circuit(circuit, at(now))
        assert names(close_circuits(circuits, names(circuits))) == []
