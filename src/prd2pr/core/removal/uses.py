"""Which names a piece of code uses, as full dotted names, and how a name may be used without being written."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from prd2pr.core.signatures import module_name
from prd2pr.core.testfacts_model import absolute_module, dotted, imports_of, resolve

_WORD = re.compile(r"[A-Za-z_][\w.:]*")
_LOOK_UPS = frozenset({"getattr", "hasattr", "import_module", "attrgetter", "methodcaller"})


@dataclass
class Uses:
    names: set[str] = field(default_factory=set)  # dotted
    words: set[str] = field(default_factory=set)  # the parts of texts that look like names: __all__, getattr, patch
    fragments: set[str] = field(default_factory=set)  # of texts that a look-up puts together
    every: set[str] = field(default_factory=set)  # modules whose names are all taken, or that are handed on whole

    def reach(self, symbol: str) -> str:
        """How they get at it; empty where they do not."""
        module, _, name = symbol.rpartition(".")
        if any(used == symbol or used.startswith(f"{symbol}.") for used in self.names):
            return "is used"
        if name in self.words:
            return "is named in a text, so it may be looked up"
        if any(name.startswith(part) or name.endswith(part) for part in self.fragments):
            return "may be looked up by a name that is put together"
        return "is in a module that is handed on whole" if module in self.every else ""


def uses_of(path: str, tree: ast.Module, nodes: Iterable[ast.AST]) -> Uses:
    """Of some nodes of a file; its own imports tell what names mean, and other names are its own."""
    module = module_name(path)
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    imports = imports_of(tree.body, package)
    found = Uses()
    for node in nodes:
        inner = {id(child) for each in ast.walk(node) if isinstance(each, ast.Attribute) for child in [each.value]}
        for each in ast.walk(node):
            _look(found, each, imports, module, package, part_of_chain=id(each) in inner)
    return found


def _look(
    found: Uses, node: ast.AST, imports: dict[str, str], module: str, package: str, *, part_of_chain: bool
) -> None:
    if isinstance(node, ast.Import):
        found.names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
        base = absolute_module(node, package)
        found.names |= {f"{base}.{alias.name}" for alias in node.names if alias.name != "*"}
        found.every |= {base for alias in node.names if alias.name == "*"}
    elif isinstance(node, ast.Name | ast.Attribute) and (name := dotted(node)):
        known = name.partition(".")[0] in imports
        full = resolve(name, imports) if known else f"{module}.{name}"
        found.names.add(full)
        if known and not part_of_chain:
            found.every.add(full)  # where it is a module, it is handed on as a whole
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
        found.words |= set(re.split(r"[.:]", node.value))
    elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _LOOK_UPS:
        found.fragments |= _fragments(node.args)
    elif isinstance(node, ast.Subscript):
        found.fragments |= _fragments([node.slice]) if _is_namespace(node.value) else set()


def _is_namespace(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and dotted(node.func) in {"globals", "vars", "locals"}
    return called or dotted(node).endswith("__dict__")


def _fragments(arguments: Iterable[ast.expr]) -> set[str]:
    """The fixed parts of `f"on_{name}"` and `"on_" + name`; of a text that stands alone, `words` knows."""
    made = [each for each in arguments if isinstance(each, ast.JoinedStr | ast.BinOp)]
    texts = [part.value for each in made for part in ast.walk(each) if isinstance(part, ast.Constant)]
    return {text for text in texts if isinstance(text, str) and len(text) > 1}
