"""Finds the full dotted names that code uses, including names that it may use indirectly."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import (
    collect_imports,
    get_absolute_module,
    get_dotted_name,
    resolve_name,
)

_WORD = re.compile(r"[A-Za-z_][\w.:]*")
_LOOKUP_FUNCTIONS = frozenset({"getattr", "hasattr", "import_module", "attrgetter", "methodcaller"})


@dataclass
class NameUses:
    """Names used by some code, directly or indirectly."""

    names: set[str] = field(default_factory=set)  # dotted names
    string_names: set[str] = field(default_factory=set)  # name-like parts of strings: __all__, getattr, patch
    string_fragments: set[str] = field(default_factory=set)  # fixed parts of strings that are combined for a lookup
    whole_modules: set[str] = field(default_factory=set)  # modules imported with `*` or passed on as objects

    def describe_use(self, symbol: str) -> str:
        """Describe how the symbol is used. Return an empty string if it is not."""
        module, _, name = symbol.rpartition(".")
        if any(used == symbol or used.startswith(f"{symbol}.") for used in self.names):
            return "is used"
        if name in self.string_names:
            return "is named in a string, so it may be looked up"
        if any(name.startswith(part) or name.endswith(part) for part in self.string_fragments):
            return "may be looked up by a composed name"
        return "is in a module that is used as a whole" if module in self.whole_modules else ""


def find_name_uses(path: str, tree: ast.Module, nodes: Iterable[ast.AST]) -> NameUses:
    """Collect the names that some nodes of a file use. Names that the file does not import are taken to be its own."""
    module = get_module_name(path)
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    imports = collect_imports(tree.body, package)
    found = NameUses()
    for node in nodes:
        inner = {id(child) for each in ast.walk(node) if isinstance(each, ast.Attribute) for child in [each.value]}
        for each in ast.walk(node):
            _record_use(found, each, imports, module, package, part_of_chain=id(each) in inner)
    return found


def _record_use(
    uses: NameUses, node: ast.AST, imports: dict[str, str], module: str, package: str, *, part_of_chain: bool
) -> None:
    if isinstance(node, ast.Import):
        uses.names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
        base = get_absolute_module(node, package)
        uses.names |= {f"{base}.{alias.name}" for alias in node.names if alias.name != "*"}
        uses.whole_modules |= {base for alias in node.names if alias.name == "*"}
    elif isinstance(node, ast.Name | ast.Attribute) and (name := get_dotted_name(node)):
        known = name.partition(".")[0] in imports
        full_name = resolve_name(name, imports) if known else f"{module}.{name}"
        uses.names.add(full_name)
        if known and not part_of_chain:
            uses.whole_modules.add(full_name)  # it may be a module that is passed on as a whole
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
        uses.string_names |= set(re.split(r"[.:]", node.value))
    elif isinstance(node, ast.Call) and get_dotted_name(node.func).rpartition(".")[2] in _LOOKUP_FUNCTIONS:
        uses.string_fragments |= _find_string_fragments(node.args)
    elif isinstance(node, ast.Subscript):
        uses.string_fragments |= _find_string_fragments([node.slice]) if _is_namespace(node.value) else set()


def _is_namespace(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and get_dotted_name(node.func) in {"globals", "vars", "locals"}
    return called or get_dotted_name(node).endswith("__dict__")


def _find_string_fragments(arguments: Iterable[ast.expr]) -> set[str]:
    """Return the fixed parts of `f"on_{name}"` and `"on_" + name`. Plain strings are in `string_names`."""
    composed = [each for each in arguments if isinstance(each, ast.JoinedStr | ast.BinOp)]
    texts = [part.value for each in composed for part in ast.walk(each) if isinstance(part, ast.Constant)]
    return {text for text in texts if isinstance(text, str) and len(text) > 1}
