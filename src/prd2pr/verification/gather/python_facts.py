"""Facts from Python files before and after a step: AST facts, declared tests, named criteria and signatures."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath

from prd2pr.domain.evidence import Coverage, Fact, PathKind, RunReport, Signature
from prd2pr.domain.records import Phase, PlannedSymbol
from prd2pr.domain.results.removal import Removal
from prd2pr.languages.python.dead_code.check import RemovalTexts, find_removal
from prd2pr.languages.python.rules.source_code.data_files import DATA_SUFFIXES, check_data_files
from prd2pr.languages.python.rules.source_code.source_file import check_source_file
from prd2pr.languages.python.rules.test_code.test_file import (
    FactContext,
    check_test_file,
    find_declared_tests,
    find_tests_by_criterion,
)
from prd2pr.languages.python.signatures import get_module_name, list_public_signatures
from prd2pr.languages.python.test_model.module import find_certain_tests, parse_python
from prd2pr.languages.python.test_model.subject_use import find_called_names, find_module_subject_lines
from prd2pr.verification.codebase import Codebase, TreePair
from prd2pr.verification.gather.analysis import MAX_NAMED_MODULES

SHADOWING_CODE = "GRN101"


# Files in which an entry point, a task or a pipeline may refer to a function.
_NAMING_FILES = (".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", "Makefile", "Procfile", ".sh")


def find_dead_code_removal(pair: TreePair, kept: Collection[str]) -> Removal | None:
    """Find dead code that was removed with its tests. `kept` lists the test files of this story, which must stay."""
    found = find_removal(
        RemovalTexts(
            pair.base.source_texts,
            pair.head.source_texts,
            pair.base.test_texts,
            pair.head.test_texts,
            pair.head.texts(lambda path: path.endswith(_NAMING_FILES)),
            pair.naming,
        )
    )
    if found is None or not (own := sorted({*found.files} & {*kept})):
        return found
    objection = f"{own[0]} was proved by this very story"
    return found.model_copy(update={"objections": (*found.objections, objection)})


def find_shadowing_modules(pair: TreePair, base: RunReport) -> Iterator[Fact]:
    """Report new modules that shadow a module that the tests already import."""
    known = _list_known_names(pair, base) - pair.base.top_level
    for change in pair.python_changes(PathKind.SOURCE):
        name = get_module_name(change.path)
        if change.status == "added" and name in known:
            yield Fact(
                code=SHADOWING_CODE, path=change.path, message=f"the tests' `import {name}` would now find this file"
            )


def _list_known_names(pair: TreePair, base: RunReport) -> frozenset[str]:
    """Return imported standard library and helper modules, and all imports of files whose tests passed before."""
    ran = {result.id.partition("::")[0] for result in base.results if result.outcome == "passed"}
    helpers = {PurePosixPath(path).stem for path in pair.base.support_texts}
    found: set[str] = set()
    for path, text in pair.base.test_texts.items():
        names = set(_list_imported_names(text))
        found |= names if path in ran else names & (sys.stdlib_module_names | helpers)
    return frozenset(found)


def _list_imported_names(text: str) -> Iterator[str]:
    tree = parse_python(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def list_declared_tests(pair: TreePair, modules: Iterable[str]) -> tuple[str, ...]:
    texts = pair.head.test_texts
    return tuple(
        test for path in modules if path in texts for test in find_declared_tests(path, texts[path], pair.naming)
    )


def list_certain_tests(pair: TreePair, modules: Iterable[str]) -> tuple[str, ...]:
    texts = pair.head.test_texts
    return tuple(
        test for path in modules if path in texts for test in find_certain_tests(path, texts[path], pair.naming)
    )


def find_test_facts(pair: TreePair, touched: Iterable[str], context: FactContext) -> tuple[Fact, ...]:
    """Return the facts about every test module, conftest and helper that the step touched."""
    texts = pair.head.test_texts
    return tuple(fact for path in touched if path in texts for fact in check_test_file(path, texts[path], context))


def find_subject_lines(pair: TreePair, modules: Iterable[str], context: FactContext) -> dict[str, tuple[int, ...]]:
    texts = pair.head.test_texts
    return {path: find_module_subject_lines(path, texts[path], context) for path in modules if path in texts}


def list_called_names(pair: TreePair, modules: Iterable[str]) -> tuple[str, ...]:
    """Return the imported names that the changed test modules and the shared test files use."""
    support = pair.head.support_texts
    texts = {**support, **{path: pair.head.test_texts[path] for path in modules if path in pair.head.test_texts}}
    return tuple(sorted({name for path, text in texts.items() for name in find_called_names(path, text)}))


def build_fact_context(
    pair: TreePair, fresh: frozenset[str], planned: tuple[PlannedSymbol, ...] | None, head: RunReport
) -> FactContext:
    """Build the context for the test rules. Without a design, a missing module is assumed to be the subject."""
    missing = {name.partition(".")[0] for name in _list_missing_names(head)} if planned is None else set()
    return FactContext(
        project_modules=pair.head.top_level | missing,
        planned=None if planned is None else tuple(symbol.name for symbol in planned),
        support=pair.head.support_texts,
        previous=pair.base.test_texts,
        new_tests=fresh,
        naming=pair.naming,
    )


def _list_missing_names(report: RunReport) -> set[str]:
    return {result.failure.missing for result in report.results if result.failure and result.failure.missing}


def find_new_test_coverage(
    pair: TreePair, modules: Iterable[str], fresh: frozenset[str], criteria: tuple[str, ...]
) -> tuple[Coverage, ...]:
    """Return the criteria that new tests name, with those tests."""
    texts = pair.head.test_texts
    named: dict[str, list[str]] = {criterion: [] for criterion in criteria}
    for path in modules:
        for criterion, tests in find_tests_by_criterion(path, texts.get(path, ""), criteria, pair.naming).items():
            named[criterion] += [test for test in tests if test in fresh]
    return tuple(Coverage(criterion=criterion, tests=tuple(tests)) for criterion, tests in named.items())


def list_project_names(pair: TreePair, report: RunReport) -> tuple[str, ...]:
    """Return the project's modules and, for modules that a missing symbol refers to, their public names."""
    missing = _list_missing_names(report)
    parents = {name.rpartition(".")[0] for name in missing} | missing
    names = set(sorted(pair.head.modules)[:MAX_NAMED_MODULES])
    for path, text in pair.head.source_texts.items():
        module = get_module_name(path)
        if module in parents or any(name.startswith(f"{module}.") for name in missing):
            names |= {signature.name for signature in list_public_signatures(path, text)}
    return tuple(sorted(names))


def find_changed_source_facts(pair: TreePair, test_files: Iterable[str], phase: Phase) -> tuple[Fact, ...]:
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
    changed = [change.path for change in pair.python_changes(PathKind.SOURCE) if change.path in new]
    return tuple(fact for path in changed for fact in check_source_file(path, old.get(path), new[path], context, phase))


def find_data_facts(pair: TreePair, phase: Phase) -> tuple[Fact, ...]:
    """Return the facts about data files that REFACTOR changed. It may reformat them, but not change their values."""
    if phase is not Phase.REFACTOR:
        return ()
    changed = {
        change.path
        for change in pair.changes
        if change.kind in {PathKind.SOURCE, PathKind.OTHER} and change.status == "modified"
        if PurePosixPath(change.path).suffix.lower() in DATA_SUFFIXES
    }
    old, new = (side.texts(lambda path: path in changed) for side in (pair.base, pair.head))
    texts = (list(side.source_texts.values()) for side in (pair.base, pair.head))
    return tuple(check_data_files(old, new, *texts)) if old else ()


def list_changed_signatures(codebase: Codebase, pair: TreePair) -> tuple[Signature, ...]:
    """Return the public signatures in the source files that the step changed."""
    texts = {path: text for path, text in codebase.source_texts.items() if path in pair.changed_source}
    before = pair.base.source_texts
    return tuple(
        signature
        for path in sorted(texts)
        for signature in list_public_signatures(path, texts[path], before=before.get(path, ""))
    )
