"""Find the names in a JavaScript test file that refer to the tested code or to its results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.imports import read_imports, read_string
from prd2pr.languages.syntax.nodes import get_field, get_text, list_children, walk
from prd2pr.languages.syntax.queries import SyntaxFile
from prd2pr.languages.syntax.subject import follow_names, list_pattern_names

if TYPE_CHECKING:
    from tree_sitter import Node

_PROGRAM = re.compile(r"(^|[\s/])(src|lib|bin|app|dist)/|\.[cm]?[jt]s(\s|$)")
_START_WORDS = "spawn spawnSync exec execSync execFile execFileSync fork import require Worker"
_STARTS = frozenset(_START_WORDS.split())
_START_MODULES = frozenset({"child_process", "node:child_process", "execa", "cross-spawn", "tinyexec", "zx"})
_TEMPORARY = re.compile(r"\b(tmpdir|mkdtemp(Sync)?)\(")
_PATH_CALLS = frozenset({"join", "resolve", "normalize", "URL", "fileURLToPath", "concat"})


@lru_cache(maxsize=64)
def find_subject_names(file: SyntaxFile) -> frozenset[str]:
    """Return the names imported from the project, functions that start its programs, and names of their results."""
    starts = [match["use"] for match in file.find("use") if starts_program(file, match["use"])]
    names = {each.local for each in read_imports(file.root) if each.is_own}
    for match in file.find("binding.value"):
        value = match["binding.value"]
        if any(value.start_byte <= each.start_byte and each.end_byte <= value.end_byte for each in starts):
            names |= list_pattern_names(match["binding.name"])
    return follow_names(file, names)


def uses_subject(file: SyntaxFile, node: Node, names: frozenset[str]) -> bool:
    """Return whether the node mentions the tested code, imports it, or starts it as a program."""
    used = file.find("use", node)
    return file.syntax.mentions(node, names) or any(starts_program(file, match["use"]) for match in used)


def starts_program(file: SyntaxFile, node: Node) -> bool:
    """Return whether a call starts or loads a file of the project, given as a path or by a name bound to one."""
    callee = get_field(node, "function") or get_field(node, "constructor")
    given = get_field(node, "arguments")
    starters, programs = _find_program_names(file)
    if given is None or get_text(callee).rpartition(".")[2] not in starters:
        return False
    return _names_program(file, given) or file.syntax.mentions(given, programs)


@lru_cache(maxsize=64)
def _find_program_names(file: SyntaxFile) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of functions that start programs, and the names bound to paths of the project's programs."""
    starters = _STARTS | {each.local for each in read_imports(file.root) if each.source in _START_MODULES}
    programs: set[str] = set()
    for match in file.find("binding.value"):
        value, bound = match["binding.value"], list_pattern_names(match["binding.name"])
        if get_text(get_field(value, "function")).rpartition(".")[2] == "promisify" and file.syntax.mentions(
            value, starters
        ):
            starters |= bound
        elif _names_program(file, value):
            programs |= bound
    return starters, follow_names(file, programs)


def _names_program(file: SyntaxFile, node: Node) -> bool:
    return any(_PROGRAM.search(path) for path in _find_paths(file, node))


def _find_paths(file: SyntaxFile, node: Node) -> Iterator[str]:
    """Yield paths such as `../bin/tool.js` from strings and from `path.join(__dirname, "..", "bin", "tool.js")`.

    A path in a temporary directory belongs to the test.
    """
    callee = get_text(get_field(node, "function") or get_field(node, "constructor")).rpartition(".")[2]
    if node.type not in {"string", "template_string", "binary_expression"} and callee not in _PATH_CALLS:
        for each in list_children(node):
            yield from _find_paths(file, each)
    elif not file.syntax.mentions(node, _find_temporary_names(file)):
        pieces = [read_string(each) or _read_fragment(each) for each in walk(node)]
        yield ("/" if callee else "").join(filter(None, pieces))


def _read_fragment(node: Node) -> str:
    """Return a piece of a template string. The pieces of other strings are read together with the string."""
    return get_text(node) if node.parent is not None and node.parent.type == "template_string" else ""


@lru_cache(maxsize=64)
def _find_temporary_names(file: SyntaxFile) -> frozenset[str]:
    made = [each for each in file.find("binding.value") if _TEMPORARY.search(each.text("binding.value"))]
    names = {name for each in made for name in list_pattern_names(each["binding.name"])}
    return follow_names(file, names | {"tmpdir", "mkdtemp", "mkdtempSync"})
