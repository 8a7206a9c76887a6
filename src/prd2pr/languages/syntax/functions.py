"""Functions of parsed files: changed functions, knock-outs, mutants and code metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prd2pr.languages.base import Language
from prd2pr.languages.changed_lines import find_changed_lines
from prd2pr.languages.mutation_plan import Edit, Fault, ReplacementKind, ReturnReplacement
from prd2pr.languages.syntax.faults import make_fault
from prd2pr.languages.syntax.nodes import (
    get_field,
    get_last_line,
    get_line,
    get_text,
    join_tokens,
    list_children,
    walk_leaves,
)
from prd2pr.languages.syntax.queries import Match, Syntax, SyntaxFile

if TYPE_CHECKING:
    from tree_sitter import Node

_BLOCKS = frozenset({"block", "statement_block"})
_WINDOW = 3  # number of equal lines that count as a duplicate
_END = "\0"  # separates files, so that no window spans two of them
_MAX_SHOWN = 60
_OPPOSITES = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===",
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "&&": "||", "||": "&&",
    "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "++": "--", "--": "++", "true": "false", "false": "true",
}  # fmt: skip


@dataclass(frozen=True)
class NamedFunction:
    name: str  # includes its type or class, as in Cart.add
    node: Node
    is_public: bool = False
    exemption: str = ""  # why tests need not fail if it is broken

    @property
    def body(self) -> Node | None:
        return get_field(self.node, "body")


@dataclass(frozen=True)
class KnockOut:
    """The way in which a language disables a function for a knock-out."""

    text: str
    verb: str
    replaces_body: bool = False  # if False, the text is inserted and the body keeps its variables in use


@dataclass(frozen=True)
class ChangedFunction:
    """A changed function whose return value is replaced in mutation testing."""

    path: str
    file: SyntaxFile
    function: NamedFunction
    number: int  # position in the changed functions of the file, from 1

    @property
    def node(self) -> Node:
        return self.function.node

    @property
    def body(self) -> Node:
        assert self.function.body is not None, "only functions with a body are changed"
        return self.function.body


ReplaceReturns = Callable[[ChangedFunction], Iterable[tuple[ReplacementKind, tuple[Edit, ...]]]]


def read_program(package: str, name: str) -> str:
    """Return the text of a helper in the tested language, which replacements insert into the code."""
    return Path(__file__).parents[1].joinpath(package, name).read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions in a language's files, and how to break, mutate and measure them."""

    syntax: Syntax
    find: Callable[[SyntaxFile], Iterable[NamedFunction]]
    knock_out: KnockOut
    replace_returns: ReplaceReturns
    entry_points: frozenset[str] = frozenset()

    def make_language(
        self,
        name: str,
        file_endings: tuple[str, ...],
        is_test_file: Callable[[str], bool],
        name_module: Callable[[str], str],
    ) -> Language:
        """Return a language with the checks that its functions provide. The language's package adds its own checks."""
        return Language(
            name,
            file_endings,
            is_test_file,
            self.measure_source,
            self.normalize_program,
            name_module,
            make_knock_outs=self.make_knock_outs,
            make_mutants=self.make_mutants,
            replace_return_values=self.replace_return_values,
        )

    def find_changed(self, path: str, before: str, after: str) -> Iterator[NamedFunction]:
        """Yield the new and changed functions, except empty ones and entry points."""
        old = {each.name: join_tokens(each.node) for each in self._list(path, before)} if before else {}
        for each in self._list(path, after):
            body = each.body
            if body is None or (body.type in _BLOCKS and not list_children(body)) or each.name in self.entry_points:
                continue
            if old.get(each.name) != join_tokens(each.node):
                yield each

    def _list(self, path: str, text: str) -> Iterable[NamedFunction]:
        return self.find(self.syntax.read(path, text))

    def make_knock_outs(self, path: str, before: str, after: str) -> tuple[Fault, ...]:
        """Make a knock-out for each new or changed function."""
        return tuple(
            self._make_knock_out(path, each, body)
            for each in self.find_changed(path, before, after)
            if (body := each.body) is not None
        )

    def _make_knock_out(self, path: str, function: NamedFunction, body: Node) -> Fault:
        whole = (body.start_byte, body.end_byte) if self.knock_out.replaces_body else (body.start_byte + 1,) * 2
        return make_fault(
            "knock_out",
            path,
            (*whole, self.knock_out.text),
            around=function.node,
            lines=(get_line(body), get_last_line(body)),
            function=function.name,
            change=f"`{function.name}` {self.knock_out.verb}",
            exemption=function.exemption,
        )

    def make_mutants(self, path: str, before: str, after: str) -> tuple[Fault, ...]:
        """Make mutants on changed lines inside functions."""
        file, lines = self.syntax.read(path, after), find_changed_lines(before or None, after)
        spans = [(each.node.start_byte, each.node.end_byte, each.name) for each in self.find(file)]
        found = []
        for match in file.find("mutant"):
            node, other = match["mutant"], _make_replacement(match)
            around = [(end - begin, name) for begin, end, name in spans if begin <= node.start_byte < end]
            if other and around and get_line(node) in lines:
                found.append(_make_mutant(path, node, other, min(around)[1]))
        return tuple(found)

    def replace_return_values(self, path: str, before: str, after: str) -> tuple[ReturnReplacement, ...]:
        """Make each new or changed function return another value, and make it do nothing."""
        file = self.syntax.read(path, after)
        return tuple(
            ReturnReplacement(path, get_line(function.node), function.name, how, edits)
            for number, function in enumerate(self.find_changed(path, before, after), 1)
            for how, edits in self.replace_returns(ChangedFunction(path, file, function, number))
            if edits
        )

    # --- metrics ------------------------------------------------------------------------------------------------------

    def measure_source(self, texts: Mapping[str, str]) -> dict[str, int]:
        """Measure several files together.

        The metrics are named as for Python: maxima are combined as maxima, others as sums.
        """
        complexities, lengths, lines, outer = [], [], [], 0
        for path, text in sorted(texts.items()):
            file = self.syntax.read(path, text)
            for function in self.find(file):
                complexities.append(1 + len(file.find("branch", function.node)))
                lengths.append(get_last_line(function.node) - get_line(function.node) + 1)
            outer += len(file.find("branch"))
            lines += [*_list_code_lines(file), _END]
        return {
            "lines": sum(line != _END for line in lines),
            "functions": len(complexities),
            "complexity_max": max(complexities, default=0),
            "complexity_sum": len(complexities) + outer,
            "longest_function": max(lengths, default=0),
            "duplicate_lines": _count_duplicates(lines),
        }

    def normalize_program(self, path: str, text: str) -> str:
        return join_tokens(self.syntax.read(path, text).root)


def _make_replacement(match: Match) -> str:
    """Return the replacement that the pattern defines, or else the opposite of the operator or constant."""
    if template := match.settings.get("with"):
        return template.format_map({name: get_text(nodes[0]) for name, nodes in match.nodes.items()})
    return _OPPOSITES.get(match.text("mutant"), "")


def _make_mutant(path: str, node: Node, other: str, function: str) -> Fault:
    around = node.parent if node.parent is not None and not node.is_named else node
    whole, line = " ".join(get_text(around).split())[:_MAX_SHOWN], get_line(node)
    return make_fault(
        "mutant",
        path,
        (node.start_byte, node.end_byte, other),
        around=node,
        lines=(line, line),
        function=function,
        change=f"`{get_text(node)[:40]}` → `{other[:40]}` in `{whole}`",
    )


def _list_code_lines(file: SyntaxFile) -> list[str]:
    code_numbers = {
        number
        for node in walk_leaves(file.root)
        if get_text(node).strip()
        for number in range(get_line(node), get_last_line(node) + 1)
    }
    return [line.strip() for number, line in enumerate(file.text.splitlines(), 1) if number in code_numbers]


def _count_duplicates(lines: list[str]) -> int:
    """Count the lines in windows that occur more than once, ignoring bare brackets."""
    significant = [line for line in lines if len(line) > 3 or line == _END]
    windows = [tuple(significant[at : at + _WINDOW]) for at in range(len(significant) - _WINDOW + 1)]
    counts = Counter(windows)
    copied = {
        number
        for at, window in enumerate(windows)
        if counts[window] > 1 and _END not in window
        for number in range(at, at + _WINDOW)
    }
    return len(copied)
