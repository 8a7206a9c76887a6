"""Warnings from metrics: only about what the story made worse."""

from __future__ import annotations

import pytest

from prd2pr.agents.outputs.smell import StoryCode, detect_smells

LONG = "def long():\n" + "".join(f"    x{n} = {n}\n" for n in range(60)) + "\n\ndef short():\n    return 1\n"
FILE = "".join(f"A{n} = {n}\n" for n in range(301))
IMPORTS = "".join(f"import m{n}\n" for n in range(21))
COPIED = "def a(x):\n    y = x + 1\n    z = y * 2\n    w = z - 3\n    v = w // 4\n    u = v % 5\n    return u\n"
TWICE = COPIED + COPIED.replace("def a", "def b")


def rules(code: StoryCode) -> list[tuple[str, str]]:
    return [(warning.rule, warning.path) for warning in detect_smells(code).warnings]


@pytest.mark.parametrize(
    ("source", "rule"),
    [(LONG, "long function"), (FILE, "long file"), (IMPORTS, "many imports")],
)
def test_threshold_is_reported_if_the_story_exceeded_it(source: str, rule: str) -> None:
    assert rules(StoryCode({}, {"src/a.py": source})) == [(rule, "src/a.py")]
    assert rules(StoryCode({"src/a.py": source}, {"src/a.py": source.replace("7", "8", 1)})) == [], "it was so before"


def test_location_of_a_long_function_is_reported() -> None:
    nested = "class A:\n" + "".join(f"    {line}\n" if line else "\n" for line in LONG.splitlines())
    (warning,) = detect_smells(StoryCode({}, {"src/a.py": nested})).warnings
    assert (warning.line, warning.message) == (2, "`A.long` has 61 lines, more than 50")


def test_duplicated_lines_are_reported() -> None:
    many = TWICE + COPIED.replace("def a", "def c")
    assert ("copied lines", "src/a.py") in rules(StoryCode({}, {"src/a.py": many}))
    assert rules(StoryCode({}, {"src/a.py": COPIED})) == []


def branches(number: int) -> str:
    return "def f(x):\n" + "".join(f"    if x == {n}:\n        return {n}\n" for n in range(number)) + "    return 0\n"


def test_complexity_that_grows_over_stories_is_reported() -> None:
    grown = StoryCode({"src/a.py": branches(18)}, {"src/a.py": branches(20)})
    assert rules(grown) == []
    history = StoryCode(grown.before, grown.after, history={"src/a.py": (8, 12, 18)})
    (warning,) = detect_smells(history).warnings
    assert warning.message == "complexity grew from 8 to 21 in the last 3 stories"
    assert rules(StoryCode({"src/a.py": branches(2)}, {"src/a.py": branches(8)})) == [], "half of little is little"


def test_unplanned_files_are_drift() -> None:
    code = StoryCode({"src/b.py": ""}, {"src/a.py": "A = 1\n", "src/b.py": "B = 1\n"}, planned=("src/a.py",))
    assert rules(code) == [("scope drift", "src/b.py")]
    assert rules(StoryCode({}, {"src/a.py": "A = 1\n"})) == [], "nobody has planned anything"


@pytest.mark.parametrize("source", ["def f(:\n", "", "\0", "(" * 3000])
def test_unparsable_code_is_checked_anyway(source: str) -> None:
    assert detect_smells(StoryCode({}, {"src/a.py": source, "src/a.css": source})).looked_at == (
        "src/a.css",
        "src/a.py",
    )
