from __future__ import annotations

from collections.abc import Iterator

import pytest

from act.rig import ActionSource, action_source
from github_world import GitHubWorld


@pytest.fixture(scope="session")
def source(tmp_path_factory) -> ActionSource:
    return action_source(tmp_path_factory.mktemp("act"))


@pytest.fixture
def world(tmp_path) -> Iterator[GitHubWorld]:
    with GitHubWorld(tmp_path) as world:
        yield world
        assert world.fake.violations == []
