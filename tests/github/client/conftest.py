from collections.abc import Iterator
from pathlib import Path

import pytest
from github_hubs import World, world


@pytest.fixture
def github(tmp_path: Path) -> Iterator[World]:
    """The fake; at the end nothing must have been asked that GitHub does not know, and every fault must have come."""
    made = world(tmp_path)
    yield made
    assert made.fake.violations == []
    assert made.fake.faults.unmet == []
