"""Checks of JavaScript source in addition to the query `source.scm`: its predicates, imports, and copied values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from prd2pr.languages.base import SourceContext
from prd2pr.languages.javascript.assertions import find_assertion_names, find_assertions
from prd2pr.languages.javascript.environment_checks import check_environment
from prd2pr.languages.javascript.grammar import SYNTAX
from prd2pr.languages.javascript.imports import read_imports
from prd2pr.languages.javascript.scripts import is_script
from prd2pr.languages.syntax.literals import Example, find_call_examples, find_row_examples
from prd2pr.languages.syntax.nodes import get_text
from prd2pr.languages.syntax.queries import Found, Names, SyntaxFile
from prd2pr.languages.syntax.source_rules import SourceRules

_RUNNER_MODULES = re.compile(r"^(node:test|vitest|jest|@jest/|@vitest/|mocha|node:inspector|inspector|node:v8|v8)")
_TEST_PATHS = re.compile(r"(^|/)(tests?|__tests__|__snapshots__|spec)/|\.(test|spec)\.|\.snap$|_held_out")


def _read_names(path: str, file: SyntaxFile, context: SourceContext) -> Names:
    """Return the flags of a file. A script that no other file loads may end its own process."""
    return {"flags": frozenset({"script"} if "process" in file.text and is_script(path, context.files) else ())}


def _find_more(path: str, file: SyntaxFile) -> Iterator[Found]:
    for each in read_imports(file.root):
        if _RUNNER_MODULES.search(each.source):
            yield "GRN401", f"imports `{each.source}`", file.root
        elif _TEST_PATHS.search(each.source):
            yield "GRN411", f"imports `{each.source}` from the tests", file.root
    yield from check_environment(file.root, path)


def _find_examples(file: SyntaxFile) -> Iterator[Example]:
    """Yield the literal arguments of calls with the expected literal result."""
    literals = {node.id for node in file.find_nodes("literal")}
    for each in find_assertions(file.root, find_assertion_names(file.root)):
        if each.subject is not None and each.expected is not None and each.expected.id in literals:
            yield from find_call_examples(file, [each.subject], each.expected)
    yield from find_row_examples(file)


def _find_expected(file: SyntaxFile) -> Iterator[str]:
    for each in find_assertions(file.root, find_assertion_names(file.root)):
        if each.expected is not None:
            yield from map(get_text, file.find_nodes("literal", each.expected))


RULES = SourceRules(
    SYNTAX,
    lambda _: True,
    _read_names,
    _find_examples,
    _find_expected,
    _find_more,
    reports_known_answers=True,
)
