"""The one way in which evidence is made: for the flow, for `prd2pr gate` and for `prd2pr verify` alike.

Gathering reads trees and runs tests; it judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from prd2pr import __version__
from prd2pr.core.bite.registering import without_registered
from prd2pr.core.complexity import improvement
from prd2pr.core.disagreements import disagreements, failed_before
from prd2pr.core.doc_examples import changed_examples
from prd2pr.core.evidence import Comparison, Evidence, Fact, LockedFile, PathKind, RunReport
from prd2pr.core.expectations import leaning_tests
from prd2pr.core.held_out import opened, set_apart
from prd2pr.core.old_tests import changed_support
from prd2pr.core.parity.record import Parity
from prd2pr.core.paths import CONVENTIONS, PathRules
from prd2pr.core.records import UNTESTED_KINDS, HeldOutFile, Phase
from prd2pr.core.runs import bare_id, compare, expanded, moved_id, summarise
from prd2pr.core.slips import misspelt_imports
from prd2pr.core.stacks.placed import rules_inside
from prd2pr.core.stacks.stack import PYTHON, Stack, is_python
from prd2pr.core.story_tests import (
    RedTests,
    claimed_again,
    edge_examples,
    failing_setups,
    red_comparison,
    red_tests,
)
from prd2pr.core.strays import strayed
from prd2pr.core.testfacts_model import FactContext
from prd2pr.core.testpaths import outside_of
from prd2pr.errors import CannotJudge, UsageProblem
from prd2pr.flows.beside import OfStack, strayed_beside, suites_beside
from prd2pr.flows.claimed_tests import changed_samples, red_tests_of
from prd2pr.flows.codebase import LOCKED_KINDS, Pair, pair_of, put_in
from prd2pr.flows.facts import (
    called_in,
    certain_in,
    context_of_tests,
    coverage_of,
    declared_in,
    facts_of_data,
    facts_of_source,
    facts_of_tests,
    lines_on_subject,
    named_modules,
    signatures_of,
)
from prd2pr.flows.faults import MUTANTS, Trial, once_more, try_faults
from prd2pr.flows.gather_inside import gather_inside
from prd2pr.flows.manifest_facts import manifest_facts
from prd2pr.flows.own_tests import is_looked_at, project_in
from prd2pr.flows.parity import holding_tests, start_comparison
from prd2pr.flows.removals import removal_in
from prd2pr.flows.shadows import shadowing_modules
from prd2pr.flows.stacks import named_in, step_stack
from prd2pr.flows.stand_ins import start_stand_ins
from prd2pr.flows.story_context import NO_DOCS, DocsRendered, StoryContext
from prd2pr.flows.unsteady import without_unsteady
from prd2pr.ports import OTHER_SEED, RunRequest, TestRunner
from prd2pr.repo.git import Git

COULD_NOT_START = 4  # pytest's exit status: a broken configuration, a missing plugin, a conftest that fails


@dataclass(frozen=True)
class Gathering:
    """What gathering works with."""

    git: Git
    runner: TestRunner
    rules: PathRules = CONVENTIONS
    mutants: int = MUTANTS  # deliberate faults that are tried in a step
    compare: bool = True  # REFACTOR: old code with new
    living_docs: tuple[str, ...] = ()  # where living docs may be written
    docs_directory: str = "docs"
    stacks: tuple[Stack, ...] = ()  # none: Python alone


@dataclass(frozen=True)
class _Case:
    """One question: what happened from this base to this head?"""

    gathering: Gathering
    phase: Phase
    pair: Pair
    story: StoryContext | None
    base: str
    docs: DocsRendered
    stack: Stack = PYTHON

    @cached_property
    def base_report(self) -> RunReport:
        """The whole suite before the step; mostly known already, as the result of the step before."""
        report = self.gathering.runner.run(suite_request(self.gathering, self.pair.base.tree, self.stack))
        if report.exit_status == COULD_NOT_START and is_python(self.stack):
            raise CannotJudge(
                f"the tests cannot be run before this step, so nothing can be said about it: {report.problems[0]}",
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
        """The whole suite after the step, with canaries beside the tests that the step is about."""
        places = tuple(sorted({*directories} & _directories(self.pair.head.entries)))
        request = RunRequest(
            self.pair.head.tree, restore=restore or {}, canary_dirs=places, afresh=afresh, stack=self.only
        )
        return self.gathering.runner.run(replace(request, followed_by=followed_by))

    @property
    def only(self) -> Stack | None:
        """The stack whose suite is run; a project that has one alone need not say which."""
        return _only(self.gathering, self.stack)

    @property
    def planned(self) -> tuple[str, ...]:
        """Names that the design promises, where there is one."""
        return tuple(symbol.name for symbol in self.story.planned or ()) if self.story else ()

    def common(self) -> dict[str, Any]:
        """What evidence of every phase says."""
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


def suite_request(gathering: Gathering, tree: str, stack: Stack = PYTHON) -> RunRequest:
    """The whole suite as it was before a step."""
    return RunRequest(tree, stack=_only(gathering, stack), followed_by=(0,))


def _only(gathering: Gathering, stack: Stack) -> Stack | None:
    return stack if len(gathering.stacks) > 1 else None


def gather(
    gathering: Gathering,
    phase: Phase,
    base: str,
    head: str,
    *,
    story: StoryContext | None = None,
    docs: DocsRendered = NO_DOCS,
    with_state: bool = False,
) -> Evidence:
    """`base` and `head` are commits or trees. `docs`: what INTEGRATED has to write into living docs, if anything.

    `with_state`: changes under `.orch-state/` count as changes.
    """
    if phase not in _GATHERERS:
        raise UsageProblem(f"{phase.value} has no gate", where="gate", remedy="name red, green, refactor or integrated")
    pair = pair_of(gathering.git, gathering.rules, base, head, with_state=with_state)
    case = _Case(gathering, phase, pair, story, base, docs, step_stack(gathering.stacks, pair, story))
    seen = _inside(case) if case.stack.judged_inside else _of_story(case)
    if manifests := tuple(manifest_facts(pair, phase)):
        seen = seen.model_copy(update={"facts": (*seen.facts, *manifests)})
    return seen if len(gathering.stacks) < 2 else _among_stacks(case, seen)


def _inside(case: _Case) -> Evidence:
    stack, gathering = case.stack, case.gathering
    local = replace(
        gathering,
        runner=OfStack(gathering.runner, stack.inside),
        rules=rules_inside(gathering.rules, stack.root),
        stacks=(stack.inside,),
    )

    def from_inside(base: str, head: str, story: StoryContext | None) -> Evidence:
        pair = pair_of(local.git, local.rules, base, head, with_state=False)
        return _of_story(_Case(local, case.phase, pair, story, base, case.docs, stack.inside))

    return gather_inside(stack, case.phase, case.pair, case.story, from_inside)


def _among_stacks(case: _Case, seen: Evidence) -> Evidence:
    """What the step does beside its own stack, and what the story did to the other stacks' tests."""
    stacks, story = case.gathering.stacks, case.story
    if case.phase is Phase.INTEGRATED:
        began = story.began if story and story.began else case.pair.base.tree
        suites = suites_beside(case.gathering.runner, case.stack, stacks, began, case.pair.head.tree)
        return seen.model_copy(update={"beside": suites})
    if story and story.kind in UNTESTED_KINDS:
        return seen
    return seen.model_copy(update={"facts": (*seen.facts, *strayed_beside(seen.changes, case.stack, stacks))})


def _of_story(case: _Case) -> Evidence:
    phase, story = case.phase, case.story
    if phase is Phase.GREEN and story and story.pre_implemented:
        return _gathered(case, Phase.RED).model_copy(update={"pre_implemented": True})
    if phase in (Phase.RED, Phase.GREEN) and story and story.held_out is not None:
        return _with_held_out(case, story.held_out.files)
    return _gathered(case, phase)


def _gathered(case: _Case, phase: Phase) -> Evidence:
    if is_python(case.stack):
        return _GATHERERS[phase](case)
    from prd2pr.flows.gather_other import OTHER_GATHERERS  # grammars are loaded where they are needed

    return OTHER_GATHERERS[phase](case)


def _with_held_out(case: _Case, files: tuple[HeldOutFile, ...]) -> Evidence:
    """RED is judged with the examples beside the other tests, and ends without them; GREEN ends with them."""
    red, given = case.phase is Phase.RED, case.pair
    base = given.base if red else put_in(given.base, files, over=True)
    whole = replace(case, pair=replace(given, base=base, head=put_in(given.head, files)))
    seen = _gathered(whole, case.phase)
    criteria = case.story.criteria if case.story else ()
    side = whole.pair.head if red else base
    named = named_in(side, case.stack, tuple(file.path for file in files), criteria)
    if red:
        return set_apart(seen, files, named).model_copy(update={"head_tree": given.head.tree})
    return opened(seen, files, named).model_copy(update={"base_tree": given.base.tree})


# --- RED --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _New:
    """What RED brought, and what came of it."""

    touched: tuple[str, ...]  # files that belong to the tests
    modules: tuple[str, ...]  # those among them that hold tests
    tests: RedTests
    head: RunReport
    context: FactContext


def _red(case: _Case) -> Evidence:
    pair, base = case.pair, case.base_report
    touched = tuple(change.path for change in pair.changed(*LOCKED_KINDS))
    modules = tuple(path for path in touched if pair.naming.is_module(path))
    if modules:  # mostly the files of the tests that are new; where they are not, this run is not asked for
        case.gathering.runner.begin(_repeat(case, modules), beside=True)
    head = case.head_report(_parents(modules), followed_by=(OTHER_SEED,))
    moved = leaning_tests(pair.base.test_texts, pair.head.test_texts, changed_samples(pair), pair.naming)
    before, after = _texts(pair.base.test_texts, modules), _texts(pair.head.test_texts, modules)
    tests = red_tests(before, after, base, head, moved, naming=pair.naming)
    comparison = red_comparison(compare(base, head), tests, (before, after), base, head, naming=pair.naming)
    fresh = frozenset(bare_id(test) for test in tests.fresh)
    context = context_of_tests(pair, fresh, case.story.planned if case.story else None, head)
    collected = {bare_id(result.id) for result in head.results}
    with_stand_ins = start_stand_ins(case.gathering.runner, pair, tests.fresh, head, case.planned)
    repeat = _repeat(case, tuple({test.partition("::")[0] for test in tests.all})) if tests.all else None
    new = _New(touched, modules, tests, head, context)
    return Evidence(
        **case.common(),
        declared=declared_in(pair, modules),
        uncollected=tuple(test for test in certain_in(pair, modules) if test not in collected),
        story_tests=tests.all,
        coverage=coverage_of(pair, modules, fresh, case.story.criteria) if case.story else None,
        project_names=named_modules(pair, head),
        flat_layout=pair.head.flat,
        called=called_in(pair, modules),
        subject_lines=lines_on_subject(pair, modules, context),
        facts=(*_facts_of_red(case, new), *with_stand_ins()),
        comparison=_steady(case, comparison, comparison.regressed) if head.honest else comparison,
        base_run=summarise(base, tests.all),
        head_run=summarise(head, tests.all),
        repeat_run=summarise(case.gathering.runner.run(repeat), tests.all) if repeat else None,
    )


def _facts_of_red(case: _Case, new: _New) -> Iterator[Fact]:
    pair, base, head, fresh = case.pair, case.base_report, new.head, new.tests.fresh
    before, after, naming = pair.base.test_texts, pair.head.test_texts, pair.naming
    changed, project = _texts(after, new.modules), new.context.project_modules
    yield from facts_of_tests(pair, new.touched, new.context)
    carried = frozenset(map(bare_id, new.tests.carried))
    yield from changed_support(before, after, frozenset(map(bare_id, fresh)), carried, naming)
    yield from claimed_again(before, changed, base, fresh, naming)
    yield from failed_before(before, changed, base, fresh, naming)
    yield from outside_of(pair.base.testpaths, _added(pair, new.modules), pair.base.entries, naming)
    yield from strayed(changed, head, fresh, project, naming)
    yield from disagreements(after, fresh, project, naming)
    yield from edge_examples(base, head, fresh)
    yield from failing_setups(changed, head, fresh)
    yield from misspelt_imports(
        _texts(after, new.touched), before, pair.head.source_texts, pair.head.modules, case.planned
    )


def _repeat(case: _Case, files: Sequence[str]) -> RunRequest:
    """The story's files once more, in another order and with another hash seed."""
    paths = tuple(sorted(files))
    return RunRequest(
        case.pair.head.tree, paths=paths, order="reversed", hash_seed=OTHER_SEED, followed_by=(), later=(0,)
    )


# --- GREEN and REFACTOR: the tests are locked -------------------------------------------------------------------------


def _locked(case: _Case) -> Evidence:
    pair, base = case.pair, case.base_report
    shown, held = _claimed(case), _held_out_tests(case)
    claimed = (*shown, *held)
    read = {test.partition("::")[0] for test in shown}
    own = {test.partition("::")[0] for test in claimed}
    expected = {**pair.base.locked, **pair.oracles(), **(case.story.locked if case.story else {})}
    refactor = case.phase is Phase.REFACTOR
    removal = removal_in(pair, {*own, *(case.story.locked if case.story else ())}) if refactor else None
    if removal and removal.is_open:
        expected = {path: blob for path, blob in expected.items() if path not in removal.files}
    locked = pair.locked_files(expected, lambda path: path in own)
    trial = _trial(case, shown, _restored(locked))
    earlier = _earlier_trial(case, shown) if refactor else None
    comparison = _comparison(case, shown, _restored(locked)) if refactor else None
    head = case.head_report(_parents(own), _restored(locked))
    parity = comparison() if comparison else None
    bite = trial.wait() if trial else None
    before = earlier.wait() if earlier else None
    if bite and not bite.problems and not _is_green(claimed, base, head):
        # Side by side, two runs may want the same port or file. What fails only then is not the code's fault.
        head = case.head_report(_parents(own), _restored(locked), afresh=True)
    if trial and bite and bite.problems and _is_green(claimed, base, head):
        bite = once_more(trial)
    tests = expanded(claimed, head)
    compared = compare(base, head)
    if _passes(claimed, head):
        others = tuple(test for test in compared.regressed if test not in tests)
        compared = _steady(case, compared, others, _restored(locked))
    green = _passes(claimed, head) and not compared.regressed
    if parity and parity.problems and green and (alone := _comparison(case, shown, _restored(locked))):
        parity = alone()  # beside three other processes it may have run out of time
    return Evidence(
        **case.common(),
        locked=locked,
        story_tests=tests,
        facts=(
            *facts_of_source(pair, read, case.phase),
            *facts_of_data(pair, case.phase),
            *shadowing_modules(pair, base),
            *changed_examples(pair.base.source_texts, pair.head.source_texts, base, case.phase),
        ),
        comparison=compared,
        base_run=summarise(base, expanded(claimed, base)),
        head_run=summarise(head, tests),
        signatures_before=signatures_of(pair.base, pair) if refactor else (),
        signatures_after=signatures_of(pair.head, pair) if refactor else (),
        improvement=_improvement(pair) if refactor else {},
        bite=without_registered(bite, pair.base.test_texts, pair.head.source_texts) if bite and green else None,
        bite_before=before,
        removal=removal,
        parity=parity if green else None,
    )


def _trial(case: _Case, tests: tuple[str, ...], restore: Mapping[str, str]) -> Trial | None:
    """Faults in what the step made; of stories that ask for no tests, none."""
    if case.story and case.story.kind in UNTESTED_KINDS:
        return None
    gathering, pair = case.gathering, case.pair
    return try_faults(gathering.runner, pair.head, pair.base, pair, tests, restore, gathering.mutants)


def _earlier_trial(case: _Case, tests: tuple[str, ...]) -> Trial | None:
    """Faults in what stood there before the refactoring."""
    gathering, pair = case.gathering, case.pair
    return try_faults(gathering.runner, pair.base, pair.head, pair, tests, {}, gathering.mutants, ways=False)


def _comparison(case: _Case, tests: tuple[str, ...], restore: Mapping[str, str]) -> Callable[[], Parity] | None:
    """The code before and after a refactoring, given the same calls."""
    if not case.gathering.compare or (case.story and case.story.kind in UNTESTED_KINDS):
        return None
    asked = holding_tests(case.pair, expanded(tests, case.base_report), case.base_report)
    return start_comparison(case.gathering.runner, case.pair, asked, restore)


def _steady(
    case: _Case, comparison: Comparison, suspects: tuple[str, ...], restore: Mapping[str, str] | None = None
) -> Comparison:
    runner, pair = case.gathering.runner, case.pair
    trees = {"base": pair.base.tree, "head": pair.head.tree}
    return without_unsteady(runner, comparison, suspects, **trees, restore=restore or {})


def _is_green(tests: tuple[str, ...], base: RunReport, head: RunReport) -> bool:
    return _passes(tests, head) and not compare(base, head).regressed


def _passes(tests: tuple[str, ...], head: RunReport) -> bool:
    outcomes = {test: result.outcome for test, result in head.by_id().items()}
    story = [outcomes.get(test) for test in expanded(tests, head)]
    return head.honest and all(each == "passed" for each in story)


def _claimed(case: _Case) -> tuple[str, ...]:
    """The tests that were proved RED; of a person's commits, those that the commit before brought and left failing."""
    if case.story:
        return case.story.red_tests
    if case.phase is Phase.REFACTOR:
        return ()  # what fails before a refactoring is baseline; what passes is held by the comparison
    return red_tests_of(case.gathering.git, case.gathering.rules, case.gathering.runner, case.base, case.base_report)


def _held_out_tests(case: _Case) -> tuple[str, ...]:
    """Asked to pass, but not whether they bite: what that finds would tell of them."""
    held = case.story.held_out if case.story and case.phase is Phase.GREEN else None
    return held.tests if held else ()


def _restored(locked: Iterable[LockedFile]) -> dict[str, str]:
    """Not trusted, but put back: GREEN is proved with the tests that RED committed."""
    return {file.path: file.expected for file in locked if file.actual != file.expected}


def _improvement(pair: Pair) -> dict[str, Any]:
    paths = {change.path for change in pair.changes if change.kind is PathKind.SOURCE}
    before = pair.base.texts(lambda path: path in paths)
    return improvement(before, pair.head.texts(lambda path: path in paths))


# --- INTEGRATED: the tests move ---------------------------------------------------------------------------------------


def _integrated(case: _Case) -> Evidence:
    pair, base = case.pair, case.base_report
    moved = pair.moved()
    claimed = case.story.red_tests if case.story else _tests_in(base, moved)
    there = [moved_id(test, moved) for test in claimed]
    expected = {moved.get(path, path): blob for path, blob in pair.base.locked.items()}
    locked = pair.locked_files(expected, lambda path: path in moved.values())
    directories = _still_found(pair, zip(claimed, there, strict=True))
    head = case.head_report(directories, _restored(locked), followed_by=())  # the next story begins with its design
    tests = expanded(there, head)
    return Evidence(
        **case.common(),
        locked=locked,
        story_tests=tests,
        comparison=compare(base, head, moved),
        base_run=summarise(base, expanded(claimed, base)),
        head_run=summarise(head, tests),
        living_docs=dict(case.docs.blobs),
        docs_made_by=case.docs.made_by,
    )


def _still_found(pair: Pair, tests: Iterable[tuple[str, str]]) -> set[str]:
    """Directories to look into. Tests that leave those that the project itself looks into are not followed there."""
    project = project_in(pair.head)
    kept = [new for old, new in tests if is_looked_at(project, new) or not is_looked_at(project, old)]
    return _parents(test.partition("::")[0] for test in kept)


def _tests_in(report: RunReport, files: Iterable[str]) -> tuple[str, ...]:
    wanted = set(files)
    return tuple(result.id for result in report.results if result.id.partition("::")[0] in wanted)


_GATHERERS: dict[Phase, Callable[[_Case], Evidence]] = {
    Phase.RED: _red,
    Phase.GREEN: _locked,
    Phase.REFACTOR: _locked,
    Phase.INTEGRATED: _integrated,
}


def _parents(paths: Iterable[str]) -> set[str]:
    return {path.rpartition("/")[0] or "." for path in paths}


def _directories(paths: Iterable[str]) -> set[str]:
    return _parents(paths) | {"."}


def _added(pair: Pair, paths: Iterable[str]) -> list[str]:
    return [path for path in paths if path not in pair.base.entries]


def _texts(texts: Mapping[str, str], paths: Iterable[str]) -> dict[str, str]:
    return {path: texts[path] for path in paths if path in texts}
