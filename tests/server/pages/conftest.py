"""The dashboard alone, in its own app, with made-up data and tokens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dashboard_app import Shown, dashboard_app
from starlette.testclient import TestClient

from fakes.board_sample import broken, mixed, source_of, sprint_of


@pytest.fixture
def shown() -> Shown:
    branch = mixed()
    return Shown(source_of(branch, circuits=broken(), sprint=sprint_of(branch)), source_of(mixed(), repo="acme/other"))


@pytest.fixture
def client(shown: Shown) -> Iterator[TestClient]:
    with TestClient(dashboard_app(shown), base_url="http://dashboard.test", follow_redirects=False) as client:
        yield client
