"""One stack of a repository: a language, its test runner and their root directory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from prd2pr.domain.paths import TDD_ROOT

ROOT = "."


@dataclass(frozen=True)
class Stack:
    """A stack, detected from the repository's own files or set in `.prd2pr.yml`."""

    language: str = "python"
    runner: str = "pytest"
    root: str = ROOT  # commands run here; the paths below are relative to it
    source: tuple[str, ...] = ()  # empty for the conventions
    tests: tuple[str, ...] = ()
    story_tests: str = TDD_ROOT  # parent of the story's test directory, or a prefix such as `tests/tdd_{story}_`
    package_manager: str = ""
    setup: tuple[tuple[str, ...], ...] = ()  # commands that install the tests' dependencies
    manifests: tuple[str, ...] = ()  # files that `setup` reads, relative to the repository
    command: tuple[str, ...] = ()  # for runners that accept any command (junit, tap)
    results: str = ""  # for junit: glob of the files that the command writes, below the root
    options: tuple[str, ...] = ()  # the runner's options in the project's own script
    within: str = ROOT  # the original root, for a stack made by `as_root_stack`

    @property
    def name(self) -> str:
        """The name used in evidence, verdicts and messages."""
        location = "" if self.root == ROOT else f" in {self.root}"
        return f"{self.language}, {self.runner}{location}"

    def to_repository_path(self, path: str) -> str:
        """Convert a path relative to the stack's root to one relative to the repository."""
        return path if self.root == ROOT else f"{self.root}/{path}"

    def contains_path(self, path: str) -> bool:
        return self.root == ROOT or path.startswith(f"{self.root}/")

    def to_stack_path(self, path: str) -> str:
        """Convert a path relative to the repository to one relative to the stack's root."""
        return path if self.root == ROOT else path.removeprefix(f"{self.root}/")

    def to_outer_path(self, path: str) -> str:
        """Convert a path relative to the root of `as_root_stack` to one relative to the repository."""
        return path if self.within == ROOT else f"{self.within}/{path}"

    @property
    def is_judged_inside(self) -> bool:
        """Whether the stack is judged as if its root were the repository, because Python imports start there."""
        return is_python_stack(self) and self.root != ROOT

    @property
    def as_root_stack(self) -> Stack:
        """The same stack with its root as the repository's root."""
        return replace(self, root=ROOT, manifests=tuple(map(self.to_stack_path, self.manifests)), within=self.root)

    def test_directory(self, story: str) -> str:
        """Return the directory of a story's tests, or the prefix of their paths if the stack uses prefixes."""
        if "{story}" in self.story_tests:
            return self.to_repository_path(self.story_tests.format(story=story.replace("-", "_")))
        return f"{self.to_repository_path(self.story_tests)}/{story}/"

    @property
    def shared_helper(self) -> str:
        """The file with fixtures that the tests of several stories share, or an empty string without such a file.

        Stories may only add to it (RED508), and it stays where it is when they are integrated.
        """
        if not is_python_stack(self) or self.story_tests != TDD_ROOT:
            return ""
        return self.to_repository_path(f"{TDD_ROOT.partition('/')[0]}/conftest.py")


PYTHON = Stack()


def is_python_stack(stack: Stack) -> bool:
    """Return whether the stack is Python. Python has separate gates; all other languages share one set of gates."""
    return stack.runner == PYTHON.runner


def find_stack(paths: Iterable[str], stacks: tuple[Stack, ...], owns: dict[str, tuple[str, ...]]) -> Stack:
    """Return the stack that owns most of the paths.

    A path belongs to the stack with the deepest root, then to the one with its suffix. `owns` maps a language to the
    suffixes of its files. If no path decides, the first stack is returned.
    """
    votes: dict[Stack, int] = {}
    for path in paths:
        found = find_owner(path, stacks, owns)
        if found is not None:
            votes[found] = votes.get(found, 0) + 1
    if votes:
        return max(votes, key=lambda stack: votes[stack])
    return stacks[0] if stacks else PYTHON


def find_owner(path: str, stacks: tuple[Stack, ...], owns: dict[str, tuple[str, ...]]) -> Stack | None:
    """Return the stack of a file, or None if no stack or several stacks match."""
    containing = sorted((each for each in stacks if each.contains_path(path)), key=lambda each: -_depth(each))
    if not containing:
        return None
    by_suffix = [each for each in containing if path.endswith(owns.get(each.language, ()))]
    deepest = [each for each in containing if _depth(each) == _depth(containing[0])]
    return next(iter(by_suffix or (deepest if len(deepest) == 1 else [])), None)


def _depth(stack: Stack) -> int:
    return 0 if stack.root == ROOT else stack.root.count("/") + 1
