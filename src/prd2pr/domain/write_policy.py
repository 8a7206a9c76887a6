"""The files that a phase may write, checked before every write of a role and again by the gate."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import TDD_ROOT, get_story_test_root
from prd2pr.domain.records import DeclaredTestChange, Phase

ScopeCode = Literal["RED101", "GRN101", "GRN201"]

MAX_PATH = 400
MAX_COMPONENT = 200

_TESTS_ONLY = frozenset({PathKind.TEST})
_SOURCE_ONLY = frozenset({PathKind.SOURCE})
_NOTHING: frozenset[PathKind] = frozenset()

WRITABLE: dict[Phase, frozenset[PathKind]] = {
    Phase.RED: _TESTS_ONLY,
    Phase.GREEN: _SOURCE_ONLY,
    Phase.REFACTOR: _SOURCE_ONLY,
}

_SETTINGS = (".toml", ".yaml", ".yml", ".json", ".ini", ".cfg", ".conf", ".env", ".properties", ".xml", ".txt")
# The kinds of files that a story without RED may change. Code without tests is a chore, and is shown as one.
OPEN_SCOPE: dict[str, frozenset[PathKind]] = {
    "docs": frozenset({PathKind.DOCS}),
    "config": frozenset({PathKind.DOCS, PathKind.OTHER}),
    "chore": frozenset({PathKind.DOCS, PathKind.OTHER, PathKind.SOURCE}),
}


def is_in_open_scope(story_kind: str, kind: PathKind, path: str) -> bool:
    """Return whether a story of this kind may change the file.

    A `config` story may also change settings inside a package.
    """
    scope = OPEN_SCOPE.get(story_kind, frozenset())
    return kind in scope or (story_kind == "config" and kind is PathKind.SOURCE and path.lower().endswith(_SETTINGS))


@dataclass(frozen=True)
class WritePolicy:
    phase: Phase
    story: str
    writable: frozenset[PathKind]
    locked: frozenset[str] = frozenset()  # RED's files and files that configure the test run
    kind: str = "feature"  # the story's kind
    others: tuple[str, ...] = ()  # further stories whose tests may be written, in a conversation
    shared_helper: str = ""  # a test file that may grow although it belongs to no story
    existing: frozenset[str] = frozenset()  # files with existing tests, which the role may change if it declares them

    @property
    def test_directory(self) -> str:
        return f"{TDD_ROOT}/{self.story}/"

    def globs(self, source: Iterable[str] = ("**/*.py",)) -> tuple[str, ...]:
        """Return globs for people and programs that edit files themselves. The gate does not use them."""
        directories = (f"{TDD_ROOT}/{story}/**" for story in (self.story, *self.others))
        tests = (*directories, *filter(None, [self.shared_helper])) if PathKind.TEST in self.writable else ()
        return tests + (tuple(source) if PathKind.SOURCE in self.writable else ())


@dataclass(frozen=True)
class PolicyRefusal:
    path: str
    code: ScopeCode
    message: str  # for the model: what is wrong and what to do instead


def list_declared_files(declared: Iterable[DeclaredTestChange]) -> frozenset[str]:
    """Return the files of the declared tests."""
    return frozenset(each.test.partition("::")[0] for each in declared)


def build_write_policy(
    phase: Phase,
    story: str,
    *,
    fused: bool = False,
    locked: Iterable[str] = (),
    kind: str = "feature",
    existing: Iterable[str] = (),
) -> WritePolicy:
    """Build the write policy of a phase.

    With `fused`, one answer contains tests and code, and RED is proved without the code. Stories of `kind` docs, config
    or chore pass without RED, each with its own scope.
    """
    writable = _TESTS_ONLY | _SOURCE_ONLY if fused else WRITABLE.get(phase, _NOTHING)
    if phase is Phase.GREEN:
        writable = OPEN_SCOPE.get(kind, writable)
    return WritePolicy(phase, story, writable, frozenset(locked), kind, existing=frozenset(existing))


def check_write(path: str, kind: PathKind, policy: WritePolicy) -> PolicyRefusal | None:
    if problem := find_path_problem(path):
        return refuse_write(path, policy, problem)
    if path in policy.locked:
        return PolicyRefusal(
            path,
            "GRN201",
            f"{path} is locked: it must stay identical to the RED commit. {_describe_allowed(policy)} "
            "If the tests cannot be satisfied, submit with status contradiction and say why.",
        )
    if kind not in policy.writable and not (policy.phase is Phase.GREEN and is_in_open_scope(policy.kind, kind, path)):
        return refuse_write(path, policy, f"it is {_KIND_WORDS[kind]}")
    if kind is PathKind.TEST and not is_own_test(path, policy):
        return refuse_write(path, policy, "it is outside the story's test directory")
    return None


def is_own_test(path: str, policy: WritePolicy) -> bool:
    stories = (policy.story, *policy.others)
    named = path == policy.shared_helper or path in policy.existing
    return named or any(get_story_test_root(path, story) for story in stories)


def refuse_write(path: str, policy: WritePolicy, problem: str) -> PolicyRefusal:
    code: ScopeCode = "RED101" if policy.phase is Phase.RED else "GRN101"
    return PolicyRefusal(path, code, f"{path!r} may not be written: {problem}. {_describe_allowed(policy)}")


def find_path_problem(path: str) -> str:
    """Return why this is not a plain relative path of the repository, or an empty string."""
    if not path:
        return "the path is empty"
    if len(path) > MAX_PATH:
        return f"the path is longer than {MAX_PATH} characters"
    if any(_is_invisible(char) for char in path):
        return "the path has control or invisible characters"
    if path.startswith(("/", "~")) or "\\" in path or path[1:2] == ":":
        return "the path must be relative to the repository's root, with forward slashes"
    return next((problem for part in path.split("/") if (problem := _find_component_problem(part))), "")


def _find_component_problem(part: str) -> str:
    if part in {"", ".", ".."}:
        return "the path must not have empty, `.` or `..` parts"
    if part != part.strip() or part.endswith("."):
        return "a part of the path begins or ends with a space, or ends with a dot"
    if len(part.encode()) > MAX_COMPONENT:
        return f"a part of the path is longer than {MAX_COMPONENT} bytes"
    if part.startswith("-"):
        return "a part of the path begins with a dash"
    if part.casefold() == ".git" or part.casefold().startswith("git~"):
        return "git's own directory is not writable"
    return ""


def _is_invisible(char: str) -> bool:
    # Cc control, Cf invisible and direction marks, Cs lone surrogates, Co private, Zl/Zp line separators
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def _describe_allowed(policy: WritePolicy) -> str:
    places = [
        _describe_tests(policy) if kind is PathKind.TEST else _PLURALS[kind]
        for kind in PathKind
        if kind in policy.writable
    ]
    return f"Write only {' and '.join(places)}." if places else "This phase writes no files."


def _describe_tests(policy: WritePolicy) -> str:
    helper = f" or in {policy.shared_helper}" if policy.shared_helper else ""
    changed = ", and existing tests that the answer declares in `changed_tests`" if policy.existing else ""
    if policy.others:
        return f"tests under {TDD_ROOT}/ in the directory of their story{helper}{changed}"
    return f"tests under {policy.test_directory}{helper}{changed}"


_KIND_WORDS: dict[PathKind, str] = {
    PathKind.TEST: "a test file",
    PathKind.SOURCE: "a source file",
    PathKind.TEST_CONFIG: "a file that configures how tests run",
    PathKind.MANIFEST: "a dependency manifest",
    PathKind.CI: "a build or CI file",
    PathKind.DOCS: "documentation",
    PathKind.STATE: "the bot's own state",
    PathKind.PROTECTED: "a protected file",
    PathKind.OTHER: "neither a test nor a source file",
}

_PLURALS: dict[PathKind, str] = {
    PathKind.SOURCE: "source files",
    PathKind.MANIFEST: "dependency manifests",
    PathKind.DOCS: "documentation",
    PathKind.OTHER: "other files",
}
