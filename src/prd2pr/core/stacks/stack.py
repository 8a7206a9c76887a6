"""One stack of a repository: a language, its test runner, and the directory in which both are at home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from prd2pr.core.paths import TDD_ROOT

ROOT = "."


@dataclass(frozen=True)
class Stack:
    """Detected from the repository's own files, or set in `.prd2pr.yml`."""

    language: str = "python"
    runner: str = "pytest"
    root: str = ROOT  # commands run here; paths below are relative to it
    source: tuple[str, ...] = ()  # empty: by convention
    tests: tuple[str, ...] = ()
    story_tests: str = TDD_ROOT  # below, in a directory of the story's name; or as `tests/tdd_{story}_`
    package_manager: str = ""
    setup: tuple[tuple[str, ...], ...] = ()  # commands that install what the tests need
    manifests: tuple[str, ...] = ()  # from the repository's root: what `setup` reads
    command: tuple[str, ...] = ()  # of a runner that is any command (junit, tap)
    results: str = ""  # of junit: files that the command writes, as a glob below the root
    options: tuple[str, ...] = ()  # that the project's own script gives to its runner
    within: str = ROOT  # of a stack as it is seen from inside: where its root lies

    @property
    def name(self) -> str:
        """As evidence, verdicts and people know it."""
        place = "" if self.root == ROOT else f" in {self.root}"
        return f"{self.language}, {self.runner}{place}"

    def placed(self, path: str) -> str:
        """A path below the stack's root, as the repository knows it."""
        return path if self.root == ROOT else f"{self.root}/{path}"

    def holds(self, path: str) -> bool:
        return self.root == ROOT or path.startswith(f"{self.root}/")

    def local(self, path: str) -> str:
        """A path of the repository, as commands in the stack's root know it."""
        return path if self.root == ROOT else path.removeprefix(f"{self.root}/")

    def outside(self, path: str) -> str:
        """A path as somebody inside of the root knows it, as the repository does."""
        return path if self.within == ROOT else f"{self.within}/{path}"

    @property
    def judged_inside(self) -> bool:
        """Python below a root is looked at and run as if the root were the whole repository: imports begin there."""
        return is_python(self) and self.root != ROOT

    @property
    def inside(self) -> Stack:
        """The same stack, as somebody sees it who stands in its root."""
        return replace(self, root=ROOT, manifests=tuple(map(self.local, self.manifests)), within=self.root)

    def test_directory(self, story: str) -> str:
        """Of a story's tests; where names say whose a test is, the beginning of such a name."""
        if "{story}" in self.story_tests:
            return self.placed(self.story_tests.format(story=story.replace("-", "_")))
        return f"{self.placed(self.story_tests)}/{story}/"


PYTHON = Stack()


def is_python(stack: Stack) -> bool:
    """Python has a way of its own through the gates; every other language shares one."""
    return stack.runner == PYTHON.runner


def stack_of(paths: Iterable[str], stacks: tuple[Stack, ...], owns: dict[str, tuple[str, ...]]) -> Stack:
    """The stack to which most of these paths belong: by root, the deepest first, and then by the files' endings.

    `owns`: language → endings of its files. Without stacks, or where no path tells, the first one.
    """
    votes: dict[Stack, int] = {}
    for path in paths:
        found = owner_of(path, stacks, owns)
        if found is not None:
            votes[found] = votes.get(found, 0) + 1
    if votes:
        return max(votes, key=lambda stack: votes[stack])
    return stacks[0] if stacks else PYTHON


def owner_of(path: str, stacks: tuple[Stack, ...], owns: dict[str, tuple[str, ...]]) -> Stack | None:
    """The stack that a file belongs to; None where it lies in none, or several have the same claim."""
    holding = sorted((each for each in stacks if each.holds(path)), key=lambda each: -_depth(each))
    if not holding:
        return None
    spoken = [each for each in holding if path.endswith(owns.get(each.language, ()))]
    deepest = [each for each in holding if _depth(each) == _depth(holding[0])]
    return next(iter(spoken or (deepest if len(deepest) == 1 else [])), None)


def _depth(stack: Stack) -> int:
    return 0 if stack.root == ROOT else stack.root.count("/") + 1
