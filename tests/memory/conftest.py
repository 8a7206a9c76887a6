from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memories import Library


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library(tmp_path / "project") as made:
        yield made
