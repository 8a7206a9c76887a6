"""Read, compare and edit trees object by object, without reading parts that two trees share.

Git's own commands use an index of all files and one process per step, so even a small change takes time in proportion
to the size of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from prd2pr.errors import UnknownRevision
from prd2pr.state.git_process import GitObject, ObjectReader, decode_text, encode_text
from prd2pr.state.objects import LooseObjects
from prd2pr.state.trees import SUBMODULE, TREE_MODE, BlobRef, RawChange, TreeLine, format_tree, parse_tree

# Names that no file system or git version confuses with another one. Git itself checks all other names.
PLAIN_NAME = re.compile(r"(?!\.git)(?!.*\.$)[A-Za-z0-9_.+@=,-]+|\.git(?:attributes|ignore|hub|keep)", re.ASCII)
MAX_CACHED_TREES = 60_000  # a step reads the same trees repeatedly

TreeLines = Mapping[bytes, TreeLine]  # keyed by name, in git's order


class TreeObjects:
    def __init__(self, reader: ObjectReader, objects: LooseObjects, empty: str) -> None:
        self._reader, self._objects, self._empty = reader, objects, empty
        self._kept: dict[str, TreeLines] = {}

    def lines(self, tree: str) -> TreeLines:
        return self._kept.get(tree) or self._keep(tree, self._parse(tree, self._reader.contents(tree)))

    def _keep(self, tree: str, lines: TreeLines) -> TreeLines:
        while len(self._kept) >= MAX_CACHED_TREES:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[tree] = lines
        return lines

    def _parse(self, tree: str, found: GitObject | None) -> TreeLines:
        if found is None or found.kind != "tree":
            # The empty tree is built into git and need not be stored.
            if tree == self._empty:
                return {}
            raise UnknownRevision(f"{tree} is not a tree of this repository", where=str(self._reader.runner.directory))
        return parse_tree(found.content, len(tree) // 2)

    def write(self, lines: TreeLines) -> str:
        """Write a tree object and return its id. `lines` must be in git's order."""
        raw = format_tree(lines.values())
        name = self._objects.name("tree", raw)
        if self._reader.info(name) is None:
            self._objects.write("tree", raw)
        self._keep(name, lines)
        return name

    def files(self, tree: str, prefix: str = "") -> Iterator[tuple[str, TreeLine]]:
        """Yield all files and submodules with their paths, in git's order."""
        lines = self.lines(tree)
        below = [line.id for line in lines.values() if line.mode == TREE_MODE and line.id not in self._kept]
        for each, found in zip(below, self._reader.contents_of(below), strict=True):  # reads all subtrees in one batch
            self._keep(each, self._parse(each, found))
        for name, line in lines.items():
            path = prefix + decode_text(name)
            if line.mode == TREE_MODE:
                yield from self.files(line.id, f"{path}/")
            else:
                yield path, line

    def at(self, tree: str, directory: str) -> str | None:
        """Return the tree of a directory, or None if it does not exist."""
        for part in directory.split("/"):
            line = self.lines(tree).get(encode_text(part))
            if line is None or line.mode != TREE_MODE:
                return None
            tree = line.id
        return tree

    # --- comparison ---------------------------------------------------------------------------------------------------

    def changes(self, old: str, new: str) -> tuple[RawChange, ...]:
        return tuple(sorted(self._changes(old, new, ""), key=lambda change: encode_text(change.path)))

    def _changes(self, old: str, new: str, prefix: str) -> Iterator[RawChange]:
        before, after = self.lines(old), self.lines(new)
        gone = [name for name in before if name not in after]
        for name in (*gone, *(name for name, line in after.items() if before.get(name) != line)):
            was, now, path = before.get(name), after.get(name), prefix + decode_text(name)
            if was and now and was.mode == now.mode == TREE_MODE:
                yield from self._changes(was.id, now.id, f"{path}/")
                continue
            yield from self._iter_entry_changes(was, now, path)

    def _iter_entry_changes(self, was: TreeLine | None, now: TreeLine | None, path: str) -> Iterator[RawChange]:
        if was and now and TREE_MODE not in {was.mode, now.mode}:
            status = "M" if was.mode[:3] == now.mode[:3] else "T"
            yield RawChange(path, status, was.id, now.id, was.mode, now.mode)
            return
        if was:
            yield from (RawChange(at, "D", line.id, "", line.mode, "") for at, line in self._iter_files(path, was))
        if now:
            yield from (RawChange(at, "A", "", line.id, "", line.mode) for at, line in self._iter_files(path, now))

    def _iter_files(self, path: str, line: TreeLine) -> Iterator[tuple[str, TreeLine]]:
        if line.mode == TREE_MODE:
            yield from self.files(line.id, f"{path}/")
        else:
            yield path, line

    # --- editing ------------------------------------------------------------------------------------------------------

    def edited(self, tree: str, refs: Mapping[str, BlobRef | None]) -> str | None:
        """Return the tree with files written and removed.

        Returns None if git has to check a name or if a blob is missing.
        """
        if not all(PLAIN_NAME.fullmatch(part) for path in refs for part in path.split("/")):
            return None
        blobs = {ref.blob for ref in refs.values() if ref and ref.mode != SUBMODULE}
        if any(found is None or found.kind != "blob" for found in self._reader.infos(blobs)):
            return None
        return self._edit_tree(tree, {encode_text(path): ref for path, ref in refs.items()})

    def _edit_tree(self, tree: str, refs: Mapping[bytes, BlobRef | None]) -> str:
        lines, inside = dict(self.lines(tree)), dict[bytes, dict[bytes, BlobRef | None]]()
        for path, ref in refs.items():
            name, below, rest = path.partition(b"/")
            if below:
                inside.setdefault(name, {})[rest] = ref
            elif ref is None:
                there = lines.get(name)
                if there and there.mode != TREE_MODE:  # a directory is removed file by file
                    del lines[name]
        for name, within in inside.items():
            self._change_directory(lines, name, within)
        # Written last, as in an index, so that a new file replaces whatever is at its path.
        for path, ref in refs.items():
            if ref is not None and b"/" not in path:
                lines[path] = TreeLine(ref.mode, decode_text(path), ref.blob)
        return self.write(dict(sorted(lines.items(), key=lambda item: item[1].sort_key)))

    def _change_directory(self, lines: dict[bytes, TreeLine], name: bytes, within: dict[bytes, BlobRef | None]) -> None:
        there = lines.get(name)
        is_tree = there is not None and there.mode == TREE_MODE
        if not is_tree and not any(within.values()):
            return  # nothing to remove
        made = self._edit_tree(there.id if there and is_tree else self._empty, within)
        if made != self._empty:
            lines[name] = TreeLine(TREE_MODE, decode_text(name), made)
        else:
            lines.pop(name, None)
