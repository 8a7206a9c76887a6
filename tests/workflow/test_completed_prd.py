"""A complete PRD is packed; people and later PRDs go on from it as from any other branch."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_two_prds_merged import built, prd_text

from world import COMPLETION, World

CALC = "prd2pr/calc"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("finished")).start()
    assert made.run().status == 0
    assert made.subjects()[-1] == COMPLETION
    return made


def clone(world: World, root: Path, *options: str) -> World:
    """A clone with only what the branches of the repository contain."""
    made = World(root / "clone", world.answers)
    made.root.mkdir()
    world.git("clone", "-q", "--no-local", *options, str(world.repo), str(made.repo))
    return made


def test_x(finished, tmp_path):
    w = clone(finished, tmp_path)
    w.git("merge", "-q", "--squash", "origin/prd2pr/calc")
    w.commit("A calculator (#1)")
    w.git("update-ref", "-d", "refs/remotes/origin/prd2pr/calc")
    w2 = clone(w, tmp_path / "x" if (tmp_path/"x").mkdir() is None else 0)
    w2.answers = built("triples", "triple", "a * 3", of_six=18)
    w2.write({"prds/triples.md": prd_text("triples", "A number can be tripled."), ".prd2pr.yml": "profile: quick\n"})
    w2.commit("second")
    for a in (["status"],["status","calc"],["logs","calc"],["query","trace"],["query","trace", "FR-1"],["evidence","calc-1/3"],["docs","--check"],["docs"]):
        r=w2.program(*a); print(a,r.status,r.out[:700],r.err[:1400])
    r = w2.program("run", "prds/triples.md", "--model", f"replay:{w2.transcript()}")
    print(r.status, r.out, r.err)
    for d in ("TRACE","CHANGELOG"):
        print(w2.git("diff","main..prd2pr/triples","--",f"docs/{d}.md"))
    assert 0
