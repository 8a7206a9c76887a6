"""Finds branches and functions that a refactoring adds and that no test executes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.domain.results.differential import UncoveredLine
from prd2pr.languages.python.mutation.functions import has_behavior, is_untested_block
from prd2pr.languages.python.source_text import SourceText, clip_code, get_body_without_docstring, parse_source
from prd2pr.languages.python.test_model.module import FunctionNode

ExecutedLines = Mapping[str, frozenset[int]]  # path -> lines that tests execute


@dataclass(frozen=True)
class CodeBlock:
    """Statements that are executed together: the body of a function or of a branch."""

    path: str
    line: int
    function: str
    text: str
    form: str  # type of its first statement, such as `Raise` or `Return`


def find_uncovered_code(
    before: Mapping[str, str], after: Mapping[str, str], ran_before: ExecutedLines, ran_after: ExecutedLines
) -> tuple[UncoveredLine, ...]:
    """Return the blocks in the changed files that no test executes, except those that were not executed before either.

    An uncovered block may have been moved or reworded, so each removed block of the same form offsets one new block.
    """
    old = [
        block for path, text in before.items() for block in _find_uncovered_blocks(path, text, ran_before, tails=True)
    ]
    new = [block for path, text in after.items() for block in _find_uncovered_blocks(path, text, ran_after)]
    known = Counter(block.text for block in old)
    added = []
    for block in new:
        if known[block.text]:
            known[block.text] -= 1
        else:
            added.append(block)
    removed = Counter(block.form for block in old if known[block.text] > 0)
    found = []
    for block in sorted(added, key=lambda each: (each.path, each.line)):
        if removed[block.form]:
            removed[block.form] -= 1
        else:
            found.append(
                UncoveredLine(path=block.path, line=block.line, function=block.function, what=clip_code(block.text))
            )
    return tuple(found)


def _find_uncovered_blocks(path: str, text: str, ran: ExecutedLines, *, tails: bool = False) -> list[CodeBlock]:
    source = parse_source(path, text)
    if source is None:
        return []
    return list(_BlockFinder(source, ran.get(path, frozenset()), tails).find_blocks(source.tree.body, "", inside=False))


@dataclass(frozen=True)
class _BlockFinder:
    """Finds the outermost blocks that are never executed."""

    source: SourceText
    lines: frozenset[int]
    tails: bool  # also report the rest of a body after an exit, such as a final `raise` after a chain of returns

    def find_blocks(self, body: list[ast.stmt], name: str, *, inside: bool) -> Iterator[CodeBlock]:
        """Yield the uncovered blocks of a body. `inside` is true within a function.

        Branches at module or class level run on import, so tests do not control them.
        """
        for index, node in enumerate(body):
            if self.tails and inside and index and _may_exit(body[index - 1]) and not self._is_executed(body[index:]):
                yield from [_make_block(self.source, body[index:], name)] if _is_relevant(body[index:]) else []
                return
            qualified = f"{name}.{getattr(node, 'name', '')}".lstrip(".")
            if isinstance(node, FunctionNode):
                yield from self._find_in_function(node, qualified)
            elif isinstance(node, ast.ClassDef):
                yield from self.find_blocks(node.body, qualified, inside=False)
            elif not is_untested_block(node):
                for part in _list_inner_bodies(node):
                    if inside and not self._is_executed(part):
                        yield from [_make_block(self.source, part, name)] if _is_relevant(part) else []
                    else:
                        yield from self.find_blocks(part, name, inside=inside)

    def _find_in_function(self, node: FunctionNode, name: str) -> Iterator[CodeBlock]:
        body = get_body_without_docstring(node)
        if not has_behavior(node) or not body:
            return
        if self._is_executed(body):
            yield from self.find_blocks(body, name, inside=True)
        else:
            head = self.source.code(node).partition("\n")[0]
            yield CodeBlock(self.source.path, node.lineno, name, head, "function")

    def _is_executed(self, body: list[ast.stmt]) -> bool:
        span = range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1)
        return not self.lines.isdisjoint(span)


def _list_inner_bodies(node: ast.stmt) -> list[list[ast.stmt]]:
    parts = [getattr(node, name) for name in ("body", "orelse", "finalbody") if getattr(node, name, None)]
    parts += [handler.body for handler in getattr(node, "handlers", [])]
    parts += [case.body for case in getattr(node, "cases", [])]
    return [part for part in parts if isinstance(part, list)]


def _may_exit(node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Return | ast.Raise | ast.Continue | ast.Break) for inner in ast.walk(node))


_UNREACHABLE_ERRORS = frozenset({"NotImplementedError", "AssertionError"})


def _is_relevant(body: list[ast.stmt]) -> bool:
    """Return whether a block needs a test. `pass` and code marked as unreachable do not."""
    for node in body:
        if isinstance(node, ast.Pass | ast.Continue | ast.Break):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Raise | ast.Expr) and _list_referenced_names(node) & {
            *_UNREACHABLE_ERRORS,
            "assert_never",
        }:
            continue
        return not isinstance(node, ast.Assert)
    return False


def _list_referenced_names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _make_block(source: SourceText, body: list[ast.stmt], name: str) -> CodeBlock:
    return CodeBlock(
        source.path, body[0].lineno, name, source.code(body[0]).partition("\n")[0].strip(), type(body[0]).__name__
    )
