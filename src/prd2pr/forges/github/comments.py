"""Comments and reactions."""

from __future__ import annotations

from typing import Any

from prd2pr.core.hub import Actor, Comment, Ours, Reaction, same_text
from prd2pr.forges.github import reading
from prd2pr.forges.github.exchange import Answer
from prd2pr.forges.github.wire import Wire, changing, good, is_marked, posting, with_marker


def comments(wire: Wire, number: int, after: int) -> tuple[Comment, ...]:
    found = (reading.comment(each, number) for each in wire.pages(wire.at("issues", number, "comments")))
    return tuple(sorted((each for each in found if each.id > after), key=lambda each: each.id))


def marked(wire: Wire, ours: Ours, number: int, marker: str) -> Comment | None:
    return the_one(wire, all_marked(wire, ours, number, marker))


def all_marked(wire: Wire, ours: Ours, number: int, marker: str) -> tuple[Comment, ...]:
    """What we can edit for certain first, then by age."""
    names = [actor.id for actor in ours]
    there = [each for each in comments(wire, number, 0) if each.author.id in names and is_marked(each.body, marker)]
    return tuple(sorted(there, key=lambda each: (names.index(each.author.id), each.id)))


def the_one(wire: Wire, there: tuple[Comment, ...]) -> Comment | None:
    """The first. Two runs at once may both have found nothing and posted: whoever sees it takes the later one away."""
    for twin in there[1:]:
        wire.remove(wire.at("issues", "comments", twin.id))
    return there[0] if there else None


def ensure(wire: Wire, ours: Ours, number: int, body: str, marker: str) -> Comment:
    def look() -> Comment | None:
        return marked(wire, ours, number, marker)

    def read(found: Any) -> Comment:
        return reading.comment(found, number)

    call = posting(wire.at("issues", number, "comments"), {"body": with_marker(body, marker)})
    # Nothing found is asked twice, since a read may be answered from before the last write.
    return look() or look() or alone(wire, ours, wire.make(call, look, read), marker)


def alone(wire: Wire, ours: Ours, made: Comment, marker: str) -> Comment:
    """The new comment, or another run's that came before it. A list that lacks the new one is behind."""
    there = all_marked(wire, ours, made.number, marker)
    if made.id not in [each.id for each in there]:
        there = all_marked(wire, ours, made.number, marker)
    return the_one(wire, there) or made


def edit(wire: Wire, me: Actor, comment: int, body: str) -> bool:
    """False: it is not ours to edit, and a new one stands in its place."""
    address = wire.at("issues", "comments", comment)

    def there() -> bool | None:
        return True if same_text(reading.text(wire.get(address).get("body")), body) else None

    if there():
        return True
    call = changing(address, {"body": body})
    done = wire.attempt(call, there)
    if not isinstance(done, Answer):
        return True
    if done.status == 403:
        found = wire.get(address)
        if reading.actor(found.get("user")).id != me.id:
            number = int(str(found["issue_url"]).rpartition("/")[2])
            ensure(wire, (me,), number, body, body.lstrip().splitlines()[0])
            return False
    good(call, done)
    return True


def reacted(wire: Wire, ours: Ours, address: str, reaction: Reaction) -> bool:
    names = {actor.id for actor in ours}
    return any(reading.actor(each.get("user")).id in names for each in wire.pages(address, content=reaction))


def react(wire: Wire, me: Actor, address: str, reaction: Reaction) -> None:
    """`address`: of the comment or the issue. One that is gone meanwhile needs no reaction."""

    def look() -> bool | None:
        found = wire.pages(address, content=reaction)
        return True if any(reading.actor(each.get("user")).id == me.id for each in found) else None

    call = posting(address, {"content": reaction})
    done = wire.attempt(call, look)
    if isinstance(done, Answer) and done.status not in {404, 410}:
        good(call, done)
