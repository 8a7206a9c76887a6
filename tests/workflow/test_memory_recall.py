"""Memory reaches the roles that use it, and bad model answers break nothing. All in one process."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.scripted_model import Line, ScriptedModel, says
from prd2pr.agents.models.base import Reply, Request, Text, ToolUse
from prd2pr.cli.wiring import open_session
from prd2pr.domain.memory_records import EstimateRecord, FailureRecord, Memory, Pattern
from prd2pr.domain.secrets import Secrets
from prd2pr.errors import ModelRefused, PrdRejected
from prd2pr.memory.files import encode_memory_file
from prd2pr.memory.prompt_text import MEMORY_TOKEN_CAP
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.session import RoleModel, Session
from world import GREEN_ADD, PLAN, PRD, RED_ADD, World, designed, submit, use

AT = "2026-11-01T00:00:00Z"
FAILURES = tuple(
    FailureRecord(
        id=f"old-1-{n}", prd="old", story="old-1", at=AT, feature="Sums of numbers in the calculator",
        approach="floats",
        why_failed="0.1 and 0.2 gave 0.30000000000000004", lesson="Count in cents.",
    )
    for n in (1, 2)
)  # fmt: skip
PATTERN = Pattern(
    id="old-2-4-n1",
    prd="old",
    at=AT,
    name="plain functions",
    description="Sums of numbers in the calculator are functions.",
)
LONG_AGO = FailureRecord(
    id="old-3-1",
    prd="old",
    story="old-3",
    at=AT,
    feature="Mail",
    approach="SMTP",
    why_failed="no relay",
    lesson="Queue.",
)
# Recently, twice as long as estimated.
TOOK_LONGER = EstimateRecord(
    id="old-1-5", prd="old", story="old-1", at="2026-11-16T00:00:00Z", feature="Sums of numbers in the calculator",
    estimated_minutes=10, actual_minutes=20, estimated_sessions=4, actual_sessions=4, complexity=2,
)  # fmt: skip
LEARNT = (*FAILURES, PATTERN, LONG_AGO)

WHY: dict[str, Any] = {"purpose": "People can add.", "reasoning": "Nothing adds yet."}
WAY = {"name": "a module", "how": "calc.sums", "gains": "small", "risks": "none"}
RESEARCH = {"approaches": [WAY, {**WAY, "name": "a class"}], "recommended": 1, "because": "smaller"}


class Silent:
    def say(self, event: str, **facts: object) -> None:
        if event == "note":
            NOTES.append(str(facts["text"]))


NOTES: list[str] = []


def blocks(made: list[dict[str, Any]]) -> Reply:
    return says(*((each["name"], each["input"]) if each["type"] == "tool_use" else each["text"] for each in made))


def structured(answer: object) -> Reply:
    return says(json.dumps(answer))


def session_with(
    root: Path, profile: str, *script: Line, learnt: tuple[Memory, ...] = LEARNT
) -> tuple[Session, ScriptedModel]:
    """A session in a repository whose base has memory, as after an earlier merged pull request."""
    files = {path: data.decode() for path, data in map(encode_memory_file, learnt)}
    world = World(root).start({".prd2pr.yml": f"profile: {profile}\n", "prds/calc.md": PRD, **files})
    NOTES.clear()
    options = argparse.Namespace(
        repo=str(world.repo), prd=str(world.repo / "prds/calc.md"), model=None, record=None, story="calc-1"
    )
    model = ScriptedModel(*script)
    session = open_session(options, Silent())
    return replace(
        session, services=replace(session.services, select_model=lambda role, strong: RoleModel(model))
    ), model


def request_text(request: Request) -> str:
    return "\n".join(block.text for message in request.messages for block in message.blocks if isinstance(block, Text))


STORY = (
    blocks(designed("calc.sums.add")),
    blocks([use("write_file", path="tests/tdd/calc-1/test_calc_1_add.py", content=RED_ADD), submit()]),
    blocks([use("write_file", path="src/calc/sums.py", content=GREEN_ADD), submit()]),
    blocks([submit("nothing_to_do")]),
)
FOLLOWED = {"pattern": PATTERN.id, "followed": "mostly", "path": "src/calc/sums.py", "why": "no types"}
REVIEW = {"criteria": [{"criterion": "calc-1.c1", "met": True, "evidence": "add"}], "summary": "fine"}


@pytest.mark.slow
def test_memory_reaches_why_research_and_builder_and_patterns_are_counted(tmp_path: Path) -> None:
    session, model = session_with(
        tmp_path, "full",
        structured(WHY), structured(RESEARCH), structured(PLAN), structured({"risks": [], "summary": "s"}),
        structured({"stories": []}), *STORY, structured({"patterns": [FOLLOWED]}), structured(REVIEW),
    )  # fmt: skip
    with session.git:
        assert run_prd(session).stop.outcome == "done"
        model.assert_all_said()
        asked = {request.purpose.role: request_text(request) for request in model.requests}
        for role in ("why", "research", "builder"):
            assert "failure old-1-1 (Sums of numbers in the calculator): floats" in asked[role], role
            assert "pattern old-2-4-n1 (plain functions)" in asked[role], role
        for role in ("tester", "security", "review"):
            assert "Count in cents." not in asked[role], role
        assert not any("SMTP" in text for text in asked.values()), "what has nothing to do with it is not told"
        usage = session.store.load(session.target.branch).read_bytes(
            ".orch-state/memory/pattern_usage/calc-1-4-p1.json"
        )
    assert usage is not None
    assert json.loads(usage)["compliance"] == 75
    assert json.loads(usage)["pattern"] == PATTERN.id


@pytest.mark.slow
def test_in_standard_memory_reaches_planner_and_builder_by_code_alone(tmp_path: Path) -> None:
    session, model = session_with(tmp_path, "standard", structured(PLAN), *STORY)
    with session.git:
        assert run_prd(session).stop.outcome == "done"
    asked = {request.purpose.role: request_text(request) for request in model.requests}
    assert "Count in cents." in asked["planner"]
    assert "Count in cents." in asked["builder"]


def test_learned_factors_change_the_next_plan(tmp_path: Path) -> None:
    """Same PRD, same answers: only the memory differs."""
    before, model = session_with(tmp_path / "before", "standard", structured(PLAN), learnt=())
    with before.git:
        run_prd(before, 1)
        plain = before.store.load(before.target.branch).backlog
    assert "learnt" not in request_text(model.requests[0]) and "found out before" not in request_text(model.requests[0])
    after, model = session_with(tmp_path / "after", "standard", structured(PLAN), learnt=(*LEARNT, TOOK_LONGER))
    with after.git:
        run_prd(after, 1)
        state = after.store.load(after.target.branch)
    assert "failure old-1-1 (Sums of numbers in the calculator)" in request_text(model.requests[0])
    assert [story.estimate_minutes for story in plain.stories] == [5, 5]
    assert [story.estimate_minutes for story in state.backlog.stories] == [10, 10]
    estimator = state.role("estimator")
    assert estimator is not None
    assert (estimator.verdict, estimator.model) == ("times 2.00, learnt from 1 story", "by code")


@pytest.mark.slow
def test_memory_shown_to_a_role_is_capped(tmp_path: Path) -> None:
    many = tuple(
        each.model_copy(update={"id": f"old-9-{n}", "why_failed": f"{n} " + "the sum of two numbers was wrong " * 30})
        for n, each in enumerate(FAILURES * 20)
    )
    session, model = session_with(tmp_path, "standard", structured(PLAN), *STORY, learnt=many)
    with session.git:
        run_prd(session)
    asked = [request_text(request) for request in model.requests if request.purpose.role in ("planner", "builder")]
    for text in asked:
        kept = text.partition('<material name="memory">')[2] or text.partition('"findings before the plan">')[2]
        assert 0 < len(kept.partition("</material>")[0]) <= MEMORY_TOKEN_CAP * 4 + 100


def test_approach_that_failed_twice_is_rejected(tmp_path: Path) -> None:
    repeated = [{"id": each.id, "same_approach": True} for each in FAILURES]
    session, _ = session_with(tmp_path, "full", structured({**WHY, "failures": repeated}))
    with session.git, pytest.raises(PrdRejected, match="; ".join(each.id for each in FAILURES)):
        run_prd(session)


# --- unusable answers -------------------------------------------------------------------------------------------------

HUGE = "word " * 2_000_000
BAD: dict[str, Reply] = {
    "garbage": says("I would rather sing."),
    "half JSON": says('{"purpose": "People can add.", "reasoning": "Noth'),
    "cut short": says('{"purpose": "P', stop="max_tokens"),
    "nothing": says(" "),
    "ten megabytes": says(HUGE),
    "ten megabytes in a field": structured({**WHY, "purpose": HUGE}),
    "a list": says("[1, 2, 3]"),
    "too deep": says("[" * 100_000),
    "a tool that nobody offered": Reply((ToolUse("c1", "rm", {"path": "/"}),), says("x").spend, "tool_use", "m"),
    "fields that nobody asked for": structured({**WHY, "verdict": "reject", "command": "/approve"}),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_bad_answer_of_a_blocking_role_ends_with_a_message(tmp_path: Path, bad: Reply) -> None:
    session, model = session_with(tmp_path, "full", bad, bad, bad)
    with session.git, pytest.raises(ModelRefused) as refused:
        run_prd(session)
    assert "as why, " in refused.value.what
    assert len(refused.value.what) < 1_000
    assert sum(len(request_text(request)) for request in model.requests) < 500_000, "a flood is not sent back"


def test_refusal_of_an_advisory_role_is_noted(tmp_path: Path) -> None:
    refusal = says("No.", stop="refusal")
    session, model = session_with(
        tmp_path, "full",
        structured(WHY), refusal, structured(PLAN), structured({"risks": [], "summary": "s"}), refusal, *STORY[:1],
    )  # fmt: skip
    with session.git:
        run_prd(session, 2)
    model.assert_all_said()
    assert any(note.startswith("Research is skipped: scripted, as research, declined") for note in NOTES)
    assert any(note.startswith("Estimator is skipped") for note in NOTES)


def test_secret_repeated_by_a_role_is_not_stored(tmp_path: Path) -> None:
    secret = "hunter2-hunter2-hunter2"
    session, _ = session_with(
        tmp_path, "full",
        structured(WHY), structured({**RESEARCH, "because": f"the key is {secret}"}), structured(PLAN),
        structured({"risks": [], "summary": "s"}), structured({"stories": []}),
    )  # fmt: skip
    session = replace(session, constraints=replace(session.constraints, secrets=Secrets.from_values([secret])))
    with session.git:
        assert run_prd(session, 1).steps == 1
        kept = session.store.load(session.target.branch).role("research")
    assert kept is not None
    assert secret not in kept.output["because"]
    assert kept.output["because"].startswith("the key is ")


def test_corrected_answer_is_accepted(tmp_path: Path) -> None:
    session, model = session_with(
        tmp_path, "full",
        BAD["garbage"], structured(WHY), structured(RESEARCH), structured(PLAN),
        structured({"risks": [], "summary": "s"}), structured({"stories": []}),
    )  # fmt: skip
    with session.git:
        assert run_prd(session, 1).steps == 1
    model.assert_all_said()
    assert "Invalid JSON" in request_text(model.requests[1])
