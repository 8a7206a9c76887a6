"""Documents to bytes and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.records import (
    SCHEMA_VERSION,
    Backlog,
    Criterion,
    Cycle,
    CycleState,
    Document,
    Phase,
    Spend,
    Status,
    Step,
    Story,
)
from prd2pr.errors import StateCorrupted, StateNewer
from prd2pr.state.codec import MIGRATIONS, decode_document, encode_document

GOLDEN = Path(__file__).parent / "golden_state"

CYCLE = Cycle(
    story="auth-2",
    state=CycleState.CODE_GREEN,
    steps=(
        Step(
            n=1,
            phase=Phase.RED,
            at="2026-05-04T10:20:30Z",
            code_tree="a" * 40,
            evidence="sha256:b",
            seconds=0.1 + 0.2,
            spend=Spend(calls=1, usd=0.0123456789),
            note="naïve",
        ),
    ),
)


class Sample(Document):
    """A separate record type, so a new field in a real record needs no new golden file."""

    zeta: dict[str, float | None]
    alpha: tuple[str, ...]


def test_bytes_match_the_golden_file() -> None:
    sample = Sample(zeta={"b": 0.1 + 0.2, "a": 2.0, "ä": None}, alpha=("naïve\n", '"quoted"', "\u2028"))
    assert encode_document(sample) == (GOLDEN / "sample-1.json").read_bytes()


def test_bytes_round_trip() -> None:
    once = encode_document(CYCLE)
    assert encode_document(decode_document(Cycle, once, "x")) == once
    again = encode_document(Cycle(story="a", steps=(CYCLE.steps[0].model_copy(update={"seconds": 2.0}),)))
    assert encode_document(decode_document(Cycle, again, "x")) == again
    assert json.loads(again)["steps"][0]["seconds"] == 2


@given(st.floats(allow_nan=False, allow_infinity=False), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_and_number_survives(number: float, text: str) -> None:
    proof = Proof(
        evidence=Evidence(phase=Phase.REFACTOR, note=text, improvement={text: [number, {"b": 1, "a": None}]}),
        verdict=Verdict(phase=Phase.REFACTOR, accepted=True),
    )
    once = encode_document(proof)
    back = decode_document(Proof, once, "x")
    assert back.evidence.note == text
    assert back.evidence.improvement[text][0] == pytest.approx(number, abs=1e-6)
    assert encode_document(back) == once
    assert once.endswith(b"\n")
    assert b"\r" not in once


TEST_NAMES = st.sampled_from(
    ["a.py::x", "a.py::x[1]", "a.py::x[2]", "a.py::C::x[1]", "a.py::C::x[2]", "b.py::x", "x", "", "::", "::x[1]",
     "a.py::", "a.py::[1]", "a.py::x[", "a.py::x[[]", "a.py::x::[1]", "[1]", "pkg/TestA/case"]
)  # fmt: skip


@given(st.lists(st.one_of(TEST_NAMES, st.text(st.sampled_from("a:[].")))))
def test_any_ids_of_tests_survive(tests: list[str]) -> None:
    cycle = Cycle(story="a", tests=tuple(tests), coverage={"a.c1": tuple(tests)})
    assert decode_document(Cycle, encode_document(cycle), "x") == cycle


def test_file_and_test_are_stored_once() -> None:
    tests = ("a.py::test_1[x]", "a.py::test_1[y]", "a.py::test_2", "b.py::test_1")
    stored = json.loads(encode_document(Cycle(story="a", tests=tests)))
    assert stored == {
        "schema_version": 1, "story": "a", "tests": [["a.py", "test_1[x]", "[y]", "test_2"], ["b.py", "test_1"]]
    }  # fmt: skip


@pytest.mark.parametrize("tests", ['[["a.py", 1]]', "[[]]", "[{}]", '[["a.py", ["x"]], "b"]', '"a.py::x"', "1"])
def test_damaged_ids_of_tests_are_refused(tests: str) -> None:
    with pytest.raises(StateCorrupted, match="tests"):
        decode_document(Cycle, f'{{"schema_version": 1, "story": "a", "tests": {tests}}}'.encode(), "x")


def test_values_json_cannot_represent_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be stored"):
        encode_document(Cycle(story="a", steps=(CYCLE.steps[0].model_copy(update={"seconds": float("nan")}),)))


def test_newer_schema_requires_an_upgrade() -> None:
    newer = json.dumps({"schema_version": SCHEMA_VERSION + 1, "state": "HOVERING", "unknown": []}).encode()
    with pytest.raises(StateNewer, match=r"status\.json was written by a newer prd2pr") as caught:
        decode_document(Status, newer, "status.json")
    assert "upgrade" in caught.value.remedy


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "line 1"),
        (b'{"schema_version": 1, ', "line 1"),
        (b"<<<<<<< HEAD\n{}\n", "line 1"),
        (b"[]", "object was expected"),
        (b'"\xff"', "UTF-8"),
        (b"[" * 100_000, "nested|line"),
        (b'{"schema_version": 1, "state": "HOVERING"}', "state: Input should be"),
        (b'{"schema_version": 1, "states": 1}', "states: Extra inputs"),
        (b'{"schema_version": "two"}', "schema_version"),
        (b'{"schema_version": -1}', "schema_version"),
        (b'{"schema_version": 1, "transitions": [{"at": "x"}]}', r"transitions\.0\.by.*and \d more"),
    ],
)
def test_damage_is_reported_with_its_location(data: bytes, why: str) -> None:
    with pytest.raises(StateCorrupted, match=why) as caught:
        decode_document(Status, data, "prds/a/status.json")
    assert caught.value.where == "prds/a/status.json"


@pytest.mark.parametrize(("kind", "name"), [(Backlog, "backlog"), (Cycle, "cycle"), (Status, "status")])
def test_a_document_of_version_0_is_migrated(kind: type[Document], name: str) -> None:
    old = (GOLDEN / f"{name}-0.json").read_bytes()
    assert b"schema_version" not in old
    assert decode_document(kind, old, name) == decode_document(
        kind, (GOLDEN / f"{name}-0-migrated.json").read_bytes(), name
    )


def test_every_kind_with_a_migration_has_a_golden_document() -> None:
    assert {name.lower() for name, _ in MIGRATIONS} <= {path.name.split("-")[0] for path in GOLDEN.glob("*-0.json")}


def test_an_old_document_of_the_wrong_form_is_corrupted() -> None:
    with pytest.raises(StateCorrupted, match="schema 0"):
        decode_document(Backlog, b'{"stories": [7]}', "backlog.json")


@pytest.mark.slow
def test_ten_thousand_stories_round_trip() -> None:
    criteria = tuple(Criterion(id=f"AC-{n}", text="it holds " * 5) for n in range(3))
    stories = tuple(Story(id=f"s-{n}", epic="e", title=f"Story {n}", criteria=criteria) for n in range(10_000))
    backlog = Backlog(stories=stories)
    assert decode_document(Backlog, encode_document(backlog), "backlog.json") == backlog
