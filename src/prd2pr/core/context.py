"""What a role is shown: packed small, in a stable order, and fenced so that data stays data. Pure."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

MAP_LIMIT = 6_000
FULL_LIMIT = 24_000
FILE_LIMIT = 12_000

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


def repository_map(
    files: Mapping[str, str],
    *,
    near: Iterable[str] = (),
    shown: Iterable[str] = (),
    limit: int = MAP_LIMIT,
    outlines: Outlines | None = None,
) -> str:
    """Paths with public signatures, within `limit`: what is `near` the story first, then the rest, then mere counts.

    Files that are `shown` elsewhere in full need no signatures here. `outlines`: of another language than Python.
    """
    wanted, brief = tuple(near), frozenset(shown)
    told = outlines or python_outline
    ordered = sorted(files, key=lambda path: (_distance(path, wanted), path))
    entries = {path: _shown_path(path) if path in brief else _entry(path, told(path, files[path])) for path in ordered}
    detailed = _fitting(entries, limit * 3 // 4)
    short = {path: entries[path] if path in detailed else _shown_path(path) for path in ordered}
    kept = _fitting(short, limit - 400)
    left = [path for path in ordered if path not in kept]
    return "\n".join([*(short[path] for path in sorted(kept)), *_counts(left)])


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


def _distance(path: str, near: tuple[str, ...]) -> int:
    """0 the file itself, 1 its directory, 2 other source, 3 tests."""
    if path in near:
        return 0
    directories = {other.rpartition("/")[0] for other in near}
    if path.rpartition("/")[0] in directories - {""}:
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
            case ast.FunctionDef() | ast.AsyncFunctionDef() if _is_public(node.name):
                yield f"{indent}{_decorators(node)}{_function(node)}{_fixture_value(node)}"
            case ast.ClassDef() if _is_public(node.name):
                yield f"{indent}{_decorators(node)}class {node.name}{_bases(node)}"
                yield from _signatures(node.body, indent + "  ")
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield f"{indent}{name}: {ast.unparse(node.annotation)}"
            case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper() and _is_public(name):
                yield f"{indent}{name} = {ast.unparse(node.value)[:60]}"


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{prefix} {node.name}({ast.unparse(node.args)}){returns}"


def _fixture_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What a one-line fixture returns: whoever writes a test needs the value, not only the name."""
    match node.body:
        case [ast.Return(value=ast.expr() as value)] if "fixture" in _decorators(node):
            return f": return {ast.unparse(value)[:120]}"
    return ""


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
