"""A PRD in JavaScript end to end: every gate, the real node, and `verify` from the commits alone."""

from __future__ import annotations

from pathlib import Path

from languages.node_world import node_world


def test_javascript_prd_is_built_and_verified(tmp_path: Path) -> None:
    world = node_world(tmp_path)
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert [phase.partition("(")[0] for phase in world.phases()].count("red") == 2
    assert world.show("tests/unit/calc-1/earn.test.js").startswith("import")
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err
