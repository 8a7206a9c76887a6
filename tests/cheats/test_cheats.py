"""Every known way to fake a step is refused, for the right reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet

from cheats.battery import Cheat, cheats
from cheats.cheat_judge import Judge

ALL = cheats()
# The complete catalogue from the design of the gates.
NUMBERS = set(range(1, 74))


def cases() -> Iterator[ParameterSet]:
    """All cases in `make test-all` and `make gate-bench`; one case of every eighth number in `make test`."""
    seen = {number for number in NUMBERS if number % 8}
    for cheat in ALL:
        marks = [pytest.mark.slow] if cheat.number in seen else []
        seen.add(cheat.number)
        yield pytest.param(cheat, id=cheat.id, marks=marks)


@pytest.mark.parametrize("cheat", list(cases()))
def test_refused(cheat: Cheat, judged: Judge) -> None:
    evidence, verdict = judged(cheat)
    told = "\n".join(
        f"{each.severity} {each.code} {each.path}:{each.line} {each.test} {each.message}" for each in verdict.findings
    )
    assert not verdict.accepted, told
    assert set(cheat.codes) <= {each.code for each in verdict.errors}, told
    assert evidence.head_run is not None


def test_the_catalogue_is_complete() -> None:
    assert {cheat.number for cheat in ALL} >= NUMBERS
    assert [name for name, times in Counter(cheat.id for cheat in ALL).items() if times > 1] == []
