"""What roles had to say that stops nothing, for the pull request: one line each, with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from prd2pr.core.judgement.record import RoleRecord
from prd2pr.core.wording import clip, plain, visible

LONGEST = 400
MOST = 100
_MEASURED = ("partly", "not")


class Remark(NamedTuple):
    who: str  # as people call the role
    story: str  # empty: the whole PRD
    kind: str
    text: str
    place: str = ""


def remarks(records: Iterable[RoleRecord]) -> tuple[Remark, ...]:
    """In the order of the records. An answer of a form that this version does not know says nothing."""
    found: list[Remark] = []
    for record in records:
        try:
            found += [*TOLD[record.role](record)] if record.role in TOLD else []
        except (KeyError, TypeError, AttributeError):
            continue
    return tuple(found)[:MOST]


def causes(records: Iterable[RoleRecord]) -> Iterator[str]:
    """What was tried out before the plan, and what attempts failed by."""
    for record in records:
        if record.role == "spike":
            for each in record.output.get("spikes", ()):
                yield plain(f"Tried out: {each['question']} {each['result']}")
        if record.role == "debugger":
            yield plain(f"Root cause in {record.story}: {record.output.get('root_cause', '')}")


def _line(who: str, record: RoleRecord, kind: str, text: str, place: str = "") -> Remark:
    return Remark(who, plain(record.story), plain(kind), clip(plain(text), LONGEST), visible(clip(place, 200)))


def _smell(record: RoleRecord) -> Iterator[Remark]:
    for each in record.output["warnings"]:
        place = f"{each['path']}:{each['line']}" if each["line"] else each["path"]
        yield _line("Smell", record, each["rule"], each["message"], place)


def _patterns(record: RoleRecord) -> Iterator[Remark]:
    for each in record.output["patterns"]:
        if each["followed"] in _MEASURED:
            yield _line(
                "Patterns", record, f"{each['pattern']}, {each['followed']} followed", each["why"], each["path"]
            )


def _review(record: RoleRecord) -> Iterator[Remark]:
    for each in record.output.get("criteria", ()):
        if not each["met"]:
            yield _line("Review", record, f"{each['criterion']} not met, {each['level']}", each["evidence"])
    for each in record.output.get("remarks", ()):
        yield _line("Review", record, each["level"], each["what"], each["where"])


def _security(record: RoleRecord) -> Iterator[Remark]:
    for each in record.output.get("risks", ()):
        tested = ", tested by a criterion" if each["required_test"] else ""
        yield _line("Security", record, f"{each['story']}, {each['severity']}{tested}", each["what"])


def _deployment(record: RoleRecord) -> Iterator[Remark]:
    parts: Mapping[str, Any] = record.output
    for kind in ("infrastructure", "routing", "pipeline", "rollback"):
        for each in parts[kind]:
            yield _line("Deployment", record, kind, each)


TOLD: dict[str, Callable[[RoleRecord], Iterator[Remark]]] = {
    "smell": _smell,
    "pattern_validator": _patterns,
    "review": _review,
    "security": _security,
    "deployment": _deployment,
}
