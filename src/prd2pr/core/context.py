"""What a role is shown: packed small, in a stable order, and fenced so that data stays data. Pure."""

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
MAX_BRIEF = 120  # characters of what stands behind a signature

# --- data stays data --------------------------------------------------------------------------------------------------

FENCE = "material"
_LOOKS_LIKE_FENCE = re.compile(rf"[<\uff1c\u2039\u3008]\s*(?=[/\uff0f]?\s*{FENCE})", re.IGNORECASE)
# Control characters but for tab and newline, direction marks, zero-width and tag characters, lone surrogates.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def fence(text: str, name: str) -> str:
    """`text` between tags that it cannot close: what looks like one of our tags inside it is escaped."""
    body = _LOOKS_LIKE_FENCE.sub("&lt;", visible(text)).rstrip("\n")
    return f'<{FENCE} name="{_attribute(name)}">\n{body}\n</{FENCE}>'


def visible(text: str) -> str:
    """Hidden characters written out, so that nobody smuggles words past a reader."""
    return _HIDDEN.sub(lambda found: f"\\u{{{ord(found[0]):x}}}", text.replace("\r\n", "\n"))


def _attribute(name: str) -> str:
    escaped = visible(name).replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(escaped.split())


def trim(text: str, limit: int, *, tail: float = 0.3) -> str:
    """Head and tail of `text` when it is longer than `limit`, cut at lines, with a note of what is left out."""
    if len(text) <= limit:
        return text
    keep_tail = int(limit * tail)
    head = text[: limit - keep_tail].rpartition("\n")[0] or text[: limit - keep_tail]
    end = text[-keep_tail:].partition("\n")[2] or text[-keep_tail:]
    gone = text[len(head) : len(text) - len(end)]
    first = head.count("\n") + 2
    last = max(first, first + gone.count("\n") - 2)  # the newlines before and after belong to shown lines
    return f"{head}\n… {len(gone)} characters left out, from line {first} to {last} …\n{end}"


# --- the repository, in brief -----------------------------------------------------------------------------------------


Outlines = Callable[[str, str], tuple[str, ...]]  # path and text → public signatures


class Mapped(NamedTuple):
    text: str
    detailed: frozenset[str] = frozenset()  # files whose signatures are shown, or that have none


def repository_map(
    files: Mapping[str, str],
    *,
    near: Iterable[str] = (),
    limit: int = MAP_LIMIT,
    outlines: Outlines | None = None,
) -> Mapped:
    """Paths with public signatures, within `limit`: what is `near` first, then the rest, then mere counts.

    `outlines`: of another language than Python.
    """
    wanted = {path: at for at, path in enumerate(near)}
    told = outlines or python_outline
    directories = {path.rpartition("/")[0] for path in wanted} - {""}
    ordered = sorted(files, key=lambda path: (_distance(path, wanted, directories), wanted.get(path, 0), path))
    entries = {path: _entry(path, told(path, files[path])) for path in ordered}
    detailed = _fitting(entries, limit * 3 // 4)
    short = {path: entries[path] if path in detailed else _shown_path(path) for path in ordered}
    kept = _fitting(short, limit - min(400, limit // 4))
    left = [path for path in ordered if path not in kept]
    return Mapped("\n".join([*(short[path] for path in sorted(kept)), *_counts(left)]), detailed & kept)


def outline(source: str) -> tuple[str, ...]:
    """The public signatures of a Python module, one line each; a module that does not parse has none."""
    try:
        return tuple(_signatures(ast.parse(source).body, indent=""))
    except (SyntaxError, ValueError, RecursionError):
        return ()


def python_outline(path: str, text: str) -> tuple[str, ...]:
    name = path.rpartition("/")[2]
    is_test = name.startswith("test_") or name.endswith("_test.py")
    return outline(text) if name.endswith(".py") and not is_test else ()


def _entry(path: str, lines: Iterable[str]) -> str:
    return "\n".join([_shown_path(path), *(f"  {visible(line)}" for line in lines)])


def _shown_path(path: str) -> str:
    return visible(path).replace("\n", "\\n")


def _fitting(entries: Mapping[str, str], limit: int) -> frozenset[str]:
    """The entries, in their order, that fit; a big one is left out for the sake of the smaller ones after it."""
    used = 0
    chosen = []
    for path, entry in entries.items():
        if used + len(entry) < limit:
            used += len(entry) + 1
            chosen.append(path)
    return frozenset(chosen)


def _distance(path: str, near: Mapping[str, int], directories: Collection[str]) -> int:
    """0 the file itself, 1 its directory, 2 other source, 3 tests."""
    if path in near:
        return 0
    if path.rpartition("/")[0] in directories:
        return 1
    return 3 if path.startswith(("tests/", "test/")) else 2


def _counts(left: list[str]) -> Iterator[str]:
    counted = Counter(path.rpartition("/")[0] or "." for path in left)
    most = counted.most_common(8)
    yield from (f"… {number} more in {_shown_path(directory)[:60]}/" for directory, number in most)
    others = len(counted) - len(most)
    if others:
        yield f"… and more in {others} other directories (list_files shows them)"


def _signatures(body: list[ast.stmt], indent: str) -> Iterator[str]:
    for node in body:
        match node:
            case ast.FunctionDef(name="__init__", args=ast.arguments(args=[_], kwonlyargs=[], vararg=None, kwarg=None)):
                pass  # nothing to be given
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_public(node.name):
                yield f"{indent}{_decorators(node)}{_function(node)}{_in_brief(node)}"
            case ast.ClassDef() if _is_public(node.name):
                fields = ", ".join(filter(None, map(_value, node.body)))
                yield f"{indent}{_decorators(node)}class {node.name}{_bases(node)}{f': {fields}' if fields else ''}"
                yield from _signatures([each for each in node.body if not _value(each)], indent + "  ")
            case _ if value := _value(node):
                yield f"{indent}{value}"


def _value(node: ast.stmt) -> str:
    """A field, a member of an enumeration, a constant; empty: something else."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
            value = f" = {ast.unparse(node.value)[:60]}" if node.value else ""
            return f"{name}: {ast.unparse(node.annotation)}{value}"
        case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper() and _is_public(name):
            return f"{name} = {ast.unparse(node.value)[:60]}"
    return ""


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{prefix} {node.name}({ast.unparse(node.args)}){returns}"


def _in_brief(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What a function of one line returns, or which errors it raises: mostly all that a caller has to know of it."""
    match _without_docstring(node.body):
        case [ast.Return(value=ast.expr() as value)] if len(told := ast.unparse(value)) <= MAX_BRIEF:
            return f": return {told}"
    raised = (name for each in ast.walk(node) if isinstance(each, ast.Raise) and (name := _raised(each)))
    names = ", ".join(dict.fromkeys(raised))
    return f": raises {names}"[:MAX_BRIEF] if names else ""


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *others]:
            return others
    return body


def _raised(node: ast.Raise) -> str:
    """`ValueError`; nothing where an error is only handed on."""
    error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return ast.unparse(error) if isinstance(error, ast.Name | ast.Attribute) else ""


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
    return "".join(f"@{ast.unparse(decorator)[:60]} " for decorator in node.decorator_list)


def _bases(node: ast.ClassDef) -> str:
    return f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""


def _is_public(name: str) -> bool:
    """Operators too: `__add__` says that things can be added."""
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


# --- files in full ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shown:
    """`files` whole, in the order asked for; `left_out` exist but are too big and have to be read."""

    files: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]


def in_full(files: Mapping[str, str], wanted: Iterable[str], *, limit: int = FULL_LIMIT) -> Shown:
    shown: dict[str, str] = {}
    left_out: list[str] = []
    for path in dict.fromkeys(wanted):
        if not files.get(path, "").strip():
            continue
        if len(files[path]) <= FILE_LIMIT and len(files[path]) + sum(map(len, shown.values())) <= limit:
            shown[path] = files[path]
        else:
            left_out.append(path)
    return Shown(tuple(shown.items()), tuple(left_out))
