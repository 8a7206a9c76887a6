"""The grammars of JavaScript and TypeScript, and predicates for conditions that a query cannot express."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.files import select_grammar
from prd2pr.languages.javascript.imports import read_imports, read_string
from prd2pr.languages.javascript.scripts import is_under_main_check
from prd2pr.languages.syntax.nodes import get_field, get_root, get_text, list_children, walk
from prd2pr.languages.syntax.queries import Names, Predicate, Syntax, ancestors, is_inside

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTION_WORDS = """
    function_declaration generator_function_declaration function_expression generator_function arrow_function
    method_definition
"""
FUNCTION_KINDS = frozenset(_FUNCTION_WORDS.split())
_BUILT_IN = (
    "Object|Array|String|Number|Boolean|Promise|Error|Map|Set|Date|Math|JSON|Reflect|Symbol|RegExp|Function|"
    "console|process"
)
_STANDARD = re.compile(rf"^(?:(?:globalThis|global|window)\.)?(?:{_BUILT_IN})\b[.\[]")
_GLOBAL = re.compile(rf"^(?:globalThis|global|window)\.(?:{_BUILT_IN}|test|it|describe|expect|assert|setTimeout)$")
_MODULES = re.compile(r"^(node:)?(assert|fs|util|timers|test|process|module|perf_hooks)(/\w+)?$")
_READING = ("read", "require", "import", "open", "createRead", "exists", "stat", "glob")


def _is_member(node: Node, words: Sequence[str], _: Names) -> bool:
    """Return whether the pattern matches a chain of members, ignoring layout and `?`."""
    text = re.sub(r"\s+|\?(?=\.)", "", get_text(node)).replace("globalThis.process", "process")
    return re.search(words[0], text) is not None


def _match_strings(node: Node, words: Sequence[str], _: Names) -> bool:
    """Return whether the pattern matches the strings in the node, joined as in `"VI" + "TEST"`."""
    joined = "".join(read_string(each) for each in walk(node) if each.type == "string")
    return re.search(words[0], joined) is not None


def _is_made_here(node: Node, _: Sequence[str], __: Names) -> bool:
    """Return whether the error is created only to inspect its stack. Logging the stack of a caught error is allowed."""
    if node.type != "identifier":
        return _makes_error(node)
    bound = (each for each in walk(get_root(node)) if each.type == "variable_declarator")
    return any(
        get_text(get_field(each, "name")) == get_text(node) and _makes_error(get_field(each, "value")) for each in bound
    )


def _makes_error(node: Node | None) -> bool:
    while node is not None and node.type == "parenthesized_expression":
        node = next(iter(list_children(node)), None)
    if node is None or node.type not in {"new_expression", "call_expression"}:
        return False
    return get_text(get_field(node, "constructor") or get_field(node, "function")).endswith("Error")


def _is_standard(node: Node, words: Sequence[str], _: Names) -> bool:
    """Return whether the target belongs to the language, a runner's globals, or a whole imported node module."""
    target = re.sub(r"\s+", "", get_text(node)) + "".join(words)
    if _STANDARD.search(target) or _GLOBAL.search(target):
        return True
    owner, dot, _rest = target.partition(".")
    whole = (each for each in read_imports(get_root(node)) if each.local == owner and each.name in {"default", "*"})
    return bool(dot) and any(_MODULES.search(each.source) for each in whole)


def _is_read(node: Node, _: Sequence[str], __: Names) -> bool:
    """Return whether the node is the argument of a call that reads or loads a path."""
    for parent in ancestors(node):
        if parent.type in FUNCTION_KINDS:
            return False
        if parent.type == "call_expression":
            word = get_text(get_field(parent, "function")).rpartition(".")[2]
            if word.startswith(_READING):
                return True
    return False


def _joins_strings(node: Node, _: Sequence[str], __: Names) -> bool:
    """Return whether the node concatenates a string. Strings in the arguments of a call do not count."""
    return any(_is_same_chain(each, node) for each in walk(node) if each.type in {"string", "template_string"})


def _is_same_chain(each: Node, node: Node) -> bool:
    for parent in ancestors(each):
        if parent.type != "binary_expression" or parent.id == node.id:
            return parent.id == node.id
    return False


def _is_top_level(node: Node) -> bool:
    return not is_inside(node, FUNCTION_KINDS)


def _runs_on_import(node: Node, _: Sequence[str], names: Names) -> bool:
    """Return whether the node runs in a process that loads the file, and not only in the program's own."""
    return "script" not in names["flags"] and _is_top_level(node) and not is_under_main_check(node)


_PREDICATES: dict[str, Predicate] = {
    "first-word-in?": lambda node, words, names: get_text(node).partition(".")[0] in names[words[0]],
    "joins-strings?": _joins_strings,
    "made-here?": _is_made_here,
    "member?": _is_member,
    "read?": _is_read,
    "standard?": _is_standard,
    "strings?": _match_strings,
    "on-import?": _runs_on_import,
    "top-level?": lambda node, _, __: _is_top_level(node),
}

SYNTAX = Syntax("javascript", select_grammar, frozenset({"identifier"}), _PREDICATES)
