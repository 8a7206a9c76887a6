"""REFACTOR: the step may remove dead code together with its tests if nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import Evidence, Finding
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.domain.results.removal import Removal
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.verification.gates.common import make_finding

FINDINGS: tuple[FindingKind, ...] = (
    define_warning(
        "RFC417",
        "dead code was removed",
        "Nothing else used it, no configuration names it, and the removed tests covered nothing else. The step "
        "did nothing else.",
        bad="`shop.points.redeem` was removed; nothing used it",
        good="`shop.points.redeem` is called by `shop.cart`, and stays",
        remedy="check whether anyone outside this repository calls it.",
    ),
    define_error(
        "RFC418",
        "the code removed with its tests was not dead",
        "Dead code may be removed together with its tests, in a step that does nothing else: whole functions, "
        "classes or modules that no remaining code uses, and tests that cover nothing else.",
        bad="tests/test_points.py::test_redeem also covers `shop.points.earn`, which still exists",
        good="`redeem` and test_redeem were removed; nothing else called `redeem`, and nothing else changed",
        remedy="keep the tests of code that still exists; remove dead code in a separate commit.",
    ),
)


def exclude_dead_code(evidence: Evidence) -> Evidence:
    """Return the evidence without the removed code and tests, so that the other checks judge only the rest."""
    removal = evidence.removal
    if removal is None or not removal.is_open:
        return evidence
    files, tests = set(removal.files), set(removal.tests)
    comparison = evidence.comparison
    if comparison is not None:
        vanished = tuple(test for test in comparison.vanished if strip_test_parameters(test) not in tests)
        fewer = min(comparison.collected_before, comparison.collected_after)
        before = comparison.collected_before if vanished else fewer
        comparison = comparison.model_copy(update={"vanished": vanished, "collected_before": before})
    return evidence.model_copy(
        update={
            "changes": tuple(change for change in evidence.changes if change.path not in files),
            "comparison": comparison,
            "signatures_before": tuple(
                each for each in evidence.signatures_before if not _is_removed_symbol(each.name, removal)
            ),
        }
    )


def _is_removed_symbol(name: str, removal: Removal) -> bool:
    return any(name == symbol or name.startswith(f"{symbol}.") for symbol in removal.symbols)


def check_removal(evidence: Evidence) -> Iterator[Finding]:
    removal = evidence.removal
    if removal is None:
        return
    for objection in removal.objections:
        yield make_finding("RFC418", objection)
    if removal.objections:
        return
    for symbol in removal.symbols:
        yield make_finding("RFC417", f"`{symbol}` removed; nothing used it")
    for test in removal.tests:
        yield make_finding("RFC417", f"`{test}` removed; it tested only removed code", path=test.partition("::")[0])
