from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from model_requests import SUBMIT, a_request, user

from prd2pr.agents.models.base import Message, Purpose, Reply, Request, Tool, ToolUse
from prd2pr.agents.models.human import HumanModel
from prd2pr.errors import ModelProblem

DESIGN = Tool(
    "submit",
    "Hand in.",
    {
        "type": "object",
        "properties": {
            "status": {"type": "string"},
            "explanation": {"type": "string"},
            "summary": {"type": "string"},
            "symbols": {"type": "array"},
        },
        "required": ["status", "explanation", "summary", "symbols"],
    },
)


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


def ask(request: Request, typed: str) -> tuple[Reply, str]:
    screen = io.StringIO()
    reply = HumanModel(stdin=Keyboard(typed), stdout=screen).reply(request)
    return reply, screen.getvalue()


def test_task_is_shown_with_its_directory_and_writable_paths(tmp_path: Path) -> None:
    request = a_request(
        user("Write tests for earning points."),
        workspace=tmp_path / "repository",
        writable=("tests/tdd/loyalty-1/*",),
        tools=(SUBMIT,),
    )
    reply, shown = ask(request, "\n")
    assert "loyalty-1: red, as the tester" in shown
    assert f"Work in   {tmp_path}/repository\nChange    tests/tdd/loyalty-1/*\n" in shown
    assert len(shown.splitlines()) <= 10
    task = (tmp_path / "TASK.md").read_text(encoding="utf-8")
    assert "You write tests." in task and "Write tests for earning points." in task
    assert "- `tests/tdd/loyalty-1/*`" in task
    (use,) = reply.tool_uses
    assert (use.name, use.input["status"]) == ("submit", "done")
    assert reply.stop == "tool_use"
    assert (reply.spend.calls, reply.spend.usd) == (1, 0.0)


@pytest.mark.parametrize(
    ("typed", "status", "explanation"),
    [
        ("nothing\n", "nothing_to_do", "A person found nothing worth changing."),
        ("contradiction: c1 and c2 differ\n", "contradiction", "c1 and c2 differ"),
        ("done renamed the helper\n", "done", "renamed the helper"),
    ],
)
def test_person_may_answer_more_than_done(typed: str, status: str, explanation: str) -> None:
    reply, _ = ask(a_request(tools=(SUBMIT,)), typed)
    assert dict(reply.tool_uses[0].input) == {"status": status, "explanation": explanation}


def test_without_a_submit_tool_the_text_is_the_answer() -> None:
    assert ask(a_request(), "\n")[0].text == "Done by a person."
    assert ask(a_request(), "contradiction: no\n")[0].text == "contradiction: no"


def test_invalid_input_is_asked_again() -> None:
    reply, shown = ask(a_request(tools=(SUBMIT,)), "yes?\ncontradiction:\nnothing\n")
    assert shown.count("Unknown answer") == 2
    assert reply.tool_uses[0].input["status"] == "nothing_to_do"


def test_a_typed_answer_comes_from_a_file(tmp_path: Path) -> None:
    good, bad = tmp_path / "design.json", tmp_path / "bad.json"
    design = {"status": "done", "explanation": "x", "summary": "y", "symbols": []}
    good.write_text(json.dumps(design), encoding="utf-8")
    bad.write_text("{", encoding="utf-8")
    typed = f"answer {tmp_path / 'none.json'}\nanswer {bad}\nanswer {good}\n"
    reply, shown = ask(a_request(tools=(DESIGN,)), typed)
    assert reply.tool_uses[0].input == design
    assert shown.count("cannot be used") == 2


def test_a_skeleton_is_filled_in_and_kept_for_the_next_attempt(tmp_path: Path) -> None:
    request = a_request(tools=(DESIGN,), workspace=tmp_path / "first" / "repository")
    request.workspace.parent.mkdir()
    screen = io.StringIO()
    model = HumanModel(stdin=Keyboard("nothing\n\n"), stdout=screen)
    model.reply(request)
    answer = Path(screen.getvalue().partition("Fill in   ")[2].partition("\n")[0])
    assert answer.read_text(encoding="utf-8") == "status: ''\nexplanation: ''\nsummary: ''\nsymbols: []\n"
    answer.write_text("status: done\nexplanation: x\nsummary: 'y: z'\nsymbols: [a]\n", encoding="utf-8")
    shutil.rmtree(request.workspace.parent)  # as after a refused attempt
    reply = model.reply(replace(request, workspace=tmp_path / "repository"))
    expected = {"status": "done", "explanation": "x", "summary": "y: z", "symbols": ["a"]}
    assert reply.tool_uses[0].input == expected


def test_the_editor_opens_the_answer(tmp_path: Path) -> None:
    request = a_request(tools=(DESIGN,), workspace=tmp_path / "repository")
    screen = io.StringIO()
    model = HumanModel(stdin=Keyboard("edit\n\n"), stdout=screen, editor="sed -i s/^summary.*/summary:\\ edited/")
    assert model.reply(request).tool_uses[0].input["summary"] == "edited"


def test_an_example_of_each_item_is_part_of_the_skeleton(tmp_path: Path) -> None:
    item = {"type": "object", "properties": {"id": {"type": "string"}, "size": {"enum": ["S", "M"]}}}
    schema = {"type": "object", "properties": {"stories": {"type": "array", "items": item}}}
    _, shown = ask(a_request(output_schema=schema, workspace=tmp_path / "repository"), "nothing\n")
    answer = Path(shown.partition("Fill in   ")[2].partition("\n")[0])
    assert answer.read_text(encoding="utf-8") == "stories:\n- id: ''\n  size: S\n"


def test_structured_output_comes_from_a_file_as_text(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text('{"stories": []}', encoding="utf-8")
    reply, _ = ask(a_request(output_schema={"type": "object"}), f"answer {plan}\n")
    assert reply.text == '{"stories": []}'


def test_contradiction_fills_the_required_fields() -> None:
    reply, _ = ask(a_request(tools=(DESIGN,)), "contradiction: impossible\n")
    expected = {"status": "contradiction", "explanation": "impossible", "summary": "", "symbols": []}
    assert reply.tool_uses[0].input == expected


def test_later_turn_shows_only_new_text() -> None:
    talk = (user("Old words."), Message("assistant", (ToolUse("t", "submit", {}),)), user("The gate refused: RED104."))
    request = a_request(*talk, purpose=Purpose("tester", "loyalty-1", "red", attempt=2, turn=2))
    _, shown = ask(request, "\n")
    assert shown.endswith("The gate refused: RED104.\n> "), "the reason is the last thing on the screen"
    assert "(attempt 2)" in shown
    assert "Old words." not in shown
    assert "You write tests." not in shown


def test_prd_text_cannot_control_the_terminal() -> None:
    purpose = Purpose("tester", "loyalty-1", "red", attempt=1, turn=2)
    _, shown = ask(a_request(user("\x1b[2Jgone\u202e\x07 ok\ttab"), purpose=purpose), "\n")
    assert not set("\x1b\x07\x9b\u202e") & set(shown)
    assert "gone ok\ttab" in shown


def test_missing_terminal_is_reported_with_a_remedy() -> None:
    with pytest.raises(ModelProblem, match="interactive terminal") as caught:
        HumanModel(stdin=io.StringIO("\n"), stdout=io.StringIO()).reply(a_request())
    assert "terminal" in caught.value.remedy
    with pytest.raises(ModelProblem, match="ended"):
        HumanModel(stdin=Keyboard(""), stdout=io.StringIO()).reply(a_request())
