"""What stands in a canary: small sums, written as people write tests, no two alike."""

from __future__ import annotations

import math
import secrets
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

IMPORTS = ("", "", "import math", "import statistics", "import pytest", "import json\nimport math")
LOCALS = ("result", "value", "found", "actual", "total", "got", "answer", "seen")
DOCSTRINGS = ("Small cases.", "Edge cases.", "What callers rely on.", "Regression tests.")


@dataclass(frozen=True)
class Written:
    text: str
    functions: tuple[str, ...]  # one that passes, the one that fails, others that pass


def canary_text(draw: secrets.SystemRandom, names: Sequence[str], markers: Sequence[str]) -> Written:
    passing, failing, *others = names
    head = _head(draw, markers)
    functions = [_function(draw, name, head, off=draw.randint(1, 9) if name == failing else 0) for name in names]
    draw.shuffle(functions)
    docstring = f'"""{draw.choice(DOCSTRINGS)}"""' if draw.random() < 0.3 else ""
    marks = ", ".join(f"pytest.mark.{marker}" for marker in markers)
    marked = f"pytestmark = [{marks}]" if marks else ""
    parts = [part for part in (docstring, head, marked) if part]
    return Written("\n\n\n".join(["\n\n".join(parts), *functions]).lstrip() + "\n", (passing, failing, *others))


def _head(draw: secrets.SystemRandom, markers: Sequence[str]) -> str:
    head = draw.choice(IMPORTS)
    return f"{head}\n\nimport pytest".strip() if markers and "import pytest" not in head else head


def _function(draw: secrets.SystemRandom, name: str, head: str, *, off: int) -> str:
    """`off`: by how much what it expects is wrong."""
    expression, right = draw.choice(_expressions(draw, head))
    expected, local = right + off, draw.choice(LOCALS)
    lines = [f'    """{draw.choice(DOCSTRINGS)}"""'] if draw.random() < 0.2 else []
    if draw.random() < 0.5:
        lines += [f"    {local} = {expression}", f"    assert {local} == {expected}"]
    else:
        lines += [f"    assert {expression} == {expected}"]
    return "\n".join([f"def {name}():", *lines])


def _expressions(draw: secrets.SystemRandom, head: str) -> list[tuple[str, int]]:
    values = [draw.randint(2, 900) for _ in range(draw.randint(3, 6))]
    found = [
        (f"sum({values})", sum(values)),
        (f"max({values}) - min({values})", max(values) - min(values)),
        (f"sorted({values})[1]", sorted(values)[1]),
        (f"len({values}) * {values[0]}", len(values) * values[0]),
        (f"{values}[-1] % {values[0]}", values[-1] % values[0]),
    ]
    if "math" in head:
        found = [(f"math.gcd({values[0]}, {values[1]})", math.gcd(*values[:2])), *found[:2]]
    if "statistics" in head:
        found = [(f"statistics.median_low({values})", statistics.median_low(values)), *found[:2]]
    return found
