"""The flood test in its short form; `make flood` sends 100,000 deliveries and kills servers for minutes."""

from __future__ import annotations

import pytest

from server.flood import flood
from server.postgres import binaries, postgres


@pytest.mark.slow
def test_acknowledged_deliveries_are_processed_once_on_sqlite(tmp_path):
    told = flood(f"sqlite:///{tmp_path}/s.db", deliveries=300, kills=[0.3, 0.7], replicas=1, repositories=5, seed=1)
    assert told.wrong == [] and told.kills == 2 and len(told.acknowledged) == 300 and told.runs > 0


@pytest.mark.slow
def test_acknowledged_deliveries_are_processed_once_by_two_replicas_on_postgresql():
    if binaries() is None:
        pytest.skip("NOT TESTED: PostgreSQL's binaries (initdb) are not on this machine")
    with postgres() as url:
        told = flood(url, deliveries=300, kills=[0.3, 0.7], replicas=2, repositories=5, seed=2)
    assert told.wrong == [] and told.kills == 2 and len(told.acknowledged) == 300 and told.runs > 0
