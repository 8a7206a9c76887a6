"""The context of gathering: its settings, the step to examine, and helpers for all languages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prd2pr import __version__
from prd2pr.domain.evidence import Comparison, LockedFile, RunReport
from prd2pr.domain.paths import CONVENTIONS, PathRules
from prd2pr.domain.records import Phase
from prd2pr.domain.stack import PYTHON, Stack, is_python_stack
from prd2pr.domain.test_runs import compare_base_with_head, expand_test_ids, find_unavailable_cases
from prd2pr.errors import CannotJudge
from prd2pr.languages.test_runner import RunRequest, TestRunner
from prd2pr.state.git import Git
from prd2pr.verification.codebase import TreePair
from prd2pr.verification.gather.flakiness import exclude_flaky_tests
from prd2pr.verification.gather.mutation import MUTANTS
from prd2pr.verification.story_context import ExpectedDocs, StoryContext

PYTEST_USAGE_ERROR = 4  # pytest's exit status for a broken configuration, a missing plugin or a failing conftest


@dataclass(frozen=True)
class GatherContext:
    """The repository, the test runner and the settings of gathering."""

    git: Git
    runner: TestRunner
    rules: PathRules = CONVENTIONS
    mutants: int = MUTANTS  # maximum number of mutants per step
    compare: bool = True  # whether REFACTOR runs differential tests
    living_docs: tuple[str, ...] = ()  # paths where living docs may be written
    docs_directory: str = "docs"
    stacks: tuple[Stack, ...] = ()  # empty if the project has only Python


@dataclass(frozen=True)
class GatherCase:
    """A step to examine, from its base to its head."""

    context: GatherContext
    phase: Phase
    pair: TreePair
    story: StoryContext | None
    base: str
    docs: ExpectedDocs
    stack: Stack = PYTHON

    @cached_property
    def base_report(self) -> RunReport:
        """The run of the whole suite before the step, which is usually cached from the previous step."""
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
        """The stack whose suite is run, or None if the project has only one."""
        return _choose_suite_stack(self.context, self.stack)

    @property
    def planned(self) -> tuple[str, ...]:
        """The names that the design plans. Empty without a design."""
        return tuple(symbol.name for symbol in self.story.planned or ()) if self.story else ()

    @property
    def hidden_tests(self) -> tuple[str, ...]:
        """The hidden examples in GREEN. They must pass but are not mutated, because the findings would reveal them."""
        hidden = self.story.held_out if self.story and self.phase is Phase.GREEN else None
        return hidden.tests if hidden else ()

    def exclude_flaky(
        self, comparison: Comparison, suspects: tuple[str, ...], restore: Mapping[str, str] | None = None
    ) -> Comparison:
        """Return the comparison without the suspects that were already flaky before the step."""
        trees = {"base": self.pair.base.tree, "head": self.pair.head.tree}
        return exclude_flaky_tests(self.context.runner, comparison, suspects, **trees, restore=restore or {})

    def build_common_fields(self) -> dict[str, Any]:
        """Return the evidence fields that all phases share."""
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
    """Build a request to run the whole suite of a tree."""
    return RunRequest(tree, stack=_choose_suite_stack(context, stack), followed_by=(0,))


def _choose_suite_stack(context: GatherContext, stack: Stack) -> Stack | None:
    return stack if len(context.stacks) > 1 else None


def find_parent_directories(paths: Iterable[str]) -> set[str]:
    """Return the directories of these files, where `.` stands for the root."""
    return {path.rpartition("/")[0] or "." for path in paths}


def list_restored_blobs(locked: Iterable[LockedFile]) -> dict[str, str]:
    """Map the path of each changed locked file to its original blob, which the test run must use instead."""
    return {file.path: file.expected for file in locked if file.actual != file.expected}


def list_story_cases(tests: tuple[str, ...], base: RunReport, head: RunReport) -> tuple[str, ...]:
    """Return the tests with their parameters at head, without cases that are not available on this machine."""
    cases = expand_test_ids(tests, head)
    unavailable = find_unavailable_cases(cases, head, base)
    return tuple(case for case in cases if case not in unavailable)


def is_passing(tests: tuple[str, ...], base: RunReport, head: RunReport) -> bool:
    """Return whether the run can be trusted and all of these tests passed."""
    outcomes = {test: result.outcome for test, result in head.by_id().items()}
    return head.honest and all(outcomes.get(test) == "passed" for test in list_story_cases(tests, base, head))


def is_green(tests: tuple[str, ...], base: RunReport, head: RunReport) -> bool:
    """Return whether these tests pass and every test that passed before still does."""
    return is_passing(tests, base, head) and not compare_base_with_head(base, head).regressed
