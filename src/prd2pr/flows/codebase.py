"""One code tree, and two of them set against each other: what gathering reads of the repository."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from prd2pr.core.difference import first_difference
from prd2pr.core.evidence import Change, LockedFile, PathKind
from prd2pr.core.oracles import compared_with
from prd2pr.core.paths import STATE_ROOT, PathRules, classify_path, matches_any
from prd2pr.core.pytest_settings import CONFIGURED_IN, pytest_settings
from prd2pr.core.records import HeldOutFile
from prd2pr.core.signatures import import_names
from prd2pr.core.test_naming import USUAL, TestNaming, naming_of
from prd2pr.core.testfacts_model import parse_tests
from prd2pr.core.testpaths import configured_testpaths, with_named_files, with_testpaths
from prd2pr.repo.git import BlobRef, Entry, Git, RawChange

LOCKED_KINDS = frozenset({PathKind.TEST, PathKind.TEST_CONFIG})
_DATA = (".csv", ".tsv", ".json", ".txt", ".yaml", ".yml", ".sql", ".html", ".xml", ".tmpl", ".j2")
_DATA_KINDS = frozenset({PathKind.SOURCE, PathKind.OTHER, PathKind.DOCS})
_REGULAR = frozenset({"100644", "100755"})

ChangeStatus = Literal["added", "modified", "deleted", "type_changed", "mode_changed"]
_STATUS: dict[str, ChangeStatus] = {"A": "added", "M": "modified", "D": "deleted", "T": "type_changed"}


@dataclass(frozen=True)
class Codebase:
    """A commit's tree without `.orch-state/`."""

    git: Git
    tree: str
    rules: PathRules
    naming: TestNaming = USUAL

    @cached_property
    def entries(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in self.git.entries(self.tree)}

    def kind(self, path: str) -> PathKind:
        return classify_path(path, self.rules)

    def texts(self, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Path -> text of the regular files that are wanted; symlinks are not followed."""
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
        """What tests lean on: conftest and helper modules."""
        return {path: text for path, text in self.test_texts.items() if self._is_shared(path, text)}

    def _is_shared(self, path: str, text: str) -> bool:
        if not self.naming.is_module(path):
            return True
        module = parse_tests(path, text, self.naming) if self.naming.takes_any_file else None
        return module is not None and not module.tests

    @cached_property
    def testpaths(self) -> tuple[str, ...]:
        """Where the project says that its tests are."""
        return configured_testpaths(self._configuration)

    @cached_property
    def own_naming(self) -> TestNaming:
        """What this very tree says; a step is judged by `naming`, which is that of the tree before it."""
        return naming_of(pytest_settings(self._configuration))

    @cached_property
    def _configuration(self) -> dict[str, str]:
        return self.texts(lambda path: path in CONFIGURED_IN)

    @cached_property
    def locked(self) -> dict[str, str]:
        """Path -> blob of every file that belongs to the tests or says how they are run."""
        return {path: entry.blob for path, entry in self.entries.items() if self.kind(path) in LOCKED_KINDS}

    @cached_property
    def modules(self) -> frozenset[str]:
        """Dotted names of the project's own modules and packages, from wherever their directory may be imported."""
        names = {name for path in self.source_texts for name in import_names(path, self.source_texts)}
        return frozenset(".".join(name.split(".")[:n]) for name in names for n in range(1, name.count(".") + 2))

    @cached_property
    def flat(self) -> bool:
        """Modules lie at the root, or there is no source yet: a new module may have any name."""
        return not self.source_texts or any("/" not in path for path in self.source_texts)

    @cached_property
    def top_level(self) -> frozenset[str]:
        return frozenset(name for name in self.modules if "." not in name)


@dataclass(frozen=True)
class Pair:
    base: Codebase
    head: Codebase
    state_changes: tuple[Change, ...] = ()

    @property
    def naming(self) -> TestNaming:
        """What the project calls its tests."""
        return self.base.naming

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        git = self.base.git
        made = (change_of(raw, self.head.rules) for raw in git.diff(self.base.tree, self.head.tree))
        return (*(self._data_of_modules(change) for change in made), *self.state_changes)

    def _data_of_modules(self, change: Change) -> Change:
        """`countries.csv` at the root, beside the module that reads it, is data of the source as it is in a package."""
        beside = "/" not in change.path and change.path.endswith(_DATA) and self.head.flat
        if change.kind is not PathKind.OTHER or not beside:
            return change
        named = any(
            f'"{change.path}"' in text or f"'{change.path}'" in text for text in self.head.source_texts.values()
        )
        return change.model_copy(update={"kind": PathKind.SOURCE}) if named else change

    def changed(self, *kinds: PathKind) -> list[Change]:
        """Python files of these kinds that exist at head."""
        return [
            change
            for change in self.changes
            if change.kind in kinds and change.path.endswith(".py") and change.status != "deleted"
        ]

    def locked_files(self, expected: dict[str, str], shown: Callable[[str], bool]) -> tuple[LockedFile, ...]:
        """Those that are not as they must be, with a word on how; and those that the story is about, in any case."""
        actual = {path: entry.blob for path, entry in self.head.entries.items()}
        listed = [path for path in sorted(expected) if actual.get(path) != expected[path] or shown(path)]
        both = [path for path in listed if path in actual and actual[path] != expected[path]]
        blobs = self.head.git.read_blobs([name for path in both for name in (expected[path], actual[path])])
        details = {path: first_difference(blobs[expected[path]], blobs[actual[path]]) for path in both}
        return tuple(
            LockedFile(path=path, expected=expected[path], actual=actual.get(path, ""), detail=details.get(path, ""))
            for path in listed
        )

    def oracles(self) -> dict[str, str]:
        """Path -> blob before the step, of changed data files that tests compare with, outside of the tests' places."""
        data = [
            change
            for change in self.changes
            if change.old_blob and change.status != "added" and change.kind in _DATA_KINDS
            if not change.path.endswith(".py")
        ]
        sources = [*self.base.source_texts.values(), *self.head.source_texts.values()]
        project = self.base.top_level | self.head.top_level
        found = compared_with([change.path for change in data], self.base.test_texts, sources, project, self.naming)
        return {change.path: change.old_blob for change in data if change.path in found}

    def moved(self) -> dict[str, str]:
        """Old path -> new path of test files that stand elsewhere with the very same content."""
        gone = [change for change in self.changes if change.status == "deleted" and change.kind in LOCKED_KINDS]
        new = [change for change in self.changes if change.status == "added" and change.kind in LOCKED_KINDS]
        found: dict[str, str] = {}
        for change in gone:
            twins = [
                other.path for other in new if other.new_blob == change.old_blob and other.path not in found.values()
            ]
            if twins:
                found[change.path] = max(twins, key=lambda path: _likeness(change.path, path))
        return found


def put_in(code: Codebase, files: Iterable[HeldOutFile], *, over: bool = False) -> Codebase:
    """With these files, where nothing stands in their place; `over`: whatever stands there."""
    missing = {file.path: BlobRef(file.blob, "100644") for file in files if over or file.path not in code.entries}
    return Codebase(code.git, code.git.edit_tree(code.tree, missing), code.rules, code.naming) if missing else code


def change_of(raw: RawChange, rules: PathRules) -> Change:
    same = raw.status == "M" and raw.old_blob == raw.new_blob
    return Change(
        path=raw.path,
        status="mode_changed" if same else _STATUS[raw.status],
        kind=classify_path(raw.path, rules),
        old_blob=raw.old_blob,
        new_blob=raw.new_blob,
        old_mode=raw.old_mode,
        new_mode=raw.new_mode,
    )


def pair_of(git: Git, rules: PathRules, base: str, head: str, *, with_state: bool) -> Pair:
    before, after = (Codebase(git, git.code_tree(each), rules) for each in (base, head))
    rules = _as_configured(before, after)
    naming = before.own_naming
    state: Iterable[RawChange] = ()
    if with_state:
        state = (raw for raw in git.diff(base, head) if raw.path.startswith(f"{STATE_ROOT}/"))
    return Pair(
        Codebase(git, before.tree, rules, naming),
        Codebase(git, after.tree, rules, naming),
        tuple(change_of(raw, rules) for raw in state),
    )


def _as_configured(before: Codebase, after: Codebase) -> PathRules:
    """With the places and names that the project has for its tests, as it had them before the step."""
    rules, naming = before.rules, before.own_naming
    if before.testpaths:
        rules = with_testpaths(rules, before.testpaths, {*before.entries, *after.entries}, naming)
    return with_named_files(rules, naming, before.texts(lambda path: matches_any(path, naming.places)))


def _likeness(old: str, new: str) -> int:
    """How many components at the end two paths share: empty files are all twins of each other."""
    pairs = zip(reversed(old.split("/")), reversed(new.split("/")), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(old.count("/"), new.count("/")) + 1)
