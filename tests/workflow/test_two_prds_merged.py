"""Two PRDs built in parallel on their branches and merged by git: the evidence and memory of both are kept."""

from __future__ import annotations

from typing import Any

import pytest

from prd2pr.memory.index import MemoryIndex
from prd2pr.state.git import Git
from world import Blocks, World, say, submit, use, write


def prd_text(name: str, wish: str) -> str:
    return f"---\nid: {name}\ntitle: The {name}\n---\n\n# The {name}\n\n- **FR-1** {wish}\n"


def built(name: str, function: str, right: str, *, of_six: int) -> dict[str, Blocks]:
    """One story in the profile `quick` whose code is refused once."""
    story, path = f"{name}-1", f"src/calc/{name}.py"
    plan = {
        "stories": [
            {
                "key": "S1", "title": f"{function} a number", "criteria": [{"text": f"{function} works"}],
                "requirements": ["FR-1"], "module": f"calc.{name}", "source_paths": [path],
            }
        ]
    }  # fmt: skip
    tests = f'''from calc.{name} import {function}


def test_{function}s():
    """{story}.c1"""
    assert {function}(6) == {of_six}
    assert {function}(-60) == {-10 * of_six}
'''
    code = f"def {function}(a):\n    return "
    return {
        f"{name}/plan/planner/1/1": say(plan),
        f"{story}/red/fused/1/1": [
            use("write_file", path=f"tests/tdd/{story}/test_{name}_1.py", content=tests),
            use("write_file", path=path, content=f"{code}a\n"),
            submit(),
        ],
        f"{story}/green/builder/2/1": write(path, f"{code}{right}\n"),
    }


def run(world: World, name: str) -> None:
    done = world.program("run", f"prds/{name}.md", "--model", f"replay:{world.transcript()}")
    assert done.status == 0, done.out + done.err


def both_built(world: World) -> World:
    world.answers = {**built("triples", "triple", "a * 3", of_six=18), **built("halves", "halve", "a / 2", of_six=3)}
    wishes = {"triples": "A number can be tripled.", "halves": "A number can be halved."}
    world.write({f"prds/{name}.md": prd_text(name, wish) for name, wish in wishes.items()})
    world.write({".prd2pr.yml": "profile: quick\n"})
    world.commit("two PRDs")
    for name in wishes:
        run(world, name)
    return world


def rows(git: Git, commit: str) -> dict[str, list[tuple[Any, ...]]]:
    with MemoryIndex.open(git, commit) as index:
        return index.dump()


@pytest.mark.slow
def test_branches_of_two_prds_merge_and_keep_both_memories(world: World) -> None:
    """The living docs written by both then contain the lines of both, and are regenerated from both."""
    both_built(world)
    world.git("merge", "-q", "--no-edit", "prd2pr/triples")
    with Git.open(world.repo) as git:
        assert len(rows(git, "main")["failures"]) == 1
    world.git("switch", "-q", "prd2pr/halves")
    world.git("merge", "-q", "--no-edit", "main")
    assert world.program("docs", "--check").status == 1
    assert world.program("docs", "--write").status == 0
    world.git("commit", "-q", "--all", "--amend", "--no-edit")

    assert world.program("docs", "--check").out == "Current: 7 of 7 documents.\n"
    for name in ("triples-1", "halves-1"):
        assert f"(`{name}`)" in world.show("docs/CHANGELOG.md", "HEAD")
        assert f"### {name}: " in world.show("docs/FAILURES.md", "HEAD")
    verified = world.verify("main..prd2pr/halves", "--json")
    assert verified.status == 0, verified.out
    assert verified.json["total"]["unproven"] == 0, "the merge too"

    with Git.open(world.repo) as git:
        updated = rows(git, "HEAD")
        with MemoryIndex.open(git, "HEAD") as index:
            index.rebuild()
            assert index.dump() == updated
    learnt = world.program("query", "--sql", "SELECT story, lesson FROM failures ORDER BY story", "--json").json["rows"]
    code = "Mind what was refused: a test of the story does not pass (GRN302). green passed at attempt 2, in src/calc"
    assert learnt == [[f"{name}-1", f"{code}/{name}.py."] for name in ("halves", "triples")]
