"""Every payload becomes one of our few types, or is ignored with a reason. Nothing raises."""

from __future__ import annotations

import copy
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from octokit_examples import examples
from prd2pr.domain.forge import Actor, Comment
from prd2pr.github.commands.parser import parse_comment
from prd2pr.github.events import event_filter
from prd2pr.github.events.events import (
    READERS,
    AppInstalled,
    BranchPushed,
    CommentCreated,
    EventIgnored,
    LabelAdded,
    PullClosed,
    PullReopened,
    ReviewSubmitted,
    ScheduleTriggered,
    WorkflowDispatched,
    read_event,
)

KINDS = (
    BranchPushed,
    CommentCreated,
    LabelAdded,
    WorkflowDispatched,
    ScheduleTriggered,
    PullClosed,
    PullReopened,
    ReviewSubmitted,
    AppInstalled,
    EventIgnored,
)
ANA = {"login": "ana", "id": 7, "type": "User"}
SHOP = {"full_name": "acme/shop", "default_branch": "main"}


def commented(body: str = "/tdd next", **more: object) -> dict[str, object]:
    return {
        "action": "created",
        "issue": {"number": 4, "pull_request": {"url": "x"}},
        "comment": {"id": 11, "user": ANA, "body": body, "created_at": "2026-01-01T00:00:00Z"},
        "sender": ANA,
        "repository": SHOP,
        **more,
    }


def pushed(**more: object) -> dict[str, object]:
    commit = {"added": ["prds/a.md"], "modified": ["src/a.py"], "removed": []}
    base = {"ref": "refs/heads/main", "before": "1" * 40, "after": "2" * 40, "commits": [commit]}
    return {**base, "forced": False, "deleted": False, "sender": ANA, "repository": SHOP, **more}


def closed(**more: object) -> dict[str, object]:
    head = {"ref": "prd2pr/loyalty", "repo": SHOP}
    pull = {"number": 5, "head": head, "base": {"ref": "main", "repo": SHOP}, "merged": True}
    return {"action": "closed", "pull_request": pull, "sender": ANA, "repository": SHOP, **more}


def test_a_comment_is_read_completely():
    said = Comment(id=11, number=4, author=Actor("ana", 7), body="/tdd next", created_at="2026-01-01T00:00:00Z")
    issue = {"number": 4, "title": "Points", "body": "Collect them.", "pull_request": {}}
    assert read_event("issue_comment", commented(issue=issue)) == CommentCreated(
        4,
        on_pull=True,
        comment=said,
        actor=Actor("ana", 7),
        title="Points",
        body="Collect them.",
    )


def test_a_push_lists_its_files():
    event = read_event("push", pushed())
    assert isinstance(event, BranchPushed)
    assert (event.branch, event.added, event.modified, event.removed) == ("main", ("prds/a.md",), ("src/a.py",), ())
    assert event.paths == ("prds/a.md", "src/a.py")


@pytest.mark.parametrize("commits", [[{"id": "as Actions hands it over"}], [{"added": [], "modified": []}]])
def test_a_push_without_a_file_list_is_not_one_without_changes(commits):
    event = read_event("push", pushed(commits=commits))
    assert isinstance(event, BranchPushed)
    assert event.paths is None


def test_a_push_of_twenty_commits_may_list_too_few_files():
    commit = {"added": [], "modified": [], "removed": []}
    nineteen, twenty = (read_event("push", pushed(commits=[commit] * n)) for n in (19, 20))
    assert isinstance(nineteen, BranchPushed)
    assert isinstance(twenty, BranchPushed)
    assert (nineteen.paths, twenty.paths) == ((), None)


@pytest.mark.parametrize(
    ("name", "payload", "reason"),
    [
        ("push", pushed(ref="refs/tags/v1"), "a tag was pushed, not a branch"),
        ("push", pushed(sender={"login": "renovate[bot]", "id": 9, "type": "Bot"}), "renovate[bot] is a bot"),
        ("push", pushed(ref=None), "the payload of push cannot be read at ref"),
        ("issue_comment", commented(action="edited"), event_filter.NOT_A_NEW_COMMENT),
        ("issue_comment", commented(action="deleted"), event_filter.NOT_A_NEW_COMMENT),
        ("issue_comment", commented(sender={"login": "x[bot]", "id": 9}), "x[bot] is a bot"),
        ("issue_comment", commented(sender={**ANA, "type": "Bot"}), "ana is a bot"),
        ("issue_comment", commented(sender={**ANA, "id": 8}), "the comment's author is not the sender of the event"),
        ("issue_comment", commented(sender=None), "the comment has no author"),
        ("push", pushed(sender={**ANA, "login": "../../x"}), "the payload of push cannot be read at sender.login"),
        ("push", pushed(repository={"full_name": "a/"}), "the payload of push cannot be read at repository.full_name"),
        ("issues", {"action": "unlabeled"}, event_filter.NO_LABEL_ADDED),
        ("issues", commented(action="labeled"), "the payload does not say which label"),
        ("pull_request", {"action": "edited"}, event_filter.PULL_UNCHANGED),
        ("pull_request_target", closed(), "the event pull_request_target is irrelevant"),
        ("workflow_run", {}, "the event workflow_run is irrelevant"),
        ("push", ["no object"], "the payload is not a JSON object"),
        ("push", None, "the payload is not a JSON object"),
        ("no\nsuch\u202e", {}, "the event no?such? is irrelevant"),
    ],
)  # fmt: skip
def test_ignored_events_have_a_reason(name, payload, reason):
    assert read_event(name, payload) == EventIgnored(reason)


def test_a_closed_pull_request_names_its_branch():
    ana = Actor("ana", 7)
    assert read_event("pull_request", closed()) == PullClosed(5, "prd2pr/loyalty", merged=True, actor=ana)


@pytest.mark.parametrize("fork", [{"full_name": "eve/shop"}, None])
def test_a_fork_cannot_pass_its_branch_off_as_ours(fork):
    payload = closed()
    payload["pull_request"]["head"]["repo"] = fork  # type: ignore[index]
    assert read_event("pull_request", payload) == EventIgnored("the pull request comes from a fork")


def test_a_dispatch_keeps_its_inputs_as_text():
    payload = {"inputs": {"prd": "loyalty", "dry": True, "odd": None}, "ref": "refs/heads/main", "repository": SHOP}
    event = read_event("workflow_dispatch", payload)
    assert isinstance(event, WorkflowDispatched)
    assert event.inputs == {"prd": "loyalty", "dry": "true"}


# --- GitHub's own examples --------------------------------------------------------------------------------------------

NAMED = ("push", "issues", "issue_comment", "pull_request", "installation", "workflow_dispatch")
EXPECTED = {
    ("push", "BranchPushed"): 2, ("push", "EventIgnored"): 5,
    ("issues", "LabelAdded"): 2, ("issues", "EventIgnored"): 27,
    ("issue_comment", "CommentCreated"): 5, ("issue_comment", "EventIgnored"): 4,
    ("pull_request", "LabelAdded"): 2, ("pull_request", "PullClosed"): 2, ("pull_request", "PullReopened"): 2,
    ("pull_request", "EventIgnored"): 23,
    ("installation", "AppInstalled"): 7,
    ("workflow_dispatch", "WorkflowDispatched"): 2,
}  # fmt: skip


@pytest.fixture(scope="session")
def payloads():
    return examples()


@pytest.mark.slow
def test_every_public_example_is_read_or_ignored_with_a_reason(payloads):
    assert len(payloads) == 329
    seen: Counter[tuple[str, str]] = Counter()
    for name, payload in payloads:
        event = read_event(name, payload)
        assert isinstance(event, KINDS)
        if isinstance(event, EventIgnored):
            assert event.reason
            assert "cannot be read" not in event.reason, (name, event.reason)
        if name in NAMED:
            seen[name, type(event).__name__] += 1
    assert seen == EXPECTED


# --- arbitrary input --------------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
WORDS = st.sampled_from(["created", "edited", "labeled", "closed", "/tdd next", "refs/heads/a", "ana", "Bot", 1, None])
# Texts from which comments are made: close to commands, and close to everything that hides them.
BITS = st.sampled_from(
    ["/tdd", " next", "/TDD Run", "/suggest-fix", "/approve", "/State", "\n", "\r\n", "\r", "\u2028", "\x0b", "\x1c",
     "\x85", "\u00a0", " ", "    ", "\t", "> ", "- ", "`", "```", "<!--", "-->", "<b>", "[x](", ")", "\\", "&#47;",
     "\x00", "\u212a", "words"]
)  # fmt: skip
BODIES = st.lists(BITS, max_size=8).map("".join)


@given(name=st.sampled_from([*READERS, "star"]), payload=JSON)
def test_arbitrary_json_never_raises(name, payload):
    assert isinstance(read_event(name, payload), KINDS)


def places(value: object, here: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The places in a payload, down to four levels."""
    if len(here) == 4:
        return [here]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, each in inner for place in places(each, (*here, key)))]


def put(payload: dict[str, object], place: tuple[object, ...], value: object) -> dict[str, object]:
    changed = copy.deepcopy(payload)
    spot: object = changed
    for key in place[:-1]:
        spot = spot[key]  # type: ignore[index]
    spot[place[-1]] = value  # type: ignore[index]
    return changed


MADE = [("push", pushed()), ("issue_comment", commented()), ("pull_request", closed())]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_a_damaged_real_payload_never_raises(payloads, data):
    ours = [each for each in payloads if each[0] in READERS]
    name, payload = data.draw(st.sampled_from([*MADE, *ours]))
    place = data.draw(st.sampled_from(places(payload)[1:]))
    damaged = put(payload, place, data.draw(JSON | WORDS))
    assert isinstance(read_event(name, damaged), KINDS)
    assert not (filtered_out(name, damaged) and matters(name, damaged))


# --- the event filter agrees ------------------------------------------------------------------------------------------


def filtered_out(name: str, payload: object) -> str:
    if not isinstance(payload, dict):
        return ""
    return event_filter.FILTERS_BY_EVENT[name](payload) if name in event_filter.FILTERS_BY_EVENT else "unknown"


def matters(name: str, payload: object) -> bool:
    event = read_event(name, payload)
    if isinstance(event, BranchPushed):
        return event.paths is None or any(path.endswith(event_filter.PRD_ENDINGS) for path in event.paths)
    if isinstance(event, CommentCreated):
        return any(not getattr(each, "near", False) for each in parse_comment(event.comment.body))
    return not isinstance(event, EventIgnored)


def test_the_event_filter_drops_no_public_example_that_matters(payloads):
    away = [name for name, payload in payloads if filtered_out(name, payload)]
    assert len(away) > 200
    assert not [name for name, payload in payloads if filtered_out(name, payload) and matters(name, payload)]


@settings(max_examples=400)
@given(body=BODIES)
def test_the_event_filter_drops_no_comment_with_a_command(body):
    payload = json.loads(json.dumps(commented(body)))
    assert not (filtered_out("issue_comment", payload) and matters("issue_comment", payload))


def test_the_event_filter_knows_every_first_word():
    from prd2pr.github.commands.parser import FIRST_WORDS

    assert sorted(event_filter.COMMAND_WORDS) == sorted(f"/{word}" for word in FIRST_WORDS)


def test_a_run_that_the_schedule_started_does_what_the_schedule_does():
    payload = {"inputs": {"reason": "schedule"}, "ref": "refs/heads/main", "repository": {"full_name": "octo/calc"}}
    assert read_event("workflow_dispatch", payload) == ScheduleTriggered()
    payload["inputs"]["prd"] = "calc"
    assert isinstance(read_event("workflow_dispatch", payload), WorkflowDispatched)
