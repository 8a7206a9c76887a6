"""Examples hidden from the builder: kept until GREEN, judged there, and public afterwards."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest

from branch_work import forge, push
from fakes.messages_api import MessagesApi
from prd2pr.domain.evidence import Finding
from prd2pr.github.commands.undo import undo_phase
from prd2pr.workflow.phases.attempts import list_named_tests, summarize_errors
from prd2pr.workflow.phases.story_roles import strip_hidden_examples
from world import GREEN_ADD, RED_ADD, Blocks, World, script, submit, use, write
from world_session import make_request, session_of

DIRECTORY = "tests/tdd/calc-1"
SHOWN, HELD = f"{DIRECTORY}/test_calc_1_add.py", f"{DIRECTORY}/test_calc_1_add_held_out.py"
WAITING = ".orch-state/prds/calc/tdd/held_out/calc-1/test_calc_1_add_held_out.py"
HELD_OUT = '''from calc.sums import add


def test_adds_larger_numbers():
    """calc-1.c1: any two numbers"""
    assert add(1731, 4204) == 5935
'''
WORDS = ("1731", "4204", "5935", "test_adds_larger_numbers", "any two numbers", "_held_out")
TABLE = "def add(a, b):\n    return {(1, 2): 3, (-5, 2): -3}.get((a, b), 0)\n"
COUNTER = "calls = []\n\n\ndef add(a, b):\n    calls.append(a)\n    return 3 if len(calls) == 1 else -3\n"


def red_with(held_out: str = HELD_OUT) -> Blocks:
    files = {SHOWN: RED_ADD, HELD: held_out}
    return [*(use("write_file", path=path, content=text) for path, text in files.items()), submit()]


def honest() -> dict[str, Blocks]:
    return {**script(), "calc-1/red/tester/1/1": red_with()}


def steps(world: World, number: int) -> None:
    for _ in range(number):
        done = world.next()
        assert done.status == 0, done.out + done.err


def evidence(world: World, name: str) -> dict[str, Any]:
    return json.loads(world.show(f".orch-state/prds/calc/tdd/evidence/calc-1/{name}.json"))["evidence"]


def files(world: World) -> list[str]:
    return world.git("ls-tree", "-r", "--name-only", world.branch).splitlines()


@pytest.mark.slow
def test_honest_story_with_a_hidden_example(world: World) -> None:
    world.answers = honest()
    steps(world, 3)
    assert SHOWN in files(world)
    assert HELD not in files(world)
    assert world.show(WAITING) + "\n" == HELD_OUT
    red = evidence(world, "2-red")
    assert red["held_out"]["tests"] == [f"{HELD}::test_adds_larger_numbers"]
    assert not any(word in json.dumps({**red, "held_out": None}) for word in WORDS)

    moved = World(world.root / "elsewhere", world.answers)  # another machine, which only has the branch
    moved.root.mkdir()
    world.git("clone", "-q", str(world.repo), str(moved.repo))
    moved.git("branch", "-q", world.branch, f"origin/{world.branch}")
    shutil.rmtree(world.repo)
    steps(moved, 1)
    assert moved.show(HELD) + "\n" == HELD_OUT
    green = evidence(moved, "3-green")
    assert [result["outcome"] for result in green["held_out"]["results"]] == ["passed"]
    steps(moved, 1)
    assert "tests/unit/calc-1/test_calc_1_add_held_out.py" in files(moved)
    proved = moved.verify(moved.branch)
    assert proved.status == 0, proved.out + proved.err


def ask(world: World, replies: list[Blocks], status: int = 0) -> list[tuple[str, str]]:
    """The role of each request, and the complete text sent to it."""
    with MessagesApi(replies) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = world.program(
            "run", "prds/calc.md", "--story", "calc-1", "--model", "anthropic:claude-sonnet-5-5", env=env
        )
    assert done.status == status, done.out + done.err
    assert not any(word in done.out + done.err for word in WORDS[:-1] if status == 0)
    return [(role_in(request.body), json.dumps(request.body)) for request in api.requests]


def role_in(body: dict[str, Any]) -> str:
    text = "".join(block["text"] for block in body["messages"][0]["content"])
    return next((phase for phase in ("RED", "GREEN") if f"# Your step: {phase}" in text), "")


@pytest.mark.parametrize(
    "cheat", [pytest.param(TABLE, id="table"), pytest.param(COUNTER, id="counter", marks=pytest.mark.slow)]
)
def test_overfitted_code_is_refused_without_revealing_the_example(world: World, cheat: str) -> None:
    plan, design, _, code, nothing = list(script().values())[:5]
    asked = ask(world, [plan, design, red_with(), write("src/calc/sums.py", cheat), code, nothing])
    builder = [told for role, told in asked if role == "GREEN"]
    assert len(builder) == 2
    assert not any(word in told for told in builder for word in WORDS)
    assert "which you are not shown" in builder[0]
    assert re.search(r"GRN308 error: .*: criterion calc-1\.c1", builder[1])
    (refused,) = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))["refused"]
    assert "GRN308" in refused["codes"]


@pytest.mark.slow
def test_person_sees_the_example_when_no_attempt_is_left(world: World) -> None:
    """The example itself may be wrong, and only a person can decide that."""
    world.answers = {**script(), "calc-1/red/tester/1/1": red_with(HELD_OUT.replace("5935", "5936"))}
    for attempt, spaces in enumerate(["", "\n", "\n\n", "\n\n\n"], 1):
        world.answers[f"calc-1/green/builder/{attempt}/1"] = write(
            "src/calc/sums.py", f'"""Sums."""{spaces}\n\n{GREEN_ADD}'
        )
    done = world.run("--story", "calc-1")
    assert done.status != 0
    blocked = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))["blocked"]
    assert "assert 5935 == 5936" in blocked
    assert WAITING in blocked
    assert "`/tdd undo`" in blocked
    assert world.show(WAITING)
    assert HELD not in files(world)


@pytest.mark.slow
def test_hidden_example_is_judged_like_the_others(world: World) -> None:
    """A vacuous example is refused, and the public message does not reveal it."""
    weak = HELD_OUT.replace("add(1731, 4204) == 5935", "True").replace("calc-1.c1: ", "")
    world.answers = {**honest(), "calc-1/red/tester/1/1": red_with(weak), "calc-1/red/tester/2/1": red_with()}
    steps(world, 3)
    (refused,) = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))["refused"]
    assert "RED212" in refused["codes"]
    assert not any(word in json.dumps(refused) for word in WORDS[:-1])


@pytest.mark.parametrize("path", [HELD, "web/tests/tdd/calc-1/add_held_out.test.ts", "tests/tdd/calc-1/b_held_out.rs"])
def test_records_and_patches_do_not_reveal_hidden_examples(path: str) -> None:
    hidden = Finding(code="RED401", severity="error", message="no assertion", path=path, test=f"{path}::test_it")
    shown = hidden.model_copy(update={"path": SHOWN, "test": f"{SHOWN}::test_it"})
    assert list_named_tests([hidden, shown]) == (shown.test,)
    assert summarize_errors([shown]) == "test_it: no assertion"
    assert "test_it" not in summarize_errors([hidden]) and "RED401" in summarize_errors([hidden])
    patch = "".join(f"diff --git a/{each} b/{each}\n+x\n" for each in (path, SHOWN))
    assert strip_hidden_examples(patch) == f"diff --git a/{SHOWN} b/{SHOWN}\n+x\n"


@pytest.mark.slow
def test_verify_detects_a_changed_hidden_example(world: World) -> None:
    world.answers = honest()
    steps(world, 3)
    red = world.git("rev-parse", world.branch)
    assert "VER106" in forge(world, {WAITING: HELD_OUT.replace("5935", "5936")})
    world.git("branch", "-f", world.branch, red)
    steps(world, 1)
    weaker = HELD_OUT.replace("assert add(1731, 4204) == 5935", "assert add(2, 2) == 4")
    assert "VER105" in forge(world, {HELD: weaker})


@pytest.mark.slow
def test_disabled_hidden_examples_are_not_requested(world: World) -> None:
    world.write({".prd2pr.yml": "gates:\n  held_out: false\n"})
    world.commit("settings")
    world.answers = honest()
    steps(world, 3)
    assert HELD in files(world), "a test like any other"
    assert evidence(world, "2-red")["held_out"] is None


@pytest.mark.slow
def test_story_without_hidden_examples_passes_with_a_note(world: World) -> None:
    steps(world, 4)
    proof = json.loads(world.show(".orch-state/prds/calc/tdd/evidence/calc-1/3-green.json"))
    assert proof["evidence"]["held_out"]["files"] == []
    assert "GRN309" in {finding["code"] for finding in proof["verdict"]["findings"]}
    assert "Hidden examples: none." in world.git("log", "-1", "--format=%B", world.branch)


@pytest.mark.slow
def test_undoing_green_and_red_undoes_their_examples(world: World) -> None:
    world.answers = honest()
    steps(world, 4)
    for state in ("CODE_GREEN", "TEST_RED"):
        with session_of(world) as session:
            undo_phase(session, make_request("tdd undo", why="another way"), "calc-1")
        record = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))
        assert record["state"] == state
        assert HELD not in files(world)
    other = HELD.replace("add_held_out", "sum_held_out")
    world.answers["calc-1/red/tester/1/1"] = [
        use("write_file", path=SHOWN, content=RED_ADD), use("write_file", path=other, content=HELD_OUT), submit()
    ]  # fmt: skip
    steps(world, 1)
    assert WAITING not in files(world), "the examples of the RED that was taken back wait for nothing"
    steps(world, 2)
    proved = world.verify(world.branch)
    assert proved.status == 0, proved.out + proved.err


@pytest.mark.slow
def test_human_code_is_judged_by_hidden_examples_too(world: World) -> None:
    world.answers = honest()
    steps(world, 3)
    push(world, {"src/calc/sums.py": TABLE})
    *_, code, nothing = list(script().values())[:5]
    asked = ask(world, [code, nothing])
    told = [text for role, text in asked if role == "GREEN"]
    assert len(told) == 1
    assert "GRN308" in told[0]
    assert not any(word in told[0] for word in WORDS)
    proved = world.verify(world.branch)
    assert proved.status == 0, proved.out + proved.err
