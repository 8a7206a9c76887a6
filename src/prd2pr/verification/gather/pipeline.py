"""Gather the evidence for a step, in the same way for runs, `prd2pr gate` and `prd2pr verify`.

Gathering reads trees and runs tests but does not judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from prd2pr.domain.evidence import Evidence, Fact, PathKind
from prd2pr.domain.records import UNTESTED_KINDS, HiddenExamples, Phase
from prd2pr.domain.stack import is_python_stack
from prd2pr.errors import CannotJudge, Prd2prError, UsageProblem
from prd2pr.languages.hidden_examples import reveal_hidden_examples, separate_hidden_examples
from prd2pr.languages.project.manifests import describe_other_changes
from prd2pr.languages.rule_isolation import describe_crash
from prd2pr.languages.stack_paths import relativize_rules
from prd2pr.verification.codebase import TreePair, add_missing_files, load_tree_pair
from prd2pr.verification.gather.analysis import StepAnalysis
from prd2pr.verification.gather.context import GatherCase, GatherContext
from prd2pr.verification.gather.other_stacks import SingleStackRunner, find_changes_outside_stack, run_other_suites
from prd2pr.verification.gather.phases import GATHERERS, gather_pre_implemented
from prd2pr.verification.gather.python_analysis import PythonAnalysis
from prd2pr.verification.gather.subdirectory import gather_in_subdirectory
from prd2pr.verification.stack_scope import choose_step_stack, find_named_criteria
from prd2pr.verification.story_context import NO_DOCS, ExpectedDocs, StoryContext

_MANIFEST_CODES = {Phase.GREEN: "GRN101", Phase.REFACTOR: "RFC101"}


def find_manifest_facts(pair: TreePair, phase: Phase) -> Iterator[Fact]:
    """Report manifest changes other than dependencies. The gate's policy decides whether dependencies may change."""
    paths = [change.path for change in pair.changes if change.kind is PathKind.MANIFEST]
    if phase not in _MANIFEST_CODES or not paths:
        return
    before, after = (side.texts(lambda path: path in paths) for side in (pair.base, pair.head))
    for path in paths:
        change = describe_other_changes(path, before.get(path, ""), after.get(path, ""))
        if change:
            yield Fact(code=_MANIFEST_CODES[phase], path=path, message=f"{change}, which may decide how tests run")


def gather(
    context: GatherContext,
    phase: Phase,
    base: str,
    head: str,
    *,
    story: StoryContext | None = None,
    docs: ExpectedDocs = NO_DOCS,
    with_state: bool = False,
) -> Evidence:
    """Gather the evidence for one phase between `base` and `head`, each of which is a commit or a tree.

    `docs` lists the living docs that INTEGRATED must write. With `with_state`, changes under `.orch-state/` are
    included.
    """
    if phase not in GATHERERS:
        raise UsageProblem(f"{phase.value} has no gate", where="gate", remedy="name red, green, refactor or integrated")
    try:
        return _gather_step(context, phase, base, head, story, docs, with_state=with_state)
    except (Prd2prError, OSError):
        raise
    except Exception as error:
        raise CannotJudge(
            f"the step cannot be judged, because of a bug in prd2pr: {describe_crash(error)}",
            where=phase.value,
            remedy="paste this line into an issue of prd2pr; nothing was accepted or refused",
        ) from error


def _gather_step(  # noqa: PLR0917 the arguments of `gather`, in the same order
    context: GatherContext,
    phase: Phase,
    base: str,
    head: str,
    story: StoryContext | None,
    docs: ExpectedDocs,
    *,
    with_state: bool,
) -> Evidence:
    pair = load_tree_pair(context.git, context.rules, base, head, with_state=with_state)
    case = GatherCase(context, phase, pair, story, base, docs, choose_step_stack(context.stacks, pair, story))
    seen = _gather_inside_root(case) if case.stack.is_judged_inside else _gather_story(case)
    if manifests := tuple(find_manifest_facts(pair, phase)):
        seen = seen.model_copy(update={"facts": (*seen.facts, *manifests)})
    return seen if len(context.stacks) < 2 else _add_other_stacks(case, seen)


def _gather_inside_root(case: GatherCase) -> Evidence:
    stack, context = case.stack, case.context
    local = replace(
        context,
        runner=SingleStackRunner(context.runner, stack.as_root_stack),
        rules=relativize_rules(context.rules, stack.root),
        stacks=(stack.as_root_stack,),
    )

    def from_inside(base: str, head: str, story: StoryContext | None) -> Evidence:
        pair = load_tree_pair(local.git, local.rules, base, head, with_state=False)
        return _gather_story(GatherCase(local, case.phase, pair, story, base, case.docs, stack.as_root_stack))

    return gather_in_subdirectory(stack, case.phase, case.pair, case.story, from_inside)


def _add_other_stacks(case: GatherCase, seen: Evidence) -> Evidence:
    """Add changes outside the step's stack and, in INTEGRATED, the test runs of the other stacks."""
    stacks, story = case.context.stacks, case.story
    if case.phase is Phase.INTEGRATED:
        began = story.began if story and story.began else case.pair.base.tree
        suites = run_other_suites(case.context.runner, case.stack, stacks, began, case.pair.head.tree)
        return seen.model_copy(update={"beside": suites})
    if story and story.kind in UNTESTED_KINDS:
        return seen
    return seen.model_copy(
        update={"facts": (*seen.facts, *find_changes_outside_stack(seen.changes, case.stack, stacks))}
    )


def _gather_story(case: GatherCase) -> Evidence:
    phase, story = case.phase, case.story
    if phase is Phase.GREEN and story and story.pre_implemented:
        return gather_pre_implemented(analyze_step(case))
    if phase in (Phase.RED, Phase.GREEN) and story and story.held_out is not None:
        return _gather_with_hidden_examples(case, story.held_out)
    return _gather_phase(case, phase)


def _gather_phase(case: GatherCase, phase: Phase) -> Evidence:
    return GATHERERS[phase](analyze_step(case))


def analyze_step(case: GatherCase) -> StepAnalysis:
    if is_python_stack(case.stack):
        return PythonAnalysis(case)
    from prd2pr.verification.gather.language_analysis import LanguageAnalysis  # late, because it loads grammars

    return LanguageAnalysis(case)


def _gather_with_hidden_examples(case: GatherCase, examples: HiddenExamples) -> Evidence:
    """Gather evidence with the hidden examples in place.

    The recorded head tree contains them in GREEN, but not in RED.
    """
    red, given, files = case.phase is Phase.RED, case.pair, examples.files
    base = given.base if red else add_missing_files(given.base, files, over=True)
    whole = replace(case, pair=replace(given, base=base, head=add_missing_files(given.head, files)))
    seen = _gather_phase(whole, case.phase)
    criteria = case.story.criteria if case.story else ()
    side = whole.pair.head if red else base
    named = find_named_criteria(side, case.stack, tuple(file.path for file in files), criteria)
    judged = separate_hidden_examples(seen, files, named) if red else reveal_hidden_examples(seen, files, named)
    assert judged.held_out is not None, "both set it"
    trees = {"head_tree": given.head.tree} if red else {"base_tree": given.base.tree}
    dropped = judged.held_out.model_copy(update={"dropped": examples.dropped})
    return judged.model_copy(update={**trees, "held_out": dropped})
