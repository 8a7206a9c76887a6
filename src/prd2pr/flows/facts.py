"""What the texts of two trees say: the AST facts, declared tests, named criteria and signatures of evidence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from prd2pr.core.datafacts import READ, data_facts
from prd2pr.core.evidence import Coverage, Fact, PathKind, RunReport, Signature
from prd2pr.core.records import Phase, PlannedSymbol
from prd2pr.core.signatures import module_name, public_signatures
from prd2pr.core.sourcefacts import source_facts
from prd2pr.core.testfacts import FactContext, criteria_named, declared_tests, test_facts
from prd2pr.core.testfacts_model import certain_tests
from prd2pr.core.testfacts_subject_use import called_names, subject_lines
from prd2pr.flows.codebase import Codebase, Pair

MODULES_NAMED = 2000  # of a larger project, the names would outweigh the evidence


def declared_in(pair: Pair, modules: Iterable[str]) -> tuple[str, ...]:
    texts = pair.head.test_texts
    return tuple(test for path in modules if path in texts for test in declared_tests(path, texts[path], pair.naming))


def certain_in(pair: Pair, modules: Iterable[str]) -> tuple[str, ...]:
    texts = pair.head.test_texts
    return tuple(test for path in modules if path in texts for test in certain_tests(path, texts[path], pair.naming))


def facts_of_tests(pair: Pair, touched: Iterable[str], context: FactContext) -> tuple[Fact, ...]:
    """Of every test module, conftest and helper that the step touched."""
    texts = pair.head.test_texts
    return tuple(fact for path in touched if path in texts for fact in test_facts(path, texts[path], context))


def lines_on_subject(pair: Pair, modules: Iterable[str], context: FactContext) -> dict[str, tuple[int, ...]]:
    texts = pair.head.test_texts
    return {path: subject_lines(path, texts[path], context) for path in modules if path in texts}


def called_in(pair: Pair, modules: Iterable[str]) -> tuple[str, ...]:
    """What the changed test modules, and the files that tests lean on, do with what they import."""
    support = pair.head.support_texts
    texts = {**support, **{path: pair.head.test_texts[path] for path in modules if path in pair.head.test_texts}}
    return tuple(sorted({name for path, text in texts.items() for name in called_names(path, text)}))


def context_of_tests(
    pair: Pair, fresh: frozenset[str], planned: tuple[PlannedSymbol, ...] | None, head: RunReport
) -> FactContext:
    """Without a design, a module that is missing is taken for the subject; whether it may be missing is asked apart."""
    missing = {name.partition(".")[0] for name in _missing(head)} if planned is None else set()
    return FactContext(
        project_modules=pair.head.top_level | missing,
        planned=None if planned is None else tuple(symbol.name for symbol in planned),
        support=pair.head.support_texts,
        previous=pair.base.test_texts,
        new_tests=fresh,
        naming=pair.naming,
    )


def _missing(report: RunReport) -> set[str]:
    return {result.failure.missing for result in report.results if result.failure and result.failure.missing}


def coverage_of(
    pair: Pair, modules: Iterable[str], fresh: frozenset[str], criteria: tuple[str, ...]
) -> tuple[Coverage, ...]:
    """Which of the new tests name which criterion."""
    texts = pair.head.test_texts
    named: dict[str, list[str]] = {criterion: [] for criterion in criteria}
    for path in modules:
        for criterion, tests in criteria_named(path, texts.get(path, ""), criteria, pair.naming).items():
            named[criterion] += [test for test in tests if test in fresh]
    return tuple(Coverage(criterion=criterion, tests=tuple(tests)) for criterion, tests in named.items())


def named_modules(pair: Pair, report: RunReport) -> tuple[str, ...]:
    """The project's modules, and the public names of those that a missing symbol points into."""
    missing = _missing(report)
    parents = {name.rpartition(".")[0] for name in missing} | missing
    names = set(sorted(pair.head.modules)[:MODULES_NAMED])
    for path, text in pair.head.source_texts.items():
        module = module_name(path)
        if module in parents or any(name.startswith(f"{module}.") for name in missing):
            names |= {signature.name for signature in public_signatures(path, text)}
    return tuple(sorted(names))


def facts_of_source(pair: Pair, test_files: Iterable[str], phase: Phase) -> tuple[Fact, ...]:
    own = set(test_files)
    tests, old = pair.base.test_texts, pair.base.source_texts
    context = FactContext(
        project_modules=pair.head.top_level,
        test_sources={path: text for path, text in tests.items() if path in own},
        sources=pair.head.source_texts,
        previous={change.path: old[change.path] for change in pair.changes if change.path in old},
        naming=pair.naming,
    )
    new = pair.head.source_texts
    changed = [change.path for change in pair.changed(PathKind.SOURCE) if change.path in new]
    return tuple(fact for path in changed for fact in source_facts(path, old.get(path), new[path], context, phase))


def facts_of_data(pair: Pair, phase: Phase) -> tuple[Fact, ...]:
    """Of data files among the sources, which a refactoring may put otherwise and not change."""
    if phase is not Phase.REFACTOR:
        return ()
    changed = {
        change.path
        for change in pair.changes
        if change.kind in {PathKind.SOURCE, PathKind.OTHER} and change.status == "modified"
        if PurePosixPath(change.path).suffix.lower() in READ
    }
    old, new = (side.texts(lambda path: path in changed) for side in (pair.base, pair.head))
    texts = (list(side.source_texts.values()) for side in (pair.base, pair.head))
    return tuple(data_facts(old, new, *texts)) if old else ()


def signatures_of(codebase: Codebase, pair: Pair) -> tuple[Signature, ...]:
    """Of the source files that the step changed; the others say the same on both sides."""
    changed = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    texts = {path: text for path, text in codebase.source_texts.items() if path in changed}
    before = pair.base.source_texts
    return tuple(
        signature
        for path in sorted(texts)
        for signature in public_signatures(path, texts[path], before=before.get(path, ""))
    )
