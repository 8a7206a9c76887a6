"""The source of a canary: small sums, written like ordinary tests, in many variations."""

from __future__ import annotations

import math
import secrets
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

IMPORTS = ("", "", "import math", "import statistics", "import pytest", "import json\nimport math")
LOCALS = ("result", "value", "found", "actual", "total", "got", "answer", "seen")
DOCSTRINGS = ("Small cases.", "Edge cases.", "What callers rely on.", "Regression tests.")


SUBJECTS = """
account address amount archive article balance basket batch bonus booking bucket budget button cache calendar
campaign card cart catalog category channel chapter charge client column comment contact contract counter
country coupon course credit currency customer delivery deposit detail device discount document draft driver
email employee entry event export factor feature field filter folder footer format gateway group header
history import index input interval invoice item journal keyboard label language layout ledger letter level
limit line link listing locale location margin market matrix member menu merge message meter method model
module month name network notice number offer option order owner package page parcel parser partner path
payment period person phone picture plan player point policy portal position price printer product profile
project quantity query queue quote range rate rating reader receipt record refund region report request reset
result retry review reward route rule sample schedule schema score screen search section segment sender series
session setting shipment signal slot source stage state status step stock storage store stream subject summary
supplier survey symbol table tag target task tax team template ticket timer title token topic total track
transfer unit update upload user value variant vendor version visit voucher wallet warehouse window worker
zone
"""

ASPECTS = """
adds alignment applies boundaries bounds calculation changes collects combines counts default details empty
fallback grouping handling initial keeps limits lookup mapping matches merges mixed multiple nested normalises
numbers ordering pairs parsing parts position ranges reads removes rendering replaces resets returns rounding
rules selection sequence simple single sorted splits steps sums totals trims update values widths words
"""


@dataclass(frozen=True)
class CanaryText:
    """The source of a canary module and the names of its tests."""

    text: str
    functions: tuple[str, ...]  # a passing test, the failing test, more passing tests


def write_canary(draw: secrets.SystemRandom, names: Sequence[str], markers: Sequence[str]) -> CanaryText:
    """Write a canary module with tests of the given names. The first one passes and the second one fails."""
    passing, failing, *others = names
    head = _draw_imports(draw, markers)
    functions = [_draw_function(draw, name, head, off=draw.randint(1, 9) if name == failing else 0) for name in names]
    draw.shuffle(functions)
    docstring = f'"""{draw.choice(DOCSTRINGS)}"""' if draw.random() < 0.3 else ""
    marks = ", ".join(f"pytest.mark.{marker}" for marker in markers)
    marked = f"pytestmark = [{marks}]" if marks else ""
    parts = [part for part in (docstring, head, marked) if part]
    return CanaryText("\n\n\n".join(["\n\n".join(parts), *functions]).lstrip() + "\n", (passing, failing, *others))


def _draw_imports(draw: secrets.SystemRandom, markers: Sequence[str]) -> str:
    head = draw.choice(IMPORTS)
    return f"{head}\n\nimport pytest".strip() if markers and "import pytest" not in head else head


def _draw_function(draw: secrets.SystemRandom, name: str, head: str, *, off: int) -> str:
    """Write a test function. `off` is the error in its expected value; 0 makes the test pass."""
    expression, correct = draw.choice(_draw_expressions(draw, head))
    expected, local = correct + off, draw.choice(LOCALS)
    lines = [f'    """{draw.choice(DOCSTRINGS)}"""'] if draw.random() < 0.2 else []
    if draw.random() < 0.5:
        lines += [f"    {local} = {expression}", f"    assert {local} == {expected}"]
    else:
        lines += [f"    assert {expression} == {expected}"]
    return "\n".join([f"def {name}():", *lines])


def _draw_expressions(draw: secrets.SystemRandom, head: str) -> list[tuple[str, int]]:
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
