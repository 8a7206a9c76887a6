"""What gathering works with: settings, the step to examine, and helpers for every language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prd2pr import __version__
from prd2pr.domain.evidence import Comparison, Evidence, LockedFile, RunReport
from prd2pr.domain.paths import CONVENTIONS, PathRules
from prd2pr.domain.records import Phase
from prd2pr.domain.stack import PYTHON, Stack, is_python_stack
from prd2pr.domain.test_runs import compare_base_with_head, expand_test_ids, map_moved_id, summarize_run
from prd2pr.errors import CannotJudge
from prd2pr.languages.test_runner import RunRequest, TestRunner
from prd2pr.state.git import Git
from prd2pr.verification.codebase import TreePair
from prd2pr.verification.gather.flakiness import exclude_flaky_tests
from prd2pr.verification.gather.mutation import MUTANTS
from prd2pr.verification.story_context import ExpectedDocs, StoryContext

PYTEST_USAGE_ERROR = 4  # pytest's exit status: a broken configuration, a missing plugin, a conftest that fails


@dataclass(frozen=True)
class GatherContext:
    """The repository, the test runner and the settings of gathering."""

    git: Git
    runner: TestRunner
    rules: PathRules = CONVENTIONS
    mutants: int = MUTANTS  # most mutants tried in one step
    compare: bool = True  # REFACTOR: compare old and new code on the same calls
    living_docs: tuple[str, ...] = ()  # paths where living docs may be written
    docs_directory: str = "docs"
    stacks: tuple[Stack, ...] = ()  # empty: only Python


@dataclass(frozen=True)
class GatherCase:
    """One step to examine: what changed from this base to this head?"""

    context: GatherContext
    phase: Phase
    pair: TreePair
    story: StoryContext | None
    base: str
    docs: ExpectedDocs
    stack: Stack = PYTHON

    @cached_property
    def base_report(self) -> RunReport:
        """Run of the whole suite before the step; usually cached from the previous step."""
        report = self.context.runner.run(build_suite_request(self.context, self.pair.base.tree, self.stack))
        if report.exit_status == PYTEST_USAGE_ERROR and is_python_stack(self.stack):
            raise CannotJudge(
                f"the step cannot be judged: the tests cannot be run at its base commit: {report.problems[0]}",
                where=f"tree {self.pair.base.tree[:10]}",
                remedy="make `python -m pytest` start in a fresh checkout of the base commit",
            )
        return report

    def head_report(
        self,
        directories: Iterable[str],
        restore: Mapping[str, str] | None = None,
        *,
        followed_by: tuple[int, ...] | None = None,
        afresh: bool = False,
    ) -> RunReport:
        """Run the whole suite after the step, with canaries in these directories."""
        places = tuple(sorted({*directories} & {*find_parent_directories(self.pair.head.entries), "."}))
        request = RunRequest(
            self.pair.head.tree, restore=restore or {}, canary_dirs=places, afresh=afresh, stack=self.suite_stack
        )
        return self.context.runner.run(replace(request, followed_by=followed_by))

    @property
    def suite_stack(self) -> Stack | None:
        """The stack whose suite to run; None if the project has only one."""
        return _choose_suite_stack(self.context, self.stack)

    @property
    def planned(self) -> tuple[str, ...]:
        """Names that the design plans; empty without a design."""
        return tuple(symbol.name for symbol in self.story.planned or ()) if self.story else ()

    @property
    def hidden_tests(self) -> tuple[str, ...]:
        """GREEN: hidden examples. They must pass, but are not mutated: the findings would reveal them."""
        hidden = self.story.held_out if self.story and self.phase is Phase.GREEN else None
        return hidden.tests if hidden else ()

    def exclude_flaky(
        self, comparison: Comparison, suspects: tuple[str, ...], restore: Mapping[str, str] | None = None
    ) -> Comparison:
        """Return the comparison without suspects that were flaky before this step too."""
        trees = {"base": self.pair.base.tree, "head": self.pair.head.tree}
        return exclude_flaky_tests(self.context.runner, comparison, suspects, **trees, restore=restore or {})

    def build_common_fields(self) -> dict[str, Any]:
        """Return the evidence fields that every phase has."""
        story = self.story
        return {
            "phase": self.phase,
            "made_by": __version__,
            "prd": story.prd if story else "",
            "story": story.story if story else "",
            "kind": story.kind if story else "",
            "step": story.step if story else 0,
            "base_tree": self.pair.base.tree,
            "head_tree": self.pair.head.tree,
            "changes": self.pair.changes,
            "planned": story.planned if story else None,
            "project_modules": tuple(sorted(self.pair.head.top_level)),
            "note": story.note if story else "",
        }


def build_suite_request(context: GatherContext, tree: str, stack: Stack = PYTHON) -> RunRequest:
    """Build the request that runs the whole suite of a tree."""
    return RunRequest(tree, stack=_choose_suite_stack(context, stack), followed_by=(0,))


def _choose_suite_stack(context: GatherContext, stack: Stack) -> Stack | None:
    return stack if len(context.stacks) > 1 else None


def find_parent_directories(paths: Iterable[str]) -> set[str]:
    """Return the directories of these files; `.` for files at the root."""
    return {path.rpartition("/")[0] or "." for path in paths}


def list_restored_blobs(locked: Iterable[LockedFile]) -> dict[str, str]:
    """Map each locked file that differs to the blob that the run must use instead."""
    return {file.path: file.expected for file in locked if file.actual != file.expected}


def is_passing(tests: tuple[str, ...], head: RunReport) -> bool:
    """Whether the run is honest and every one of these tests passed in it."""
    outcomes = {test: result.outcome for test, result in head.by_id().items()}
    return head.honest and all(outcomes.get(test) == "passed" for test in expand_test_ids(tests, head))


def is_green(tests: tuple[str, ...], base: RunReport, head: RunReport) -> bool:
    """Whether these tests pass and nothing that passed before fails now."""
    return is_passing(tests, head) and not compare_base_with_head(base, head).regressed


def gather_integrated(
    case: GatherCase,
    fields: Mapping[str, Any],
    find_directories: Callable[[Iterable[tuple[str, str]]], set[str]],
    *,
    followed_by: tuple[int, ...] | None = None,
) -> Evidence:
    """Gather the evidence that a story's tests were moved to their place and everything still passes.

    `find_directories`: of canaries, from the tests' ids before and after the move.
    """
    pair, base = case.pair, case.base_report
    moved = pair.find_moved_tests()
    inside = tuple(result.id for result in base.results if result.id.partition("::")[0] in moved)
    claimed = case.story.red_tests if case.story else inside
    there = [map_moved_id(test, moved) for test in claimed]
    expected = {moved.get(path, path): blob for path, blob in pair.base.locked.items()}
    locked = pair.list_locked_files(expected, lambda path: path in moved.values())
    directories = find_directories(zip(claimed, there, strict=True))
    head = case.head_report(directories, list_restored_blobs(locked), followed_by=followed_by)
    tests = expand_test_ids(there, head)
    return Evidence(
        **fields,
        locked=locked,
        story_tests=tests,
        comparison=compare_base_with_head(base, head, moved),
        base_run=summarize_run(base, expand_test_ids(claimed, base)),
        head_run=summarize_run(head, tests),
        living_docs=dict(case.docs.blobs),
        docs_made_by=case.docs.made_by,
    )
