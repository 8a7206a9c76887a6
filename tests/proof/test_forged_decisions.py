"""A note changes exactly what it states. Each forgery takes an honest commit and adds something to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from branch_stage import Stage, stage_of
from prd2pr.domain.decision import Decision
from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.records import Phase, Story
from prd2pr.state.codec import encode_document
from prd2pr.state.commit_message import compute_evidence_digest
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision
from world import World

STATE = ".orch-state/prds/calc"
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("forged")).start()) as made:
        made.step()
        made.keep("plan")
        made.give('/backlog add_story "Subtract two numbers"')
        made.keep("added")
        made.give("/approve calc-1 calc-2")
        made.keep("approved")
        made.step()
        made.keep("designed")
        made.give("/tdd pause calc-1")
        made.keep("paused")
        made.give("/tdd resume calc-1")
        made.step()
        made.give("/tdd abort calc-1")
        made.keep("aborted")
        yield made


def with_json(path: str, change: Change) -> Callable[[Stage], dict[str, bytes | None]]:
    """Edit a JSON file of the state within the commit."""

    def files(stage: Stage) -> dict[str, bytes | None]:
        document = json.loads(stage.state.read_bytes(f"{STATE}/{path}") or b"{}")
        change(document)
        return {f"{STATE}/{path}": json.dumps(document, indent=2, sort_keys=True).encode() + b"\n"}

    return files


def with_file(path: str, content: bytes | None) -> Callable[[Stage], dict[str, bytes | None]]:
    return lambda stage: {path: content}


def approve_all(status: dict[str, Any]) -> None:
    status["approvals"] = [{"by": "ann", "at": "2026-05-04T10:20:30Z", "head": "0" * 40, "stories": [], "plan": ""}]


def mark_first_story_done(backlog: dict[str, Any]) -> None:
    backlog["stories"][0]["status"] = "done"


def rewrite_a_story(backlog: dict[str, Any]) -> None:
    backlog["stories"][1]["description"] = "and more"


FORGERIES = {
    "an approval that sets a story to done": ("approved", with_json("backlog.json", mark_first_story_done)),
    "an approval that rewrites the plan": ("approved", with_json("backlog.json", rewrite_a_story)),
    "an approval that brings code": ("approved", with_file("src/calc/extra.py", b"x = 1\n")),
    "an approval that approves more than it says": ("approved", with_json("status.json", approve_all)),
    "an approval that ends the sprint": (
        "approved", with_json("status.json", lambda status: status.update(state="SPRINT_REVIEW"))
    ),
    "an approval with a cycle past its gate": (
        "approved", with_json("tdd/cycles/calc-1.json", lambda cycle: cycle.update(state="REFACTOR"))
    ),
    "an approval with a record of another story": (
        "approved", with_json("tdd/cycles/calc-3.json", lambda cycle: cycle.update(story="calc-3", state="COMMIT"))
    ),
    "an approval that changes configuration": ("approved", with_file(".prd2pr.yml", b"approval: none\n")),
    "a pause that jumps the RED gate": (
        "paused", with_json("tdd/cycles/calc-1.json", lambda cycle: cycle.update(state="CODE_GREEN"))
    ),
    "a pause that pauses nothing": (
        "paused", with_json("tdd/cycles/calc-1.json", lambda cycle: cycle.update(paused=False))
    ),
    "a pause that ends the order to run": ("paused", with_json("status.json", lambda status: status.update(order=""))),
    "a pause that forgets its transition": (
        "paused", with_json("status.json", lambda status: status.update(transitions=status["transitions"][:-1]))
    ),
    "a pause that sets the cursor back": (
        "paused", with_json("status.json", lambda status: status.update(cursors=[{"number": 7, "comment": 1}]))
    ),
    "a pause that loses the cursors": ("paused", with_json("status.json", lambda status: status.update(cursors=[]))),
    "a pause that writes into the memory": ("paused", with_file(".orch-state/memory/failures/x.json", b"{}\n")),
    "a pause with a stray file among the runs": ("paused", with_file(f"{STATE}/runs/none.txt", b"x")),
    "a design that gives an order": (
        "designed", with_json("status.json", lambda status: status.update(order="", order_story="calc-1"))
    ),
    "a design that approves": ("designed", with_json("status.json", approve_all)),
    "a design that halts": ("designed", with_json("status.json", lambda status: status.update(halted=True))),
    "a design that closes the sprint": (
        "designed", with_json("sprints/s1.json", lambda sprint: sprint.update(status="completed"))
    ),
    "an aborted story whose tests stay": ("aborted", with_file("tests/tdd/calc-1/test_calc_1_add.py", b"x = 1\n")),
    "an aborted story that is called done": ("aborted", with_json("backlog.json", mark_first_story_done)),
    "a plan that is approved by itself": ("plan", with_json("status.json", approve_all)),
    "a plan that is finished": ("plan", with_json("status.json", lambda status: status.update(state="SPRINT_REVIEW"))),
}  # fmt: skip


def amend(stage: Stage, name: str, files: dict[str, bytes | None]) -> str:
    """The honest commit's message and parent with other content."""
    git, commit = stage.session.git, stage.heads[name]
    tree = git.edit_tree(git.tree(commit), files)
    message = stage.world.git("log", "-1", "--format=%B", commit)
    return stage.world.git("commit-tree", tree, "-p", f"{commit}^", "-m", message)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["status.json", "backlog.json", "tdd/cycles/calc-1.json", "sprints/s1.json"])
def test_rewritten_but_unchanged_commit_is_accepted(stage: Stage, path: str) -> None:
    """So a forgery is refused for its content, not for its formatting."""
    stage.back_to("approved")
    stage.heads["copied"] = amend(stage, "approved", with_json(path, lambda document: None)(stage))
    stage.back_to("copied")
    assert stage.wrong() == []


@pytest.mark.parametrize("name", FORGERIES)
def test_note_that_changes_more_than_it_states_is_refused(stage: Stage, name: str) -> None:
    place, forge = FORGERIES[name]
    stage.back_to(place)
    assert stage.wrong() == [], "the honest one is accepted"
    stage.heads["forged"] = amend(stage, place, forge(stage))
    stage.back_to("forged")
    assert stage.wrong()


# --- notes with forged evidence ---------------------------------------------------------------------------------------


def commit_note(stage: Stage, decision: Decision, files: dict[str, bytes | None] | None = None) -> str:
    """A hand-made note whose evidence and trailers are consistent."""
    git, head = stage.session.git, stage.head
    n = stage.state.plan_steps + 1
    tree = git.code_tree(head)
    evidence = Evidence(
        phase=Phase.NOTE, prd="calc", story="plan", step=n, base_tree=tree, head_tree=tree, decision=decision,
        note=f"/{decision.command} by {decision.by}",
    )  # fmt: skip
    data = encode_document(Proof(evidence=evidence, verdict=Verdict(phase=Phase.NOTE, accepted=True)))
    path = f"{STATE}/tdd/evidence/plan/{n}-note.json"
    made = git.edit_tree(git.tree(head), {path: data, **(files or {})})
    message = (
        f"note(plan): forged\n\nTdd-Step: calc/plan/{n}\nTdd-Phase: note\nTdd-Evidence: {compute_evidence_digest(data)}"
    )
    return stage.world.git("commit-tree", made, "-p", head, "-m", message)


AT = "2026-05-04T10:20:30Z"
AGAIN = Story(id="calc-1", epic="calc-e1", title="Add", priority=3, estimate_minutes=1, complexity=1)
# The expected refusal of each: all of them lack an effect as well, so checking only for that would prove nothing.
DECISIONS = {
    "approving where there is nothing to approve": (
        "approved", Decision(command="approve", by="eve", at=AT), "`/approve` is not allowed in state SPRINT_ACTIVE"
    ),
    "a command that nobody knows": (
        "approved", Decision(command="tdd finish", by="eve", at=AT), "unknown decision `tdd finish`"
    ),
    "a phase as if it were a decision": (
        "approved", Decision(command="tdd next", by="eve", at=AT), "unknown decision `tdd next`"
    ),
    "a review without finished stories": (
        "approved", Decision(command="feedback", by="eve", at=AT, text="fine"), "`/feedback` is not allowed in state"
    ),
    "a story that exists already": (
        "added", Decision(command="backlog add_story", by="eve", at=AT, added=(AGAIN,)), "only new stories"
    ),
    "a decision without its effect": (
        "approved", Decision(command="sprint pause", by="eve", at=AT), "does not follow from the decision"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DECISIONS)
def test_decision_not_allowed_in_that_state_is_refused(stage: Stage, name: str) -> None:
    place, decision, reason = DECISIONS[name]
    stage.back_to(place)
    stage.heads["forged"] = commit_note(stage, decision)
    stage.back_to("forged")
    assert any(reason in each for each in stage.wrong()), stage.wrong()


def test_approval_for_another_head_is_refused_despite_consistent_records(stage: Stage) -> None:
    stage.back_to("added")
    made = apply_decision(stage.session, stage.head, Decision(command="approve", by="eve", at=AT, head="0" * 40))
    assert isinstance(made, AppliedDecision)
    (only,) = stage.wrong()
    assert "VER104" in only and "other than the parent" in only


@pytest.mark.slow
def test_program_reports_the_refusal(stage: Stage) -> None:
    stage.back_to("aborted")
    honest = stage.world.verify(f"main..{stage.session.target.branch}", "--json")
    assert honest.json["all_proved"], honest.out
    assert honest.json["total"]["steps"] == len(stage.world.subjects())
    place, forge = FORGERIES["an approval that brings code"]
    stage.back_to(place)
    stage.heads["forged"] = amend(stage, place, forge(stage))
    stage.back_to("forged")
    forged = stage.world.verify(f"main..{stage.session.target.branch}", "--json")
    assert forged.status == 1
    assert not forged.json["all_proved"]
