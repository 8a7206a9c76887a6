"""The repository as shown to a role: a compact map, whole files within a budget, and fences around untrusted text."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

MAP_LIMIT = 6_000
FULL_LIMIT = 24_000
FILE_LIMIT = 12_000
MAX_BODY_TEXT = 120  # characters of a function's body shown after its signature

# --- fences around untrusted text -------------------------------------------------------------------------------------

FENCE = "material"
_LOOKS_LIKE_FENCE = re.compile(rf"[<\uff1c\u2039\u3008]\s*(?=[/\uff0f]?\s*{FENCE})", re.IGNORECASE)
# Control characters except tab and newline, direction marks, zero-width and tag characters, lone surrogates.
_HIDDEN_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def fence(text: str, name: str) -> str:
    """Wrap untrusted text in tags that it cannot close, escaping anything inside it that looks like such a tag."""
    body = _LOOKS_LIKE_FENCE.sub("&lt;", escape_hidden_characters(text)).rstrip("\n")
    return f'<{FENCE} name="{_attribute(name)}">\n{body}\n</{FENCE}>'


def escape_hidden_characters(text: str) -> str:
    """Replace invisible and control characters with visible escapes, so that no instruction can hide in them."""
    return _HIDDEN_CHARACTERS.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text.replace("\r\n", "\n"))


def _attribute(name: str) -> str:
    escaped = (
        escape_hidden_characters(name)
        .replace("&", "&amp;")
        .replace('"', "&quot;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )
    return " ".join(escaped.split())


def trim(text: str, limit: int, *, tail: float = 0.3) -> str:
    """Shorten a text to `limit` by keeping its head and tail, cut at line breaks, with a note on the omitted part."""
    if len(text) <= limit:
        return text
    keep_tail = int(limit * tail)
    head = text[: limit - keep_tail].rpartition("\n")[0] or text[: limit - keep_tail]
    end = text[-keep_tail:].partition("\n")[2] or text[-keep_tail:]
    gone = text[len(head) : len(text) - len(end)]
    first = head.count("\n") + 2
    last = max(first, first + gone.count("\n") - 2)  # the newlines before and after belong to the shown lines
    return f"{head}\n… {len(gone)} characters left out, from line {first} to {last} …\n{end}"


# --- the repository map -----------------------------------------------------------------------------------------------


Outliner = Callable[[str, str], tuple[str, ...]]  # maps path and text to public signatures


class RepositoryMap(NamedTuple):
    text: str
    detailed: frozenset[str] = frozenset()  # files whose signatures are shown, or that have none


def build_repository_map(
    files: Mapping[str, str],
    *,
    near: Iterable[str] = (),
    limit: int = MAP_LIMIT,
    outlines: Outliner | None = None,
) -> RepositoryMap:
    """Map paths to public signatures within `limit`: first `near` files, then the others, then only counts.

    `outlines` extracts the signatures of a language other than Python.
    """
    wanted = {path: at for at, path in enumerate(near)}
    outline = outlines or outline_python_file
    directories = {path.rpartition("/")[0] for path in wanted} - {""}
    ordered = sorted(files, key=lambda path: (_rank_distance(path, wanted, directories), wanted.get(path, 0), path))
    entries = {path: _render_entry(path, outline(path, files[path])) for path in ordered}
    detailed = _select_fitting(entries, limit * 3 // 4)
    short = {path: entries[path] if path in detailed else _escape_path(path) for path in ordered}
    kept = _select_fitting(short, limit - min(400, limit // 4))
    omitted = [path for path in ordered if path not in kept]
    return RepositoryMap("\n".join([*(short[path] for path in sorted(kept)), *_count_rest(omitted)]), detailed & kept)


def outline_python_source(source: str) -> tuple[str, ...]:
    """List the public signatures of a Python module, one per line; a module that cannot be parsed has none."""
    try:
        return tuple(_signatures(ast.parse(source).body, indent=""))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def outline_python_file(path: str, text: str) -> tuple[str, ...]:
    name = path.rpartition("/")[2]
    is_test = name.startswith("test_") or name.endswith("_test.py")
    return outline_python_source(text) if name.endswith(".py") and not is_test else ()


def _render_entry(path: str, lines: Iterable[str]) -> str:
    return "\n".join([_escape_path(path), *(f"  {escape_hidden_characters(line)}" for line in lines)])


def _escape_path(path: str) -> str:
    return escape_hidden_characters(path).replace("\n", "\\n")


def _select_fitting(entries: Mapping[str, str], limit: int) -> frozenset[str]:
    """Select the entries that fit, in order. An entry that is too big is skipped in favor of smaller ones."""
    used = 0
    chosen = []
    for path, entry in entries.items():
        if used + len(entry) < limit:
            used += len(entry) + 1
            chosen.append(path)
    return frozenset(chosen)


def _rank_distance(path: str, near: Mapping[str, int], directories: Collection[str]) -> int:
    """Return 0 for the file itself, 1 for its directory, 2 for other source files, 3 for tests."""
    if path in near:
        return 0
    if path.rpartition("/")[0] in directories:
        return 1
    return 3 if path.startswith(("tests/", "test/")) else 2


def _count_rest(omitted: list[str]) -> Iterator[str]:
    counted = Counter(path.rpartition("/")[0] or "." for path in omitted)
    most = counted.most_common(8)
    yield from (f"… {number} more in {_escape_path(directory)[:60]}/" for directory, number in most)
    others = len(counted) - len(most)
    if others:
        yield f"… and more in {others} other directories (list_files shows them)"


def _signatures(body: list[ast.stmt], indent: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name="__init__", args=ast.arguments(args=[_], kwonlyargs=[], vararg=None, kwarg=None)):
                pass  # a constructor without parameters adds no information
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_public(node.name):
                yield f"{indent}{_render_decorators(node)}{_describe_function(node)}{_describe_body(node)}"
            case ast.ClassDef() if _is_public(node.name):
                fields = ", ".join(filter(None, map(_describe_value, node.body)))
                head = f"{indent}{_render_decorators(node)}class {node.name}{_render_bases(node)}"
                yield f"{head}: {fields}" if fields else head
                yield from _signatures([each for each in node.body if not _describe_value(each)], indent + "  ")
            case _ if value := _describe_value(node):
                yield f"{indent}{value}"


def _describe_value(node: ast.stmt) -> str:
    """Describe a field, an enumeration member or a constant; return "" for any other statement."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
            value = f" = {ast.unparse(node.value)[:60]}" if node.value else ""
            return f"{name}: {ast.unparse(node.annotation)}{value}"
        case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper() and _is_public(name):
            return f"{name} = {ast.unparse(node.value)[:60]}"
    return ""


def _describe_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{prefix} {node.name}({ast.unparse(node.args)}){returns}"


def _describe_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Describe the value of a one-line function, or the exceptions that a function raises."""
    match _without_docstring(node.body):
        case [ast.Return(value=ast.expr() as value)] if len(text := ast.unparse(value)) <= MAX_BODY_TEXT:
            return f": return {text}"
    raised = (name for each in ast.walk(node) if isinstance(each, ast.Raise) and (name := _exception_name(each)))
    names = ", ".join(dict.fromkeys(raised))
    return f": raises {names}"[:MAX_BODY_TEXT] if names else ""


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *others]:
            return others
    return body


def _exception_name(node: ast.Raise) -> str:
    """Return the name of the raised exception (`ValueError`), or "" for a bare `raise`."""
    error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return ast.unparse(error) if isinstance(error, ast.Name | ast.Attribute) else ""


def _render_decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    return "".join(f"@{ast.unparse(decorator)[:60]} " for decorator in node.decorator_list)


def _render_bases(node: ast.ClassDef) -> str:
    return f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""


def _is_public(name: str) -> bool:
    """Return whether a name is public.

    Operators such as `__add__` count, because they show how an object can be used.
    """
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


# --- whole files ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownFiles:
    """Files to show in full, in the requested order.

    Files in `left_out` are too big to show and have to be read with a tool.
    """

    files: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def select_full_files(files: Mapping[str, str], wanted: Iterable[str], *, limit: int = FULL_LIMIT) -> ShownFiles:
    shown: dict[str, str] = {}
    left_out: list[str] = []
    for path in dict.fromkeys(wanted):
        if not files.get(path, "").strip():
            continue
        if len(files[path]) <= FILE_LIMIT and len(files[path]) + sum(map(len, shown.values())) <= limit:
            shown[path] = files[path]
        else:
            left_out.append(path)
    return ShownFiles(tuple(shown.items()), tuple(left_out))
