"""Issues and sub-issues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prd2pr.core.hub import Actor, Given, Issue, Ours, same_text
from prd2pr.forges.github import reading
from prd2pr.forges.github.exchange import Answer
from prd2pr.forges.github.wire import Wire, changing, good, is_marked, posting, with_marker


def issue(wire: Wire, number: int) -> Issue | None:
    found = wire.find(wire.at("issues", number))
    return None if found is None else reading.issue(found)


def labelled(wire: Wire, label: str) -> tuple[Issue, ...]:
    """Open ones, oldest first; GitHub lists pull requests among them, and those are no issues to us."""
    found = wire.pages(wire.at("issues"), labels=label, state="open", sort="created", direction="asc")
    return tuple(each for each in map(reading.issue, found) if not each.is_pull)


def label_given(wire: Wire, number: int, label: str) -> Given | None:
    """The last time. Events of other kinds have neither a label nor, where an account is gone, an actor."""
    given = [
        each
        for each in wire.pages(wire.at("issues", number, "events"))
        if each.get("event") == "labeled" and _name(each.get("label")).casefold() == label.casefold()
    ]
    if not given or not given[-1].get("actor"):
        return None
    return Given(reading.actor(given[-1]["actor"]), str(given[-1].get("created_at") or ""), again=len(given) > 1)


def _name(label: dict[str, Any] | None) -> str:
    return str((label or {}).get("name") or "")


def marked(wire: Wire, ours: Ours, marker: str) -> Issue | None:
    return the_one(wire, all_marked(wire, ours, marker))


def all_marked(wire: Wire, ours: Ours, marker: str) -> tuple[Issue, ...]:
    """Open or closed, the oldest first."""
    there = (each for actor in ours for each in by(wire, actor) if is_marked(each.body, marker))
    return tuple(sorted(there, key=lambda each: each.number))


def by(wire: Wire, actor: Actor) -> Iterator[Issue]:
    found = wire.pages(wire.at("issues"), creator=actor.login, state="all", sort="created", direction="asc")
    return (each for each in map(reading.issue, found) if each.author.id == actor.id and not each.is_pull)


def the_one(wire: Wire, there: tuple[Issue, ...]) -> Issue | None:
    """The oldest. Nobody but an admin can delete an issue, so the one that a run at the same time opened is closed."""
    for twin in there[1:]:
        if twin.open:
            close(wire, twin.number)
    return there[0] if there else None


def close(wire: Wire, number: int) -> None:
    def closed() -> bool | None:
        return None if reading.issue(wire.get(wire.at("issues", number))).open else True

    call = changing(wire.at("issues", number), {"state": "closed", "state_reason": "not_planned"})
    wire.make(call, closed, lambda _: True)


def ensure(wire: Wire, ours: Ours, title: str, body: str, *, labels: tuple[str, ...], marker: str) -> Issue:
    def look() -> Issue | None:
        return marked(wire, ours, marker)

    call = posting(wire.at("issues"), {"title": title, "body": with_marker(body, marker), "labels": list(labels)})
    return look() or look() or alone(wire, ours, wire.make(call, look, reading.issue), marker)


def alone(wire: Wire, ours: Ours, made: Issue, marker: str) -> Issue:
    """The new issue, or another run's that came before it. A list that lacks the new one is behind."""
    there = all_marked(wire, ours, marker)
    if made.number not in [each.number for each in there]:
        there = all_marked(wire, ours, marker)
    return the_one(wire, there) or made


def edit(wire: Wire, number: int, title: str | None, body: str | None, closed: bool | None) -> None:
    """Only what differs is sent; nothing, where nothing differs."""

    def missing() -> dict[str, Any]:
        return wanted_changes(reading.issue(wire.get(wire.at("issues", number))), title, body, closed)

    changes = missing()
    if changes:
        call = changing(wire.at("issues", number), changes)
        wire.make(call, lambda: None if missing() else True, lambda _: True)


def wanted_changes(there: Issue, title: str | None, body: str | None, closed: bool | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if title is not None and title != there.title:
        changes["title"] = title
    if body is not None and not same_text(body, there.body):
        changes["body"] = body
    if closed is not None and closed is there.open:
        changes["state"] = "closed" if closed else "open"
    return changes


def below(wire: Wire, number: int) -> tuple[Issue, ...]:
    return tuple(map(reading.issue, wire.pages(wire.at("issues", number, "sub_issues"))))


def put_below(wire: Wire, number: int, child: Issue) -> None:
    def there() -> bool | None:
        return True if any(each.id == child.id for each in below(wire, number)) else None

    if there():
        return
    call = posting(wire.at("issues", number, "sub_issues"), {"sub_issue_id": child.id})
    done = wire.attempt(call, there)
    # Another run may have been quicker: its refusal is none, if the child is there now.
    if isinstance(done, Answer) and not (done.status == 422 and there()):
        good(call, done)
