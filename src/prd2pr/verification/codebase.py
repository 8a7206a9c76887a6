"""The trees from which evidence is gathered: a single tree (`Codebase`), or the pair of a step (`TreePair`)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from prd2pr.domain.evidence import Change, LockedFile, PathKind
from prd2pr.domain.paths import STATE_ROOT, TDD_ROOT, PathRules, classify_path, get_story_test_root, matches_any
from prd2pr.domain.records import HiddenExampleFile
from prd2pr.languages.python.pytest_settings import PYTEST_CONFIG_FILES, read_pytest_settings
from prd2pr.languages.python.signatures import list_import_names
from prd2pr.languages.python.test_model.module import parse_tests
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming, read_test_naming
from prd2pr.languages.python.testpaths import add_test_patterns, add_testpaths, read_testpaths
from prd2pr.state.git import BlobRef, Git, RawChange, TreeEntry
from prd2pr.verification.oracle_files import find_oracle_files

LOCKED_KINDS = frozenset({PathKind.TEST, PathKind.TEST_CONFIG})
_DATA_SUFFIXES = (".csv", ".tsv", ".json", ".txt", ".yaml", ".yml", ".sql", ".html", ".xml", ".tmpl", ".j2")
_DATA_KINDS = frozenset({PathKind.SOURCE, PathKind.OTHER, PathKind.DOCS})
_REGULAR = frozenset({"100644", "100755"})

ChangeStatus = Literal["added", "modified", "deleted", "type_changed", "mode_changed"]
_STATUS_NAMES: dict[str, ChangeStatus] = {"A": "added", "M": "modified", "D": "deleted", "T": "type_changed"}


_MAX_SHOWN = 60


def list_existing_tests(git: Git, tree: str, rules: PathRules) -> tuple[str, ...]:
    """Return the test files that do not belong to a story in progress."""
    tests = (entry.path for entry in git.entries(tree) if classify_path(entry.path, rules) is PathKind.TEST)
    return tuple(path for path in tests if TDD_ROOT not in path and not path.rpartition("/")[2].startswith("tdd_"))


def find_story_entries(git: Git, tree: str, story: str) -> tuple[TreeEntry, ...]:
    return tuple(entry for entry in git.entries(tree) if get_story_test_root(entry.path, story))


def describe_first_difference(old: bytes, new: bytes) -> str:
    """Describe the first change in a file, for example "line 14 `== 90` became `>= 0`, and 2 more"."""
    if b"\0" in old or b"\0" in new:
        return f"{len(old)} bytes became {len(new)}"
    before, after = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
    edits = [
        edit for edit in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if _is_edit(edit)
    ]
    if not edits:
        return "only line ends or the end of the file differ"
    kind, start, _, new_start, _ = edits[0]
    if kind == "insert":
        text = f"line {new_start + 1} `{_shorten(after[new_start])}` was added"
    elif kind == "delete":
        text = f"line {start + 1} `{_shorten(before[start])}` was removed"
    else:
        text = f"line {start + 1} {_describe_changed_words(before[start], after[new_start])}"
    return text + (f", and {len(edits) - 1} more" if len(edits) > 1 else "")


def _is_edit(edit: tuple[str, int, int, int, int]) -> bool:
    return edit[0] != "equal"


def _describe_changed_words(old: str, new: str) -> str:
    """Describe the part of a line that differs, in whole words."""
    a, b = old.split(), new.split()
    start = next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    tail = next(
        (at for at, (x, y) in enumerate(zip(a[start:][::-1], b[start:][::-1], strict=False)) if x != y),
        min(len(a), len(b)) - start,
    )
    was, now = " ".join(a[start : len(a) - tail]), " ".join(b[start : len(b) - tail])
    return f"`{_shorten(was or old)}` became `{_shorten(now or new)}`"


def _shorten(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


@dataclass(frozen=True)
class Codebase:
    """A commit's tree without `.orch-state/`."""

    git: Git
    tree: str
    rules: PathRules
    naming: TestNaming = DEFAULT_NAMING

    @cached_property
    def entries(self) -> dict[str, TreeEntry]:
        return {entry.path: entry for entry in self.git.entries(self.tree)}

    def kind(self, path: str) -> PathKind:
        return classify_path(path, self.rules)

    def texts(self, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Map the path of each matching regular file to its text. Symbolic links are skipped."""
        chosen = [entry for path, entry in self.entries.items() if entry.mode in _REGULAR and wanted(path)]
        blobs = self.git.read_blobs(entry.blob for entry in chosen)
        return {entry.path: blobs[entry.blob].decode("utf-8", "replace") for entry in chosen}

    @cached_property
    def source_texts(self) -> dict[str, str]:
        return self.texts(lambda path: path.endswith(".py") and self.kind(path) is PathKind.SOURCE)

    @cached_property
    def test_texts(self) -> dict[str, str]:
        return self.texts(lambda path: path.endswith(".py") and self.kind(path) in LOCKED_KINDS)

    @cached_property
    def support_texts(self) -> dict[str, str]:
        """The text of each conftest file and test helper module, by path."""
        return {path: text for path, text in self.test_texts.items() if self._is_shared(path, text)}

    def _is_shared(self, path: str, text: str) -> bool:
        if not self.naming.is_module(path):
            return True
        module = parse_tests(path, text, self.naming) if self.naming.matches_any_file else None
        return module is not None and not module.tests

    @cached_property
    def testpaths(self) -> tuple[str, ...]:
        """The test directories configured for pytest."""
        return read_testpaths(self._configuration)

    @cached_property
    def configured_naming(self) -> TestNaming:
        """The test naming that this tree itself configures.

        A step is judged by `naming`, which is read from the tree before the step.
        """
        return read_test_naming(read_pytest_settings(self._configuration))

    @cached_property
    def _configuration(self) -> dict[str, str]:
        return self.texts(lambda path: path in PYTEST_CONFIG_FILES)

    @cached_property
    def locked(self) -> dict[str, str]:
        """The blob of each test file and each file that configures the test run, by path."""
        return {path: entry.blob for path, entry in self.entries.items() if self.kind(path) in LOCKED_KINDS}

    @cached_property
    def modules(self) -> frozenset[str]:
        """The dotted names under which the project's modules and packages can be imported."""
        names = {name for path in self.source_texts for name in list_import_names(path, self.source_texts)}
        return frozenset(".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2))

    @cached_property
    def flat(self) -> bool:
        """Whether modules are at the root. Without any source, a new module may have any name."""
        return not self.source_texts or any("/" not in path for path in self.source_texts)

    @cached_property
    def top_level(self) -> frozenset[str]:
        return frozenset(name for name in self.modules if "." not in name)


@dataclass(frozen=True)
class TreePair:
    base: Codebase
    head: Codebase
    state_changes: tuple[Change, ...] = ()

    @property
    def naming(self) -> TestNaming:
        return self.base.naming

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        git = self.base.git
        made = (classify_change(raw, self.head.rules) for raw in git.diff(self.base.tree, self.head.tree))
        return (*(self._classify_module_data(change) for change in made), *self.state_changes)

    @cached_property
    def changed_source(self) -> frozenset[str]:
        """The paths of the changed source files, including deleted ones."""
        return frozenset(change.path for change in self.changes if change.kind is PathKind.SOURCE)

    def _classify_module_data(self, change: Change) -> Change:
        """Classify a data file at the root as source if a module refers to it, as to `countries.csv`."""
        is_data = "/" not in change.path and change.path.endswith(_DATA_SUFFIXES) and self.head.flat
        if change.kind is not PathKind.OTHER or not is_data:
            return change
        named = any(
            f'"{change.path}"' in text or f"'{change.path}'" in text for text in self.head.source_texts.values()
        )
        return change.model_copy(update={"kind": PathKind.SOURCE}) if named else change

    def python_changes(self, *kinds: PathKind) -> list[Change]:
        """Return the changed Python files of these kinds that still exist at head."""
        return [
            change
            for change in self.changes
            if change.kind in kinds and change.path.endswith(".py") and change.status != "deleted"
        ]

    def list_locked_files(self, expected: dict[str, str], shown: Callable[[str], bool]) -> tuple[LockedFile, ...]:
        """Return every locked file that differs from `expected`, with details, and every file that `shown` selects."""
        actual = {path: entry.blob for path, entry in self.head.entries.items()}
        listed = [path for path in sorted(expected) if actual.get(path) != expected[path] or shown(path)]
        both = [path for path in listed if path in actual and actual[path] != expected[path]]
        blobs = self.head.git.read_blobs([name for path in both for name in (expected[path], actual[path])])
        details = {path: describe_first_difference(blobs[expected[path]], blobs[actual[path]]) for path in both}
        return tuple(
            LockedFile(path=path, expected=expected[path], actual=actual.get(path, ""), detail=details.get(path, ""))
            for path in listed
        )

    def find_oracle_blobs(self) -> dict[str, str]:
        """Map each changed oracle file outside the test directories to its blob before the step."""
        data = [
            change
            for change in self.changes
            if change.old_blob and change.status != "added" and change.kind in _DATA_KINDS
            if not change.path.endswith(".py")
        ]
        sources = [*self.base.source_texts.values(), *self.head.source_texts.values()]
        project = self.base.top_level | self.head.top_level
        found = find_oracle_files([change.path for change in data], self.base.test_texts, sources, project, self.naming)
        return {change.path: change.old_blob for change in data if change.path in found}

    def find_moved_tests(self) -> dict[str, str]:
        """Map the old path of each test file that moved unchanged to its new path."""
        gone = [change for change in self.changes if change.status == "deleted" and change.kind in LOCKED_KINDS]
        new = [change for change in self.changes if change.status == "added" and change.kind in LOCKED_KINDS]
        found: dict[str, str] = {}
        for change in gone:
            copies = [
                other.path for other in new if other.new_blob == change.old_blob and other.path not in found.values()
            ]
            if copies:
                found[change.path] = max(copies, key=lambda path: _count_common_suffix(change.path, path))
        return found


def add_missing_files(code: Codebase, files: Iterable[HiddenExampleFile], *, over: bool = False) -> Codebase:
    """Return the codebase with the missing files added. With `over`, existing files are replaced too."""
    missing = {file.path: BlobRef(file.blob, "100644") for file in files if over or file.path not in code.entries}
    return Codebase(code.git, code.git.edit_tree(code.tree, missing), code.rules, code.naming) if missing else code


def classify_change(raw: RawChange, rules: PathRules) -> Change:
    same = raw.status == "M" and raw.old_blob == raw.new_blob
    return Change(
        path=raw.path,
        status="mode_changed" if same else _STATUS_NAMES[raw.status],
        kind=classify_path(raw.path, rules),
        old_blob=raw.old_blob,
        new_blob=raw.new_blob,
        old_mode=raw.old_mode,
        new_mode=raw.new_mode,
    )


def load_tree_pair(git: Git, rules: PathRules, base: str, head: str, *, with_state: bool) -> TreePair:
    before, after = (Codebase(git, git.code_tree(each), rules) for each in (base, head))
    rules = _apply_test_settings(before, after)
    naming = before.configured_naming
    state: Iterable[RawChange] = ()
    if with_state:
        state = (raw for raw in git.diff(base, head) if raw.path.startswith(f"{STATE_ROOT}/"))
    return TreePair(
        Codebase(git, before.tree, rules, naming),
        Codebase(git, after.tree, rules, naming),
        tuple(classify_change(raw, rules) for raw in state),
    )


def _apply_test_settings(before: Codebase, after: Codebase) -> PathRules:
    """Return the path rules with the test directories and names that the project configured before the step."""
    rules, naming = before.rules, before.configured_naming
    if before.testpaths:
        rules = add_testpaths(rules, before.testpaths, {*before.entries, *after.entries}, naming)
    return add_test_patterns(rules, naming, before.texts(lambda path: matches_any(path, naming.path_patterns)))


def _count_common_suffix(old: str, new: str) -> int:
    """Count the path components that two paths share at the end, to tell apart files with equal content."""
    pairs = zip(reversed(old.split("/")), reversed(new.split("/")), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(old.count("/"), new.count("/")) + 1)
