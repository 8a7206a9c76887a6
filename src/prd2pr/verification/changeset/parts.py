"""Split a changeset into settings, tests and source, so that each can be observed without the others."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.changeset import ChangedCode
from prd2pr.domain.evidence import Change, PathKind
from prd2pr.domain.stack import Stack, is_python_stack
from prd2pr.domain.stack_policy import CODE_ENDINGS
from prd2pr.languages.python.complexity import is_same_program
from prd2pr.languages.python.mutation.functions import find_changed_functions
from prd2pr.languages.python.signatures import list_import_names
from prd2pr.languages.python.source_text import parse_source
from prd2pr.languages.python.test_model.module import FunctionNode, get_decorator_name, parse_python
from prd2pr.state.git import BlobRef, Git
from prd2pr.verification.codebase import TreePair

_TEST_KINDS = frozenset({PathKind.TEST})
# Kinds of files that cannot change the result of a test.
_INERT_KINDS = frozenset({PathKind.DOCS, PathKind.CI, PathKind.STATE})
_DEFINITION = re.compile(
    r"^\s*(?:export\s+)?(?:default\s+)?(?:pub(?:\([a-z]+\))?\s+)?(?:public\s+|private\s+|static\s+|async\s+)*"
    r"(?:def|class|func(?:\s*\([^)]*\))?|function\*?|fn|const|let|var|struct|enum|type|interface)\s+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN_DECORATORS = frozenset({"staticmethod", "classmethod", "property", "override"})
_TYPE_NAMES = frozenset(
    {
        "annotations",
        "Any",
        "Optional",
        "Union",
        "TYPE_CHECKING",
        "Callable",
        "Iterable",
        "Iterator",
        "Mapping",
        "Sequence",
    }
)
_MAX_FILES = 30  # source files in which existing code is mutated


@dataclass(frozen=True)
class ChangesetParts:
    """The trees between the base and the head of a changeset."""

    pair: TreePair
    stack: Stack

    @property
    def git(self) -> Git:
        return self.pair.head.git

    @cached_property
    def tests(self) -> tuple[Change, ...]:
        """Changes of tests and their support files, including a conftest in any directory."""
        return tuple(change for change in self.pair.changes if is_test_change(change))

    @cached_property
    def source(self) -> tuple[Change, ...]:
        return tuple(change for change in self.pair.changes if change.kind is PathKind.SOURCE)

    @cached_property
    def settings(self) -> tuple[Change, ...]:
        """Changes that may affect how tests run or which tests are collected."""
        others = (each for each in self.pair.changes if each.kind not in {*_INERT_KINDS, PathKind.SOURCE})
        return tuple(change for change in others if not is_test_change(change))

    @cached_property
    def invisible(self) -> tuple[str, ...]:
        """The source files in which only comments, docstrings, annotations or layout differ."""
        paths = [change.path for change in self.source if change.status == "modified"]
        before, after = (side.texts(lambda path: path in paths) for side in (self.pair.base, self.pair.head))
        return tuple(path for path in paths if path in before and path in after and self._is_same(path, before, after))

    def _is_same(self, path: str, before: Mapping[str, str], after: Mapping[str, str]) -> bool:
        if path.endswith(".py"):
            return is_same_program(*(_strip_annotations(side[path]) for side in (before, after)))
        if is_python_stack(self.stack) or not path.endswith(CODE_ENDINGS):
            return False
        from prd2pr.languages.registry import get_language  # late, because it loads grammars

        language = get_language(self.stack.language)
        return language.normalize_program(path, before[path]) == language.normalize_program(path, after[path])

    @cached_property
    def visible(self) -> tuple[Change, ...]:
        return tuple(change for change in self.source if change.path not in self.invisible)

    @cached_property
    def settled(self) -> str:
        """The base with all changes except those to tests and source."""
        chosen = {*(each.path for each in self.tests), *(each.path for each in self.source)}
        return self._apply(self.pair.base.tree, (each for each in self.pair.changes if each.path not in chosen))

    @cached_property
    def tested(self) -> str:
        """`settled` with the changes to tests."""
        return self._apply(self.settled, self.tests)

    @cached_property
    def former(self) -> str:
        """The head with the test files of the base.

        Python tests lose their imports of names that the new source no longer has, so that one removed function does
        not break all old tests of a file.
        """
        before, after = self.pair.base, self.pair.head
        old: dict[str, bytes | BlobRef | None] = {
            each.path: _get_ref(each.old_blob, each.old_mode, each.status == "added") for each in self.tests
        }
        texts = {path: text for path, text in before.test_texts.items() if path in old} if self.visible else {}
        lost = LostNames(before.source_texts, after.source_texts) if texts else None
        for path, text in texts.items():
            if lost and (kept := lost.drop_imports(text)) != text:
                old[path] = kept.encode()
        return self.git.edit_tree(after.tree, old)

    def _apply(self, tree: str, changes: Iterable[Change]) -> str:
        updates = collect_updates(changes)
        return self.git.edit_tree(tree, updates) if updates else tree

    def list_changed_code(self) -> tuple[ChangedCode, ...]:
        """Return the functions that changed, or the whole file if its functions cannot be identified."""
        paths = {change.path for change in self.visible}
        before, after = (side.texts(lambda path: path in paths) for side in (self.pair.base, self.pair.head))
        found: list[ChangedCode] = []
        for path in sorted(paths):
            old, new = (parse_source(path, side.get(path, "")) for side in (before, after))
            functions = find_changed_functions(old, new) if path.endswith(".py") and new else []
            found += [ChangedCode(path=path, line=each.node.lineno, function=each.name) for each in functions]
            found += [] if functions else [ChangedCode(path=path)]
        return tuple(found)


def collect_updates(changes: Iterable[Change]) -> dict[str, BlobRef | None]:
    """Convert changes to the updates for `Git.edit_tree`: a blob for each path, or None to delete it."""
    return {each.path: _get_ref(each.new_blob, each.new_mode, each.status == "deleted") for each in changes}


def is_test_change(change: Change) -> bool:
    conftest = change.kind is PathKind.TEST_CONFIG and change.path.rpartition("/")[2] == "conftest.py"
    return change.kind in _TEST_KINDS or conftest


def _get_ref(blob: str, mode: str, gone: bool) -> BlobRef | None:
    return None if gone else BlobRef(blob, mode)


def find_reached_sources(sources: Mapping[str, str], tests: Iterable[str]) -> tuple[str, ...]:
    """Return the source files that define names used in the tests, those with the most such names first."""
    words = {word for text in tests for word in _WORD.findall(text)}
    hits = {path: len({*_DEFINITION.findall(text)} & words) for path, text in sources.items()}
    ranked = sorted((path for path, hit in hits.items() if hit), key=lambda path: (-hits[path], path))
    return tuple(ranked[:_MAX_FILES])


class LostNames:
    """The names that modules had in one version of the source and lack in another."""

    def __init__(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        self._before, self._after = (_list_module_names(texts) for texts in (before, after))

    def drop_imports(self, text: str) -> str:
        """Return a test file without the imports of lost names, or the text itself if there are none."""
        tree = parse_python(text)
        imports = [node for node in (ast.walk(tree) if tree else ()) if isinstance(node, ast.ImportFrom)]
        lines = text.split("\n")
        for node in sorted(imports, key=lambda node: -node.lineno):
            kept = [alias for alias in node.names if not self._is_lost(node.module or "", alias.name)]
            if len(kept) == len(node.names) or node.level:
                continue
            new = ast.unparse(ast.ImportFrom(node.module, kept, 0)) if kept else "pass"
            # The lines keep their numbers.
            rest = [""] * ((node.end_lineno or node.lineno) - node.lineno)
            lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + new, *rest]
        return "\n".join(lines)

    def _is_lost(self, module: str, name: str) -> bool:
        if module not in self._before or f"{module}.{name}" in self._after:
            return False
        had, has = self._before[module], self._after.get(module, frozenset())
        return (
            (had is None or name in had or f"{module}.{name}" in self._before) and has is not None and name not in has
        )


def _list_module_names(texts: Mapping[str, str]) -> dict[str, frozenset[str] | None]:
    """Map each module to the names that it binds, or None if they cannot be listed."""
    return {name: _list_bound_names(text) for path, text in texts.items() for name in list_import_names(path, texts)}


def _list_bound_names(text: str) -> frozenset[str] | None:
    tree = parse_python(text)
    found: set[str] = set()
    todo: list[ast.stmt] = list(tree.body) if tree else []
    while todo:
        node = todo.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        else:
            found |= {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
            todo += [
                inner for inner in ast.walk(node) if isinstance(inner, FunctionNode | ast.ClassDef | ast.ImportFrom)
            ]
    return None if tree is None or {"*", "__getattr__"} & found else frozenset(found)


class _AnnotationRemover(ast.NodeTransformer):
    """Removes annotations that only type checkers read.

    Decorated functions keep theirs, because decorators may read them.
    """

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._strip_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._strip_function(node)

    def _strip_function(self, node: FunctionNode) -> ast.AST:
        if {get_decorator_name(each) for each in node.decorator_list} <= _PLAIN_DECORATORS:
            node.returns = None
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse
        return None if is_for_types else self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        is_for_types = (
            node.module in {"typing", "collections.abc", "__future__"}
            and {each.name for each in node.names} <= _TYPE_NAMES
        )
        return None if is_for_types else node


def _strip_annotations(text: str) -> str:
    try:
        return ast.unparse(_AnnotationRemover().visit(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError):
        return text
