"""Apply a delivered story to the current code, in which later steps may have moved or changed its files."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import NamedTuple

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import PathRules, classify_path, promote
from prd2pr.domain.records import Design, PlannedSymbol
from prd2pr.domain.stack import Stack, is_python_stack
from prd2pr.languages.python.signatures import get_module_name, list_instance_attributes, list_public_signatures
from prd2pr.languages.registry import get_language
from prd2pr.state.git import BlobRef, Git

MAX_SYMBOLS = 120


def apply_change(git: Git, base: str, tree: str, onto: str, integrated: Iterable[str]) -> str | None:
    """Apply the change from `base` to `tree` to the tree `onto`; return None if they conflict.

    The tests of `integrated` stories have been moved since `base`.
    """
    here = {entry.path: entry for entry in git.entries(onto)}
    moved_stories = tuple(integrated)
    updates: dict[str, BlobRef | None] = {}
    for change in git.diff(base, tree):
        path = _find_path_today(change.path, moved_stories)
        now = here[path].blob if path in here else ""
        was, new = (blob if blob.strip("0") else "" for blob in (change.old_blob, change.new_blob))
        if now == new:
            continue
        if now == was:
            updates[path] = BlobRef(new, change.new_mode) if new else None
            continue
        merged = _merge_blobs(git, was, now, new) if now and new else None
        if merged is None:
            return None
        updates[path] = BlobRef(git.write_blob(merged), here[path].mode)
    return git.edit_tree(onto, updates)


def _merge_blobs(git: Git, base: str, ours: str, theirs: str) -> bytes | None:
    contents = git.read_blobs(blob for blob in (base, ours, theirs) if blob)
    try:
        texts = [contents[blob].decode() if blob else "" for blob in (base, ours, theirs)]
    except UnicodeDecodeError:
        return None
    merged = merge_lines(*(text.splitlines(keepends=True) for text in texts))
    return None if merged is None else "".join(merged).encode()


class _Hunk(NamedTuple):
    start: int
    end: int
    lines: list[str]


def merge_lines(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Merge two versions of a text; return None if both changed the same lines.

    Unlike git, this also merges changes of adjacent lines, for example if one side corrects a function and the other
    appends another one after it. If both sides insert text in the same place, ours comes first. A gate judges the
    result, so a bad merge is refused.
    """
    mine, other = _list_hunks(base, ours), _list_hunks(base, theirs)
    if any(one != two and max(one.start, two.start) < min(one.end, two.end) for one in mine for two in other):
        return None
    hunks = sorted([*mine, *(each for each in other if each not in mine)], key=lambda each: (each.start, each.end))
    merged: list[str] = []
    at = 0
    for hunk in hunks:
        if hunk.start < at:
            return None
        merged += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return [*merged, *base[at:]]


def _list_hunks(base: list[str], text: list[str]) -> list[_Hunk]:
    matcher = SequenceMatcher(None, base, text, autojunk=False)
    return [_Hunk(i, j, text[k:end]) for tag, i, j, k, end in matcher.get_opcodes() if tag != "equal"]


def _find_path_today(path: str, integrated: Iterable[str]) -> str:
    return next((moved for story in integrated if (moved := promote(path, story)) != path), path)


def derive_design(git: Git, change: tuple[str, str], stack: Stack, rules: PathRules, note: str) -> Design:
    """Derive the design of a delivered story from its note, the new public names and the changed files."""
    changes = [each for each in git.diff(*change) if each.new_blob.strip("0")]
    tests = tuple(each.path for each in changes if classify_path(each.path, rules) is PathKind.TEST)
    sources = [each for each in changes if each.path not in tests]
    texts = git.read_blobs(blob for each in sources for blob in (each.old_blob, each.new_blob) if blob.strip("0"))
    symbols: dict[str, PlannedSymbol] = {}
    for each in sources:
        before, after = (texts.get(blob, b"").decode("utf-8", "replace") for blob in (each.old_blob, each.new_blob))
        old, new = (_list_names(stack, each.path, text) for text in (before, after))
        if each.status == "A" and new:
            module = _name_module(stack, each.path)
            symbols[module] = PlannedSymbol(name=module)
        symbols |= {name: PlannedSymbol(name=name, signature=text) for name, text in new.items() if name not in old}
    return Design(
        summary=note,
        symbols=tuple(symbols.values())[:MAX_SYMBOLS],
        source_paths=tuple(each.path for each in sources),
        test_paths=tests,
    )


def _name_module(stack: Stack, path: str) -> str:
    inside = stack.to_stack_path(path)
    return get_module_name(inside) if is_python_stack(stack) else get_language(stack.language).name_module(inside)


def _list_names(stack: Stack, path: str, text: str) -> dict[str, str]:
    inside = stack.to_stack_path(path)
    listed = (
        (*list_public_signatures(inside, text), *list_instance_attributes(inside, text))
        if is_python_stack(stack)
        else get_language(stack.language).list_signatures(inside, text)
    )
    return {each.name: each.text for each in listed}
