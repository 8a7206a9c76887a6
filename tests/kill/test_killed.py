"""The short form of the kill battery; `make kill-battery` kills at 50 moments."""

from __future__ import annotations

import pytest

from kill.battery import battery


@pytest.mark.timeout(600)
def test_a_killed_demo_goes_on_from_where_it_was():
    assert battery(kills=2, per_directory=2, seed=11) >= 2
