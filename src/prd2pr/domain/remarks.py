"""Non-blocking remarks of roles for the pull request, one line each with its location."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prd2pr.domain.role_record import RoleRecord, RoleRemark
from prd2pr.domain.wording import clean_line, clip, escape_invisible

MAX_REMARK_LENGTH = 400
MAX_REMARKS = 100
_NOT_FOLLOWED = ("partly", "not")


def collect_remarks(records: Iterable[RoleRecord]) -> tuple[RoleRemark, ...]:
    """Return the remarks in the order of the records. Answers in an unknown format are ignored."""
    found: list[RoleRemark] = []
    for record in records:
        try:
            found += [*REMARK_READERS[record.role](record)] if record.role in REMARK_READERS else []
        except (KeyError, TypeError, AttributeError):
            continue
    return tuple(found)[:MAX_REMARKS]


def list_causes(records: Iterable[RoleRecord]) -> Iterator[str]:
    """Yield the results of spikes and the root causes of failed attempts."""
    for record in records:
        if record.role == "spike":
            for each in record.output.get("spikes", ()):
                yield clean_line(f"Tried out: {each['question']} {each['result']}")
        if record.role == "debugger":
            yield clean_line(f"Root cause in {record.story}: {record.output.get('root_cause', '')}")


def _build_remark(who: str, record: RoleRecord, kind: str, text: str, place: str = "") -> RoleRemark:
    return RoleRemark(
        who,
        clean_line(record.story),
        clean_line(kind),
        clip(clean_line(text), MAX_REMARK_LENGTH),
        escape_invisible(clip(place, 200)),
    )


def _read_smell(record: RoleRecord) -> Iterator[RoleRemark]:
    for each in record.output["warnings"]:
        place = f"{each['path']}:{each['line']}" if each["line"] else each["path"]
        yield _build_remark("Smell", record, each["rule"], each["message"], place)


def _read_patterns(record: RoleRecord) -> Iterator[RoleRemark]:
    for each in record.output["patterns"]:
        if each["followed"] in _NOT_FOLLOWED:
            yield _build_remark(
                "Patterns", record, f"{each['pattern']}, {each['followed']} followed", each["why"], each["path"]
            )


def _read_review(record: RoleRecord) -> Iterator[RoleRemark]:
    for each in record.output.get("criteria", ()):
        if not each["met"]:
            yield _build_remark("Review", record, f"{each['criterion']} not met, {each['level']}", each["evidence"])
    for each in record.output.get("remarks", ()):
        yield _build_remark("Review", record, each["level"], each["what"], each["where"])


def _read_security(record: RoleRecord) -> Iterator[RoleRemark]:
    for each in record.output.get("risks", ()):
        tested = ", tested by a criterion" if each["required_test"] else ""
        yield _build_remark("Security", record, f"{each['story']}, {each['severity']}{tested}", each["what"])


def _read_deployment(record: RoleRecord) -> Iterator[RoleRemark]:
    parts: Mapping[str, Any] = record.output
    for kind in ("infrastructure", "routing", "pipeline", "rollback"):
        for each in parts[kind]:
            yield _build_remark("Deployment", record, kind, each)


REMARK_READERS: dict[str, Callable[[RoleRecord], Iterator[RoleRemark]]] = {
    "smell": _read_smell,
    "pattern_validator": _read_patterns,
    "review": _read_review,
    "security": _read_security,
    "deployment": _read_deployment,
}
