"""Permissions: actor × event × markup. The expected values are written out here, not derived from the code."""

from __future__ import annotations

import pytest

from prd2pr.domain.forge import Actor, Comment, PermissionLevel
from prd2pr.github.commands.parser import BadArguments, ParsedCommand, UnknownCommand
from prd2pr.github.events.events import (
    BranchPushed,
    CommentCreated,
    EventIgnored,
    LabelAdded,
    PullClosed,
    ScheduleTriggered,
    WorkflowDispatched,
    read_event,
)
from prd2pr.github.permissions import (
    Allowed,
    Denied,
    check_command_permission,
    check_event_permission,
    is_too_old,
    read_commands,
)

ME = Actor("prd2pr[bot]", 500, bot=True)
SHOP = {"full_name": "acme/shop", "default_branch": "main"}

# name → (login, id, type, what the collaborator-permission API answers)
ACTORS: dict[str, tuple[str, int, str, PermissionLevel]] = {
    "admin": ("ada", 1, "User", "admin"),
    "maintain": ("max", 2, "User", "maintain"),
    "write": ("wim", 3, "User", "write"),
    "triage": ("tom", 4, "User", "triage"),
    "read": ("rea", 5, "User", "read"),
    "none": ("non", 6, "User", "none"),
    "bot": ("renovate[bot]", 7, "Bot", "admin"),
    "bot in disguise": ("sneaky[bot]", 8, "User", "admin"),
    "self": ("prd2pr[bot]", 500, "Bot", "admin"),
    "self by a user's token": ("prd2pr-user", 500, "User", "admin"),
    "fork author": ("eve", 9, "User", "read"),
    "fork author who may write": ("fay", 10, "User", "write"),
}
WRITERS = {"admin", "maintain", "write", "fork author who may write"}
ASKERS = WRITERS | {"triage"}

MARKUP = {
    "plain": "{}",
    "second line": "Looks fine.\n{}",
    "CRLF": "Looks fine.\r\n{}\r\nThanks",
    "lead spaces": "   {}",
    "quoted": "> {}",
    "fenced": "```\n{}\n```",
    "indented": "    {}",
    "inline": "`{}`",
    "HTML comment": "<!-- {} -->",
    "HTML comment over lines": "<!--\n{}\n-->",
    "in a sentence": "please {}",
}
READABLE = {"plain", "second line", "CRLF", "lead spaces"}


def user(name: str) -> dict[str, object]:
    login, number, kind, _ = ACTORS[name]
    return {"login": login, "id": number, "type": kind}


def comment_payload(name: str, body: str, *, action: str = "created", on_pull: bool = True) -> dict[str, object]:
    issue: dict[str, object] = {"number": 3, **({"pull_request": {}} if on_pull else {})}
    said = {"id": 9, "user": user(name), "body": body}
    return {"action": action, "issue": issue, "comment": said, "sender": user(name), "repository": SHOP}


def executed(name: str, body: str, **how: object) -> list[str]:
    """The commands that are executed, the way a run does it: event, then each command on its own."""
    level = ACTORS[name][3]
    event = read_event("issue_comment", comment_payload(name, body, **how))  # type: ignore[arg-type]
    if not isinstance(event, CommentCreated) or not isinstance(check_event_permission(event, level, ME), Allowed):
        return []
    commands = read_commands(event.comment, ME)
    return [
        each.name
        for each in commands
        if isinstance(each, ParsedCommand)
        and isinstance(check_command_permission(each, level, event.actor, ME), Allowed)
    ]


@pytest.mark.parametrize("on_pull", [True, False])
@pytest.mark.parametrize("markup", MARKUP)
@pytest.mark.parametrize("actor", ACTORS)
def test_commands_by_comment(actor, markup, on_pull):
    spending = executed(actor, MARKUP[markup].format("/tdd next"), on_pull=on_pull)
    reading = executed(actor, MARKUP[markup].format("/tdd status"), on_pull=on_pull)
    assert spending == (["tdd next"] if actor in WRITERS and markup in READABLE else [])
    assert reading == (["tdd status"] if actor in ASKERS and markup in READABLE else [])


@pytest.mark.parametrize("action", ["edited", "deleted"])
@pytest.mark.parametrize("actor", ACTORS)
def test_edits_are_not_commands(actor, action):
    assert executed(actor, "/tdd next", action=action) == []


@pytest.mark.parametrize("actor", ACTORS)
def test_an_edited_comment_is_not_a_command(actor):
    login, number, kind, _ = ACTORS[actor]
    author = Actor(login, number, bot=kind == "Bot")
    assert read_commands(Comment(1, 3, author, "/tdd next", edited=True), ME) == ()


def test_permission_is_checked_for_each_of_several_commands():
    assert executed("triage", "/tdd status\n/tdd next\n/state") == ["tdd status", "state"]


def started(name: str, payload: dict[str, object], level: PermissionLevel) -> bool:
    return isinstance(check_event_permission(read_event(name, payload), level, ME), Allowed)


@pytest.mark.parametrize("actor", ACTORS)
def test_starting_by_label_push_and_dispatch(actor):
    level = ACTORS[actor][3]
    common = {"sender": user(actor), "repository": SHOP}
    label = {"action": "labeled", "issue": {"number": 1}, "label": {"name": "prd2pr"}, **common}
    push = {"ref": "refs/heads/main", "before": "1" * 40, "after": "2" * 40, "commits": [], **common}
    dispatch = {"inputs": {}, "ref": "refs/heads/main", **common}
    assert started("issues", label, level) == (actor in WRITERS)
    assert started("push", push, level) == (actor in WRITERS)
    mine = actor in {"self", "self by a user's token"}  # a continuation of our own run
    assert started("workflow_dispatch", dispatch, level) == (actor in WRITERS or mine)
    assert not started("issues", {**label, "action": "unlabeled"}, level)


def test_events_that_order_no_work_are_open_to_all():
    eve = Actor("eve", 9)
    assert check_event_permission(ScheduleTriggered(), "none", ME) == Allowed()
    assert check_event_permission(PullClosed(3, "prd2pr/a", merged=False, actor=eve), "none", ME) == Allowed()
    assert check_event_permission(EventIgnored("why"), "admin", ME) == Denied("why")
    assert isinstance(check_event_permission(WorkflowDispatched(), "admin", ME), Denied)


@pytest.mark.parametrize(("level", "silent"), [("none", True), ("read", True), ("triage", False)])
def test_outsiders_get_no_answer_and_insiders_do(level: PermissionLevel, silent: bool):
    tom = Actor("tom", 4)
    reason = f"this command needs the permission `write`; tom has `{level}`"
    assert check_command_permission(ParsedCommand("tdd next"), level, tom, ME) == Denied(reason, silent=silent)
    label = LabelAdded(1, on_pull=False, label="prd2pr", actor=tom)
    assert check_event_permission(label, level, ME) == Denied(
        f"this label needs the permission `write`; tom has `{level}`", silent=silent
    )


@pytest.mark.parametrize("actor", ["read", "none", "bot", "self", "fork author"])
@pytest.mark.parametrize(
    "command", [UnknownCommand("/tdd nxt"), BadArguments("tdd run", "x"), ParsedCommand("tdd status")]
)
def test_a_typo_by_an_outsider_is_not_answered(actor, command):
    login, number, kind, level = ACTORS[actor]
    answer = check_command_permission(command, level, Actor(login, number, bot=kind == "Bot"), ME)
    assert isinstance(answer, Denied)
    assert answer.silent


def test_a_push_by_a_user_without_permission_any_more_starts_nothing():
    push = BranchPushed("main", "1" * 40, "2" * 40, (), (), (), Actor("old", 12))
    assert isinstance(check_event_permission(push, "read", ME), Denied)


@pytest.mark.parametrize(
    ("written", "old"),
    [
        ("2026-03-01T12:00:00Z", False),  # three days to the second
        ("2026-03-01T11:59:59Z", True),
        ("2026-03-04T12:00:05Z", False),  # by a clock that is ahead
        ("", False),
    ],
)
def test_a_command_is_valid_for_three_days(written, old):
    assert is_too_old(written, "2026-03-04T12:00:00Z") is old


def test_the_token_owner_may_command_but_our_own_comments_are_ignored():
    ada = Actor("ada", 1)
    said = Comment(9, 3, ada, "/tdd next")
    assert [command.name for command in read_commands(said, ada)] == ["tdd next"]
    assert check_command_permission(ParsedCommand("tdd next"), "admin", ada, ada) == Allowed()
    assert read_commands(Comment(9, 3, ada, "<!-- prd2pr:answer:8:0 -->\n/tdd next"), ada) == ()
    push = BranchPushed("main", "1" * 40, "2" * 40, (), (), (), ada)
    assert check_event_permission(push, "admin", ada) == Allowed()
    assert isinstance(check_event_permission(push, "read", ada), Denied)
