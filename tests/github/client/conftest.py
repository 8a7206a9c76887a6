from collections.abc import Iterator
from pathlib import Path

import pytest
from github_hubs import World, world


@pytest.fixture
def github(tmp_path: Path) -> Iterator[World]:
    """The fake; afterwards no request was unknown to GitHub, and every planned fault has occurred."""
    made = world(tmp_path)
    yield made
    assert made.fake.violations == []
    assert made.fake.faults.unmet == []
