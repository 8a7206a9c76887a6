"""The tool loop with a scripted model."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.scripted_model import ScriptedModel, done, says, write
from prd2pr.agents.models.base import Reply, Request, Text, ToolResult
from prd2pr.agents.roles import ARCHITECT, BUILDER, EXAMPLES, FUSED, MODEL_ROLES, PLANNER, REFACTORER, TESTER, Role
from prd2pr.agents.task import RoleTask
from prd2pr.agents.tool_loop import RoleResult, build_conversation_tools, run_role
from prd2pr.agents.tools import TestToolRun, Toolbox
from prd2pr.agents.workspace import Workspace
from prd2pr.domain.evidence import Failure, FailureKind, RunReport, TestResult
from prd2pr.domain.paths import PathRules
from prd2pr.domain.secrets import Secrets
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import CannotJudge, ModelRefused

TEST_FILE = "tests/tdd/loyalty-1/test_loyalty_1_earning.py"
SOURCE = "src/shop/points.py"


class RecordingCallbacks:
    """Callbacks that record their arguments."""

    def __init__(self, stop_at: int = 1000) -> None:
        self.stop_at = stop_at
        self.before: list[str] = []
        self.after: list[tuple[str, int]] = []

    def before_call(self, request: Request) -> str | None:
        self.before.append(request.purpose.key())
        return "loyalty-1 has used 5.00 of 5.00 USD" if len(self.before) >= self.stop_at else None

    def after_call(self, request: Request, reply: Reply) -> None:
        self.after.append((request.purpose.key(), reply.spend.tokens))


@pytest.fixture
def work(task: RoleTask, checkout: Path) -> Callable[..., RoleResult[Any]]:
    def run(role: Role[Any], model: ScriptedModel, **options: Any) -> RoleResult[Any]:
        books = options.pop("books", RecordingCallbacks())
        policy = build_write_policy(role.phase, "loyalty-1", fused=role.fused, locked=options.pop("locked", ()))
        toolbox = Toolbox(Workspace(checkout, policy, PathRules()), options.pop("run_tests", None), role.test_runs)
        return run_role(
            role,
            options.pop("task", task),
            model,
            toolbox=toolbox if role.tools else None,
            before_call=books.before_call,
            after_call=books.after_call,
            **options,
        )

    return run


def answers(request: Request) -> list[str]:
    return [block.content for block in request.messages[-1].blocks if isinstance(block, ToolResult)]


def test_writes_and_submit_in_one_answer_end_after_one_turn(work: Any, checkout: Path) -> None:
    model = ScriptedModel(says("Here.", write(SOURCE, "def points_for(cart): ...\n"), done("Floors the sum.")))
    result = work(BUILDER, model)
    assert (result.stop, result.explanation, result.turns) == ("done", "Floors the sum.", 1)
    assert result.written == (SOURCE,)
    assert (checkout / SOURCE).read_text() == "def points_for(cart): ...\n"
    assert result.spend.calls == 1
    model.assert_all_said()


def test_longer_conversation_reads_edits_and_submits(work: Any, checkout: Path) -> None:
    model = ScriptedModel(
        says(("read_file", {"path": "src/shop/cart.py"}), ("search", {"text": "earns_points"})),
        says(write(SOURCE, "RATE = 1\n")),
        says(("edit_file", {"path": SOURCE, "old": "RATE = 1", "new": "RATE = 2"}), done()),
    )
    result = work(BUILDER, model)
    assert (checkout / SOURCE).read_text() == "RATE = 2\n"
    assert (result.turns, result.tool_calls, result.spend.calls) == (3, 4, 3)
    assert "class Cart" in answers(model.requests[1])[0]
    assert "src/shop/catalog.py:19:" in answers(model.requests[1])[1]
    assert [request.purpose.turn for request in model.requests] == [1, 2, 3]


def test_only_the_newest_message_is_marked_for_caching(work: Any) -> None:
    look = says(("list_files", {}))
    model = ScriptedModel(look, look, look, look, look, says(write(SOURCE), done()))
    work(BUILDER, model)
    marked = [
        [any(getattr(block, "cache", False) for block in message.blocks) for message in request.messages]
        for request in model.requests
    ]
    assert marked[0] == [True]
    assert marked[5] == [True, *([False] * 9), True]


def test_budget_is_checked_before_and_updated_after_every_call(work: Any) -> None:
    books = RecordingCallbacks()
    model = ScriptedModel(says(("list_files", {})), says("garbage"), says(write(SOURCE), done()))
    work(BUILDER, model, books=books)
    keys = [f"loyalty-1/green/builder/1/{turn}" for turn in (1, 2, 3)]
    assert books.before == keys
    assert books.after == [(key, 20) for key in keys]


def test_exhausted_budget_stops_before_the_call(work: Any) -> None:
    model = ScriptedModel(says(write(SOURCE)), says(done()))
    result = work(BUILDER, model, books=RecordingCallbacks(stop_at=2))
    assert (result.stop, result.output, result.turns) == ("budget", None, 1)
    assert result.explanation == "loyalty-1 has used 5.00 of 5.00 USD"
    assert len(model.requests) == 1
    assert result.spend.calls == 1


def test_a_budget_that_raises_is_not_swallowed(work: Any, task: RoleTask) -> None:
    class ExhaustedBudget(RecordingCallbacks):
        def before_call(self, request: Request) -> str | None:
            raise KeyboardInterrupt

    model = ScriptedModel()
    with pytest.raises(KeyboardInterrupt):
        work(BUILDER, model, books=ExhaustedBudget())
    assert model.requests == []


def test_refused_write_is_reported_and_recorded(work: Any, checkout: Path) -> None:
    before = (checkout / "tests/test_cart.py").read_text()
    model = ScriptedModel(
        says(write("tests/test_cart.py", "def test_x(): pass\n"), write(SOURCE), done()),
        says(done()),
    )
    result = work(BUILDER, model)
    assert [(refused.path, refused.code) for refused in result.refused_writes] == [("tests/test_cart.py", "GRN101")]
    refused, wrote, submit = answers(model.requests[1])
    assert refused.startswith("refused, GRN101")
    assert wrote.startswith(f"wrote {SOURCE}")
    assert submit.startswith("not accepted: an earlier call in this answer failed")
    assert (checkout / "tests/test_cart.py").read_text() == before
    assert result.stop == "done"


def test_locked_tests_stay_locked(work: Any) -> None:
    model = ScriptedModel(says(write(TEST_FILE)), says(write(SOURCE), done()))
    result = work(BUILDER, model, locked=[TEST_FILE])
    assert [refused.code for refused in result.refused_writes] == ["GRN201"]


def test_the_tester_writes_tests_only_and_fused_both(work: Any, checkout: Path) -> None:
    tests = work(TESTER, ScriptedModel(says(write(SOURCE), write(TEST_FILE)), says(done())))
    assert [refused.code for refused in tests.refused_writes] == ["RED101"]
    assert tests.written == (TEST_FILE,)
    both = work(FUSED, ScriptedModel(says(write(TEST_FILE), write(SOURCE), done())))
    assert (both.written, both.refused_writes) == ((TEST_FILE, SOURCE), ())


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (says("I would now write the code."), "you called no tool"),
        (says(), "you called no tool"),
        (says("", "  "), "you called no tool"),
        (says(("shell", {"command": "rm -rf /"})), "there is no tool 'shell'; you have read_file"),
        (says(("write_file", {"file": "x"})), "wrong arguments for write_file: path: Field required"),
        (says(("submit", {"status": "perfect"})), "not accepted: status: Input should be 'done'"),
        (says(write(SOURCE), done(), stop="max_tokens"), "cut off at the length limit"),
        (says("half a sen", stop="max_tokens"), "cut off at the length limit"),
    ],
    ids=["prose", "nothing", "blank", "unknown tool", "arguments", "submit", "cut calls", "cut text"],
)
def test_unusable_answer_is_retried_twice_and_then_given_up(
    work: Any, checkout: Path, garbage: Reply, told: str
) -> None:
    mended = ScriptedModel(garbage, garbage, says(write("src/shop/other.py"), done()))
    result = work(BUILDER, mended)
    assert result.stop == "done"
    last = mended.requests[-1].messages[-1].blocks[0]
    assert told in (last.text if isinstance(last, Text) else last.content)  # type: ignore[union-attr]
    assert not (checkout / SOURCE).exists()

    hopeless = ScriptedModel(garbage, garbage, garbage)
    with pytest.raises(ModelRefused) as refused:
        work(BUILDER, hopeless)
    assert "gave no usable answer" in refused.value.what
    assert "models.roles.builder" in refused.value.remedy
    hopeless.assert_all_said()


HOSTILE = {
    "garbage": says("Certainly! Here is what I think about your shop."),
    "half_json": says('{"summary": "All is w'),
    "another_object": says('{"answer": 42}'),
    "deep": says("[" * 100_000),
    "ten_megabytes": says('{"summary": "' + "x" * 10_000_000 + '"}'),
    "template": says("{{ ''.__class__.__mro__ }} {% for x in range(10**9) %}{% endfor %}"),
    "command": says("/approve\n::set-output name=x::y\n$(rm -rf .)"),
    "numbers_without_end": says('{"stories": [{"story": "x-1", "likely": 1e999}], "risks": NaN}'),
    "refusal": says("I cannot help.", stop="refusal"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("role", MODEL_ROLES.values(), ids=list(MODEL_ROLES))
def test_hostile_answer_is_refused_for_every_role(work: Any, checkout: Path, role: Role[Any], name: str) -> None:
    """For every role: the problem is reported, retries are bounded, and nothing is written."""
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    books = RecordingCallbacks()
    with pytest.raises(ModelRefused) as refused:
        work(role, ScriptedModel(*[HOSTILE[name]] * 3), books=books)
    assert len(refused.value.what) < 1000, "what was answered is not repeated at length"
    assert len(books.after) == (1 if name == "refusal" else 3)
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_good_turn_resets_the_retry_count(work: Any) -> None:
    bad, good = says("hm"), says(("list_files", {}))
    model = ScriptedModel(bad, bad, good, bad, bad, good, says(write(SOURCE), done()))
    assert work(BUILDER, model).turns == 7


def test_a_refusal_ends_at_once(work: Any) -> None:
    books = RecordingCallbacks()
    with pytest.raises(ModelRefused, match="declined to answer"):
        work(BUILDER, ScriptedModel(says("I cannot help.", stop="refusal")), books=books)
    assert len(books.after) == 1


def test_endless_conversation_is_ended_after_a_warning(work: Any) -> None:
    look = says(("list_files", {}))
    role = replace(BUILDER, tool_turns=4)
    model = ScriptedModel(look, look, look, look)
    with pytest.raises(ModelRefused, match="within 4 turns"):
        work(role, model)
    assert isinstance(model.requests[3].messages[-1].blocks[-1], Text)
    assert all(isinstance(block, ToolResult) for block in model.requests[2].messages[-1].blocks)


@pytest.mark.parametrize("role", [ARCHITECT, TESTER, BUILDER, FUSED], ids=lambda role: role.name)
def test_any_working_role_may_report_a_contradiction(work: Any, role: Role[Any]) -> None:
    answer = {"status": "contradiction", "explanation": "c1 says 41, c2 says 42 for the same cart."}
    if role is ARCHITECT:
        answer |= {"summary": "", "symbols": [], "source_paths": [], "test_paths": [], "decisions": []}  # type: ignore[dict-item]
    result = work(role, ScriptedModel(says(("submit", answer))))
    assert (result.stop, result.explanation) == ("contradiction", "c1 says 41, c2 says 42 for the same cart.")


def test_a_contradiction_counts_even_after_a_refused_write(work: Any) -> None:
    result = work(BUILDER, ScriptedModel(says(write(TEST_FILE), done("c1 against c2", "contradiction"))))
    assert result.stop == "contradiction"
    assert len(result.refused_writes) == 1


def test_refactorer_may_report_nothing_to_do_but_no_contradiction(work: Any) -> None:
    model = ScriptedModel(says(done("?", "contradiction")), says(done("Ten clear lines.", "nothing_to_do")))
    result = work(REFACTORER, model)
    assert (result.stop, result.explanation, result.written) == ("nothing_to_do", "Ten clear lines.", ())
    assert answers(model.requests[1])[0].startswith("this role cannot report a contradiction")


def test_done_without_a_file_is_queried_once(work: Any) -> None:
    model = ScriptedModel(says(done("All there already.")), says(done("Really.")))
    result = work(BUILDER, model)
    assert (result.stop, result.explanation) == ("done", "Really.")
    assert "no file was written" in answers(model.requests[1])[0]


# --- structured roles -------------------------------------------------------------------------------------------------

PLAN = '{"stories": [{"key": "s1", "title": "Earn", "requirements": ["FR-1"]}]}'


@pytest.mark.parametrize("text", [PLAN, f"```json\n{PLAN}\n```", f"Here is the plan:\n{PLAN}\nDone."])
def test_planner_answers_with_structured_output(work: Any, task: RoleTask, text: str) -> None:
    model = ScriptedModel(says(text))
    result = work(PLANNER, model, task=replace(task, story=None, design=None))
    assert result.stop == "done"
    assert [story.key for story in result.output.stories] == ["s1"]
    request = model.requests[0]
    assert request.tools == build_conversation_tools(), "as in the conversation, whose cached prefix it begins"
    assert request.output_schema is not None
    assert request.schema_in_prompt
    assert "$ref" not in str(request.output_schema)
    assert request.purpose.key() == "loyalty/plan/planner/1/1"


def test_planner_may_read_but_the_author_of_hidden_examples_has_no_tools(work: Any, task: RoleTask) -> None:
    """Both get the tools of the conversation, since a cached prompt begins with them."""
    about_prd = replace(task, story=None, design=None)
    reading = ("list_files", {})
    model = ScriptedModel(says(reading, ("write_file", {"path": "src/shop/new.py", "content": "X = 1"})), says(PLAN))
    planned = work(PLANNER, model, task=about_prd)
    read, wrote = (each for each in model.requests[1].messages[-1].blocks if isinstance(each, ToolResult))
    assert (read.is_error, wrote.is_error, planned.written) == (False, True, ())
    model = ScriptedModel(says(reading), says('{"loyalty-1": {"c1": ["assert earn(70) == 7"]}}'))
    assert [each.story for each in work(EXAMPLES, model, task=about_prd).output.stories] == ["loyalty-1"]
    (refused,) = (each for each in model.requests[1].messages[-1].blocks if isinstance(each, ToolResult))
    assert refused.is_error


def test_problems_of_a_bad_plan_are_reported_to_the_planner(work: Any, task: RoleTask) -> None:
    planning = replace(task, story=None, design=None)
    model = ScriptedModel(says('{"stories": [{"key": "s1"}]}'), says("{"), says(PLAN))
    assert work(PLANNER, model, task=planning).turns == 3
    told = model.requests[1].messages[-1].blocks[0]
    assert isinstance(told, Text)
    assert "stories.0.title: Field required" in told.text
    with pytest.raises(ModelRefused):
        work(PLANNER, ScriptedModel(says("no"), says("no"), says("no")), task=planning)


def test_the_architect_reads_and_submits_a_design(work: Any) -> None:
    answer = {
        "status": "done",
        "explanation": "One function.",
        "summary": "points_for adds up.",
        "symbols": [{"name": "shop.points.points_for", "signature": "(cart: Cart) -> int"}],
        "source_paths": [SOURCE],
        "test_paths": [TEST_FILE],
        "decisions": [],
    }
    model = ScriptedModel(says(("read_file", {"path": "src/shop/cart.py"})), says(("submit", answer)))
    design = work(ARCHITECT, model).output.design()
    assert design.symbols[0].name == "shop.points.points_for"


def test_architect_may_report_a_contradiction_without_a_design(work: Any) -> None:
    answer = {"status": "contradiction", "explanation": "c1 and c2 cannot both hold."}
    result = work(ARCHITECT, ScriptedModel(says(("submit", answer))))
    assert (result.stop, result.explanation) == ("contradiction", "c1 and c2 cannot both hold.")


def test_the_architect_cannot_write(work: Any, checkout: Path) -> None:
    model = ScriptedModel(says(write(SOURCE)), says(write(SOURCE)), says(write(SOURCE)))
    with pytest.raises(
        ModelRefused, match="write_file is not available in your step; you have read_file, list_files, search, submit"
    ):
        work(ARCHITECT, model)
    assert not (checkout / SOURCE).exists()


def test_all_roles_have_the_same_tools_for_caching(work: Any) -> None:
    requests = []
    for role in (ARCHITECT, TESTER, BUILDER, FUSED, REFACTORER):
        model = ScriptedModel(says(("submit", {"status": "contradiction", "explanation": "No."})), *[says("no")] * 3)
        with contextlib.suppress(ModelRefused):
            work(role, model)
        requests.append(model.requests[0])
    assert len({repr((request.tools, request.system)) for request in requests}) == 1
    submit = requests[0].tools[-1]
    assert (submit.name, submit.schema["required"]) == ("submit", ["status", "explanation"])
    assert "symbols" in submit.schema["properties"]
    assert "optional fields only if your step names them." in submit.description


def test_fields_of_another_role_are_ignored(work: Any) -> None:
    answer = {"status": "done", "explanation": "Built.", "summary": "One function.", "symbols": [], "decisions": []}
    result = work(BUILDER, ScriptedModel(says(write(SOURCE), ("submit", answer))))
    assert (result.stop, result.explanation) == ("done", "Built.")


def test_unknown_field_is_reported(work: Any) -> None:
    model = ScriptedModel(
        says(write(SOURCE), ("submit", {"status": "done", "explanation": "x", "mood": "fine"})), says(done())
    )
    work(BUILDER, model)
    assert any("mood" in text for text in answers(model.requests[1]))


def test_workers_without_our_tools_get_the_exact_output_format(work: Any) -> None:
    model = ScriptedModel(*[says("no")] * 3)
    with pytest.raises(ModelRefused):
        work(ARCHITECT, model, edits_itself=True)
    tools = {tool.name: tool for tool in model.requests[0].tools}
    assert set(tools) == {"read_file", "list_files", "search", "submit"}
    assert "symbols" in tools["submit"].schema["required"]


# --- workers that edit files directly ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stop", "explanation"),
    [
        ("Added points_for.", "done", "Added points_for."),
        ("", "done", ""),
        ("nothing", "nothing_to_do", ""),
        ("Nothing to do: it is clear.", "nothing_to_do", "it is clear."),
        ("contradiction: c1 and c2 differ", "contradiction", "c1 and c2 differ"),
        ('{"status": "nothing_to_do", "explanation": "Fine as it is."}', "nothing_to_do", "Fine as it is."),
    ],
)
def test_worker_that_edits_files_answers_in_plain_text(work: Any, text: str, stop: str, explanation: str) -> None:
    result = work(BUILDER, ScriptedModel(says(text)), edits_itself=True)
    assert (result.stop, result.explanation) == (stop, explanation)


def test_worker_that_edits_files_gets_the_writable_paths(work: Any, checkout: Path) -> None:
    model = ScriptedModel(says("did it"))
    work(TESTER, model, edits_itself=True)
    request = model.requests[0]
    assert (request.workspace, request.writable) == (checkout, ("tests/tdd/loyalty-1/**",))


# --- running tests ----------------------------------------------------------------------------------------------------


def report(*results: TestResult, problems: tuple[str, ...] = ()) -> RunReport:
    return RunReport(code_tree="t", command=("pytest",), tools={}, results=results, problems=problems)


FAILED = TestResult(
    id=f"{TEST_FILE}::test_c1",
    outcome="failed",
    failure=Failure(
        kind=FailureKind.ASSERTION,
        stage="call",
        exception="AssertionError",
        message="assert 40 == 41",
        path=TEST_FILE,
        line=9,
    ),
)


def test_tests_can_be_run_a_bounded_number_of_times(work: Any) -> None:
    asked: list[tuple[str, ...]] = []

    def run_tests(paths: tuple[str, ...], whole: bool) -> TestToolRun:
        asked.append(paths)
        return TestToolRun(report(TestResult(id="tests/test_cart.py::test_add", outcome="passed"), FAILED), "1 of 2.")

    asked_for = "tests/test_cart.py"
    again = says(("run_tests", {"paths": [f"{asked_for}::test_add", asked_for]}))
    model = ScriptedModel(says(write(SOURCE)), again, again, says(("run_tests", {})), says(done()))
    result = work(replace(BUILDER, test_runs=2), model, run_tests=run_tests)
    assert asked == [(asked_for,), (asked_for,)]
    assert result.test_runs == 2
    assert answers(model.requests[2]) == [
        f"2 tests: 1 passed, 1 failed.\nfailed {TEST_FILE}::test_c1 (line 9): AssertionError: assert 40 == 41\n1 of 2."
    ]
    assert answers(model.requests[4])[0].startswith("no test runs are left")


@pytest.mark.parametrize("path", ["-p", "--co", "/etc", "../x", "tests/-k", "tests/gone.py", "", "::x"])
def test_only_plain_paths_become_arguments_of_the_runner(work: Any, path: str) -> None:
    def run_tests(paths: tuple[str, ...], whole: bool) -> TestToolRun:
        raise AssertionError(f"must not be run: {paths}")

    model = ScriptedModel(says(write(SOURCE), ("run_tests", {"paths": [path]})), says(done()))
    assert work(BUILDER, model, run_tests=run_tests).test_runs == 0
    assert re.search("cannot be run|does not exist", answers(model.requests[1])[1])


def test_tests_that_cannot_run_are_reported_and_not_raised(work: Any) -> None:
    def run_tests(paths: tuple[str, ...], whole: bool) -> TestToolRun:
        raise CannotJudge("the test run was killed")

    model = ScriptedModel(says(write(SOURCE), ("run_tests", {})), says(done()))
    assert work(BUILDER, model, run_tests=run_tests).stop == "done"
    assert "could not be run: the test run was killed" in answers(model.requests[1])[1]


def test_no_secret_is_sent_to_the_model(work: Any, task: RoleTask) -> None:
    key = "sk-canary-Zq8vWn31LkPd7TyR"
    model = ScriptedModel(says(write(SOURCE, f"KEY = '{key}'\n"), ("read_file", {"path": SOURCE})), says(done()))
    secret = replace(task, attempt=replace(task.attempt, test_output=f"E  {key}"))
    work(BUILDER, model, task=secret, secrets=Secrets.from_values([key]))
    first, second = model.requests
    opening = repr((first.system, first.messages))
    assert key not in opening and "[redacted]" in opening
    assert key not in repr(second.messages[-1]) and "[redacted]" in repr(second.messages[-1])
