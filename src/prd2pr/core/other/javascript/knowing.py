"""Source in JavaScript that looks round where it is run: by what the process was started, what else goes on in it.

Most of these questions have honest answers too: a program reads its arguments, a logger asks for a terminal. What no
library has a reason to ask is refused; what some have is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prd2pr.core.other.javascript.functions import FUNCTION_KINDS
from prd2pr.core.other.javascript.imports import imports_in, string_of
from prd2pr.core.other.syntax import children, part, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

Found = tuple[str, str, "Node"]
REFUSED, TOLD = "GRN401", "GRN414"
_GLOBAL = re.compile(r"^(?:globalThis|global|window)\.")
_GOING_ON = re.compile(r"^process\.(getActiveResourcesInfo|_getActiveHandles|_getActiveRequests)$")
_TERMINAL = re.compile(r"^process\.(stdin|stdout|stderr)\.isTTY$")
_STARTED_BY = re.compile(r"^process\.argv\.[01]$")
_PARENT = frozenset({"process.connected", "process.channel"})
_BUNDLER = re.compile(r"^import\.meta\.env\.(\w+)$")
_BUNDLED_FOR = {"VITEST": REFUSED, "TEST": REFUSED, "MODE": TOLD, "DEV": TOLD, "PROD": TOLD}
_OWN_FILE = re.compile(r"import\.meta|__filename|fileURLToPath|pathToFileURL|\brequire\.main\b")
_OF_RUNNERS = re.compile(r"^(uncaughtException|unhandledRejection|exit|beforeExit)$")
_OF_ENV = re.compile(r"^(Object\.(keys|values|entries|getOwnPropertyNames)|Reflect\.ownKeys)$")
_CHOICES = frozenset(
    {"if_statement", "ternary_expression", "while_statement", "switch_statement", "binary_expression"}
    | {"unary_expression", "return_statement"}
)
_COMPARING = frozenset({"includes", "endsWith", "startsWith", "match", "test", "indexOf", "search"})


def knowing_in(root: Node, path: str) -> Iterator[Found]:
    aliases = _aliases(root)
    for node in walk(root):
        if node.type in {"member_expression", "subscript_expression"}:
            yield from _asked(node, named(node, aliases), path)
        elif node.type == "call_expression":
            yield from _called(node, aliases)


def named(node: Node | None, aliases: Mapping[str, str]) -> str:
    """`process["ar" + "gv"][1]` as `process.argv.1`; empty for what is no chain of names."""
    if node is None:
        return ""
    if node.type in {"member_expression", "subscript_expression"}:
        owner = named(part(node, "object"), aliases)
        index = part(node, "index")
        word = text_of(part(node, "property")) if index is None else folded(index)
        return _GLOBAL.sub("", f"{owner}.{word}") if owner and word else ""
    if node.type == "parenthesized_expression":
        return named(next(iter(children(node)), None), aliases)
    text = text_of(node)
    return aliases.get(text, text) if node.type in {"identifier", "meta_property", "import"} else ""


def folded(node: Node) -> str:
    """A text or number that is written in one piece or in several."""
    if node.type == "string":
        return string_of(node)
    if node.type == "number":
        return text_of(node)
    if node.type == "template_string":
        return "" if any(each.type == "template_substitution" for each in node.named_children) else text_of(node)[1:-1]
    if node.type == "binary_expression" and text_of(part(node, "operator")) == "+":
        sides = [part(node, "left"), part(node, "right")]
        return "".join(folded(each) for each in sides if each is not None)
    return ""


def _aliases(root: Node) -> dict[str, str]:
    """Other names of `process` and of what it has."""
    found = {"globalThis": "globalThis", "global": "globalThis", "window": "globalThis"}
    for each in imports_in(root):
        if each.source in {"process", "node:process"}:
            found[each.local] = "process" if each.name in {"default", "*"} else f"process.{each.name}"
    for node in walk(root):
        if node.type == "variable_declarator":
            name, owner = part(node, "name"), named(part(node, "value"), found)
            if name is None or not owner.startswith(("process", "import.meta")):
                continue
            if name.type == "identifier":
                found[text_of(name)] = owner
            for taken in children(name) if name.type == "object_pattern" else ():
                local = text_of(part(taken, "value") or taken)
                found[local] = f"{owner}.{text_of(part(taken, 'key') or taken)}"
    return found


def _asked(node: Node, name: str, path: str) -> Iterator[Found]:
    if _GOING_ON.match(name):
        yield REFUSED, f"asks `{name}`, what goes on in the process", node
    elif _TERMINAL.match(name) or name in _PARENT or (name == "import.meta.env" and _is_whole(node)):
        yield TOLD, f"asks for `{name}`", node
    elif bundled := _BUNDLER.match(name):
        if code := _BUNDLED_FOR.get(bundled[1]):
            yield code, f"asks for `{name}`", node
    elif _STARTED_BY.match(name) and _chooses_by(node, path):
        yield REFUSED, f"chooses by `{name}`, the program that was started", node


def _is_whole(node: Node) -> bool:
    """Nothing of it is asked for: only whether it is there."""
    return node.parent is None or node.parent.type not in {"member_expression", "subscript_expression"}


def _chooses_by(node: Node, path: str) -> bool:
    """In a function, or under a name; a file may ask at the top whether it is the program itself."""
    file = path.rpartition("/")[2]
    top, compared, inside = node, False, False
    for parent in _ancestors(node):
        if parent.type in FUNCTION_KINDS:
            inside = True
            break
        if parent.type == "template_substitution":
            return False
        if parent.type == "call_expression":
            callee = part(parent, "function")
            compared = compared or text_of(part(callee, "property")) in _COMPARING
        compared = compared or parent.type in _CHOICES
        if parent.type.endswith("statement") or parent.type == "lexical_declaration":
            top = parent
            if parent.type == "if_statement" or not parent.parent or parent.parent.type == "program":
                break
    inside = inside or any(parent.type in FUNCTION_KINDS for parent in _ancestors(node))
    said = text_of(part(top, "condition") or top)
    if not compared or _OWN_FILE.search(said) or file in said or file.partition(".")[0] in said:
        return False
    return inside or top.type == "lexical_declaration"


def _called(node: Node, aliases: Mapping[str, str]) -> Iterator[Found]:
    callee = part(node, "function")
    name = named(callee, aliases)
    given = children(part(node, "arguments"))
    if name in {"process.listenerCount", "process.listeners", "process.rawListeners"}:
        if not given or not folded(given[0]) or _OF_RUNNERS.match(folded(given[0])):
            yield REFUSED, f"asks `{name}`, who else listens", node
    elif name == "process.eventNames":
        yield REFUSED, f"asks `{name}`, who else listens", node
    elif _OF_ENV.match(text_of(callee)) and given and named(given[0], aliases) == "process.env":
        counted = node.parent is not None and text_of(part(node.parent, "property")) == "length"
        said = "counts the variables of the environment" if counted else "goes through all of `process.env`"
        yield (REFUSED if counted else TOLD), said, node
    elif name.endswith(".runInThisContext") or name == "runInThisContext":
        yield TOLD, "runs code in another realm than its own", node


def _ancestors(node: Node) -> Iterator[Node]:
    parent = node.parent
    while parent is not None:
        yield parent
        parent = parent.parent
