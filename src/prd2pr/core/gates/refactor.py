"""REFACTOR: behaviour held, code better by measure, or honestly nothing to do."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping

from prd2pr.core.evidence import Evidence, Finding, PathKind, Signature, Verdict
from prd2pr.core.gates.bite import bite_holds
from prd2pr.core.gates.common import (
    Codes,
    GatePolicy,
    all_pass,
    facts,
    finding,
    honest_runs,
    links,
    locks,
    nothing_broke,
    settle,
    source_only,
)
from prd2pr.core.gates.parity import parity_holds
from prd2pr.core.gates.removal import removed, without_what_was_dead
from prd2pr.core.gates.steady import steady
from prd2pr.core.records import Phase
from prd2pr.core.signatures import ALIAS, ATTRIBUTE, VALUE

NOTHING_TO_DO = "nothing worth changing"
# What a refactoring can make better. The number of functions is no merit either way.
BETTER = {
    "complexity_max": "greatest complexity",
    "complexity_sum": "complexity in all",
    "longest_function": "longest function",
    "duplicate_lines": "copied lines",
    "lines": "lines",
}

CODES = Codes(
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


def refactor_gate(evidence: Evidence, policy: GatePolicy) -> Verdict:
    findings = (*removed(evidence), *_findings(without_what_was_dead(evidence), policy))
    return settle(Phase.REFACTOR, findings, policy)


def _findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from honest_runs(evidence, policy)
    yield from source_only(evidence, CODES, policy)
    yield from links(evidence, CODES.link)
    yield from locks(evidence, CODES)
    yield from _held_by_tests(evidence)
    yield from all_pass(evidence, CODES)
    yield from nothing_broke(evidence, CODES.regressed, CODES.fewer)
    yield from _signatures(evidence)
    yield from bite_holds(evidence)
    yield from steady(evidence)
    yield from parity_holds(evidence, policy)
    yield from _better(evidence)
    yield from facts(evidence, "GRN", "RFC")


def _held_by_tests(evidence: Evidence) -> Iterator[Finding]:
    if evidence.head_run is not None and not evidence.head_run.passed:
        yield finding("RFC306", "no test passes, so nothing holds the behaviour")


# --- signatures -------------------------------------------------------------------------------------------------------


def _signatures(evidence: Evidence) -> Iterator[Finding]:
    after = {each.name: each for each in evidence.signatures_after}
    for before in evidence.signatures_before:
        # An import in an ordinary module is that module's own affair; in a package's `__init__` it is an export.
        if before.text.startswith(ALIAS) and not before.path.endswith("__init__.py"):
            continue
        now = after.get(before.name)
        if now is None and before.text.startswith(ATTRIBUTE):
            continue  # an attribute may move into the instance
        if now is None and _is_inherited(before, after):
            continue
        if now is None:
            yield finding("RFC401", f"`{before.name}` was public and is gone", path=before.path)
        elif not _same(before, now, after):
            yield finding("RFC401", f"`{_shown(before)}` became `{_shown(now)}`", path=now.path)


def _is_inherited(before: Signature, after: Mapping[str, Signature]) -> bool:
    """A method that moved up into a parent in another module, as it was."""
    owner, _, method = before.name.rpartition(".")
    held = after.get(owner)
    if held is None or not held.text.startswith("class("):
        return False
    bases = {name.strip().rpartition(".")[2] for name in held.text.removeprefix("class(").removesuffix(")").split(",")}
    homes = (each for name, each in after.items() if name.split(".")[-2:-1] and name.split(".")[-2] in bases)
    return any(each.name.endswith(f".{method}") and each.text == before.text for each in homes)


def _same(before: Signature, now: Signature, after: Mapping[str, Signature]) -> bool:
    if before.text == now.text:
        return True
    if before.text.startswith("class(") and now.text.startswith("class("):
        return _same_bases(before.text, now.text)
    if any(text in {VALUE, ATTRIBUTE} for text in (before.text, now.text)):
        return before.text.split()[0] == now.text.split()[0]  # how it is made says nothing about what it is
    if not now.text.startswith(ALIAS):
        return before.text.startswith(ALIAS)
    target = after.get(now.text.removeprefix(ALIAS))  # moved, and imported here: callers notice nothing
    return target is None or target.text == before.text


def _same_bases(before: str, now: str) -> bool:
    """A class may get a parent of the project's own; what Python itself makes of it must stay."""
    old, new = (_python_bases(text) for text in (before, now))
    return old == new or (not new and now != "class()" and bool(old))


def _python_bases(text: str) -> set[str]:
    names = {name.strip() for name in text.removeprefix("class(").removesuffix(")").split(",")}
    return {name for name in names if hasattr(builtins, name)} - {"object"}


def _shown(signature: Signature) -> str:
    space = " " if signature.text.startswith((VALUE, ATTRIBUTE)) else ""
    return f"{signature.name}{space}{signature.text}"


# --- better -----------------------------------------------------------------------------------------------------------


def _better(evidence: Evidence) -> Iterator[Finding]:
    if not any(change.kind is PathKind.SOURCE for change in evidence.changes):
        if NOTHING_TO_DO not in evidence.note:
            yield finding("RFC406", f"no source file changed, and the step is not recorded as {NOTHING_TO_DO}")
        return
    before, after = evidence.improvement.get("before"), evidence.improvement.get("after")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        yield finding("RFC407", "there are no measures of before and after")
    elif evidence.improvement.get("comment_only"):
        yield finding("RFC403", "only comments, docstrings or layout changed: the program is the same")
    else:
        yield from _measured(before, after)


def _measured(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Finding]:
    known = [name for name in BETTER if name in before and name in after]
    if not known:
        yield finding("RFC407", "there are no measures of before and after")
    elif not any(after[name] < before[name] for name in known):
        worse = [name for name in known if after[name] > before[name]]
        told = ", ".join(f"{BETTER[name]} {before[name]} → {after[name]}" for name in worse)
        if not all(_is_slight(name, before, after) for name in worse):
            yield finding("RFC404", f"nothing got better by measure, and some got worse: {told}")
        elif worse:
            yield finding("RFC408", f"no measure got better: the gain, if any, is for the reader to see ({told})")
        else:
            yield finding("RFC408", "no measure changed: the gain, if any, is for the reader to see")


def _is_slight(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """What a name costs that is given to a value, a condition or a part: some lines, and one for each new function."""
    if name == "complexity_sum":
        return after[name] - before[name] <= max(0, after.get("functions", 0) - before.get("functions", 0))
    if name == "longest_function":
        return after[name] - before[name] <= 1
    return name == "lines" and after[name] - before[name] <= max(4, before[name] // 20)
