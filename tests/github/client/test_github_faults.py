"""Every writing call under every fault: the result is as without the fault, and nothing exists twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from _pytest.mark import ParameterSet
from github_hubs import BRANCH, REPOSITORY, World

from fakes.github.faults import (
    Broken,
    BrokenAfter,
    Calls,
    DropAfter,
    DropBefore,
    Expired,
    PrimaryLimit,
    Refused,
    SecondaryLimit,
    Stale,
)
from prd2pr.domain.forge import Annotation, CheckRun, Label
from prd2pr.errors import BadCredentials, HubUnreachable, RateLimited, ScopeMissing
from prd2pr.github.client.hub import GitHubHub
from prd2pr.github.client.tokens import AppTokens

MARK = "<!-- prd2pr:status -->"


@dataclass(frozen=True)
class WriteCall:
    """A writing call, the request that the fault hits, and the state expected afterwards."""

    name: str
    pattern: str
    act: Callable[[GitHubHub, World], object]
    seen: Callable[[World], object]
    expected: object
    before: Callable[[GitHubHub, World], object] = lambda hub, github: None

    def __str__(self) -> str:
        return self.name


def first_issue(github: World) -> int:
    return min(github.repo.issues)


def pull_number(github: World) -> int:
    return max(github.repo.issues)


def open_pull(hub: GitHubHub, github: World) -> object:
    return hub.open_pull("T", "B", BRANCH, "main", draft=True)


def open_mergeable_pull(hub: GitHubHub, github: World) -> object:
    github.repo.auto_merge, github.repo.required_checks = True, ["tests"]
    return hub.open_pull("T", "B", BRANCH, "main", draft=False)


def pull_of(hub: GitHubHub):
    found = hub.pull_for_branch(BRANCH)
    assert found is not None
    return found


def a_check(github: World, count: int = 3) -> CheckRun:
    notes = tuple(Annotation("b.txt", line, "notice", "m") for line in range(1, count + 1))
    return CheckRun("k", "red", github.bare.heads()[BRANCH], "success", "t", "s", notes)


def child(hub: GitHubHub, github: World):
    return hub.open_issue("child", MARK, (), marker=MARK)


def add_child(hub: GitHubHub, github: World) -> None:
    there = hub.find_issue(MARK)
    assert there is not None
    hub.add_sub_issue(first_issue(github), there)


WRITE_CALLS = (
    WriteCall(
        "comment",
        "POST */issues/*/comments",
        lambda hub, github: hub.comment(first_issue(github), f"{MARK} x", marker=MARK),
        lambda github: [each.body for each in github.repo.comments.values()],
        [f"{MARK} x"],
    ),
    WriteCall(
        "edit_comment",
        "PATCH */issues/comments/*",
        lambda hub, github: hub.edit_comment(max(github.repo.comments), "y"),
        lambda github: [each.body for each in github.repo.comments.values()],
        ["y"],
        lambda hub, github: hub.comment(first_issue(github), f"{MARK} x", marker=MARK),
    ),
    WriteCall(
        "react",
        "POST */issues/comments/*/reactions",
        lambda hub, github: hub.react(max(github.repo.comments), "eyes"),
        lambda github: [each.content for each in github.repo.comments[max(github.repo.comments)].reactions],
        ["eyes"],
        lambda hub, github: hub.comment(first_issue(github), f"{MARK} x", marker=MARK),
    ),
    WriteCall(
        "open_issue",
        "POST */issues",
        lambda hub, github: hub.open_issue("new", f"{MARK} b", (), marker=MARK),
        lambda github: sorted(each.title for each in github.repo.issues.values()),
        ["Loyalty", "new"],
    ),
    WriteCall(
        "edit_issue",
        "PATCH */issues/*",
        lambda hub, github: hub.edit_issue(first_issue(github), title="Other", closed=True),
        lambda github: [(each.title, each.state) for each in github.repo.issues.values()],
        [("Other", "closed")],
    ),
    WriteCall(
        "add_sub_issue",
        "POST */sub_issues",
        add_child,
        lambda github: len(github.hub().sub_issues(first_issue(github))),
        1,
        child,
    ),
    WriteCall(
        "open_pull",
        "POST */pulls",
        open_pull,
        lambda github: [each.pull.draft for each in github.repo.issues.values() if each.pull],
        [True],
    ),
    WriteCall(
        "edit_pull",
        "PATCH */pulls/*",
        lambda hub, github: hub.edit_pull(pull_of(hub), title="New", body="Other"),
        lambda github: [(each.title, each.body) for each in github.repo.issues.values() if each.pull],
        [("New", "Other")],
        open_pull,
    ),
    WriteCall(
        "set_draft",
        "POST /graphql",
        lambda hub, github: hub.set_draft(pull_of(hub), draft=False),
        lambda github: [each.pull.draft for each in github.repo.issues.values() if each.pull],
        [False],
        open_pull,
    ),
    WriteCall(
        "enable_auto_merge",
        "POST /graphql",
        lambda hub, github: hub.enable_auto_merge(pull_of(hub), "squash"),
        lambda github: [each.pull.auto_merge for each in github.repo.issues.values() if each.pull],
        ["squash"],
        open_mergeable_pull,
    ),
    WriteCall(
        "create_label",
        "POST */calc/labels",
        lambda hub, github: hub.set_labels(first_issue(github), (Label("prd2pr:done"),), ()),
        lambda github: (
            github.repo.issues[first_issue(github)].labels,
            len([name for name in github.repo.labels if name == "prd2pr:done"]),
        ),
        (["prd2pr:done"], 1),
    ),
    WriteCall(
        "add_label",
        "POST */issues/*/labels",
        lambda hub, github: hub.set_labels(first_issue(github), (Label("prd2pr:done"),), ()),
        lambda github: github.repo.issues[first_issue(github)].labels,
        ["prd2pr:done"],
    ),
    WriteCall(
        "remove_label",
        "DELETE */issues/*/labels/*",
        lambda hub, github: hub.set_labels(first_issue(github), (), ("prd2pr:done",)),
        lambda github: github.repo.issues[first_issue(github)].labels,
        [],
        lambda hub, github: hub.set_labels(first_issue(github), (Label("prd2pr:done"),), ()),
    ),
    WriteCall(
        "check",
        "POST */check-runs",
        lambda hub, github: hub.check(a_check(github)),
        lambda github: [(each.title, len(each.annotations)) for each in github.repo.checks.values()],
        [("t", 3)],
    ),
    WriteCall(
        "check_update",
        "PATCH */check-runs/*",
        lambda hub, github: hub.check(a_check(github, 120)),
        lambda github: [
            [note["start_line"] for note in each.annotations] == list(range(1, 121))
            for each in github.repo.checks.values()
        ],
        [True],
        lambda hub, github: hub.check(a_check(github, 50)),
    ),
    WriteCall(
        "dispatch",
        "POST */dispatches",
        lambda hub, github: hub.dispatch("prd2pr.yml", "main", {"prd": "loyalty"}),
        lambda github: [each.inputs for each in github.repo.dispatches],
        [{"prd": "loyalty"}],
    ),
)

FAULTS = {
    "502": Broken(502),
    "500": Broken(500),
    "503 after it was done": BrokenAfter(503),
    "secondary limit": SecondaryLimit(7),
    "secondary limit, 429": SecondaryLimit(7, 429),
    "primary limit": PrimaryLimit(30.0),
    "dropped before": DropBefore(),
    "done, then dropped": DropAfter(),
}


@pytest.fixture
def ready(github: World) -> World:
    add_workflow(github)
    github.ask()
    return github


def add_workflow(github: World) -> None:
    bare, who = github.bare, ("Ada", "ada@example.com", "2026-01-01T00:00:00Z")
    text = b"on:\n  workflow_dispatch:\n    inputs:\n      prd: {type: string}\n"
    head = bare.heads()["main"]
    tree = bare.write_tree(head + "^{tree}", [(".github/workflows/prd2pr.yml", "100644", bare.write_blob(text))])
    bare.git("update-ref", "refs/heads/main", bare.write_commit(tree, [head], "Workflow\n", who, who))


def pair_writes_with_faults() -> Iterator[ParameterSet]:
    """All pairs in `make test-all`; every write and every fault in `make test`."""
    for row, write_call in enumerate(WRITE_CALLS):
        for column, fault in enumerate(FAULTS):
            marks = [pytest.mark.slow] if (column - row) % len(FAULTS) > 1 else []
            yield pytest.param(write_call, fault, id=f"{write_call}-{fault}", marks=marks)


@pytest.mark.parametrize(("write_call", "fault"), list(pair_writes_with_faults()))
def test_it_is_done_once(ready: World, write_call: WriteCall, fault: str):
    hub = ready.hub()
    write_call.before(hub, ready)
    ready.fake.faults.add(FAULTS[fault], write_call.pattern)
    write_call.act(hub, ready)
    assert write_call.seen(ready) == write_call.expected
    assert ready.retries and ready.retries[0].attempt == 1


@pytest.mark.parametrize("write_call", WRITE_CALLS, ids=str)
def test_it_is_done_once_after_a_dropped_answer_and_a_stale_read(ready: World, write_call: WriteCall):
    hub = ready.hub()
    write_call.before(hub, ready)

    def next_read_is_stale() -> None:
        ready.fake.faults.add(Stale(), "GET *")

    ready.fake.faults.add(Calls(after=next_read_is_stale), write_call.pattern)
    ready.fake.faults.add(DropAfter(), write_call.pattern)
    write_call.act(hub, ready)
    assert write_call.seen(ready) == write_call.expected


CREATIONS = tuple(
    write_call for write_call in WRITE_CALLS if write_call.name in {"comment", "open_issue", "open_pull", "check"}
)


@pytest.mark.parametrize("write_call", CREATIONS, ids=str)
def test_a_second_run_with_a_stale_first_read_creates_nothing_twice(ready: World, write_call: WriteCall):
    write_call.act(ready.hub(), ready)
    again = ready.hub()
    again.me()
    ready.fake.faults.add(Stale(), "GET *")
    write_call.act(again, ready)
    assert write_call.seen(ready) == write_call.expected


@pytest.mark.parametrize("write_call", WRITE_CALLS, ids=str)
def test_a_lasting_fault_is_reported(ready: World, write_call: WriteCall):
    hub = ready.hub()
    write_call.before(hub, ready)
    ready.fake.faults.add(Broken(502), write_call.pattern, times=5)
    with pytest.raises(HubUnreachable, match="5 tries"):
        write_call.act(hub, ready)


def test_reads_are_retried_too(ready: World):
    for fault in FAULTS.values():
        ready.fake.faults.add(fault, "GET */issues/1")
        assert ready.hub().issue(1) is not None
        ready.fake.faults.clear()


def test_waits_grow_and_retry_after_is_honoured(ready: World):
    ready.fake.faults.add(Broken(502), "GET */issues/1", times=3)
    ready.hub().issue(1)
    assert ready.waits == [0.5, 1.0, 2.0]
    ready.waits.clear()
    ready.fake.faults.add(SecondaryLimit(42), "GET */issues/1")
    ready.hub().issue(1)
    assert ready.waits == [42.0]


def test_a_long_limit_ends_the_run_and_says_until_when(ready: World):
    ready.fake.faults.add(PrimaryLimit(1800.0), "GET */issues/1")
    with pytest.raises(RateLimited, match=r"until \d{4}-\d\d-\d\d \d\d:\d\d UTC") as caught:
        ready.hub().issue(1)
    assert 1700 < caught.value.until - ready.fake.now() < 1900
    assert ready.waits == []


def test_a_secondary_limit_without_a_time_waits_a_minute(ready: World):
    ready.fake.faults.add(SecondaryLimit(None), "GET */issues/1")
    ready.hub().issue(1)
    assert ready.waits == [60.0]


@pytest.mark.parametrize(
    ("status", "message", "problem"),
    [(401, "Bad credentials", BadCredentials), (403, "Resource not accessible by integration", ScopeMissing)],
)
def test_a_permanent_error_is_not_retried(ready: World, status: int, message: str, problem: type):
    ready.fake.faults.add(Refused(status, message), "POST */comments")
    with pytest.raises(problem):
        ready.hub().comment(1, f"{MARK} x", marker=MARK)
    assert ready.waits == [] and len(ready.fake.asked("POST */comments")) == 2 - 1


class FakeMint:
    def __init__(self, github: World) -> None:
        self.github = github
        self.installation = github.fake.install(github.fake.add_app("builder", "octo", "k"), [REPOSITORY])

    def mint(self) -> dict[str, str]:
        token = self.github.fake.installation_token(self.installation)
        assert token.expires_at is not None
        return {"token": token.value, "expires_at": self.github.fake.stamp(token.expires_at)}

    def slug(self) -> str:
        return "builder"


def test_an_expired_token_is_replaced_in_the_middle(ready: World):
    minted: list[str] = []
    hub = ready.hub(AppTokens(FakeMint(ready), minted.append, ready.fake.now))
    hub.comment(1, f"{MARK} one", marker=MARK)
    ready.fake.skip(3001)
    hub.comment(1, "two", marker="two")
    assert len(minted) == 2
    ready.fake.faults.add(Expired(), "POST */comments")
    hub.comment(1, "three", marker="three")
    assert len(minted) == 3
    assert [each.body.split()[-1] for each in ready.repo.comments.values()] == ["one", "two", "three"]
    assert {each.user for each in ready.repo.comments.values()} == {"builder[bot]"}


def test_a_token_that_is_refused_again_is_reported(ready: World):
    hub = ready.hub(AppTokens(FakeMint(ready), lambda _: None, ready.fake.now))
    ready.fake.faults.add(Expired(), "GET */issues/1", times=2)
    with pytest.raises(BadCredentials):
        hub.issue(1)
