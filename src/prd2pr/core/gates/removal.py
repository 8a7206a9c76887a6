"""Dead code that goes together with its tests: REFACTOR's own way for it, openly."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.evidence import Evidence, Finding
from prd2pr.core.gates.common import finding
from prd2pr.core.removal.record import Removal
from prd2pr.core.runs import bare_id


def without_what_was_dead(evidence: Evidence) -> Evidence:
    """As if what went had never been there. Everything else is asked of the step as of any other."""
    removal = evidence.removal
    if removal is None or not removal.is_open:
        return evidence
    files, tests = set(removal.files), set(removal.tests)
    comparison = evidence.comparison
    if comparison is not None:
        vanished = tuple(test for test in comparison.vanished if bare_id(test) not in tests)
        fewer = min(comparison.collected_before, comparison.collected_after)
        before = comparison.collected_before if vanished else fewer
        comparison = comparison.model_copy(update={"vanished": vanished, "collected_before": before})
    return evidence.model_copy(
        update={
            "changes": tuple(change for change in evidence.changes if change.path not in files),
            "comparison": comparison,
            "signatures_before": tuple(each for each in evidence.signatures_before if not _is_part(each.name, removal)),
        }
    )


def _is_part(name: str, removal: Removal) -> bool:
    return any(name == symbol or name.startswith(f"{symbol}.") for symbol in removal.symbols)


def removed(evidence: Evidence) -> Iterator[Finding]:
    removal = evidence.removal
    if removal is None:
        return
    for objection in removal.objections:
        yield finding("RFC418", objection)
    if removal.objections:
        return
    for symbol in removal.symbols:
        yield finding("RFC417", f"`{symbol}` is gone; nothing used it")
    for test in removal.tests:
        yield finding("RFC417", f"`{test}` is gone; it was about nothing that is left", path=test.partition("::")[0])
