"""Find the names in a JavaScript test file that refer to the tested code or to its results."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.imports import read_imports, read_string
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import follow_names

if TYPE_CHECKING:
    from tree_sitter import Node

_PROGRAM = re.compile(r"(^|/)(src|lib|bin|app|dist)/|\.[cm]?[jt]s$")
_STARTS = frozenset(["spawn", "spawnSync", "exec", "execSync", "execFile", "execFileSync", "fork", "import", "require"])


@lru_cache(maxsize=64)
def find_subject_names(file: SyntaxFile) -> frozenset[str]:
    return follow_names(file, {each.local for each in read_imports(file.root) if each.is_own})


def uses_subject(file: SyntaxFile, node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code, imports it, or starts it as a program."""
    return file.syntax.mentions(node, names) or any(starts_program(match["use"]) for match in file.find("use", node))


def starts_program(node: Node) -> bool:
    if get_text(get_field(node, "function")).rpartition(".")[2] not in _STARTS:
        return False
    texts = [read_string(each) for given in list_children(get_field(node, "arguments")) for each in walk(given)]
    return any(_PROGRAM.search(text) for text in texts if text)
