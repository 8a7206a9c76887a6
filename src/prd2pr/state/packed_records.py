"""The records of a complete PRD in one compressed file, so that the finished pull request has few lines.

Later work and the living docs need the records, so they are packed and not removed: a squash and an offline clone keep
them. Reading unpacks them, and the next step on the PRD puts them back into the tree. Evidence, hidden examples and
screenshots are left to the branch's history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass

from prd2pr.errors import StateCorrupted, StateProblem
from prd2pr.state.codec import MAX_UNPACKED_BYTES, compress, decompress
from prd2pr.state.git import Git
from prd2pr.state.layout import LOGS, PRDS, PrdLayout, is_id

ADDED_BYTES = 1024 * 1024  # more than the step that packs the records adds to them


@dataclass(frozen=True)
class Packing:
    """The files that the step completing a PRD leaves in the tree, and those that it leaves to the branch's history."""

    evidence: str  # of this step
    summary: bytes
    finished: frozenset[str]  # files that are not packed


def pack_records(git: Git, tree: str, layout: PrdLayout, packing: Packing) -> str:
    """Return the tree with the PRD's records packed. Its status and the evidence of this step are not packed."""
    records = collect_records(git, tree, layout, {packing.evidence, *packing.finished})
    there = (entry.path for entry in git.entries(tree, layout.root))
    removed = (path for path in (*records, *there) if path not in (layout.status, packing.evidence))
    pack = compress(encode_pack(records))
    return git.edit_tree(tree, {**dict.fromkeys(removed), layout.records: pack, layout.summary: packing.summary})


def encode_pack(records: Mapping[str, bytes]) -> bytes:
    texts = {path: data.decode("utf-8", "surrogateescape") for path, data in records.items()}
    return json.dumps(texts, separators=(",", ":")).encode()


def fits_into_pack(git: Git, tree: str, layout: PrdLayout, left_out: Set[str]) -> bool:
    """Return whether the packed records could be read again. The step that packs them adds little."""
    return len(encode_pack(collect_records(git, tree, layout, left_out))) < MAX_UNPACKED_BYTES - ADDED_BYTES


def collect_records(git: Git, tree: str, layout: PrdLayout, left_out: Set[str]) -> dict[str, bytes]:
    """Return the files that are packed, by path."""
    paths = (path for path in list_record_paths(git, tree, layout) if path not in left_out)
    return {path: git.read(tree, path) or b"" for path in paths}


def list_record_paths(git: Git, tree: str, layout: PrdLayout) -> Iterator[str]:
    """Yield the files that are packed, those of a story together, because similar texts compress well."""
    kept = (layout.status, layout.records, layout.summary)
    there = (entry.path for entry in git.entries(tree, layout.root))
    paths = [path for path in there if path not in kept]
    yield from sorted(paths, key=lambda path: (path.rpartition("/")[2], path))
    logs = (f"{LOGS}/{name.removesuffix('.json')}.jsonl" for name in git.names(tree, layout.runs))
    present = {entry.path for entry in git.entries(tree, LOGS)}
    yield from (path for path in sorted(logs) if path in present)


def restore_records(git: Git, treeish: str, layout: PrdLayout) -> str:
    """Return the tree with the PRD's records unpacked, or the same tree if they are not packed."""
    if not git.find_blob(treeish, layout.records):
        return git.tree(treeish)
    records = parse_pack(git.read(treeish, layout.records) or b"", layout)
    return git.edit_tree(treeish, {**records, layout.records: None, layout.summary: None})


def restore_all_records(git: Git, treeish: str, report: Callable[[StateProblem], None] | None = None) -> str:
    """Return the tree with the records of all complete PRDs unpacked.

    With `report`, a damaged pack is reported and left packed.
    """
    tree = git.tree(treeish)
    for prd in filter(is_id, git.directories(tree, PRDS)):
        try:
            tree = restore_records(git, tree, PrdLayout(prd))
        except StateProblem as problem:
            if report is None:
                raise
            report(problem)
    return tree


def parse_pack(data: bytes, layout: PrdLayout) -> dict[str, bytes]:
    """Parse the packed files; raise StateCorrupted if they are damaged or would be written elsewhere."""
    try:
        texts = json.loads(decompress(data, layout.records))
    except (ValueError, RecursionError) as error:
        raise make_pack_error(layout, "it is not JSON") from error
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise make_pack_error(layout, "an object of texts was expected")
    for path in texts:
        inside = path.startswith((f"{layout.root}/", f"{LOGS}/")) and ".." not in path.split("/")
        if not inside or path in (layout.status, layout.records, layout.summary):
            raise make_pack_error(layout, f"it contains {path!r}, which is not a record of this PRD")
    try:
        return {path.encode().decode(): text.encode("utf-8", "surrogateescape") for path, text in texts.items()}
    except UnicodeEncodeError as error:
        raise make_pack_error(layout, "it contains characters that no file can contain") from error


def make_pack_error(layout: PrdLayout, why: str) -> StateCorrupted:
    return StateCorrupted(
        f"{layout.records} cannot be read: {why}",
        where=layout.records,
        remedy="restore the file from a commit in which it was valid",
    )
