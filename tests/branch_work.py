"""Commits by people on the PRD's branch between phases, and reading the branch afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evidence_on_disk import read_evidence, write_evidence
from world import World

EVIDENCE = ".orch-state/prds/calc/tdd/evidence/calc-1/{n}-{phase}.json"
CYCLE = ".orch-state/prds/calc/tdd/cycles/calc-1.json"


def push(world: World, files: dict[str, str | None], message: str = "by hand") -> str:
    """Ada commits to the branch; None deletes a file."""
    world.git("switch", "-q", world.branch)
    world.write({name: text for name, text in files.items() if text is not None})
    for name, text in files.items():
        if text is None:
            (world.repo / name).unlink()
    sha = world.commit(message)
    world.git("switch", "-q", "main")
    return sha


def cycle(world: World, story: str = "calc-1") -> dict[str, Any]:
    return json.loads(world.show(CYCLE.replace("calc-1", story)))


def files(world: World, rev: str = "") -> set[str]:
    return set(world.git("ls-tree", "-r", "--name-only", rev or world.branch).splitlines())


def without(world: World, *purposes: str) -> World:
    """Remove these answers: a call for them fails the run."""
    for purpose in purposes:
        del world.answers[purpose]
    return world


Edit = Callable[[dict[str, Any]], None]


def keep(_: dict[str, Any]) -> None:
    """No change."""


def forge(
    world: World,
    edits: dict[str, str | None],
    record: Edit = keep,
    seen: Edit = keep,
    *,
    others_proved: bool = True,
) -> set[str]:
    """The errors of verify after forging code, record or evidence of the last honest step with matching digests."""
    world.git("switch", "-q", "--detach", world.branch)
    message = world.git("log", "-1", "--format=%B")
    for name, text in edits.items():
        place = world.repo / name
        place.unlink() if text is None else write_file(place, text)
    path = world.repo / CYCLE
    value = json.loads(path.read_text())
    record(value)
    step = value["steps"][-1]
    world.git("add", "-A")
    listing = [line for line in world.git("ls-tree", world.git("write-tree")).splitlines() if ".orch-state" not in line]
    tree = world.git_input("mktree", "\n".join(listing) + "\n")
    proof = world.repo / EVIDENCE.format(**step)
    evidence = read_evidence(proof)
    evidence["evidence"]["head_tree"] = tree
    seen(evidence["evidence"])
    named = write_evidence(proof, evidence)
    digest = named["evidence"]
    step.update(named, code_tree=tree)
    path.write_text(json.dumps(value, indent=2) + "\n")
    world.git("add", "-A")
    lines = [f"Tdd-Evidence: {digest}" if line.startswith("Tdd-Evidence") else line for line in message.splitlines()]
    world.git("commit", "-q", "--amend", "-m", "\n".join(lines))
    world.git("branch", "-f", world.branch, "HEAD")
    world.git("switch", "-q", "main")
    steps = world.verify(world.branch, "--json").json["steps"]
    assert all(step["proved"] for step in steps[:-1]) is others_proved
    return {finding["code"] for finding in steps[-1]["findings"] if finding["severity"] == "error"}


def write_file(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
