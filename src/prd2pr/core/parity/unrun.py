"""New code that no test runs: branches and functions that a refactoring brings in and nobody asked for."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.bite.functions import does_something, is_left_out
from prd2pr.core.bite.text import SourceText, body_without_docstring, shown, source_text
from prd2pr.core.parity.record import Unrun
from prd2pr.core.testfacts_model import FunctionNode

Lines = Mapping[str, frozenset[int]]  # path -> lines that tests run


@dataclass(frozen=True)
class Block:
    """What runs together: the body of a function, or of one branch."""

    path: str
    line: int
    function: str
    text: str
    form: str  # what it begins with: Raise, Return …


def new_and_unrun(
    before: Mapping[str, str], after: Mapping[str, str], ran_before: Lines, ran_after: Lines
) -> tuple[Unrun, ...]:
    """Of the changed files: blocks that no test runs, beyond those that no test ran before.

    One that stood there before, unrun, may have been moved or put in other words: then as many of its form are gone.
    """
    old = [block for path, text in before.items() for block in _unrun(path, text, ran_before, tails=True)]
    new = [block for path, text in after.items() for block in _unrun(path, text, ran_after)]
    known = Counter(block.text for block in old)
    fresh = []
    for block in new:
        if known[block.text]:
            known[block.text] -= 1
        else:
            fresh.append(block)
    gone = Counter(block.form for block in old if known[block.text] > 0)
    left = []
    for block in sorted(fresh, key=lambda each: (each.path, each.line)):
        if gone[block.form]:
            gone[block.form] -= 1
        else:
            left.append(Unrun(path=block.path, line=block.line, function=block.function, what=shown(block.text)))
    return tuple(left)


def _unrun(path: str, text: str, ran: Lines, *, tails: bool = False) -> list[Block]:
    source = source_text(path, text)
    if source is None:
        return []
    return list(_Look(source, ran.get(path, frozenset()), tails).through(source.tree.body, "", inside=False))


@dataclass(frozen=True)
class _Look:
    """Finds the outermost blocks that are never run: what lies in them says nothing more."""

    source: SourceText
    lines: frozenset[int]
    tails: bool  # also the end of a body, where every test has left it before: `raise` behind a chain of answers

    def through(self, body: list[ast.stmt], name: str, *, inside: bool) -> Iterator[Block]:
        """`inside`: of a function. Branches of a module or a class run on import, or not: no test decides that."""
        for at, node in enumerate(body):
            if self.tails and inside and at and _may_leave(body[at - 1]) and not self._is_run(body[at:]):
                yield from [_block(self.source, body[at:], name)] if _counts(body[at:]) else []
                return
            inner = f"{name}.{getattr(node, 'name', '')}".lstrip(".")
            if isinstance(node, FunctionNode):
                yield from self._function(node, inner)
            elif isinstance(node, ast.ClassDef):
                yield from self.through(node.body, inner, inside=False)
            elif not is_left_out(node):
                for part in _parts(node):
                    if inside and not self._is_run(part):
                        yield from [_block(self.source, part, name)] if _counts(part) else []
                    else:
                        yield from self.through(part, name, inside=inside)

    def _function(self, node: FunctionNode, name: str) -> Iterator[Block]:
        body = body_without_docstring(node)
        if not does_something(node) or not body:
            return
        if self._is_run(body):
            yield from self.through(body, name, inside=True)
        else:
            head = self.source.code(node).partition("\n")[0]
            yield Block(self.source.path, node.lineno, name, head, "function")

    def _is_run(self, body: list[ast.stmt]) -> bool:
        span = range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1)
        return not self.lines.isdisjoint(span)


def _parts(node: ast.stmt) -> list[list[ast.stmt]]:
    parts = [getattr(node, name) for name in ("body", "orelse", "finalbody") if getattr(node, name, None)]
    parts += [handler.body for handler in getattr(node, "handlers", [])]
    parts += [case.body for case in getattr(node, "cases", [])]
    return [part for part in parts if isinstance(part, list)]


def _may_leave(node: ast.stmt) -> bool:
    return any(isinstance(inner, ast.Return | ast.Raise | ast.Continue | ast.Break) for inner in ast.walk(node))


_NEVER = frozenset({"NotImplementedError", "AssertionError"})


def _counts(body: list[ast.stmt]) -> bool:
    """Not `pass`, and not what says of itself that nobody gets there."""
    for node in body:
        if isinstance(node, ast.Pass | ast.Continue | ast.Break):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Raise | ast.Expr) and _names(node) & {*_NEVER, "assert_never"}:
            continue
        return not isinstance(node, ast.Assert)
    return False


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _block(source: SourceText, body: list[ast.stmt], name: str) -> Block:
    return Block(
        source.path, body[0].lineno, name, source.code(body[0]).partition("\n")[0].strip(), type(body[0]).__name__
    )
