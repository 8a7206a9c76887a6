"""Metrics that decide whether a model is asked for a refactoring."""

from __future__ import annotations

import pytest

from prd2pr.domain.stack import PYTHON
from prd2pr.verification.refactor_need import CONVERSATION_THRESHOLDS, is_simple_enough, measure_sources

PLAIN = "def add(a, b):\n    return a + b\n"
THREE_BRANCHES = "def pick(a, b):\n    if a:\n        return 1\n    if b:\n        return 2\n    return 3 if a else 4\n"
TWO_BRANCHES = "def pick(a, b):\n    if a:\n        return 1\n    return 3 if b else 4\n"
LONG = "def many(a):\n" + "".join(f"    a += {n}\n" for n in range(13)) + "    return a\n"
SAME = "    a += 1\n    a *= 2\n    a -= 3\n"
COPIED = f"def one(a):\n{SAME}    return a\n\n\ndef two(a):\n{SAME}    return -a\n"


def plain(after: str, before: str = "") -> bool:
    texts = ({"src/a.py": text} if text else {} for text in (before, after))
    return is_simple_enough(*(measure_sources(PYTHON, each) for each in texts))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (PLAIN, True),
        (TWO_BRANCHES, True),
        (THREE_BRANCHES, False),
        (LONG.replace("    a += 0\n", ""), True),
        (LONG, False),
        (COPIED, False),
        ("LIMIT = 3\n", False),
        ("def broken(:\n", False),
    ],
    ids=["plain", "two branches", "three branches", "14 lines", "15 lines", "copied", "no functions", "no code"],
)
def test_code_below_every_threshold_needs_no_refactoring(code: str, expected: bool) -> None:
    assert plain(code) is expected


@pytest.mark.parametrize(("branches", "expected"), [(7, True), (8, False)])
def test_a_conversation_asks_only_about_really_complex_code(branches: int, expected: bool) -> None:
    code = {"src/a.py": "def pick(a):\n" + "".join(f"    a = a or {n}\n" for n in range(branches)) + "    return a\n"}
    before, after = measure_sources(PYTHON, {}), measure_sources(PYTHON, code)
    assert after["complexity_max"] == branches + 1
    assert not is_simple_enough(before, after)
    assert is_simple_enough(before, after, CONVERSATION_THRESHOLDS) is expected


def test_existing_code_is_no_reason() -> None:
    assert plain(THREE_BRANCHES + PLAIN, before=THREE_BRANCHES)
    assert not plain(THREE_BRANCHES + LONG, before=THREE_BRANCHES)
    assert not plain(THREE_BRANCHES.replace("1\n", "1 if b else 9\n"), before=THREE_BRANCHES), "it has grown"


def test_worse_existing_function_does_not_hide_a_new_one() -> None:
    worse = THREE_BRANCHES.replace("return 1\n", "return 1 if b else 9 if a else 8\n").replace("pick", "worse")
    assert plain(worse + PLAIN + TWO_BRANCHES, before=worse)
    assert not plain(worse + THREE_BRANCHES, before=worse)
    longer = LONG.replace("many", "more").replace("    return a\n", "    a += 99\n    a += 98\n    return a\n")
    assert not plain(longer + LONG, before=longer)


def test_code_without_metrics_is_not_simple_enough() -> None:
    assert not is_simple_enough(
        dict.fromkeys(measure_sources(PYTHON, {}), 0), dict.fromkeys(measure_sources(PYTHON, {}), 0)
    )
