"""`strategy: conversation`: one answer delivers several stories, each proved and committed on its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

import pytest

import parallel_world
from fakes.messages_api import MessagesApi
from world import Blocks, World, say, show_runs, use

NAMES = ("double", "triple", "quadruple")
FACTORS = dict(zip(NAMES, range(2, 5), strict=True))
STORIES = {name: f"calc-{at}" for at, name in enumerate(NAMES, 1)}
PRD = "---\nid: calc\ntitle: Multiples\n---\n\n# Multiples\n\n" + "\n".join(
    f"- **FR-{at}** A number can be multiplied by {FACTORS[name]} ({name})." for at, name in enumerate(NAMES, 1)
)
SOURCE = "src/calc/multiples.py"
SETTINGS = "strategy: conversation\ngates:\n  held_out: false\n"


def plan(depends: dict[str, list[str]] | None = None) -> dict[str, object]:
    stories = [
        {
            "key": name, "epic": "E1", "title": name.capitalize(), "description": "As a user I multiply.",
            "kind": "feature",
            "criteria": [{"text": f"4 gives {4 * FACTORS[name]}", "example": f"{name}(4) == {4 * FACTORS[name]}"}],
            "depends_on": (depends or {}).get(name, []), "complexity": 1, "estimate_minutes": 5,
            "requirements": [f"FR-{at}"], "module": "calc.multiples", "interface": f"{name}(n)",
            "source_paths": [SOURCE], "test_paths": [],
        }
        for at, name in enumerate(NAMES, 1)
    ]  # fmt: skip
    epic = {"key": "E1", "title": "Multiples", "description": "m", "requirements": [f"FR-{n}" for n in range(1, 4)]}
    return {"epics": [epic], "stories": stories, "questions": [], "assumptions": []}


def story_test(name: str, result: int | None = None) -> str:
    story, value = STORIES[name], 4 * FACTORS[name] if result is None else result
    return (
        f"from calc.multiples import {name}\n\n\ndef test_{name}s():\n"
        f'    """{story}.c1"""\n    assert {name}(4) == {value}\n    assert {name}(-3) == {-3 * FACTORS[name]}\n'
    )


def place(name: str) -> str:
    story = STORIES[name]
    return f"tests/tdd/{story}/test_{story.replace('-', '_')}_{name}.py"


def code(names: Iterable[str], wrong: str = "") -> str:
    bodies = (f"def {name}(n):\n    return n * {FACTORS[name]}{' + 1' if name == wrong else ''}\n" for name in names)
    return "\n\n".join(bodies)


def submit(name: str, status: str = "done", note: str = "A function for it.") -> dict[str, object]:
    return use("submit", story=STORIES[name], status=status, explanation=note)


def deliver(names: Iterable[str], before: Iterable[str] = (), wrong: str = "") -> Blocks:
    """Return an answer with tests, code and `submit` of each story in turn."""
    blocks: Blocks = []
    written = list(before)
    for name in names:
        written.append(name)
        blocks += [
            use("write_file", path=place(name), content=story_test(name)),
            use("write_file", path=SOURCE, content=code(written, wrong)),
            submit(name),
        ]
    return number(blocks)


def number(blocks: Blocks) -> Blocks:
    return [{**block, "id": f"use_{at}"} for at, block in enumerate(blocks)]


def key(name: str, attempt: int = 1, turn: int = 1) -> str:
    return f"{STORIES[name]}/red/programmer/{attempt}/{turn}"


@pytest.fixture
def multiples(tmp_path) -> World:
    world = World(tmp_path)
    world.start({"prds/calc.md": PRD}).configure(f"{SETTINGS}attempts: 3\n")
    world.answers = {"calc/plan/planner/1/1": say(plan())}
    return world


def run_record(world: World) -> dict:
    return show_runs(world.repo, world.branch)[-1]


def stored(world: World) -> str:
    return "".join(path.read_text() for path in (world.repo / ".git/prd2pr/conversation").rglob("*.jsonl"))


def steps(*names: str) -> list[str]:
    return [f"{phase}({STORIES[name]})" for name in names for phase in ("design", "red", "green", "integrated")]


def test_one_answer_delivers_all_stories(multiples):
    multiples.answers[key("double")] = deliver(NAMES)
    done = multiples.run()
    assert done.status == 0, done.out + done.err
    assert multiples.phases() == ["plan(calc)", *steps(*NAMES)]
    assert run_record(multiples)["spend"]["calls"] == 2
    assert multiples.verify().status == 0
    assert "A function for it." in multiples.git("log", "--format=%B", multiples.branch)
    assert stored(multiples) == "", "a finished PRD leaves nothing"
    assert multiples.git("for-each-ref", "refs/prd2pr/aside") == ""


def test_a_refused_refactoring_is_asked_for_once_more(multiples):
    multiples.configure(f"{SETTINGS}refactoring: always\n")
    multiples.answers[key("double")] = deliver(NAMES)
    wrong = use("write_file", path=SOURCE, content=code(NAMES, "quadruple"))
    unchanged = submit("quadruple", "nothing_to_do")
    for attempt, blocks in enumerate(([wrong, submit("quadruple")], [unchanged]), 1):
        multiples.answers[f"calc-3/refactor/programmer/{attempt}/1"] = number(blocks)
    done = multiples.run()
    assert done.status == 0, done.out + done.err
    assert multiples.phases() == ["plan(calc)", *steps(*NAMES)]
    assert run_record(multiples)["spend"]["calls"] == 4


def test_a_refused_story_is_repaired_and_later_ones_need_no_new_call(multiples):
    """The second of three is wrong; the third of the same answer is applied on top of its repair."""
    multiples.answers[key("double")] = deliver(NAMES, wrong="triple")
    fixed = use("edit_file", path=SOURCE, old="return n * 3 + 1", new="return n * 3")
    multiples.answers[key("triple", 2)] = number([fixed, submit("triple")])
    done = multiples.run()
    assert done.status == 0, done.out + done.err
    assert multiples.phases() == ["plan(calc)", *steps(*NAMES)]
    assert run_record(multiples)["spend"]["calls"] == 3
    assert multiples.show(SOURCE) == code(NAMES).rstrip("\n")
    assert multiples.verify().status == 0
    refused = json.loads(multiples.show(".orch-state/prds/calc/tdd/cycles/calc-2.json"))["refused"]
    assert [(each["phase"], each["attempt"]) for each in refused] == [("green", 1)]


def test_a_wrong_test_is_repaired_too(multiples):
    """RED is not committed before GREEN is proved, so a miscalculated test does not lock the story."""
    blocks = deliver(NAMES[:2])
    blocks[0] = {**use("write_file", path=place("double"), content=story_test("double", 9)), "id": "use_0"}
    multiples.answers[key("double")] = blocks
    fixed = use("edit_file", path=place("double"), old="== 9", new="== 8")
    multiples.answers[key("double", 2)] = number([fixed, submit("double")])
    multiples.answers[key("quadruple")] = deliver(NAMES[2:], NAMES[:2])
    done = multiples.run()
    assert done.status == 0, done.out + done.err
    assert multiples.phases() == ["plan(calc)", *steps(*NAMES)]


def test_a_contradiction_stops_its_story_alone(multiples):
    multiples.answers["calc/plan/planner/1/1"] = say(plan({"quadruple": ["double"]}))
    answer = [submit("double", "contradiction", "8 and 9 cannot both hold"), *deliver(["triple"])]
    multiples.answers[key("double")] = number(answer)
    done = multiples.run()
    built = [phase for phase in multiples.phases() if phase.startswith("integrated")]
    assert built == ["integrated(calc-2)"]
    assert "8 and 9 cannot both hold" in done.out + done.err
    state = json.loads(multiples.show(".orch-state/prds/calc/status.json"))
    assert state["state"] == "SPRINT_ACTIVE", "the project goes on"
    multiples.answers[key("double", 2)] = deliver(["double"], ["triple"])
    again = multiples.run("--story", "calc-1")
    assert again.status == 0, again.out + again.err
    multiples.answers[key("quadruple")] = deliver(["quadruple"], ["triple", "double"])
    last = multiples.run()
    assert last.status == 0, last.out + last.err
    proved = multiples.verify()
    assert proved.status == 0, proved.out


def cut(blocks: Blocks) -> dict[str, object]:
    return {"content": blocks, "stop_reason": "max_tokens"}


def test_an_answer_that_is_cut_off_keeps_its_complete_stories(multiples):
    """What was written after the last complete submit stays too; only the call that was cut off is dropped."""
    whole = deliver(NAMES)
    first = whole[:8]  # two stories, and of the third its test and an incomplete write of its code
    first[7] = {**first[7], "input": {"path": SOURCE, "content": "def dou"}}
    rest = [use("write_file", path=SOURCE, content=code(NAMES)), submit("quadruple")]
    replies = [json.dumps(plan()), cut(first), number(rest)]
    with MessagesApi(replies) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = multiples.program("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", env=env)
    assert done.status == 0, done.out + done.err
    assert api.violations == []
    assert len(api.requests) == 3
    assert "cut off" in json.dumps(api.requests[2].body["messages"][-1])
    assert multiples.phases() == ["plan(calc)", *steps(*NAMES)]


def test_the_conversation_only_grows(multiples):
    """Every request begins with all of the request before it, so that the provider reads it from its cache."""
    broken = deliver(NAMES, wrong="triple")
    fixed = number([use("edit_file", path=SOURCE, old="return n * 3 + 1", new="return n * 3"), submit("triple")])
    replies = [json.dumps(plan()), broken, fixed]
    with MessagesApi(replies) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = multiples.program("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", env=env)
    assert done.status == 0, done.out + done.err
    first, second = (without_marks(request.body) for request in api.requests[1:])
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert (second["system"], second["tools"]) == (first["system"], first["tools"])
    text = second["messages"][-1]["content"][-1]["text"]
    assert "calc-2" in text and "calc-3 are set aside" in text


def without_marks(value):
    if isinstance(value, dict):
        return {name: without_marks(each) for name, each in value.items() if name != "cache_control"}
    return [without_marks(each) for each in value] if isinstance(value, list) else value


def test_a_budget_stop_keeps_what_was_delivered(multiples):
    """The answer costs all that the run may spend; its stories are judged without another call."""
    multiples.configure(f"{SETTINGS}attempts: 3\nbudget:\n  tokens_per_run: 9000\n")
    usage = {"input_tokens": 4000, "output_tokens": 4500}
    broken = {"content": deliver(NAMES, wrong="quadruple"), "usage": usage}
    fixed = [use("edit_file", path=SOURCE, old="return n * 4 + 1", new="return n * 4"), submit("quadruple")]
    with MessagesApi([json.dumps(plan()), broken, number(fixed)]) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        command = ("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5")
        stopped = multiples.program(*command, env=env)
        assert stopped.status == 1
        assert "budget.tokens_per_run" in stopped.err
        assert multiples.phases() == ["plan(calc)", *steps(*NAMES[:2])]
        done = multiples.program(*command, env=env)
        assert len(api.requests) == 3
    assert done.status == 0, done.out + done.err
    assert multiples.phases() == ["plan(calc)", *steps(*NAMES)]


def test_the_cost_of_an_answer_is_divided_among_its_stories(multiples):
    usage = {"input_tokens": 1000, "output_tokens": 500}
    with MessagesApi([json.dumps(plan()), {"content": deliver(NAMES), "usage": usage}]) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = multiples.program("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", env=env)
    assert done.status == 0, done.out + done.err
    paths = [f".orch-state/prds/calc/tdd/cycles/{story}.json" for story in STORIES.values()]
    spent = [json.loads(multiples.show(path))["steps"][0]["spend"] for path in paths]
    assert sum(each["input_tokens"] for each in spent) == 1000
    assert sum(each["output_tokens"] for each in spent) == 500
    assert min(each["output_tokens"] for each in spent) > 0
    assert sum(each.get("calls", 0) for each in spent) == 1


def test_parallel_stories_have_a_conversation_each(tmp_path):
    """A story on its own branch asks for itself alone; the answers of the others do not interfere."""
    world = parallel_world.start_parallel_world(tmp_path, 3)
    world.configure(f"{SETTINGS}workers: 2\n")
    world.answers = {"calc/plan/planner/1/1": say(parallel_world.plan(3, {}))}
    for at, name in enumerate(parallel_world.NAMES[:3], 1):
        world.answers[f"calc-{at}/red/programmer/1/1"] = number(
            [
                use(
                    "write_file",
                    path=f"tests/tdd/calc-{at}/test_calc_{at}_{name}.py",
                    content=parallel_world.cases_of(at, name),
                ),
                use("write_file", path=f"src/calc/{name}_it.py", content=parallel_world.code_of(name)),
                use("submit", story=f"calc-{at}", status="done", explanation="A function."),
            ]
        )
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert sorted(phase for phase in world.phases() if phase.startswith("integrated")) == [
        f"integrated(calc-{at})" for at in (1, 2, 3)
    ]
    assert world.verify().status == 0


FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef four():\n    return 4\n"


def with_fixture(name: str) -> str:
    return story_test(name).replace(f"test_{name}s()", f"test_{name}s(four)").replace("(4) ==", "(four) ==")


def test_a_shared_helper_grows_but_what_earlier_tests_use_stays(multiples):
    """The second story adds a fixture (accepted); the third changes the one of the first (RED508)."""
    blocks = deliver(NAMES[:3])
    blocks[0] = use("write_file", path=place("double"), content=with_fixture("double"))
    blocks.insert(0, use("write_file", path="tests/conftest.py", content=FIXTURE))
    grown = FIXTURE + "\n\n@pytest.fixture\ndef five():\n    return 5\n"
    blocks.insert(4, use("write_file", path="tests/conftest.py", content=grown))
    changed = grown.replace("return 4", "return 2 + 2")
    blocks.insert(8, use("write_file", path="tests/conftest.py", content=changed))
    multiples.answers[key("double")] = number(blocks)
    again = [use("write_file", path="tests/conftest.py", content=grown), submit("quadruple")]
    multiples.answers[key("quadruple", 2)] = number(again)
    done = multiples.run()
    assert done.status == 0, done.out + done.err
    refused = json.loads(multiples.show(".orch-state/prds/calc/tdd/cycles/calc-3.json"))["refused"]
    assert ["RED508" in each["codes"] for each in refused] == [True]
    assert multiples.show("tests/conftest.py") == grown.rstrip("\n")
    assert multiples.verify().status == 0


def test_the_third_of_five_stories_is_refused(tmp_path, monkeypatch):
    """The two before it stay, and the two after it need no new call."""
    names = (*NAMES, "quintuple", "sextuple")
    here = sys.modules[__name__]
    monkeypatch.setattr(here, "NAMES", names)
    monkeypatch.setattr(here, "FACTORS", dict(zip(names, range(2, 7), strict=True)))
    monkeypatch.setattr(here, "STORIES", {name: f"calc-{at}" for at, name in enumerate(names, 1)})
    world = World(tmp_path)
    rules = "\n".join(f"- **FR-{at}** {name} multiplies a number by {at + 1}." for at, name in enumerate(names, 1))
    world.start({"prds/calc.md": f"---\nid: calc\ntitle: Multiples\n---\n\n# Multiples\n\n{rules}\n"}).configure(
        SETTINGS
    )
    fixed = use("edit_file", path=SOURCE, old="return n * 4 + 1", new="return n * 4")
    world.answers = {
        "calc/plan/planner/1/1": say({**plan(), "epics": [{"key": "E1", "title": "Multiples"}]}),
        key("double"): deliver(names, wrong="quadruple"),
        key("quadruple", 2): number([fixed, submit("quadruple")]),
    }
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert world.phases() == ["plan(calc)", *steps(*names)]
    assert run_record(world)["spend"]["calls"] == 3
    assert world.show(SOURCE) == code(names).rstrip("\n")


def test_a_story_refused_in_red_comes_back_without_the_failures_that_are_meant(multiples):
    passing = '\n\ndef test_numbers():\n    """calc-1.c1"""\n    assert sum([4, 4]) == 8\n'
    blocks = deliver(NAMES)
    blocks[0]["input"]["content"] += passing
    fixed = use("edit_file", path=place("double"), old=passing, new="")
    with MessagesApi([json.dumps(plan()), {"content": blocks}, {"content": number([fixed, submit("double")])}]) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        done = multiples.program("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", env=env)
    assert done.status == 0, done.out + done.err
    *results, told = api.bodies[2]["messages"][-1]["content"]
    assert "RED401" in told["text"]
    assert "test_numbers" in told["text"]
    assert "test_doubles" not in told["text"], "it fails, as it should"
    assert {each["content"] for each in results} == {"ok"}, "results are short, since every request repeats them"
