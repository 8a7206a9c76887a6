"""Functions over records."""

from __future__ import annotations

import pytest

from prd2pr.domain.records import RunRecord
from prd2pr.views.board.prds import find_last_model


@pytest.mark.parametrize(
    ("models", "last"), [((), ""), (("a", "b"), "b"), (("a", ""), "a"), (("", "", ""), "")], ids=repr
)
def test_a_run_without_a_call_does_not_hide_the_model(models: tuple[str, ...], last: str) -> None:
    runs = [RunRecord(id=f"r{n}", started_at="2026-11-16T09:00:00Z", model=model) for n, model in enumerate(models)]
    assert find_last_model(runs) == last
