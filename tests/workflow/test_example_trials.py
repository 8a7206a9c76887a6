"""Hidden examples of a conversation: written in one call without code, checked, and ruled on by a judge."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError
from test_conversation import NAMES, PRD, SOURCE, deliver, key, number, plan, run_record, steps, submit

from fakes.messages_api import MessagesApi
from fakes.prompt_cache import PromptCache
from prd2pr.agents.outputs.hidden_examples import ExamplesAnswer
from world import Blocks, World, say, use

AUTHOR = "calc/red/examples/1/1"
HIDDEN = "tests/tdd/calc-1/test_calc_1_held_out.py"


FEW = NAMES[:2]


def small_plan() -> dict[str, Any]:
    """Return a plan of two stories, which is enough to see whose examples are whose."""
    draft: dict[str, Any] = plan()
    epics = [{**each, "requirements": ["FR-1", "FR-2"]} for each in draft["epics"]]
    return {**draft, "epics": epics, "stories": [each for each in draft["stories"] if each["key"] in FEW]}


def judge_key(attempt: int = 1) -> str:
    return f"calc/green/judge/{attempt}/1"


def examples(*lines: tuple[int, str], **imports: str) -> Blocks:
    """Return an answer with one example per pair of story number and line."""
    stories: dict[int, list[str]] = {}
    for at, line in lines:
        stories.setdefault(at, []).append(line)
    return say(
        {
            "stories": [
                {
                    "story": f"calc-{at}",
                    "imports": imports.get("imports", f"from calc.multiples import {NAMES[at - 1]}"),
                    "examples": [{"criterion": f"calc-{at}.c1", "test": line} for line in listed],
                }
                for at, listed in stories.items()
            ]
        }
    )


def ruling(verdict: str, **more: str) -> Blocks:
    return say({"rulings": [{"example": "e1", "verdict": verdict, "reason": "2 times 70 is 140.", **more}]})


@pytest.fixture
def multiples(tmp_path) -> World:
    world = World(tmp_path)
    world.start({"prds/calc.md": PRD[: PRD.index("- **FR-3**")]}).configure("strategy: conversation\nattempts: 3\n")
    world.answers = {"calc/plan/planner/1/1": say(small_plan()), key("double"): deliver(FEW)}
    return world


def cycle(world: World, story: str = "calc-1") -> dict[str, Any]:
    return json.loads(world.show(f".orch-state/prds/calc/tdd/cycles/{story}.json"))


def findings(world: World, story: str = "calc-1") -> dict[str, str]:
    proof = json.loads(world.show(f".orch-state/prds/calc/tdd/evidence/{story}/3-green.json"))
    return {each["code"]: each["message"] for each in proof["verdict"]["findings"]}


def deliver_overfitted(line: str) -> Blocks:
    """Return all stories, with this line in place of the rule of the first one."""
    return json.loads(json.dumps(deliver(FEW)).replace("return n * 2", line))


def built(world: World, status: int = 0) -> str:
    done = world.run()
    assert done.status == status, done.out + done.err
    return done.out + done.err


def test_one_call_writes_the_examples_of_all_stories(multiples):
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 140"))
    built(multiples)
    assert multiples.phases() == ["plan(calc)", *steps(*FEW)]
    assert run_record(multiples)["spend"]["calls"] == 3, "plan, stories, examples"
    assert cycle(multiples)["held_out"]["tests"] == [f"{HIDDEN}::test_c1_example_1"]
    assert "assert double(70) == 140" in multiples.show("tests/unit/calc-1/test_calc_1_held_out.py")
    assert "GRN309" in findings(multiples, "calc-2"), "no example was given for it"
    assert not {"GRN309", "GRN310", "GRN311"} & {*findings(multiples)}
    proved = multiples.verify()
    assert proved.status == 0, proved.out


def test_wrong_code_is_refused_in_words(multiples):
    """The code is a table of what its tests show. The judge's words reach its author, the example does not."""
    multiples.answers[key("double")] = deliver_overfitted("return {4: 8, -3: -6}.get(n, 0)")
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 140"))
    multiples.answers[judge_key()] = ruling("code wrong", feedback="Every number is multiplied, not only some.")
    fixed = use("edit_file", path=SOURCE, old="return {4: 8, -3: -6}.get(n, 0)", new="return n * 2")
    multiples.answers[key("double", 2)] = number([fixed, submit("double")])
    built(multiples)
    (refused,) = cycle(multiples)["refused"]
    assert refused["codes"] == ["GRN308"]
    assert "Every number is multiplied" in refused["summary"]
    assert "70" not in json.dumps(refused)
    assert cycle(multiples)["held_out"]["dropped"] == []
    assert multiples.verify().status == 0


@pytest.mark.slow
def test_a_wrong_example_is_dropped_with_the_words_that_decide_it(multiples):
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 144"), (1, "assert double(9) == 18"))
    multiples.answers[judge_key()] = ruling("example wrong", quote="A number can be multiplied by 2")
    built(multiples)
    assert multiples.phases() == ["plan(calc)", *steps(*FEW)]
    (dropped,) = cycle(multiples)["held_out"]["dropped"]
    assert (dropped["name"], dropped["why"]) == ("e1", "wrong")
    assert 'since "A number can be multiplied by 2"' in findings(multiples)["GRN310"]
    assert "GRN311" not in findings(multiples)
    assert "144" not in multiples.show("tests/unit/calc-1/test_calc_1_held_out.py")
    assert "1 of 1 pass. Dropped: 1." in multiples.git("log", "--format=%B", multiples.branch)
    assert multiples.verify().status == 0


def test_a_ruling_without_a_quote_is_not_accepted(multiples):
    """A judge cannot drop an example by saying so."""
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 144"))
    multiples.answers[judge_key()] = ruling("example wrong", quote="because the code is right")
    multiples.answers[judge_key(2)] = ruling("example wrong", quote="A number can be multiplied by 2")
    built(multiples)
    assert {"GRN309", "GRN310", "GRN311"} <= {*findings(multiples)}, "all were dropped: a person looks"
    assert multiples.verify().status == 0


@pytest.mark.slow
def test_feedback_that_reveals_the_example_is_not_accepted(multiples):
    multiples.answers[key("double")] = deliver_overfitted("return n * 2 if n < 9 else 0")
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 140"))
    multiples.answers[judge_key()] = ruling("code wrong", feedback="double(70) has to be 140")
    multiples.answers[judge_key(2)] = ruling("code wrong", feedback="Larger numbers are multiplied too.")
    fixed = use("edit_file", path=SOURCE, old="return n * 2 if n < 9 else 0", new="return n * 2")
    multiples.answers[key("double", 2)] = number([fixed, submit("double")])
    built(multiples)
    (refused,) = cycle(multiples)["refused"]
    assert "Larger numbers are multiplied too." in refused["summary"]


@pytest.mark.slow
def test_an_unclear_requirement_becomes_a_question(multiples):
    multiples.answers[AUTHOR] = examples((1, "assert double(0.5) == 1.5"))
    multiples.answers[judge_key()] = ruling("requirement unclear", question="Are fractions rounded?")
    built(multiples)
    assert "Are fractions rounded?" in findings(multiples)["GRN310"]
    page = next((multiples.repo / ".git/prd2pr").rglob("*.md"), None)
    assert page is None or "Are fractions rounded?" in page.read_text()


@pytest.mark.slow
def test_examples_that_cannot_be_used_are_dropped_without_a_judge(multiples):
    """Not Python, no assertion, against the PRD's own example, against each other."""
    multiples.answers[AUTHOR] = examples(
        (1, "assert double("),
        (1, "double(3)"),
        (1, "assert double(4) == 9"),
        (2, "assert triple(7) == 21"),
        (2, "assert triple(7) == 22"),
        (2, "assert triple(11) == 33"),
    )
    built(multiples)
    assert [each["why"] for each in cycle(multiples)["held_out"]["dropped"]] == ["invalid"] * 3
    assert len(cycle(multiples, "calc-2")["held_out"]["dropped"]) == 2
    assert run_record(multiples)["spend"]["calls"] == 3
    assert multiples.verify().status == 0


@pytest.mark.slow
def test_an_example_that_passes_without_the_code_is_dropped(multiples):
    multiples.answers[AUTHOR] = examples(
        (1, "assert negate(70) == -70"),
        (1, "assert double(70) == 140"),
        imports="from calc.signs import negate\nfrom calc.multiples import double",
    )
    built(multiples)
    (dropped,) = cycle(multiples)["held_out"]["dropped"]
    assert (dropped["name"], dropped["why"]) == ("e1", "invalid")
    assert multiples.verify().status == 0


@pytest.mark.slow
def test_a_name_that_the_code_lacks_is_for_the_judge(multiples):
    """The example calls what the requirements name; the code calls it something else."""
    multiples.answers[AUTHOR] = examples((1, "assert twice(70) == 140"), imports="from calc.multiples import twice")
    multiples.answers[judge_key()] = ruling("example wrong", quote="multiplied by 2 (double)")
    built(multiples)
    (dropped,) = cycle(multiples)["held_out"]["dropped"]
    assert dropped["why"] == "wrong"


@pytest.mark.slow
def test_a_judge_without_an_answer_never_blocks(multiples):
    """The code is refused while attempts are left; then the example is set aside with a question."""
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 144"))
    for attempt in (2, 3):
        multiples.answers[key("double", attempt)] = number([submit("double", note=f"Attempt {attempt}.")])
    built(multiples)
    (dropped,) = cycle(multiples)["held_out"]["dropped"]
    assert dropped["why"] == "unclear"
    assert len(cycle(multiples)["refused"]) == 2


@pytest.mark.slow
def test_a_killed_run_asks_nobody_twice(multiples):
    multiples.answers[AUTHOR] = examples((1, "assert double(70) == 144"))
    multiples.answers[judge_key()] = ruling("example wrong", quote="A number can be multiplied by 2")
    for _ in range(3):
        done = multiples.next()
        assert done.status == 0, done.out + done.err
    del multiples.answers[AUTHOR], multiples.answers[judge_key()]
    built(multiples)
    assert multiples.phases() == ["plan(calc)", *steps(*FEW)]


def test_the_author_reads_the_plan_from_the_cache_and_sees_nothing_written_for_the_prd(multiples):
    """The second run asks for the examples of a story when the code of another is on the branch already."""
    first, second = (
        {f"calc-{at}": {"imports": f"from calc.multiples import {name}", "c1": f"assert {name}(7) == {7 + 7 * at}"}}
        for at, name in enumerate(FEW, 1)
    )
    replies: list[Any] = [
        json.dumps(small_plan()), {"content": deliver(FEW[:1])}, json.dumps(first),
        {"content": deliver(FEW[1:], before=FEW[:1])}, json.dumps(second),
    ]  # fmt: skip
    with MessagesApi(replies, cache=PromptCache(minimum=200)) as api:
        env = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "none"}
        for more in (("--story", "calc-1"), ()):
            done = multiples.program("run", "prds/calc.md", "--model", "anthropic:claude-sonnet-5-5", *more, env=env)
        assert done.status == 0, done.out + done.err
    plan_call, _, early, build, late = (json.dumps(each) for each in api.bodies)
    assert [each.read > 0 for each in api.counted] == [False, True, True, False, True]
    assert "n * 2" in build
    assert "n * 2" not in plan_call + early + late
    assert all("output_config" not in each for each in api.bodies), "a form would split the cache"
    assert cycle(multiples, "calc-2")["held_out"]["tests"], "the short form is read"


def test_an_answer_of_the_author_that_is_no_list_of_tests_is_refused() -> None:
    short = {"calc-1": {"imports": "import calc", "c1": ["assert 1", "assert 2"], "c2": "assert 3"}}
    (read,) = ExamplesAnswer.model_validate(short).stories
    assert (read.story, read.imports) == ("calc-1", "import calc")
    assert [(each.criterion, each.test) for each in read.examples] == [
        ("c1", "assert 1"), ("c1", "assert 2"), ("c2", "assert 3"),
    ]  # fmt: skip
    shared = ExamplesAnswer.model_validate({"imports": "import calc", "calc-1": {"imports": "import re"}, "calc-2": {}})
    assert [each.imports for each in shared.stories] == ["import calc\nimport re", "import calc"]
    for wrong in ({"calc-1": {"c1": [7]}}, {"calc-1": {"c1": {"test": "x"}}}, {"calc-1": "assert 1"}, {"calc-1": None}):
        with pytest.raises(ValidationError):
            ExamplesAnswer.model_validate(wrong)
