"""The requests actually sent for two dependent stories, and how much of them a provider can cache."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from branch_work import push
from fakes.messages_api import MessagesApi
from prd2pr.github.setup.onboarding import render_starting_files
from prd2pr.state.layout import BEST_PRACTICES
from prd2pr.workflow.roles.role_runner import strip_hints
from world import PLAN, RED_ADD, WRONG_ADD, Blocks, World, designed, say, script, submit, write

ASSUMPTION = "Numbers are whole."
DECISION = "A sum of texts is no sum."


def answers() -> list[Blocks]:
    said = {**script(), "calc/plan/planner/1/1": say({**PLAN, "assumptions": [ASSUMPTION]})}
    said["calc-1/design/architect/1/1"] = [submit(**{**designed("calc.sums.add")[0]["input"], "decisions": [DECISION]})]
    return list(said.values())


def ask(world: World, replies: list[Blocks], *more: str, verb: str = "run") -> list[dict[str, Any]]:
    with MessagesApi(replies) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = world.program(verb, "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", *more, env=env)
    assert done.status == 0, done.out + done.err
    assert api.violations == []
    return [request.body for request in api.requests]


def blocks(request: dict[str, Any]) -> list[str]:
    """All parts of the cache prefix, in the order in which providers read them."""
    texts = [block["text"] for block in request["messages"][0]["content"]]
    return [json.dumps(request.get("tools")), request["system"][0]["text"], *texts]


def shared(one: dict[str, Any], other: dict[str, Any]) -> int:
    """The length of the common prefix of two requests in characters, in whole blocks."""
    both = zip(blocks(one), blocks(other), strict=False)
    size = 0
    for left, right in both:
        if left != right:
            break
        size += len(left)
    return size


@pytest.fixture
def sent_requests(world: World) -> list[dict[str, Any]]:
    return ask(world.configure("refactoring: always\n"), answers())


@pytest.mark.slow
def test_later_steps_get_assumptions_and_decisions(sent_requests: list[dict[str, Any]]) -> None:
    planner, *first = sent_requests[:5]
    second = sent_requests[5:]
    assert ASSUMPTION not in "".join(blocks(planner))
    for request in (*first, *second):
        assert ASSUMPTION in "".join(blocks(request))
    for request in second:
        assert DECISION in "".join(blocks(request))
        assert "calc-1: Add two numbers" in "".join(blocks(request))


@pytest.mark.slow
def test_steps_of_a_story_and_stories_of_a_prd_share_a_prefix(sent_requests: list[dict[str, Any]]) -> None:
    architect, tester, builder, refactorer, next_architect = sent_requests[1:6]
    whole_story = shared(architect, tester)
    assert shared(tester, builder) > whole_story, "the design as well"
    (unwritten,) = [len(block) for block in blocks(tester) if block.startswith("# The story's source files")]
    assert shared(builder, refactorer) == whole_story - unwritten, "GREEN has written them"
    assert 0 < shared(refactorer, next_architect) < whole_story - unwritten
    assert whole_story / sum(map(len, blocks(tester))) > 0.6


@pytest.mark.slow
def test_next_attempt_shares_the_prefix_except_the_feedback(world: World) -> None:
    first_story = answers()[:4]
    wrong = write("src/calc/sums.py", WRONG_ADD)
    sent_requests = ask(world, [*first_story[:3], wrong, first_story[3]], "--story", "calc-1")
    first, second = sent_requests[3:5]
    *same, feedback = blocks(second)
    assert same == blocks(first), "that the design's names are missing is no news"
    assert feedback.startswith("# Attempt 2 of ")
    assert "assert 3 == -3" in feedback
    assert feedback.count("assert 3 == -3") == 1
    assert "RUN104" not in feedback


def text_after(world: World, files: dict[str, str | None], reply: Blocks) -> str:
    """The text that the role gets after this commit by a person."""
    push(world, files)
    (request,) = ask(world, [reply], verb="next")
    return blocks(request)[-1]


@pytest.mark.slow
def test_role_continuing_human_code_sees_the_test_results(world: World) -> None:
    for _ in range(3):
        assert world.next().status == 0
    told = text_after(world, {"src/calc/sums.py": WRONG_ADD}, answers()[3])
    assert "cannot import" not in told, "that was so before the person's commit"
    assert told.count("assert 3 == -3") == 1
    assert "GRN302 error: failed [1 test, " in told


@pytest.mark.slow
def test_role_continuing_human_tests_sees_the_refused_ones(world: World) -> None:
    for _ in range(2):
        assert world.next().status == 0
    weak = 'from calc.signs import negate\n\n\ndef test_negates():\n    """calc-1.c1"""\n    assert negate(2) == -2\n'
    directory = "tests/tdd/calc-1"
    tests = {f"{directory}/test_calc_1_add.py": RED_ADD, f"{directory}/test_calc_1_signs.py": weak}
    told = text_after(world, tests, write(f"{directory}/test_calc_1_signs.py", RED_ADD))
    assert re.search(rf"RED104 error: .* \[{directory}/test_calc_1_signs\.py::test_negates\]", told)


@pytest.mark.slow
def test_role_is_not_asked_to_fix_files_it_may_not_write(world: World) -> None:
    for _ in range(2):
        assert world.next().status == 0
    told = text_after(world, {"tests/test_signs.py": "def test_nothing():\n    assert 1 + 1 == 2\n"}, answers()[2])
    assert "the work of Ada is in the files that you are given and stays" in told
    assert "RED504" not in told


def test_conventions_are_read_without_hints_and_empty_sections() -> None:
    template = render_starting_files()[BEST_PRACTICES]
    assert strip_hints(template) == "", "nobody has filled it in"
    filled = template.replace("## Tests\n", "## Tests\n\nOne test file per module.\n")
    assert strip_hints(filled) == "# Best practices\n\n## Tests\n\nOne test file per module."
    own = "# Ours\n\n## Later\n"
    assert strip_hints(own) == own, "a text without our hints is not changed"
