"""Recognize code that runs only in a separate program: a script that nothing loads, or `if (isMain)`."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from prd2pr.languages.javascript.files import ENDINGS, name_module, select_grammar
from prd2pr.languages.javascript.imports import is_own_source, read_string, resolve_own_module
from prd2pr.languages.syntax.nodes import get_field, get_root, get_text, list_children, parse_text, walk
from prd2pr.languages.syntax.queries import ancestors

if TYPE_CHECKING:
    from tree_sitter import Node

_LOADERS = re.compile(r"(^|\.)(import|require|importActual|requireActual|createRequire|register|Worker)$")
_CONFIGURATION = re.compile(r"(^|/)[^/]*(\.config|setup|rc)\.[cm]?[jt]s$")  # may name files that a runner loads
_LOADED_BY_FLAG = re.compile(r"(?:--import|--require|--loader|--experimental-loader|-r)[ =]+([^\s\"']+)")
_BUILT_IN = "node:"
_OWN_FILE = re.compile(r"import\.meta\.(url|filename)|__filename")
_MAIN = frozenset({"import.meta.main", "require.main===module", "module===require.main"})


# --- files that no other file loads -----------------------------------------------------------------------------------


def is_script(path: str, files: Mapping[str, str]) -> bool:
    """Return whether the file is only ever started: no file imports it, and it is not the package's main file."""
    stem = posixpath.basename(path).partition(".")[0]
    packages = [_read_package(text) for other, text in files.items() if other.endswith("package.json")]
    if any(_is_loaded_by_package(stem, package) for package in packages):
        return False
    names = {str(package.get("name", "")) for package in packages} - {""}
    words = {stem, *names, *({posixpath.basename(posixpath.dirname(path)), "."} if stem == "index" else ())}
    loads = (
        (other, loaded)
        for other, text in files.items()
        if other != path and other.endswith(ENDINGS) and any(word in text for word in words)
        for loaded in _list_loaded(other, text)
    )
    return bool(files) and not any(_may_be(loaded, other, path, stem, names) for other, loaded in loads)


def _is_loaded_by_package(stem: str, package: Mapping[str, object]) -> bool:
    """Return whether `package.json` makes the file its main module or has a runner load it. `bin` only starts it."""
    loading = {key: value for key, value in package.items() if key in {"main", "module", "exports", "imports", "jest"}}
    flags = [value for each in _list_texts(package.get("scripts")) for value in _LOADED_BY_FLAG.findall(each)]
    return any(posixpath.basename(value).partition(".")[0] == stem for value in (*_list_texts(loading), *flags))


@lru_cache(maxsize=64)
def _read_package(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _list_texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in _list_texts(each)]


def _may_be(loaded: str, other: str, path: str, stem: str, names: set[str]) -> bool:
    """Return whether an import of `loaded` may load the file at `path`."""
    if loaded.startswith(("./", "../", "/")) or loaded in {".", ".."}:
        return resolve_own_module(other, loaded) == name_module(path)
    if loaded.startswith(_BUILT_IN):
        return False
    if is_own_source(loaded) or "/" in loaded or loaded.endswith(ENDINGS):
        return posixpath.basename(loaded).partition(".")[0] == stem
    return loaded in names


@lru_cache(maxsize=512)
def _list_loaded(path: str, text: str) -> tuple[str, ...]:
    """Return the imports of a file. For a computed import, these are all strings of the values that it mentions."""
    root = parse_text(select_grammar(path), text)
    if _CONFIGURATION.search(path):
        return tuple(_list_strings(root))
    found: list[str] = []
    for node in walk(root):
        if node.type in {"import_statement", "export_statement"}:
            found.append(read_string(get_field(node, "source")))
        elif node.type in {"call_expression", "new_expression"}:
            callee = get_field(node, "function") or get_field(node, "constructor")
            if _LOADERS.search(get_text(callee)):
                found += _list_given(root, get_field(node, "arguments"))
    return tuple(filter(None, found))


def _list_given(root: Node, given: Node | None) -> Iterator[str]:
    """Yield the strings in the arguments, and in the values bound to the names that the arguments mention."""
    if given is None:
        return
    values, names = [given], {get_text(each) for each in walk(given) if each.type == "identifier"}
    for node in walk(root):
        value = get_field(node, "value") if node.type == "variable_declarator" else get_field(node, "right")
        name = get_field(node, "name") or get_field(node, "left")
        if value is not None and get_text(name) in names:
            values.append(value)
    for each in values:
        yield from _list_strings(each)


def _list_strings(root: Node) -> Iterator[str]:
    for node in walk(root):
        if node.type == "string_fragment":
            yield get_text(node)


# --- checks for the main program --------------------------------------------------------------------------------------


def is_under_main_check(node: Node) -> bool:
    """Return whether the node is in the body of `if (require.main === module)` or of a similar check."""
    for parent in ancestors(node):
        if parent.type == "if_statement":
            body, condition = get_field(parent, "consequence"), get_field(parent, "condition")
            inside = body is not None and body.start_byte <= node.start_byte < body.end_byte
            if inside and condition is not None and _checks_main(condition):
                return True
    return False


def _checks_main(condition: Node) -> bool:
    parts = list_children(condition)
    if condition.type == "parenthesized_expression":
        return len(parts) == 1 and _checks_main(parts[0])
    if condition.type == "identifier":
        return _is_main_flag(condition)
    text = re.sub(r"\s+", "", get_text(condition)).replace("====", "===")
    if text in _MAIN or text.replace("==", "===", 1) in _MAIN:
        return True
    if condition.type != "binary_expression":
        return False
    operator = get_text(get_field(condition, "operator"))
    if operator == "&&":
        return any(map(_checks_main, parts))
    sides = [get_text(each) for each in parts]
    return operator in {"==", "==="} and any(
        "process.argv[1]" in one and _OWN_FILE.search(other) is not None and "process.argv" not in other
        for one, other in (sides, reversed(sides))
    )


def _is_main_flag(name: Node) -> bool:
    """Return whether the name is a constant whose value is a check for the main module."""
    bound = [
        value
        for node in walk(get_root(name))
        if node.type in {"variable_declarator", "assignment_expression"}
        and get_text(get_field(node, "name") or get_field(node, "left")) == get_text(name)
        and (value := get_field(node, "value") or get_field(node, "right")) is not None
    ]
    return len(bound) == 1 and bound[0].type != "identifier" and _checks_main(bound[0])
