"""Labels: those that we name are put right, those that people set are left alone."""

from __future__ import annotations

from prd2pr.core.hub import Label
from prd2pr.forges.github.exchange import Answer, Call
from prd2pr.forges.github.wire import Wire, good, posting


def put_right(wire: Wire, number: int, wanted: tuple[Label, ...], among: tuple[str, ...]) -> None:
    """GitHub takes names that differ in case alone for one."""
    there = on_issue(wire, number)
    names = {label.name.lower() for label in wanted}
    for name in sorted(there & ({each.lower() for each in among} - names)):
        take_off(wire, number, name)
    missing = tuple(label for label in wanted if label.name.lower() not in there)
    for label in missing:
        ensure(wire, label)
    if missing:
        put_on(wire, number, tuple(label.name for label in missing))


def on_issue(wire: Wire, number: int) -> set[str]:
    return {str(each["name"]).lower() for each in wire.pages(wire.at("issues", number, "labels"))}


def take_off(wire: Wire, number: int, name: str) -> None:
    """A person may have taken it off meanwhile."""
    call = Call("DELETE", wire.at("issues", number, "labels", name))
    done = wire.attempt(call, lambda: None if name in on_issue(wire, number) else True)
    if isinstance(done, Answer) and done.status != 404:
        good(call, done)


def put_on(wire: Wire, number: int, names: tuple[str, ...]) -> None:
    wanted = {name.lower() for name in names}
    call = posting(wire.at("issues", number, "labels"), {"labels": list(names)})
    wire.make(call, lambda: True if wanted <= on_issue(wire, number) else None, lambda _: True)


def ensure(wire: Wire, label: Label) -> None:
    def there() -> bool | None:
        return None if wire.find(wire.at("labels", label.name)) is None else True

    if there():
        return
    body = {"name": label.name, "color": label.color, "description": label.description}
    call = posting(wire.at("labels"), body)
    done = wire.attempt(call, there)
    if isinstance(done, Answer) and not (done.status == 422 and "already_exists" in done.message):
        good(call, done)
