"""Check for JavaScript source that inspects its process: how it was started and what else runs in it.

Many of these checks have legitimate uses: a program reads its arguments, and a logger checks for a terminal. Code that
no library needs is refused; code that some libraries need is reported as a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.grammar import FUNCTION_KINDS
from prd2pr.languages.javascript.imports import read_imports, read_string
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import Found, ancestors

if TYPE_CHECKING:
    from tree_sitter import Node

REFUSED_CODE, WARNING_CODE = "GRN401", "GRN414"
_GLOBAL = re.compile(r"^(?:globalThis|global|window)\.")
_PROCESS_STATE = re.compile(r"^process\.(getActiveResourcesInfo|_getActiveHandles|_getActiveRequests)$")
_TERMINAL = re.compile(r"^process\.(stdin|stdout|stderr)\.isTTY$")
_STARTED_BY = re.compile(r"^process\.argv\.[01]$")
_PARENT = frozenset({"process.connected", "process.channel"})
_BUNDLER = re.compile(r"^import\.meta\.env\.(\w+)$")
_BUNDLED_FOR = {
    "VITEST": REFUSED_CODE,
    "TEST": REFUSED_CODE,
    "MODE": WARNING_CODE,
    "DEV": WARNING_CODE,
    "PROD": WARNING_CODE,
}
_OWN_FILE = re.compile(r"import\.meta|__filename|fileURLToPath|pathToFileURL|\brequire\.main\b")
_RUNNER_EVENTS = re.compile(r"^(uncaughtException|unhandledRejection|exit|beforeExit)$")
_ENUMERATIONS = re.compile(r"^(Object\.(keys|values|entries|getOwnPropertyNames)|Reflect\.ownKeys)$")
_CHOICES = frozenset(
    {"if_statement", "ternary_expression", "while_statement", "switch_statement", "binary_expression"}
    | {"unary_expression", "return_statement"}
)
_COMPARING = frozenset({"includes", "endsWith", "startsWith", "match", "test", "indexOf", "search"})


def check_environment(root: Node, path: str) -> Iterator[Found]:
    aliases = _find_aliases(root)
    for node in walk(root):
        if node.type in {"member_expression", "subscript_expression"}:
            yield from _check_member(node, resolve_member_name(node, aliases), path)
        elif node.type == "call_expression":
            yield from _check_call(node, aliases)


def resolve_member_name(node: Node | None, aliases: Mapping[str, str]) -> str:
    """Return `process.argv.1` for `process["ar" + "gv"][1]`, or an empty string if the node is not a chain of names."""
    if node is None:
        return ""
    if node.type in {"member_expression", "subscript_expression"}:
        owner = resolve_member_name(get_field(node, "object"), aliases)
        index = get_field(node, "index")
        word = get_text(get_field(node, "property")) if index is None else fold_constant(index)
        return _GLOBAL.sub("", f"{owner}.{word}") if owner and word else ""
    if node.type == "parenthesized_expression":
        return resolve_member_name(next(iter(list_children(node)), None), aliases)
    text = get_text(node)
    return aliases.get(text, text) if node.type in {"identifier", "meta_property", "import"} else ""


def fold_constant(node: Node) -> str:
    """Return the value of a literal or of a concatenation of literals."""
    if node.type == "string":
        return read_string(node)
    if node.type == "number":
        return get_text(node)
    if node.type == "template_string":
        return "" if any(each.type == "template_substitution" for each in node.named_children) else get_text(node)[1:-1]
    if node.type == "binary_expression" and get_text(get_field(node, "operator")) == "+":
        sides = [get_field(node, "left"), get_field(node, "right")]
        return "".join(fold_constant(each) for each in sides if each is not None)
    return ""


def _find_aliases(root: Node) -> dict[str, str]:
    """Map the names under which the file uses `process` and its members to the original names."""
    found = {"globalThis": "globalThis", "global": "globalThis", "window": "globalThis"}
    for each in read_imports(root):
        if each.source in {"process", "node:process"}:
            found[each.local] = "process" if each.name in {"default", "*"} else f"process.{each.name}"
    for node in walk(root):
        if node.type == "variable_declarator":
            name, owner = get_field(node, "name"), resolve_member_name(get_field(node, "value"), found)
            if name is None or not owner.startswith(("process", "import.meta")):
                continue
            if name.type == "identifier":
                found[get_text(name)] = owner
            for taken in list_children(name) if name.type == "object_pattern" else ():
                local = get_text(get_field(taken, "value") or taken)
                found[local] = f"{owner}.{get_text(get_field(taken, 'key') or taken)}"
    return found


def _check_member(node: Node, name: str, path: str) -> Iterator[Found]:
    if _PROCESS_STATE.match(name):
        yield REFUSED_CODE, f"inspects the process with `{name}`", node
    elif _TERMINAL.match(name) or name in _PARENT or (name == "import.meta.env" and _is_whole(node)):
        yield WARNING_CODE, f"reads `{name}`", node
    elif bundled := _BUNDLER.match(name):
        if code := _BUNDLED_FOR.get(bundled[1]):
            yield code, f"reads `{name}`", node
    elif _STARTED_BY.match(name) and _decides_by(node, path):
        yield REFUSED_CODE, f"branches on `{name}`, the started program", node


def _is_whole(node: Node) -> bool:
    """Return whether the whole object is used, not just one of its members."""
    return node.parent is None or node.parent.type not in {"member_expression", "subscript_expression"}


def _decides_by(node: Node, path: str) -> bool:
    """Return whether a function branches on the value, directly or through a variable.

    Code at the top level may check whether the file is the main program.
    """
    file = path.rpartition("/")[2]
    top, compared, inside = node, False, False
    for parent in ancestors(node):
        if parent.type in FUNCTION_KINDS:
            inside = True
            break
        if parent.type == "template_substitution":
            return False
        if parent.type == "call_expression":
            callee = get_field(parent, "function")
            compared = compared or get_text(get_field(callee, "property")) in _COMPARING
        compared = compared or parent.type in _CHOICES
        if parent.type.endswith("statement") or parent.type == "lexical_declaration":
            top = parent
            if parent.type == "if_statement" or not parent.parent or parent.parent.type == "program":
                break
    inside = inside or any(parent.type in FUNCTION_KINDS for parent in ancestors(node))
    condition = get_text(get_field(top, "condition") or top)
    if not compared or _OWN_FILE.search(condition) or file in condition or file.partition(".")[0] in condition:
        return False
    return inside or top.type == "lexical_declaration"


def _check_call(node: Node, aliases: Mapping[str, str]) -> Iterator[Found]:
    callee = get_field(node, "function")
    name = resolve_member_name(callee, aliases)
    given = list_children(get_field(node, "arguments"))
    if name in {"process.listenerCount", "process.listeners", "process.rawListeners"}:
        if not given or not fold_constant(given[0]) or _RUNNER_EVENTS.match(fold_constant(given[0])):
            yield REFUSED_CODE, f"inspects other listeners with `{name}`", node
    elif name == "process.eventNames":
        yield REFUSED_CODE, f"inspects other listeners with `{name}`", node
    elif _ENUMERATIONS.match(get_text(callee)) and given and resolve_member_name(given[0], aliases) == "process.env":
        counted = node.parent is not None and get_text(get_field(node.parent, "property")) == "length"
        message = "counts environment variables" if counted else "iterates over `process.env`"
        yield (REFUSED_CODE if counted else WARNING_CODE), message, node
    elif name.endswith(".runInThisContext") or name == "runInThisContext":
        yield WARNING_CODE, "runs code in another realm", node
