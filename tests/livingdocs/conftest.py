from __future__ import annotations

from pathlib import Path

import pytest

from living_tree import LivingTree


@pytest.fixture
def tree(tmp_path: Path) -> LivingTree:
    return LivingTree(tmp_path / "repository")
