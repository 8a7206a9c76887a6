"""Observe a changeset: its tests without its source, its source with its tests, and the old tests with its source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from prd2pr.domain.changeset import ChangesetEvidence
from prd2pr.domain.evidence import Evidence, Fact, PathKind, RunReport
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import Phase
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.mutation import MutantResult
from prd2pr.domain.stack import PYTHON, Stack, find_owner, is_python_stack
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.domain.test_runs import compare_base_with_head, strip_test_parameters, summarize_run
from prd2pr.languages.mutation_plan import Fault, MutationPlan
from prd2pr.languages.python.mutation.functions import Function, find_changed_functions, list_functions
from prd2pr.languages.python.source_text import SourceText, get_body_without_docstring, parse_source
from prd2pr.languages.stack_paths import prefix_paths, relativize_rules
from prd2pr.languages.test_runner import MutationRequest
from prd2pr.verification.changeset.earlier_tests import EarlierTests
from prd2pr.verification.changeset.parts import ChangesetParts, collect_updates
from prd2pr.verification.codebase import TreePair, load_tree_pair
from prd2pr.verification.gather.context import GatherCase, GatherContext, build_suite_request, find_parent_directories
from prd2pr.verification.gather.other_stacks import SingleStackRunner
from prd2pr.verification.gather.pipeline import analyze_step, gather
from prd2pr.verification.gather.python_analysis import choose_reference_tests, start_differential
from prd2pr.verification.story_context import NO_DOCS, StoryContext

_CODE_KINDS = frozenset({PathKind.TEST, PathKind.SOURCE, PathKind.TEST_CONFIG, PathKind.MANIFEST})
_NOT_RUN = frozenset({"skipped", "xfailed"})
_MAX_UNDONE = 40


def observe_changeset(
    context: GatherContext, base: str, head: str, *, refactoring: str = ""
) -> tuple[ChangesetEvidence, ...]:
    """Gather the evidence about the changes between two trees or commits, for each stack that they touch.

    `refactoring` names the source of the claim that behavior is unchanged.
    """
    whole = load_tree_pair(context.git, context.rules, base, head, with_state=False)
    stacks = _find_changed_stacks(context, whole)
    found = []
    for stack in stacks:
        pair = whole if len(stacks) == 1 else _isolate_stack(whole, stack, context)
        found.append(_observe_stack(context, stack, pair, refactoring))
    return tuple(found)


def _find_changed_stacks(context: GatherContext, pair: TreePair) -> tuple[Stack, ...]:
    if len(context.stacks) < 2:
        return context.stacks or (PYTHON,)
    changed = [change.path for change in pair.changes if change.kind in _CODE_KINDS]
    owners = {find_owner(path, context.stacks, ENDINGS) for path in changed}
    return tuple(stack for stack in context.stacks if stack in owners) or context.stacks[:1]


def _isolate_stack(pair: TreePair, stack: Stack, context: GatherContext) -> TreePair:
    """Return a pair of trees that differ only in files of this stack."""
    others = (each for each in pair.changes if find_owner(each.path, context.stacks, ENDINGS) != stack)
    base = context.git.edit_tree(pair.base.tree, collect_updates(others))
    return load_tree_pair(context.git, context.rules, base, pair.head.tree, with_state=False)


def _observe_stack(context: GatherContext, stack: Stack, pair: TreePair, refactoring: str) -> ChangesetEvidence:
    if stack.is_judged_inside:
        local = _enter_stack(context, relativize_rules(context.rules, stack.root), stack.as_root_stack)
        base, head = (context.git.subtree(side.tree, stack.root) for side in (pair.base, pair.head))
        inner = load_tree_pair(context.git, local.rules, base, head, with_state=False)
        seen = Observation(local, ChangesetParts(inner, stack.as_root_stack), refactoring).collect()
        return prefix_paths(seen, stack.root).model_copy(update={"changes": pair.changes, "stack": stack.name})
    local = _enter_stack(context, context.rules, stack) if len(context.stacks) > 1 else context
    seen = Observation(local, ChangesetParts(pair, stack), refactoring).collect()
    return seen.model_copy(update={"stack": "" if len(context.stacks) < 2 else stack.name})


def _enter_stack(context: GatherContext, rules: PathRules, seen_as: Stack) -> GatherContext:
    return replace(context, runner=SingleStackRunner(context.runner, seen_as), rules=rules, stacks=(seen_as,))


@dataclass(frozen=True)
class Observation:
    """The observation of one stack. Each run is made when it is first needed."""

    context: GatherContext
    parts: ChangesetParts
    refactoring: str

    def collect(self) -> ChangesetEvidence:
        parts = self.parts
        seen = ChangesetEvidence(
            base_tree=parts.pair.base.tree,
            head_tree=parts.pair.head.tree,
            changes=parts.pair.changes,
            invisible=parts.invisible,
            refactoring=self.refactoring,
            code=parts.list_changed_code(),
        )
        if not (parts.tests or parts.visible or parts.settings):
            return seen
        if not (parts.tests or parts.visible):
            return seen.model_copy(update=self._observe_settings())
        return seen.model_copy(update={**self._observe_settings(), **self._observe_tests(), **self._observe_source()})

    # --- settings -----------------------------------------------------------------------------------------------------

    @cached_property
    def _base_report(self) -> RunReport:
        """The suite before the changes to tests and source."""
        return self._make_case(Phase.GREEN, self.parts.settled, self.parts.pair.head.tree).base_report

    def _make_case(self, phase: Phase, base: str, head: str) -> GatherCase:
        pair = load_tree_pair(self.context.git, self.context.rules, base, head, with_state=False)
        return GatherCase(self.context, phase, pair, None, base, NO_DOCS, self.parts.stack)

    def _observe_settings(self) -> dict[str, object]:
        base = self.parts.pair.base.tree
        if not self.parts.settings or self.parts.settled == base:
            return {}
        before = self.context.runner.run(build_suite_request(self.context, base, self.parts.stack))
        return {
            "settings": compare_base_with_head(before, self._base_report),
            "base_run": summarize_run(before, ()),
            "head_run": summarize_run(self._base_report, ()),
        }

    # --- tests --------------------------------------------------------------------------------------------------------

    @cached_property
    def _red(self) -> Evidence | None:
        if not self.parts.tests:
            return None
        return gather(self.context, Phase.RED, self.parts.settled, self.parts.tested)

    @cached_property
    def _outcomes_without_source(self) -> dict[str, str]:
        run = self._red.head_run if self._red else None
        return {result.id: result.outcome for result in run.story} if run else {}

    @cached_property
    def _red_tests(self) -> tuple[str, ...]:
        failing = (test for test, outcome in self._outcomes_without_source.items() if outcome in {"failed", "error"})
        return tuple(sorted(failing))

    @cached_property
    def _head_report(self) -> RunReport:
        directories = find_parent_directories(test.partition("::")[0] for test in self._outcomes_without_source)
        return self._make_case(Phase.GREEN, self.parts.tested, self.parts.pair.head.tree).head_report(directories)

    @cached_property
    def _fresh(self) -> tuple[str, ...]:
        """The new or changed tests that pass at head."""
        wanted = {strip_test_parameters(test) for test in self._outcomes_without_source}
        results = self._head_report.results
        return tuple(
            each.id for each in results if each.outcome == "passed" and strip_test_parameters(each.id) in wanted
        )

    @cached_property
    def _fixed(self) -> tuple[str, ...]:
        """The unchanged tests that failed before and pass now."""
        if self._red_tests:
            return ()
        now = self._head_report.by_id()
        failing = (each.id for each in self._base_report.results if each.outcome in {"failed", "error"})
        return tuple(sorted(test for test in failing if test in now and now[test].outcome == "passed"))

    def _observe_tests(self) -> dict[str, object]:
        head, base, now = self._head_report, self._base_report, self._head_report.by_id()
        earlier = EarlierTests(self.context, self.parts, base, head, self._red_tests, self._fresh)
        results = earlier.compare_results() if self.parts.tests else ()
        outcomes = self._outcomes_without_source
        passing = tuple(sorted(test for test, outcome in outcomes.items() if outcome == "passed" and test in now))
        compared = compare_base_with_head(base, head)
        case = self._make_case(Phase.GREEN, self.parts.settled, self.parts.pair.head.tree)
        found: dict[str, object] = {
            "red": self._red,
            "red_tests": self._red_tests,
            "passing_tests": passing,
            "idle_tests": tuple(sorted(test for test, outcome in outcomes.items() if outcome in _NOT_RUN)),
            "failing_tests": tuple(
                sorted(each for each in outcomes if each in now and now[each].outcome in {"failed", "error"})
            ),
            "fixed_tests": self._fixed,
            "earlier": results,
            "base_run": summarize_run(base, ()),
            "head_run": summarize_run(head, (*outcomes, *self._fixed)),
            "comparison": case.exclude_flaky(compared, compared.regressed) if head.honest else compared,
        }
        if head.honest and results:
            found["protection"] = earlier.measure_protection(results)
        if head.honest and not self.parts.visible and self._fresh:
            found["existing"] = earlier.mutate_existing(self._fresh)
        return found

    # --- source -------------------------------------------------------------------------------------------------------

    def _observe_source(self) -> dict[str, object]:
        if not self.parts.visible:
            return {}
        tested, head = self.parts.tested, self.parts.pair.head.tree
        own = self._red_tests or self._fixed
        if own:
            now = self._head_report.by_id()
            passing = (
                test for test, outcome in self._outcomes_without_source.items() if outcome == "passed" and test in now
            )
            story = StoryContext("", red_tests=tuple(sorted({*own, *passing})))
            green = gather(self.context, Phase.GREEN, tested, head, story=story)
            return {"green": green, **self._observe_undone()}
        if self.refactoring:
            return {"refactor": gather(self.context, Phase.REFACTOR, tested, head)}
        return {"facts": tuple(self._find_source_facts())}

    def _find_source_facts(self) -> Iterator[Fact]:
        case = self._make_case(Phase.GREEN, self.parts.tested, self.parts.pair.head.tree)
        yield from analyze_step(case).find_source_facts(set())

    def _observe_undone(self) -> dict[str, object]:
        """Undo the change of one function at a time. Where no test detects that, compare the old and the new code."""
        if not is_python_stack(self.parts.stack):
            return {}
        pair = self._make_case(Phase.GREEN, self.parts.tested, self.parts.pair.head.tree).pair
        passed = {each.id for each in self._head_report.results if each.outcome == "passed"}
        asked = choose_reference_tests(pair, (), self._base_report)
        tests = tuple(sorted({*self._fresh, *self._fixed, *asked.tests} & passed))
        changed = pair.changed_source
        before, after = (side.texts(lambda path: path in changed) for side in (pair.base, pair.head))
        files = {test.partition("::")[0] for test in tests}
        plan = plan_undone_changes(
            before, after, {path: text for path, text in pair.head.test_texts.items() if path in files}
        )
        if plan.is_empty or not tests:
            return {}
        request = MutationRequest(pair.head.tree, tests, plan, _MAX_UNDONE, ways=False, hash_seed=0)
        undone = self.context.runner.start_mutation_run(request)()
        return {"undone": undone.mutants, "behavior": self._compare_behavior(pair, undone.mutants)}

    def _compare_behavior(self, pair: TreePair, undone: tuple[MutantResult, ...]) -> DifferentialResult | None:
        if not any(each.outcome == "survived" for each in undone):
            return None
        asked = choose_reference_tests(pair, (), self._base_report)
        wait = start_differential(self.context.runner, pair, asked, {})
        return wait() if wait else None


# --- one changed function undone --------------------------------------------------------------------------------------


def plan_undone_changes(before: Mapping[str, str], after: Mapping[str, str], tests: Mapping[str, str]) -> MutationPlan:
    """Plan one fault for each function that exists in both versions: its old source.

    The plan is empty if only one function changed, because the red tests have already shown that they need this change.
    """
    faults = [fault for path, text in sorted(after.items()) for fault in _undo_file(path, before.get(path, ""), text)]
    changed = sum(
        len(find_changed_functions(parse_source(path, before.get(path, "")), source))
        for path, text in after.items()
        if (source := parse_source(path, text)) is not None
    )
    if not faults or changed < 2:
        return MutationPlan()
    digests = ((path, hashlib.sha256(text.encode()).hexdigest()) for path, text in {**after, **tests}.items())
    return MutationPlan(mutants=tuple(faults[:_MAX_UNDONE]), texts=tuple(sorted(digests)))


def _undo_file(path: str, before: str, after: str) -> Iterator[Fault]:
    old, new = parse_source(path, before), parse_source(path, after)
    if old is None or new is None:
        return
    earlier = {each.name: each for each in list_functions(old)}
    for function in find_changed_functions(old, new):
        if function.name in earlier and earlier[function.name].node.col_offset == function.node.col_offset:
            yield _make_fault(new, function, _get_code(old, earlier[function.name]))


def _make_fault(text: SourceText, function: Function, code: str) -> Fault:
    body = get_body_without_docstring(function.node)
    start, end = text.statement_span(function.node)[0], text.span(function.node)[1]
    name = hashlib.sha256(f"undo {text.path} {function.name}".encode()).hexdigest()[:12]
    return Fault(
        name, "mutant", text.path, function.node.lineno, (body[0].lineno, body[-1].end_lineno or 0), function.name,
        f"the change of `{function.name}` undone", (start, end, code), text.statement_span(function.top),
    )  # fmt: skip


def _get_code(text: SourceText, function: Function) -> str:
    """Return the function's lines with their indentation and decorators."""
    start, end = text.statement_span(function.node)[0], text.span(function.node)[1]
    return text.data[start:end].decode()
