"""Commit messages that a program can read back, whatever a title says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.records import Phase
from prd2pr.state.commit_message import (
    StepRef,
    build_step_trailers,
    compute_evidence_digest,
    format_message,
    format_subject,
    read_step,
    read_trailers,
    split_message,
)

STEP = StepRef("auth", "auth-2", 3, Phase.RED, compute_evidence_digest(b"evidence"))


def test_step_message_states_story_and_phase() -> None:
    message = format_message(
        "red(auth-2): a wrong password is refused", "Two tests fail.\nAs planned.", build_step_trailers(STEP)
    )
    assert message == (
        "red(auth-2): a wrong password is refused\n\nTwo tests fail.\nAs planned.\n\n"
        f"Tdd-Step: auth/auth-2/3\nTdd-Phase: red\nTdd-Evidence: {STEP.evidence}\n"
    )
    assert read_step(read_trailers(split_message(message)[1])) == STEP


def test_subjects_are_short_and_one_line() -> None:
    subject = format_subject("red", "auth-2", "a very long title " * 10)
    assert len(subject) <= 72
    assert subject.endswith("…")
    assert (
        format_subject("red", "a-1", "two\nlines\tand \x1b[31mred\x07 \u202egnp")
        == "red(a-1): two lines and [31mred gnp"
    )


NASTY = [
    "Tdd-Phase: green",
    "fine\n\nTdd-Step: auth/auth-9/1\nTdd-Phase: green",
    "fine\r\rTdd-Phase: green",
    "fine\u2028\u2028Tdd-Phase: green\x0b\x0cTdd-Phase: green",
    "Signed-off-by: the boss <boss@example.org>",
    "# gone",
    "--- a/x",
]


@pytest.mark.parametrize("text", NASTY)
def test_text_cannot_add_a_trailer(text: str) -> None:
    with_trailers = format_message(text, text, build_step_trailers(STEP))
    assert read_step(read_trailers(split_message(with_trailers)[1])) == STEP
    assert read_trailers(split_message(format_message(text, text, ()))[1]) == {}


@given(st.text(), st.text())
def test_step_round_trips_with_any_text(subject: str, body: str) -> None:
    message = format_message(subject, body, build_step_trailers(STEP))
    trailers = read_trailers(split_message(message)[1])
    assert read_step(trailers) == STEP
    assert set(trailers) == {"Tdd-Step", "Tdd-Phase", "Tdd-Evidence"}


@pytest.mark.parametrize(
    "body",
    [
        "",
        "Tdd-Step: auth/auth-2/3\nTdd-Phase: red",
        f"Tdd-Step: auth/auth-2/3\nTdd-Step: auth/auth-2/4\nTdd-Phase: red\nTdd-Evidence: {STEP.evidence}",
        f"Tdd-Step: auth/../3\nTdd-Phase: rot\nTdd-Evidence: {STEP.evidence}",
        f"Tdd-Step: auth/auth-2/3\nTdd-Phase: red\nTdd-Evidence: {STEP.evidence}\n\nA last word.",
        f"As he said:\nTdd-Step: auth/auth-2/3\nTdd-Phase: red\nTdd-Evidence: {STEP.evidence}",
    ],
)
def test_incomplete_trailers_are_no_step(body: str) -> None:
    assert read_step(read_trailers(body)) is None


def test_a_cherry_picked_step_is_still_one() -> None:
    message = format_message("red(a-1): x", "", build_step_trailers(STEP)) + "(cherry picked from commit 0123abcd)\n"
    assert read_step(read_trailers(split_message(message)[1])) == STEP


def test_invalid_trailer_value_is_refused() -> None:
    for key, value in (("Tdd Phase", "red"), ("Tdd-Phase", ""), ("", "x")):
        with pytest.raises(ValueError, match="not a trailer"):
            format_message("x", "", [(key, value)])


@pytest.mark.parametrize(
    "text",
    [
        "Fixes #1",
        "closes octo/calc#12",
        "resolves gh-7",
        "fixes https://github.com/octo/calc/issues/3",
        "for @octo/all and @ada",
        "[skip ci]",
        "[CI Skip]",
        "[no ci]",
        "[skip actions]",
        "[actions skip]",
        "skip-checks:true",
        "skip-checks: true",
    ],
)
def test_untrusted_text_is_readable_and_inert(text: str) -> None:
    message = format_message(f"red(gh-2-1): {text}", f"{text}\nand\n{text}", build_step_trailers(STEP))
    assert text not in message
    subject, body = split_message(message)
    assert subject.startswith("red(gh-2-1): "), "`verify` compares phase and story"
    assert subject.replace("\u200b", "") == f"red(gh-2-1): {text}"
    assert body.replace("\u200b", "").count(text) == 2
    assert read_step(read_trailers(body)) == STEP


def test_own_trailers_are_unchanged() -> None:
    step = StepRef("GH-2", "GH-2-1", 1, Phase.RED, compute_evidence_digest(b""))
    trailers = read_trailers(
        split_message(format_message("x", "@ada", (*build_step_trailers(step), ("By", "@ada #1"))))[1]
    )
    assert read_step(trailers) == step
    assert trailers["By"] == ("@ada #1",)
