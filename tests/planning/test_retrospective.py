from __future__ import annotations

import pytest

from prd2pr.planning.decisions.retrospective import parse_retrospective


def parts(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    made = parse_retrospective(text, by="ann", at="2026-05-04T10:20:30Z")
    assert (made.by, made.text) == ("ann", text.strip())
    return made.went_well, made.improve, made.actions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("good", ((), (), ())),
        ("", ((), (), ())),
        ("Went well: the tests; the pace. Improve: the names.", (("the tests", "the pace"), ("the names",), ())),
        ("improve: less noise\nactions: split the module", ((), ("less noise",), ("split the module",))),
        ("+ quick\n- too many retries\n> raise the budget", (("quick",), ("too many retries",), ("raise the budget",))),
        ("All went well, I think.", ((), (), ())),
    ],
)
def test_labelled_feedback_is_sorted(text: str, found: tuple[tuple[str, ...], ...]) -> None:
    assert parts(text) == found
