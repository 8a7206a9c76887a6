"""What a complete PRD leaves in the tree, and how its records are read from the branch's history.

The step that completes a PRD removes its records. Its `summary.json` names the trees that had them; the history or,
after a squash, the archive ref keeps these trees. The PRD's memory records become one compressed file, since later PRDs
use them. Reading the state gives the tree with the records put back, and the next step on the PRD commits it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Annotated, ClassVar

from pydantic import Field

from prd2pr.domain.memory_records import LibraryNote
from prd2pr.domain.records import Document, Record, StoryStatus
from prd2pr.errors import StateCorrupted, StateProblem, UnknownRevision
from prd2pr.state.archive import ARCHIVES
from prd2pr.state.codec import compress, decode_document, decompress
from prd2pr.state.git import BlobRef, Git
from prd2pr.state.layout import ID, LOGS, MEMORY, PRDS, PrdLayout, is_id, list_log_paths

HISTORY_REMEDY = (
    "fetch the history of the branch: of a shallow clone with git fetch --unshallow, after a squash or rebase with "
    f"git fetch origin '{ARCHIVES}/*:{ARCHIVES}/*'"
)
Report = Callable[[StateProblem], None]
_RECORD_NAME = re.compile(rf"[a-z_]+/{ID.pattern}")


# --- the summary ------------------------------------------------------------------------------------------------------

TreeId = Annotated[str, Field(pattern="^[0-9a-f]{40,64}$")]


class BuiltStory(Record):
    id: str
    title: str
    status: StoryStatus = "done"


class CompletionSummary(Document):
    """What was built for a PRD, stored as `summary.json`.

    `records` and `logs` are trees of the commit before. Trees and not the commit, since a rebase and GitHub's signed
    copies change commits.
    """

    sparse: ClassVar[bool] = True
    prd: str
    title: str
    path: str
    requirements: int
    tests: int
    stories: tuple[BuiltStory, ...]
    more_stories: int = 0
    records: TreeId
    logs: TreeId


# --- completing -------------------------------------------------------------------------------------------------------


def complete_tree(git: Git, tree: str, layout: PrdLayout) -> str:
    """Return the tree without the PRD's records, with its memory packed."""
    memory = dict(iter_memory_records(git, tree, layout.prd_id))
    removed = (*(entry.path for entry in git.entries(tree, layout.root)), *list_logs(git, tree, layout), *memory)
    packed = {layout.memory: pack_memory(memory)} if memory else {}
    return git.edit_tree(tree, {**dict.fromkeys(removed), **packed})


def iter_memory_records(git: Git, tree: str, prd: str) -> Iterator[tuple[str, bytes]]:
    """Yield the memory records of a PRD. Library notes are left out, because they expire."""
    entries = [entry for entry in git.entries(tree, MEMORY) if entry.path.endswith(".json")]
    contents = git.read_blobs(entry.blob for entry in entries if entry.kind == "blob")
    for entry in entries:
        data = contents.get(entry.blob, b"")
        name = entry.path.removeprefix(f"{MEMORY}/").removesuffix(".json")
        plain = entry.mode == "100644" and _RECORD_NAME.fullmatch(name) and not name.startswith(f"{LibraryNote.kind}/")
        if plain and data.find(b"\n") == len(data) - 1 and _read_prd(data) == prd:
            yield entry.path, data


def _read_prd(data: bytes) -> object:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return raw.get("prd") if isinstance(raw, dict) else None


def pack_memory(records: Mapping[str, bytes]) -> bytes:
    """Return the records as compressed JSON lines, `{"KIND/ID": RECORD}`. Each record keeps its bytes."""
    names = {path: path.removeprefix(f"{MEMORY}/").removesuffix(".json") for path in sorted(records)}
    return compress(b"".join(b'{"%s":%s}\n' % (name.encode(), records[path][:-1]) for path, name in names.items()))


def unpack_memory(data: bytes, layout: PrdLayout) -> dict[str, bytes]:
    records: dict[str, bytes] = {}
    for line in decompress(data, layout.memory).splitlines():
        name, found, record = line.removeprefix(b'{"').partition(b'":')
        text = name.decode("utf-8", "replace")
        if not found or not record.endswith(b"}}") or not _RECORD_NAME.fullmatch(text):
            raise StateCorrupted(
                f"{layout.memory} cannot be read: it contains a line that is not a memory record",
                where=layout.memory,
                remedy="restore the file from a commit in which it was valid",
            )
        records[f"{MEMORY}/{text}.json"] = record[:-1] + b"\n"
    return records


# --- reading ----------------------------------------------------------------------------------------------------------


def is_finished(git: Git, treeish: str, layout: PrdLayout) -> bool:
    """Return whether the tree has only the summary of the PRD."""
    return bool(git.find_blob(treeish, layout.summary))


def has_plan(git: Git, treeish: str, layout: PrdLayout) -> bool:
    """Return whether the tree has a PRD's plan or, once the PRD is complete, its summary."""
    return bool(git.find_blob(treeish, layout.prd)) or is_finished(git, treeish, layout)


def restore_records(git: Git, treeish: str, layout: PrdLayout) -> str:
    """Return the tree with the PRD's records and memory put back, or the tree as it is if nothing was removed."""
    if not is_finished(git, treeish, layout):
        return git.tree(treeish)
    if git.find_blob(treeish, layout.records):  # a version before this one
        return restore_pack(git, treeish, layout)
    summary = read_summary(git, treeish, layout)
    if not (has_tree(git, summary.records) or _fetch_archives(git, layout, summary.records)):
        raise build_missing_error(layout)
    records = {f"{layout.root}/{entry.path}": entry for entry in git.entries(summary.records)}
    runs = {path.removeprefix(f"{layout.runs}/").removesuffix(".json") for path in records}
    logs = {entry.path: entry for entry in git.entries(summary.logs)} if has_tree(git, summary.logs) else {}
    records |= {f"{LOGS}/{name}": entry for name, entry in logs.items() if name.partition(".jsonl")[0] in runs}
    left = {entry.path for entry in git.entries(treeish, layout.root)}
    files: dict[str, bytes | BlobRef | None] = {
        path: BlobRef(entry.blob, entry.mode) for path, entry in records.items() if path not in left
    }
    return git.edit_tree(treeish, {**files, layout.summary: None, **_list_memory(git, treeish, layout)})


def read_summary(git: Git, treeish: str, layout: PrdLayout) -> CompletionSummary:
    return decode_document(CompletionSummary, git.read(treeish, layout.summary) or b"", layout.summary)


def has_tree(git: Git, tree: str) -> bool:
    try:
        return bool(git.tree(tree))
    except UnknownRevision:
        return tree == git.empty_tree


def lacks_records(git: Git, treeish: str) -> bool:
    """Return whether the records of a complete PRD are not in this repository."""
    layouts = (PrdLayout(prd) for prd in filter(is_id, git.directories(treeish, PRDS)))
    removed = (each for each in layouts if is_finished(git, treeish, each) and not git.find_blob(treeish, each.records))
    return any(not has_tree(git, read_summary(git, treeish, each).records) for each in removed)


def build_missing_error(layout: PrdLayout) -> StateCorrupted:
    return StateCorrupted(
        f"the records of the complete PRD {layout.prd_id} are only in its history, which this repository lacks",
        where=layout.summary,
        remedy=HISTORY_REMEDY,
    )


def _fetch_archives(git: Git, layout: PrdLayout, records: str) -> bool:
    """Fetch the finished heads of the PRD once, and return whether the records are there now."""

    def fetch() -> bool:
        git.fetch_from_origin(f"{ARCHIVES}/{layout.prd_id}/*")
        return True

    git.get_derived(bool, ("archives", layout.prd_id), fetch)
    return has_tree(git, records)


def _list_memory(git: Git, treeish: str, layout: PrdLayout) -> dict[str, bytes | None]:
    data = git.read(treeish, layout.memory)
    return {} if data is None else {**unpack_memory(data, layout), layout.memory: None}


def _ignore(_: StateProblem) -> None:
    """Leave the records out; the summary stays in the tree."""


def restore_memory(git: Git, treeish: str, report: Report = _ignore) -> str:
    """Return the tree with the memory of all complete PRDs put back."""
    return _restore_each(
        git, treeish, report, lambda tree, layout: git.edit_tree(tree, _list_memory(git, tree, layout))
    )


def restore_all_records(git: Git, treeish: str, report: Report = _ignore) -> str:
    """Return the tree with the records and memory of all complete PRDs put back. What cannot be read is reported."""
    tree = restore_memory(git, treeish, report)
    return _restore_each(git, tree, report, lambda tree, layout: restore_records(git, tree, layout))


def _restore_each(git: Git, treeish: str, report: Report, restore: Callable[[str, PrdLayout], str]) -> str:
    tree = git.tree(treeish)
    for prd in filter(is_id, git.directories(tree, PRDS)):
        try:
            tree = restore(tree, PrdLayout(prd))
        except StateProblem as problem:
            report(problem)
    return tree


# --- packed records, as earlier versions of this branch format stored them --------------------------------------------


def restore_pack(git: Git, treeish: str, layout: PrdLayout) -> str:
    """Return the tree with the PRD's packed records put back."""
    records = parse_pack(git.read(treeish, layout.records) or b"", layout)
    return git.edit_tree(treeish, {**records, layout.records: None, layout.summary: None})


def collect_records(git: Git, tree: str, layout: PrdLayout, left_out: Set[str]) -> dict[str, bytes]:
    """Return the files that were packed, by path."""
    paths = (path for path in list_record_paths(git, tree, layout) if path not in left_out)
    return {path: git.read(tree, path) or b"" for path in paths}


def list_record_paths(git: Git, tree: str, layout: PrdLayout) -> Iterator[str]:
    kept = (layout.status, layout.records, layout.summary)
    yield from (entry.path for entry in git.entries(tree, layout.root) if entry.path not in kept)
    yield from list_logs(git, tree, layout)


def list_logs(git: Git, tree: str, layout: PrdLayout) -> Iterator[str]:
    """Yield the logs of the PRD's runs."""
    present = {entry.path for entry in git.entries(tree, LOGS)}
    runs = sorted(filter(is_id, (name.removesuffix(".json") for name in git.names(tree, layout.runs))))
    yield from (path for run in runs for path in list_log_paths(run) if path in present)


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
