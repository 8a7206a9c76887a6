"""Comments and reactions."""

from __future__ import annotations

from typing import Any

from prd2pr.core.hub import Actor, Comment, Reaction
from prd2pr.forges.github import reading
from prd2pr.forges.github.exchange import Answer
from prd2pr.forges.github.wire import Wire, changing, good, posting, with_marker


def comments(wire: Wire, number: int, after: int) -> tuple[Comment, ...]:
    found = (reading.comment(each, number) for each in wire.pages(wire.at("issues", number, "comments")))
    return tuple(sorted((each for each in found if each.id > after), key=lambda each: each.id))


def marked(wire: Wire, me: Actor, number: int, marker: str) -> Comment | None:
    """The first of ours: should two runs ever have posted both, all later ones go on with the same."""
    mine = (each for each in comments(wire, number, 0) if each.author.id == me.id)
    return next((each for each in mine if marker in each.body), None)


def ensure(wire: Wire, me: Actor, number: int, body: str, marker: str) -> Comment:
    def look() -> Comment | None:
        return marked(wire, me, number, marker)

    def read(found: Any) -> Comment:
        return reading.comment(found, number)

    call = posting(wire.at("issues", number, "comments"), {"body": with_marker(body, marker)})
    # Nothing found is asked twice, since a read may be answered from before the last write.
    return look() or look() or wire.make(call, look, read)


def edit(wire: Wire, comment: int, body: str) -> None:
    address = wire.at("issues", "comments", comment)

    def there() -> bool | None:
        return True if reading.same_text(reading.text(wire.get(address).get("body")), body) else None

    if not there():
        wire.make(changing(address, {"body": body}), there, lambda _: True)


def react(wire: Wire, me: Actor, address: str, reaction: Reaction) -> None:
    """`address`: of the comment or the issue. One that is gone meanwhile needs no reaction."""

    def look() -> bool | None:
        found = wire.pages(address, content=reaction)
        return True if any(reading.actor(each.get("user")).id == me.id for each in found) else None

    call = posting(address, {"content": reaction})
    done = wire.attempt(call, look)
    if isinstance(done, Answer) and done.status not in {404, 410}:
        good(call, done)
