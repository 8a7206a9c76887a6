"""REFACTOR: behavior is unchanged and the code is measurably better, or the step declares that it changes nothing."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping

from prd2pr.domain.evidence import Evidence, Finding, PathKind, Signature
from prd2pr.domain.records import Phase
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_strict_error, define_warning
from prd2pr.languages.python.signatures import ALIAS, ATTRIBUTE, VALUE
from prd2pr.verification.gates.common import (
    GateCodes,
    GatePolicy,
    check_links,
    check_locks,
    check_no_regressions,
    check_runs,
    check_source_only,
    check_story_tests_pass,
    make_finding,
    report_facts,
)
from prd2pr.verification.gates.dead_code import check_removal, exclude_dead_code
from prd2pr.verification.gates.differential import check_behavior_kept
from prd2pr.verification.gates.mutation import check_mutation_kept
from prd2pr.verification.gates.stability import check_stability

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RFC101",
        "changes how tests run; REFACTOR may change source only",
        "A refactoring does not change the tests or how they run, because they protect the behavior.",
        bad="pyproject.toml was changed",
        good="src/shop/points.py was changed; pyproject.toml is unchanged",
        remedy="remove the file from this commit.",
    ),
    define_strict_error(
        "RFC102",
        "changes a dependency manifest",
        "A refactoring needs no new dependency.",
        bad="requirements.txt gains a package",
        good="requirements.txt is unchanged",
        remedy="remove it, or allow it with gates.allow_manifest in .prd2pr.yml on the base branch.",
    ),
    define_strict_error(
        "RFC103",
        "writes the bot's state or a protected file",
        "An author must not write files by which their own work is judged.",
        bad=".prd2pr.yml was edited",
        good="the commit contains source only",
        remedy="remove the change from this commit.",
    ),
    define_strict_error(
        "RFC104",
        "adds a symbolic link, a submodule or an unusual file mode",
        "A symbolic link or a submodule makes a path point outside the commit.",
        bad="src/shop -> ../elsewhere",
        good="src/shop/points.py, a regular file",
        remedy="commit the file itself.",
    ),
    define_strict_error(
        "RFC105",
        "adds a test file",
        "New tests start with RED.",
        bad="tests/test_more.py was added",
        good="src/shop/points.py was changed; no test was added",
        remedy="remove it.",
    ),
    define_strict_error(
        "RFC106",
        "changes a file that is neither source nor test",
        "A refactoring changes source only.",
        bad="notes.csv was changed",
        good="src/shop/points.py was changed",
        remedy="remove it.",
    ),
    define_warning(
        "RFC107",
        "changes documentation together with the code",
        "It does no harm, but a refactoring is easier to review alone.",
        bad="README.md changed in REFACTOR",
        good="README.md changes in a separate commit",
        remedy="no action is needed.",
    ),
    define_strict_error(
        "RFC201",
        "a locked file was changed",
        "The tests protect the behavior while the code changes. They must be identical to what RED committed.",
        bad="tests/tdd/loyalty-2/test_redeem.py: line 14 `== 90` became `>= 0`",
        good="tests/tdd/loyalty-2/test_redeem.py has the blob that RED committed",
        remedy="restore the file.",
    ),
    define_strict_error(
        "RFC202",
        "a locked file is missing",
        "A test was deleted or renamed.",
        bad="tests/tdd/loyalty-2/test_redeem.py is missing",
        good="tests/tdd/loyalty-2/test_redeem.py is where RED committed it",
        remedy="restore it.",
    ),
    define_strict_error(
        "RFC203",
        "the list of locked files is missing",
        "Without that list it cannot be shown that the tests are unchanged.",
        bad="no locked file in the evidence: the base commit contains no test",
        good="prd2pr gate refactor --base GREEN --head REFACTOR, where the GREEN commit contains tests",
        remedy="judge against the GREEN commit.",
    ),
    define_strict_error(
        "RFC302",
        "a test of the story does not pass",
        "The behavior has changed.",
        bad="test_redeem: expected 90, got 0",
        good="test_redeem passed before and after",
        remedy="undo the change that broke it.",
    ),
    define_strict_error(
        "RFC303",
        "a test of the story was not run",
        "It is skipped, xfailed, deselected or missing. Only `passed` counts.",
        bad="test_redeem skipped",
        good="test_redeem passed before and after",
        remedy="make the test run.",
    ),
    define_strict_error(
        "RFC304",
        "a test that passed before fails now",
        "The refactoring changed behavior elsewhere.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="tests/test_cart.py::test_total passes before and after",
        remedy="undo the change that broke it.",
    ),
    define_strict_error(
        "RFC305",
        "fewer tests are collected than before",
        "Tests that passed before are no longer collected.",
        bad="41 tests before, 40 now",
        good="41 tests before, 41 now",
        remedy="restore the tests.",
    ),
    define_strict_error(
        "RFC306",
        "no test protects the behavior",
        "A refactoring is safe only if tests pass before and after it. Here no test passes.",
        bad="0 tests passed",
        good="53 tests passed before, 53 pass now",
        remedy="write tests for the behavior first.",
    ),
    define_error(
        "RFC401",
        "a public signature changed",
        "Callers outside this repository depend on public names and their parameters.",
        bad="shop.points.earn(amount) became earn(amount, rate)",
        good="shop.points.earn(amount) stays; _points_for(amount, rate) is new and private",
        remedy="keep the old signature, or make the change in a separate story.",
    ),
    define_error(
        "RFC403",
        "only comments and formatting changed",
        "The program is unchanged. This is not a refactoring, and the step would claim an improvement that does "
        "not exist.",
        bad="only a docstring was added",
        good="two identical branches were merged",
        remedy='record the step as "nothing worth changing".',
    ),
    define_error(
        "RFC404",
        "the metrics got worse",
        "Complexity, length and duplication have not decreased, and at least one of them has increased.",
        bad="complexity 14 before, 14 after; 120 lines before, 131 after",
        good="complexity 14 before, 9 after; 120 lines before, 104 after",
        remedy='simplify the code, or record the step as "nothing worth changing".',
    ),
    define_error(
        "RFC406",
        "changes nothing without saying so",
        'A step without changes must be recorded as "nothing worth changing".',
        bad="no source file differs from GREEN",
        good='the step is recorded as "nothing worth changing"',
        remedy='record the step as "nothing worth changing".',
    ),
    define_error(
        "RFC407",
        "the improvement was not measured",
        "The evidence contains no metrics of the code before and after.",
        bad="no metrics in the evidence",
        good="complexity, length and duplication of both trees in the evidence",
        remedy="judge the commits again.",
    ),
    define_warning(
        "RFC408",
        "no metric changed",
        "Complexity, length and duplication are the same. Unlike a comment-only change (RFC403), the code did "
        "change: better names and types are an improvement that no metric shows. So this is a warning only.",
        bad="_calc was renamed to _points_for",
        good="_calc was renamed to _points_for, and an unnecessary branch was removed",
        remedy="no action is needed.",
    ),
)


NOTHING_TO_DO = "nothing worth changing"
# The metrics that a refactoring can improve. The number of functions is not one of them.
MEASURE_LABELS = {
    "complexity_max": "highest complexity",
    "complexity_sum": "total complexity",
    "longest_function": "longest function",
    "duplicate_lines": "duplicated lines",
    "lines": "lines",
}

CODES = GateCodes(
    phase=Phase.REFACTOR,
    how_tests_run="RFC101",
    manifest="RFC102",
    state="RFC103",
    link="RFC104",
    test="RFC105",
    other="RFC106",
    docs="RFC107",
    locked="RFC201",
    locked_gone="RFC202",
    unlocked="RFC203",
    not_passed="RFC302",
    not_run="RFC303",
    regressed="RFC304",
    fewer="RFC305",
)


def check_refactor(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from check_removal(evidence)
    yield from _collect_findings(exclude_dead_code(evidence), policy)


def _collect_findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from check_runs(evidence, policy)
    yield from check_source_only(evidence, CODES, policy)
    yield from check_links(evidence, CODES.link)
    yield from check_locks(evidence, CODES)
    yield from _check_has_passing_tests(evidence)
    yield from check_story_tests_pass(evidence, CODES)
    yield from check_no_regressions(evidence, CODES.regressed, CODES.fewer)
    yield from _check_signatures(evidence)
    yield from check_mutation_kept(evidence)
    yield from check_stability(evidence)
    yield from check_behavior_kept(evidence, policy)
    yield from _check_improvement(evidence)
    yield from report_facts(evidence, "GRN", "RFC")


def _check_has_passing_tests(evidence: Evidence) -> Iterator[Finding]:
    if evidence.head_run is not None and not evidence.head_run.passed:
        yield make_finding("RFC306", "no test passes, so the behavior is not protected")


# --- signatures -------------------------------------------------------------------------------------------------------


def _check_signatures(evidence: Evidence) -> Iterator[Finding]:
    after = {each.name: each for each in evidence.signatures_after}
    for before in evidence.signatures_before:
        # Imports are private to an ordinary module but exports of a package's `__init__`.
        if before.text.startswith(ALIAS) and not before.path.endswith("__init__.py"):
            continue
        now = _find_signature(before.name, after)
        if now is None and before.text.startswith(ATTRIBUTE):
            continue  # a class attribute may become an instance attribute
        if now is None and _is_inherited_unchanged(before, after):
            continue
        if now is None:
            yield make_finding("RFC401", f"public name `{before.name}` was removed", path=before.path)
        elif not _is_same_signature(before, now, after):
            yield make_finding(
                "RFC401", f"`{_format_signature(before)}` became `{_format_signature(now)}`", path=now.path
            )


def _find_signature(name: str, after: Mapping[str, Signature], hops: int = 10) -> Signature | None:
    """Return the signature of a public name.

    A class or module that moved and is imported here is followed to its new place.
    """
    if name in after or not hops:
        return after.get(name)
    owner, _, member = name.rpartition(".")
    for alias in (after.get(owner), after.get(f"{owner}.*")):
        if alias is not None and alias.text.startswith(ALIAS):
            target = f"{alias.text.removeprefix(ALIAS).removesuffix('.*')}.{member}"
            home = target.rpartition(".")[0]
            if found := _find_signature(target, after, hops - 1):
                return found
            if not any(known == home or known.startswith(f"{home}.") for known in after):
                return alias  # its module did not change in this step, so nothing is known about its members
    return None


def _is_inherited_unchanged(before: Signature, after: Mapping[str, Signature]) -> bool:
    """Return whether the method moved unchanged to a parent class in another module."""
    owner, _, method = before.name.rpartition(".")
    held = after.get(owner)
    if held is None or not held.text.startswith("class("):
        return False
    bases = {name.strip().rpartition(".")[2] for name in held.text.removeprefix("class(").removesuffix(")").split(",")}
    homes = (each for name, each in after.items() if name.split(".")[-2:-1] and name.split(".")[-2] in bases)
    return any(each.name.endswith(f".{method}") and each.text == before.text for each in homes)


def _is_same_signature(before: Signature, now: Signature, after: Mapping[str, Signature]) -> bool:
    if before.text == now.text:
        return True
    if before.text.startswith("class(") and now.text.startswith("class("):
        return _has_same_bases(before.text, now.text)
    if any(text in {VALUE, ATTRIBUTE} for text in (before.text, now.text)):
        return before.text.split()[0] == now.text.split()[0]  # compare only the kind, not the expression
    if not now.text.startswith(ALIAS):
        return before.text.startswith(ALIAS)
    target = _find_signature(now.text.removeprefix(ALIAS), after)  # moved and imported again here
    return target is None or target.name == now.name or _is_same_signature(before, target, after)


def _has_same_bases(before: str, now: str) -> bool:
    """Return whether the built-in bases are the same. Parent classes of the project may be added."""
    old, new = (_list_builtin_bases(text) for text in (before, now))
    return old == new or (not new and now != "class()" and bool(old))


def _list_builtin_bases(text: str) -> set[str]:
    names = {name.strip() for name in text.removeprefix("class(").removesuffix(")").split(",")}
    return {name for name in names if hasattr(builtins, name)} - {"object"}


def _format_signature(signature: Signature) -> str:
    space = " " if signature.text.startswith((VALUE, ATTRIBUTE)) else ""
    return f"{signature.name}{space}{signature.text}"


# --- better -----------------------------------------------------------------------------------------------------------


def _check_improvement(evidence: Evidence) -> Iterator[Finding]:
    if not any(change.kind is PathKind.SOURCE for change in evidence.changes):
        if NOTHING_TO_DO not in evidence.note:
            yield make_finding("RFC406", f'no source file changed, and the step is not recorded as "{NOTHING_TO_DO}"')
        return
    before, after = evidence.improvement.get("before"), evidence.improvement.get("after")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield make_finding("RFC407", "there are no metrics of the code before and after the step")
    elif evidence.improvement.get("comment_only"):
        yield make_finding("RFC403", "only comments, docstrings or layout changed: the program is the same")
    else:
        yield from _check_measures(before, after)


def _check_measures(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Finding]:
    known = [name for name in MEASURE_LABELS if name in before and name in after]
    if not known:
        yield make_finding("RFC407", "there are no metrics of the code before and after the step")
    elif not any(after[name] < before[name] for name in known):
        worse = [name for name in known if after[name] > before[name]]
        changes = ", ".join(f"{MEASURE_LABELS[name]} {before[name]} → {after[name]}" for name in worse)
        if not all(_is_slight_increase(name, before, after) for name in worse):
            yield make_finding("RFC404", f"no metric improved, and some got worse: {changes}")
        elif worse:
            yield make_finding("RFC408", f"no metric improved; a reviewer must judge the benefit ({changes})")
        else:
            yield make_finding("RFC408", "no metric changed; a reviewer must judge the benefit")


def _is_slight_increase(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Return whether the metric grew only as much as extracting a variable or a function explains.

    That is a few lines, and one point of complexity per new function.
    """
    if name == "complexity_sum":
        return after[name] - before[name] <= max(0, after.get("functions", 0) - before.get("functions", 0))
    if name == "longest_function":
        return after[name] - before[name] <= 1
    return name == "lines" and after[name] - before[name] <= max(4, before[name] // 20)
