"""A branch with any number of planned stories, written with prd2pr's own store."""

from __future__ import annotations

import json
from pathlib import Path

from prd2pr.agents.models.transcript import format_header_line
from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.machines.phase_transitions import start_planned_sprint
from prd2pr.domain.records import Backlog, Criterion, Epic, Phase, Project, Status, Story
from prd2pr.prd.parser import parse_prd
from prd2pr.state.codec import encode_document
from prd2pr.state.git import Git
from prd2pr.state.layout import PROJECT
from prd2pr.state.store import StateChange, StateStore

AT = "2026-01-01T00:00:00Z"
PRD = "prds/loyalty.md"
MODULE = "shop.extras"
TEST = '''from shop.extras import extra


def test_extra():
    """loyalty-1.c1"""
    assert extra(2) == 4
'''
CODE = "def extra(number):\n    return number + number\n"


def story(number: int) -> Story:
    return Story(
        id=f"loyalty-{number}",
        epic="E1",
        title=f"Story number {number}",
        description="As a customer I want one more thing, so that the shop has it.",
        criteria=(Criterion(id=f"loyalty-{number}.c1", text="2 gives 4", example="extra(2) == 4"),),
        requirements=("FR-1",),
        module=MODULE,
        source_paths=("src/shop/extras.py",),
    )


def grow_state(repo: Path, size: int) -> Path:
    with Git.open(repo) as git:
        head = git.rev("HEAD")
        data = (repo / PRD).read_bytes()
        prd = parse_prd(data.decode(), PRD, blob=git.write_blob(data))
        stories = tuple(story(number) for number in range(1, size + 1))
        status, sprint = start_planned_sprint(Status(), stories, by="bench", at=AT, goal="bench")
        store = StateStore(git, prd.id)
        tree = git.code_tree(head)
        evidence = Evidence(phase=Phase.PLAN, prd=prd.id, story="plan", step=1, base_tree=tree, head_tree=tree)
        proof = encode_document(Proof(evidence=evidence, verdict=Verdict(phase=Phase.PLAN, accepted=True)))
        change = (
            StateChange()
            .with_doc(PROJECT, Project(base_branch="main", base_commit=head))
            .with_doc(store.paths.prd, prd)
            .with_doc(store.paths.status, status)
            .with_doc(store.paths.backlog, Backlog(epics=(Epic(id="E1", title="All"),), stories=stories))
            .with_doc(store.paths.sprint(sprint.id), sprint)
            .with_bytes(store.paths.evidence("plan", 1, Phase.PLAN), proof)
        )
        sha = store.commit_step(head, tree, change, f"plan(loyalty): {size} stories", at=AT)
        git.update_branch("prd2pr/loyalty", sha, None)
    return repo


def write_transcript(path: Path) -> Path:
    """Write answers for design, RED and GREEN of the first story."""

    def use(name: str, **arguments: object) -> dict[str, object]:
        return {"type": "tool_use", "id": name, "name": name, "input": arguments}

    done = {"status": "done", "explanation": "As asked."}
    symbols = [{"name": f"{MODULE}.extra", "signature": "(number)"}]
    answers = {
        "loyalty-1/design/architect/1/1": [
            use("submit", **done, summary="A function.", symbols=symbols, source_paths=[], test_paths=[], decisions=[])
        ],
        "loyalty-1/red/tester/1/1": [
            use("write_file", path="tests/tdd/loyalty-1/test_loyalty_1_extra.py", content=TEST), use("submit", **done)
        ],
        "loyalty-1/green/builder/1/1": [
            use("write_file", path="src/shop/extras.py", content=CODE), use("submit", **done)
        ],
    }  # fmt: skip
    lines = [json.dumps({"key": key, "model": "bench", "content": content}) for key, content in answers.items()]
    path.write_text(format_header_line("bench", "bench") + "\n".join(lines) + "\n")
    return path
