"""Compare the faults that the old versions of changed tests detect with those that the new versions detect."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property

from prd2pr.domain.changeset import EarlierTest, Protection
from prd2pr.domain.evidence import Fact, FailureKind, PathKind, RunReport, TestResult
from prd2pr.domain.records import Phase
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.domain.stack import is_python_stack
from prd2pr.domain.stack_policy import CODE_ENDINGS
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, parse_tests
from prd2pr.languages.python.test_naming import TestNaming
from prd2pr.languages.test_runner import MutationRequest, RunRequest
from prd2pr.verification.changeset.parts import ChangesetParts, find_reached_sources
from prd2pr.verification.codebase import Codebase, load_tree_pair
from prd2pr.verification.gather.context import GatherCase, GatherContext
from prd2pr.verification.gather.pipeline import analyze_step
from prd2pr.verification.story_context import NO_DOCS
from prd2pr.verification.story_tests import dump_all_tests

MUTANTS = 60
_IMPORT = "import "
_DEFINED = re.compile(
    r"^(?:(?:FunctionDef|AsyncFunctionDef|ClassDef)\(name='|Assign\(targets=\[Name\(id='|import )(\w+)"
)
_DUMPED_NAME = re.compile(r"(?:id|attr)='(\w+)'")
_NAME = re.compile(r"[A-Za-z_]\w*")
_EXACT_CALLS = frozenset({"assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertDictEqual"})
_ALIKE = 0.5  # similarity of two tests from which one may take the other's place


@dataclass(frozen=True)
class EarlierTests:
    """The tests of the base that the changeset changed or removed, and the runs in which they are compared."""

    context: GatherContext
    parts: ChangesetParts
    base: RunReport
    head: RunReport
    red: tuple[str, ...]  # tests at head that are red without the new source
    fresh: tuple[str, ...]  # all new or changed tests that pass at head

    @cached_property
    def _bodies(self) -> tuple[dict[str, str], dict[str, str]]:
        pair = self.parts.pair
        return self._read_bodies(pair.base), self._read_bodies(pair.head)

    def _read_bodies(self, side: Codebase) -> dict[str, str]:
        """Map each test in a changed test file of this side to its source."""
        paths = {change.path for change in self.parts.tests}
        if is_python_stack(self.parts.stack):
            texts = {path: text for path, text in side.test_texts.items() if path in paths}
            return dict(dump_all_tests(texts, side.naming))
        from prd2pr.languages.registry import get_language  # late, because it loads grammars

        language, texts = get_language(self.parts.stack.language), side.texts(lambda path: path in paths)
        return {test.id: test.body for path, text in texts.items() for test in language.read_tests(path, text).tests}

    @cached_property
    def _shares_changed(self) -> bool:
        """Whether shared code or data changed that tests in unchanged files may use."""
        kept = [change for change in self.parts.tests if change.status != "added"]
        own = {test.partition("::")[0] for test in (*self._bodies[0], *self._bodies[1])}
        return any(change.path not in own for change in kept) or any(
            change.path.endswith("conftest.py") for change in self.parts.tests
        )

    @cached_property
    def touched(self) -> tuple[str, ...]:
        """The tests that passed before and whose source, helpers or result changed."""
        before, after = self._bodies
        paths = {change.path for change in self.parts.tests if change.status != "added"}
        now = self.head.by_id()
        kept_files = {path for path in paths if self._only_grew(path)}
        found = []
        for test, result in self.base.by_id().items():
            bare, path = strip_test_parameters(test), test.partition("::")[0]
            if result.outcome != "passed" or not (path in paths or self._shares_changed):
                continue
            same = before.get(bare) == after.get(bare) and (path not in paths or path in kept_files)
            passes = test in now and now[test].outcome == "passed"
            if not (same and passes and not self._shares_changed) and not self._is_moved(bare):
                found.append(test)
        return tuple(sorted(found))

    def _only_grew(self, path: str) -> bool:
        """Return whether a Python test file keeps all code outside its tests, and no added statement replaces any."""
        pair = self.parts.pair
        if not path.endswith(".py"):
            return False
        sides = (pair.base, pair.head)
        old, new = (_dump_shared_code(path, side.test_texts.get(path, ""), pair.naming) for side in sides)
        if old is None or new is None or not all(text.startswith(_IMPORT) for text in old - new):
            return False
        return not _rebinds(new - old, old)

    def _is_moved(self, test: str) -> bool:
        """Return whether a passing test at head has the same source under another id."""
        before, after = self._bodies
        body, now = before.get(test), self.head.by_id()
        if body is None or test in after:
            return False
        places = [other for other, text in after.items() if text == body and other not in before]
        passed = {strip_test_parameters(each) for each, result in now.items() if result.outcome == "passed"}
        return any(place in passed for place in places)

    # --- their old versions with the new source -----------------------------------------------------------------------

    @cached_property
    def _with_new_source(self) -> RunReport:
        files = tuple(sorted({test.partition("::")[0] for test in self.touched}))
        stack = None if len(self.context.stacks) < 2 else self.parts.stack
        return self.context.runner.run(RunRequest(self.parts.former, paths=files, stack=stack, followed_by=(0,)))

    def compare_results(self) -> tuple[EarlierTest, ...]:
        if not self.touched:
            return ()
        then, now = self._with_new_source.by_id(), self.head.by_id()
        stopped = {
            test.partition("::")[0]: each
            for test, each in then.items()
            if each.failure and each.failure.stage == "collect"
        }
        return tuple(self._compare(test, _find_result(then, stopped, test), now.get(test)) for test in self.touched)

    def _compare(self, test: str, old: TestResult | None, now: TestResult | None) -> EarlierTest:
        failure = old.failure if old else None
        missing = (
            failure.missing or failure.message[:80] if failure and failure.kind is FailureKind.MISSING_SYMBOL else ""
        )
        reason = (
            "" if failure is None else f"{failure.exception} {failure.message.strip().partition(chr(10))[0]}".strip()
        )
        return EarlierTest(
            id=test,
            on_new_source=old.outcome if old else None,
            now=now.outcome if now else None,
            failure=reason[:200],
            lost_subject=missing,
            successor=self._find_successor(test),
        )

    def _find_successor(self, test: str) -> str:
        """Return the red test that replaces an earlier test: its own new version, or a similar new test."""
        bare = strip_test_parameters(test)
        bodies, now = self._bodies
        red = {strip_test_parameters(each) for each in self.red}
        if bare in red:
            return bare
        if bare in now:
            return ""
        old = bodies.get(bare, "")
        new = [each for each in red if each in now and each not in bodies and _use_same_names(old, now[each])]
        alike = [(SequenceMatcher(None, old, now[each]).ratio(), each) for each in new]
        return max((each for each in alike if each[0] >= _ALIKE), default=(0.0, ""))[1]

    # --- what they detect ---------------------------------------------------------------------------------------------

    def measure_protection(self, results: Iterable[EarlierTest]) -> Protection | None:
        """Compare the mutants that the old versions kill with those that the changed and new tests kill."""
        kept = tuple(each.id for each in results if each.on_new_source == "passed")
        if not kept:
            return None
        now = self.head.by_id()
        still = tuple(each for each in kept if each in now and now[each].outcome == "passed")
        new = tuple(dict.fromkeys((*self.fresh, *still)))
        plan = self._plan_faults(self.parts.former, kept)
        before = self._mutate(self.parts.former, kept, plan)
        if before.problems:
            return Protection(problem=before.problems[0])
        killed = {each.id: each for each in before.mutants if each.outcome == "killed"}
        wanted = tuple(fault for fault in plan.mutants if fault.id in killed)
        texts = self._plan_faults(self.parts.pair.head.tree, new).texts if new and wanted else ()
        # Tests that depend on chance kill a mutant only now and then, so what seems to be lost is tried again.
        for _ in range(2):
            if not new or not wanted:
                break
            after = self._mutate(self.parts.pair.head.tree, new, MutationPlan(mutants=wanted, texts=texts))
            if after.problems:
                return Protection(killed_before=len(killed), problem=after.problems[0])
            tried = {each.id: each.outcome for each in after.mutants}
            # A mutant that no test executes any more is missing in the result.
            wanted = tuple(fault for fault in wanted if tried.get(fault.id, "survived") == "survived")
        return Protection(
            killed_before=len(killed),
            lost=tuple(killed[fault.id] for fault in wanted),
            values_lost=tuple(self._find_lost_values(kept)),
        )

    def mutate_existing(self, tests: tuple[str, ...]) -> MutationResult:
        """Mutate the code that these tests reach, whether it changed or not."""
        tree = self.parts.pair.head.tree
        plan = self._plan_mutations(tree, tests)
        texts = self.parts.pair.head.texts(lambda path: path in {test.partition("::")[0] for test in tests})
        # A function that no test names may not be called at all, which only a run of the whole suite could show.
        named = tuple(
            each for each in plan.knock_outs if any(each.function.rpartition(".")[2] in text for text in texts.values())
        )
        return self._mutate(tree, tests, replace(plan, knock_outs=named), ways=True)

    def _mutate(self, tree: str, tests: tuple[str, ...], plan: MutationPlan, *, ways: bool = False) -> MutationResult:
        if plan.is_empty:
            return MutationResult()
        stack = None if len(self.context.stacks) < 2 else self.parts.stack
        request = MutationRequest(tree, tests, plan, MUTANTS, ways=ways, hash_seed=0, stack=stack)
        return self.context.runner.start_mutation_run(request)()

    def _plan_faults(self, tree: str, tests: tuple[str, ...]) -> MutationPlan:
        """Plan knock-outs and mutants. Knock-outs are tried only in code that one of the tests executes."""
        plan = self._plan_mutations(tree, tests)
        knock_outs = tuple(replace(fault, kind="mutant") for fault in plan.knock_outs)
        return MutationPlan(mutants=(*knock_outs, *plan.mutants), texts=plan.texts)

    def _plan_mutations(self, tree: str, tests: tuple[str, ...]) -> MutationPlan:
        """Plan faults in the source that the tests reach. Unchanged functions are included."""
        git = self.context.git
        stripped = git.edit_tree(tree, dict.fromkeys(self._reached))
        pair = load_tree_pair(git, self.context.rules, stripped, tree, with_state=False)
        case = GatherCase(self.context, Phase.GREEN, pair, None, stripped, NO_DOCS, self.parts.stack)
        return analyze_step(case).plan_mutations(pair.head, pair.base, tests)

    @cached_property
    def _reached(self) -> tuple[str, ...]:
        files = {test.partition("::")[0] for test in (*self.touched, *self.fresh)}
        pair = self.parts.pair
        texts = [text for side in (pair.base, pair.head) for text in side.texts(lambda path: path in files).values()]
        if is_python_stack(self.parts.stack):
            return find_reached_sources(pair.head.source_texts, texts)
        head = pair.head
        code = head.texts(lambda path: head.kind(path) is PathKind.SOURCE and path.endswith(CODE_ENDINGS))
        return find_reached_sources(code, texts)

    def _find_lost_values(self, kept: tuple[str, ...]) -> Iterator[Fact]:
        """Report values that a changed test used to check exactly and that no changed or new test contains any more."""
        if not is_python_stack(self.parts.stack):
            return
        pair = self.parts.pair
        changed, fresh = (set(map(strip_test_parameters, tests)) for tests in (kept, self.fresh))
        new = {
            test: node
            for path, text in pair.head.test_texts.items()
            for test, node in _list_tests(path, text, fresh, pair.naming)
        }
        left = {value for node in new.values() for value in _list_values(node)}
        for path in sorted({test.partition("::")[0] for test in changed}):
            for test, node in _list_tests(path, pair.base.test_texts.get(path, ""), changed & fresh, pair.naming):
                if test in new and _count_exact(new[test]) < _count_exact(node):
                    values = {value for part in _list_assertions(node) for value in _list_values(part)}
                    for value in sorted(values - left):
                        yield Fact(code="CHK203", path=path, test=test, line=new[test].lineno, message=value)


def _find_result(then: Mapping[str, TestResult], stopped: Mapping[str, TestResult], test: str) -> TestResult | None:
    """Return a test's result, or the result of its file if that cannot be collected."""
    exact = then.get(test) or then.get(strip_test_parameters(test))
    return exact or stopped.get(test.partition("::")[0])


def _use_same_names(old: str, new: str) -> bool:
    """Return whether most functions and variables of two tests are the same."""
    names, others = ({*(_DUMPED_NAME.findall(text) or _NAME.findall(text))} for text in (old, new))
    return 2 * len(names & others) >= len(names | others)


# --- what Python tests contain ----------------------------------------------------------------------------------------


def _dump_shared_code(path: str, text: str, naming: TestNaming) -> Counter[str] | None:
    """Return the statements of a test file outside its tests, or None if it cannot be parsed."""
    module = parse_tests(path, text, naming)
    if module is None:
        return None
    tests = {id(test.node) for test in module.tests}
    found: Counter[str] = Counter()
    for node in module.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):  # another imported name changes nothing for the tests
            origin = f"{node.level}{node.module}" if isinstance(node, ast.ImportFrom) else ""
            found.update(
                f"{_IMPORT}{alias.asname or alias.name.partition('.')[0]} {origin} {alias.name}" for alias in node.names
            )
        elif isinstance(node, ast.ClassDef) and any(id(inner) in tests for inner in node.body):
            found.update(ast.dump(part) for part in (*node.bases, *node.decorator_list))
            own = (inner for inner in node.body if id(inner) not in tests and not isinstance(inner, ast.Pass))
            found.update(f"{node.name} {ast.dump(inner)}" for inner in own)
        elif id(node) not in tests and not isinstance(node, ast.Expr):
            found[ast.dump(node)] += 1
    return found


def _rebinds(added: Iterable[str], before: Iterable[str]) -> bool:
    """Return whether an added statement defines a name again, or marks all tests of the file."""
    known = {found[1] for text in before if (found := _DEFINED.match(text))}
    return any(
        "pytestmark" in text or ((found := _DEFINED.match(text)) is not None and found[1] in known) for text in added
    )


def _list_tests(path: str, text: str, wanted: set[str], naming: TestNaming) -> Iterator[tuple[str, FunctionNode]]:
    module = parse_tests(path, text, naming)
    for test in module.tests if module else ():
        if test.id in wanted:
            yield test.id, test.node


def _list_values(node: ast.AST) -> Iterator[str]:
    """Yield the literal values in a test, as text."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and not isinstance(inner.value, bool) and inner.value is not None:
            yield repr(inner.value)


def _list_assertions(node: FunctionNode) -> Iterator[ast.AST]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert):
            yield inner.test
        elif isinstance(inner, ast.Call) and get_dotted_name(inner.func).startswith("self.assert"):
            yield inner


def _count_exact(node: FunctionNode) -> int:
    """Count the comparisons with an exact value."""
    return sum(
        (isinstance(inner, ast.Compare) and any(isinstance(each, ast.Eq | ast.Is) for each in inner.ops))
        or (isinstance(inner, ast.Call) and get_dotted_name(inner.func).rpartition(".")[2] in _EXACT_CALLS)
        for part in _list_assertions(node)
        for inner in ast.walk(part)
    )
