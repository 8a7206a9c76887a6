"""Commands are found by the structure of the Markdown, and parsed by one table."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.machines.project_machine import PROJECT_COMMANDS
from prd2pr.domain.machines.story_machine import CYCLE_COMMANDS
from prd2pr.domain.records import CycleState, ProjectState
from prd2pr.github.commands.help import MachineStates, list_allowed_commands, list_help_rows
from prd2pr.github.commands.parser import (
    COMMANDS,
    USE_A_NEW_COMMENT,
    BadArguments,
    ParsedCommand,
    UnknownCommand,
    parse_comment,
)


def names(body: str) -> list[str]:
    return [each.name for each in parse_comment(body) if isinstance(each, ParsedCommand)]


# --- the table --------------------------------------------------------------------------------------------------------


def test_the_table_holds_every_command_of_both_machines():
    assert list(COMMANDS) == [*PROJECT_COMMANDS, *(f"tdd {name}" for name in CYCLE_COMMANDS)]


@pytest.mark.parametrize(
    ("name", "example"), [(spec.name, example) for spec in COMMANDS.values() for example in spec.examples]
)
def test_every_example_in_the_docs_is_understood(name, example):
    (command,) = parse_comment(example)
    assert isinstance(command, ParsedCommand)
    assert command.name == name


def test_queries_are_few_and_none_of_them_moves_a_machine():
    reading = {spec.name for spec in COMMANDS.values() if spec.reads}
    assert all(
        CYCLE_COMMANDS[name.removeprefix("tdd ")].state_changes == () for name in reading if name.startswith("tdd ")
    )
    assert all(PROJECT_COMMANDS[name].result is None for name in reading if not name.startswith("tdd "))
    assert "tdd halt_all" not in reading


@pytest.mark.parametrize(
    ("now", "next_works", "start_works", "code_works"),
    [
        (
            MachineStates(ProjectState.BACKLOG_READY),
            True,
            False,
            False,
        ),  # an order approves the plan; no cycle exists yet
        (MachineStates(ProjectState.SPRINT_PAUSED, CycleState.CODE_GREEN), False, False, False),
        (MachineStates(ProjectState.BLOCKED, CycleState.CODE_GREEN), False, False, True),
        (MachineStates(ProjectState.SPRINT_ACTIVE, CycleState.CODE_GREEN), True, False, True),
        (MachineStates(ProjectState.SPRINT_ACTIVE, CycleState.ABORTED), False, True, False),
        (MachineStates(ProjectState.SPRINT_ACTIVE, CycleState.CODE_GREEN, halted=True), False, False, False),
        (MachineStates(ProjectState.SPRINT_REVIEW), False, False, False),
    ],
)
def test_both_machines_decide_what_is_allowed(now, next_works, start_works, code_works):
    works = {row.usage.split(" [")[0]: row.now for row in list_help_rows(now)}
    asked = ("/tdd next", "/tdd run", "/tdd start STORY", "/tdd code")
    assert [works[name] for name in asked] == [next_works, next_works, start_works, code_works]
    assert ("/tdd next" in list_allowed_commands(now)) is next_works and "/tdd status" not in list_allowed_commands(now)
    assert works["/tdd resume"] or not now.halted


def test_help_lists_what_is_allowed_now():
    rows = {
        row.usage: row.now for row in list_help_rows(MachineStates(ProjectState.SPRINT_ACTIVE, CycleState.CODE_GREEN))
    }
    assert len(rows) == len(COMMANDS)
    assert rows["/sprint pause"]
    assert not rows["/sprint start"]
    assert rows["/tdd commit-code [STORY]"]
    assert not rows["/tdd commit-tests [STORY]"]


def test_help_begins_with_the_most_useful_commands():
    rows = list_help_rows(MachineStates(ProjectState.BACKLOG_READY))
    assert [row.example.split(" auth")[0] for row in rows[:4]] == ["/approve", "/tdd next", "/tdd run", "/tdd status"]
    assert len(rows) == len(COMMANDS)


def test_every_command_can_be_written_with_tdd():
    for spec in COMMANDS.values():
        (plain,) = parse_comment(spec.examples[0])
        (short,) = parse_comment(f"/tdd {spec.examples[0].removeprefix('/tdd ').removeprefix('/')}")
        assert isinstance(plain, ParsedCommand) and isinstance(short, ParsedCommand)
        assert replace(short, written=plain.written) == plain


def test_help_about_one_command_or_a_family():
    one, family = (list_help_rows(MachineStates(ProjectState.IDLE), about) for about in ("sprint plan", "sprint"))
    assert [row.usage for row in one] == ["/sprint plan [STORY…]"]
    assert len(family) == 5


# --- position of a command --------------------------------------------------------------------------------------------

PLAIN = [
    "/tdd next",
    "   /tdd next",
    "well then\n/tdd next",
    "well then\r\n/tdd next\r\n",
    "well then\n      /tdd next",  # continues the paragraph, however far it is indented
    "well then\\\n/tdd next",
    "well then  \n/tdd next",
    "> said before\n\n/tdd next",
    "```\ncode\n```\n/tdd next",
    "<!-- hidden -->\n\n/tdd next",
    "<details>\n\nfolded\n\n</details>\n\n/tdd next",
    "a <code>b</code> and Map<K>\n/tdd next",
    "a `b` c\n/tdd next",
    "a ` b\n/tdd next",  # a single backtick opens nothing
    "a < b\n/tdd next",
    "[a]\n/tdd next",  # no link: nothing defines it
    "**bold\n/tdd next\nbold**",
    "- a list\n\nand text\n/tdd next",
    "/TDD Next",
    "/tdd\tnext",
    "/tdd   next   ",
    "\ufeff\n/tdd next",
    "/etc/hosts\n/tdd next\n/lgtm",
]
HIDDEN = [
    "> /tdd next",
    "> said\n/tdd next",  # in Markdown this line belongs to the quote
    "> > /tdd next",
    "```\n/tdd next\n```",
    "~~~ text\n/tdd next",
    "````\n```\n/tdd next\n```\n````",
    "    /tdd next",
    "\t/tdd next",
    "`/tdd next`",
    "`a\n/tdd next\nb`",
    "``a ` b\n/tdd next\n``",
    "<!-- /tdd next -->",
    "<!--\n/tdd next\n-->",
    "<!--\n\n/tdd next\n",
    "text <!--\n/tdd next\n-->",
    "<div>\n/tdd next\n</div>",
    "<pre>\n\n/tdd next\n\n</pre>",
    "<blockquote>\n\n/tdd next\n\n</blockquote>",
    "see <code>a\n/tdd next\n</code>",
    "<details><summary>more</summary>\n\n/tdd next\n\n</details>",
    'a <b title="\n/tdd next\n">',
    "[a\n/tdd next\nb](https://example.org)",
    "![a\n/tdd next\nb](https://example.org/a.png)",
    "[a\n/tdd next\nb][c]\n\n[c]: https://example.org",
    "[/tdd next](https://example.org)",
    "- /tdd next",
    "1. /tdd next",
    "- a\n  /tdd next",
    "# /tdd next",
    "/tdd next\n===",
    "| a |\n|---|\n| /tdd next |",
    "a | b\n--|--\n/tdd next | c",
    "**/tdd next**",
    "\\/tdd next",
    "&#47;tdd next",
    "please /tdd next",
    "x/tdd next",
    "//tdd next",
    "/tdd/next",
    "/tddnext",
    "/lgtm",
    "/usr/bin/env",
    "/stateless services",
    "",
]


@pytest.mark.parametrize("body", PLAIN)
def test_a_command_in_plain_text_is_found_once(body):
    assert names(body) == ["tdd next"]


@pytest.mark.parametrize("body", HIDDEN)
def test_only_plain_text_of_a_paragraph_is_a_command(body):
    assert parse_comment(body) == ()


@given(body=st.sampled_from(HIDDEN), more=st.sampled_from(PLAIN))
def test_hidden_commands_stay_hidden_beside_a_plain_one(body, more):
    assert names(f"{more}\n\n{body}") == ["tdd next"]


def test_in_a_very_long_paragraph_with_code_only_the_first_line_counts():
    body = "/tdd status\n" + "`x` and words\n" * 400 + "/tdd next"
    assert names(body) == ["tdd status"]
    assert names(body.replace("`", "")) == ["tdd status", "tdd next"]


def test_several_commands_are_read_in_order():
    body = "First\n/approve\nthen\n/tdd next auth-2\n\n> /tdd run\n\n/tdd status"
    assert names(body) == ["approve", "tdd next", "tdd status"]


def test_a_comment_holds_at_most_twenty_commands_and_reports_the_rest():
    parsed = parse_comment("/tdd next\n" * 6000)
    assert [each.name for each in parsed[:20] if isinstance(each, ParsedCommand)] == ["tdd next"] * 20
    assert parsed[20:] == (
        BadArguments(
            "tdd next",
            "one comment may contain at most 20 commands; this line and the ones after it were not read",
            "/tdd next",
            USE_A_NEW_COMMENT,
        ),
    )


# --- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("/approve", ParsedCommand("approve")),
        ("/approve auth-1, AUTH-2 auth-1", ParsedCommand("approve", stories=("auth-1", "auth-2"))),
        ("/sprint plan auth-1", ParsedCommand("sprint plan", stories=("auth-1",))),
        ('/epic "Gift cards"', ParsedCommand("epic", text="Gift cards")),
        ("/epic “Gift cards”", ParsedCommand("epic", text="Gift cards")),
        ("/epic „Gift cards“", ParsedCommand("epic", text="Gift cards")),
        ("/epic «Gift cards»", ParsedCommand("epic", text="Gift cards")),
        ("/epic 'Gift cards'", ParsedCommand("epic", text="Gift cards")),
        ("/epic Gift cards, and more", ParsedCommand("epic", text="Gift cards, and more")),
        ("/epic 'tis the season", ParsedCommand("epic", text="'tis the season")),
        ('/epic "Gift" cards', ParsedCommand("epic", text='"Gift" cards')),
        ("/suggest-fix use `round()` there", ParsedCommand("suggest_fix", text="use `round()` there")),
        ("/backlog prioritize auth-3 1", ParsedCommand("backlog prioritize", stories=("auth-3",), number=1)),
        ('/tdd abort "no longer wanted"', ParsedCommand("tdd abort", text="no longer wanted")),
        (
            "/tdd abort auth-2 no longer wanted",
            ParsedCommand("tdd abort", stories=("auth-2",), text="no longer wanted"),
        ),
        ("/tdd commit_tests my-prd-12", ParsedCommand("tdd commit-tests", stories=("my-prd-12",))),
        ("/tdd explain red104", ParsedCommand("tdd explain", code="RED104")),
        ("/tdd help", ParsedCommand("tdd help")),
        ("/tdd help sprint", ParsedCommand("tdd help", about="sprint")),
        ("/tdd help /sprint plan", ParsedCommand("tdd help", about="sprint plan")),
        ("/tdd help next", ParsedCommand("tdd help", about="tdd next")),
        ("/tdd help tdd approve", ParsedCommand("tdd help", about="approve")),
        ("/tdd approve auth-2", ParsedCommand("approve", stories=("auth-2",))),
        ("/TDD sprint Plan auth-1", ParsedCommand("sprint plan", stories=("auth-1",))),
        ("/tdd skip-task auth-1", ParsedCommand("skip_task", stories=("auth-1",))),
        ("/tdd backlog prioritize auth-2 1", ParsedCommand("backlog prioritize", stories=("auth-2",), number=1)),
    ],
)
def test_arguments(line, expected):
    (command,) = parse_comment(line)
    assert isinstance(command, ParsedCommand)
    assert command.written == line
    assert (
        ParsedCommand(command.name, command.stories, command.text, command.number, command.code, command.about)
        == expected
    )


@pytest.mark.parametrize(
    ("line", "name", "problem"),
    [
        ("/tdd run is not what I want", "tdd run", "`is` is unexpected"),
        ("/tdd code it is easy", "tdd code", "`it` is not a story id; put a reason in quotes"),
        ("/tdd next auth-1 auth-2", "tdd next", "`auth-2` is unexpected"),
        ("/state of the art", "state", "`of` is unexpected"),
        ("/approve looks good", "approve", "`looks` is not a story id"),
        ("/epic", "epic", "its text is missing"),
        ('/epic ""', "epic", "its text is missing"),
        ('/epic "Gift cards', "epic", "the quotation mark is not closed on the same line"),
        ("/tdd start", "tdd start", "the story id is missing, as in `auth-2`"),
        ("/tdd start everything", "tdd start", "`everything` is not a story id"),
        ("/tdd abort auth2", "tdd abort", "`auth2` is not a story id; put a reason in quotes"),
        ("/tdd halt_all now", "tdd halt_all", "`now` is not a story id; put a reason in quotes"),
        ("/backlog prioritize auth-3", "backlog prioritize", "a number from 1 to 5 is missing"),
        ("/backlog prioritize auth-3 9", "backlog prioritize", "a number from 1 to 5 is missing, `9` is none"),
        ("/backlog prioritize auth-3 ²", "backlog prioritize", "a number from 1 to 5 is missing, `²` is none"),
        ("/tdd explain", "tdd explain", "a finding's code is missing, as in `RED104`"),
        ("/tdd explain everything", "tdd explain", "`everything` is not a finding's code"),
        ("/tdd help dance", "tdd help", "there is no command `dance`"),
    ],
)
def test_a_command_with_wrong_arguments_is_not_executed(line, name, problem):
    assert parse_comment(line) == (BadArguments(name, problem, line[:200]),)


def test_a_text_that_is_only_too_long_is_otherwise_valid():
    line = "/epic " + "x" * 10_001
    problem, remedy = "its text is longer than 10,000 characters", "Write it shorter in a new comment."
    assert parse_comment(line) == (BadArguments("epic", problem, line[:200], remedy),)


@pytest.mark.parametrize(
    ("line", "written", "meant"),
    [
        ("/tdd nxt", "/tdd nxt", "/tdd next"),
        ("/tdd next.", "/tdd next.", "/tdd next"),
        ("/tdd skip", "/tdd skip", "/tdd skip_phase"),
        ("/sprint begin", "/sprint begin", ""),
        ("/sprint stats please", "/sprint stats", "/sprint status"),
        ("/tdd", "/tdd", "/tdd help"),
        ("/backlog", "/backlog", "/tdd help"),
        ("/tdd aprove", "/tdd aprove", "/tdd approve"),
        ("/approve!", "/approve!", "/approve"),
        ("/state, please", "/state,", "/state"),
    ],
)
def test_an_unknown_subcommand_is_answered_with_a_suggestion(line, written, meant):
    assert parse_comment(line) == (UnknownCommand(written, meant),)


# --- hostile text -----------------------------------------------------------------------------------------------------

SIZE = 65_536
SHAPES = {
    "quotes": ">" * SIZE,
    "lists": "- " * SIZE,
    "brackets": "[" * SIZE,
    "half links": "[a](" * SIZE,
    "half links in links": "[[](" * SIZE,
    "backticks": "`a" * SIZE,
    "growing backticks": "".join("`" * n + " " for n in range(360)),
    "half comments": "<!--" * SIZE,
    "half tags": "<a " * SIZE,
    "spaces": " " * SIZE,
    "deeper lists": "\n".join(" " * n + "- a" for n in range(360)),
    "deeper quotes": "\n".join(">" * n for n in range(360)),
    "quoted lines": "> a\n" * SIZE,
    "definitions": "[a]: b\n" * SIZE,
    "half definitions": "[a]:\n" * SIZE,
    "columns": "|a" * SIZE,
    "slashes": "/" * SIZE,
    "words": "/tdd" * SIZE,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cut", [pytest.param(4_000, marks=pytest.mark.slow), SIZE - 20])
def test_hostile_text_of_full_length_is_parsed_quickly(shape, cut):
    """A second, or forty times the time of ordinary text of that length: far below quadratic."""
    paragraphs = (SHAPES[shape][:cut] + "\n/tdd next\n\n") * (SIZE // (cut + 20))
    honest = seconds("some words\n\n/tdd status\n\n" * (SIZE // 26))
    assert seconds(paragraphs[:SIZE]) < max(1.0, 40 * honest)


def seconds(body: str) -> float:
    began = time.process_time()
    parse_comment(body)
    return time.process_time() - began


def test_a_comment_longer_than_githubs_limit_is_not_parsed():
    assert parse_comment("/tdd next\n\n" + "x" * SIZE) == ()


@given(st.text(alphabet='/tdnexapro` \n\r\t><!-[]()"“”\\&#\x00|*_.', max_size=200))
def test_nothing_raises(body):
    for parsed in parse_comment("/tdd next\n" + body):
        assert isinstance(parsed, ParsedCommand | UnknownCommand | BadArguments)


@pytest.mark.parametrize("name", ["design", "test", "code", "refactor"])
def test_a_draft_takes_advice(name):
    (quoted,) = parse_comment(f'/tdd {name} "round half up"')
    (named,) = parse_comment(f"/tdd {name} auth-2 round half up")
    assert (quoted.stories, quoted.text) == ((), "round half up")
    assert (named.stories, named.text) == (("auth-2",), "round half up")


@pytest.mark.parametrize("line", ["/tdd status", "/tdd nxt", "/aprove", "/backlog prioritize"])
def test_one_comment_gets_few_answers_and_the_last_reports_the_rest(line):
    *accepted, last = parse_comment("\n\n".join([line] * 30))
    assert len(accepted) == 5
    assert isinstance(last, BadArguments) and "at most 5" in last.problem
    assert len(parse_comment("\n\n".join(["/tdd next"] * 10))) == 10


@pytest.mark.parametrize("line", ["/tdd-next", "/tdd_next", "/TDD-Next calc-1", "/tdd-nxt"])
def test_joined_words_get_a_suggestion(line):
    (asked,) = parse_comment(f"Well.\n\n{line}")
    assert isinstance(asked, UnknownCommand) and asked.did_you_mean == "/tdd next"
    assert not parse_comment("/tdd-kata is a repository of mine") and not parse_comment("see docs/tdd-next")


def test_a_story_id_may_be_in_backticks():
    (one,) = parse_comment("/tdd next `calc-1`")
    (several,) = parse_comment("/approve `calc-1`, calc-2")
    assert isinstance(one, ParsedCommand) and one.stories == ("calc-1",)
    assert isinstance(several, ParsedCommand) and several.stories == ("calc-1", "calc-2")
