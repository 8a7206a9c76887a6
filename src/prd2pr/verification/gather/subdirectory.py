"""Gather evidence for a stack in a subdirectory as if it were a repository, and convert the paths back.

Imports, configuration and test paths are relative to the stack's root, so the code that reads Python needs no special
case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from prd2pr.domain.evidence import Evidence, LockedFile, StackFacts
from prd2pr.domain.records import HiddenExamples, Phase
from prd2pr.domain.stack import Stack
from prd2pr.languages.stack_paths import prefix_paths
from prd2pr.state.git import Git
from prd2pr.verification.codebase import TreePair, add_missing_files
from prd2pr.verification.story_context import StoryContext

GatherFunction = Callable[[str, str, StoryContext | None], Evidence]  # base, head and story inside the root


def gather_in_subdirectory(
    stack: Stack, phase: Phase, pair: TreePair, story: StoryContext | None, gather: GatherFunction
) -> Evidence:
    """Gather inside the stack's root. `pair` covers the whole repository, to find changes outside the stack."""
    git, root = pair.head.git, stack.root
    base, head = (git.subtree(side.tree, root) for side in (pair.base, pair.head))
    seen = prefix_paths(gather(base, head, localize_story(git, story, stack) if story else None), root)
    after = _add_hidden_examples(pair, phase, story)
    outside = {path: blob for path, blob in pair.base.locked.items() if not stack.contains_path(path)}
    return seen.model_copy(
        update={
            "changes": after.changes,
            "base_tree": pair.base.tree,
            "head_tree": after.head.tree,
            "locked": (*seen.locked, *_list_locked_outside(pair, phase, outside)),
            "stack": StackFacts(language=stack.language, runner=stack.runner, root=root),
        }
    )


def _add_hidden_examples(pair: TreePair, phase: Phase, story: StoryContext | None) -> TreePair:
    """Add the hidden examples to both trees in GREEN."""
    if phase is not Phase.GREEN or story is None or story.pre_implemented or story.held_out is None:
        return pair
    files = story.held_out.files
    return replace(pair, base=add_missing_files(pair.base, files, over=True), head=add_missing_files(pair.head, files))


def _list_locked_outside(pair: TreePair, phase: Phase, expected: dict[str, str]) -> tuple[LockedFile, ...]:
    """Return the changed test files and settings of the other stacks, which a story may not change either."""
    return () if phase is Phase.RED else pair.list_locked_files(expected, lambda _: False)


def localize_story(git: Git, story: StoryContext, stack: Stack) -> StoryContext:
    held = story.held_out
    return replace(
        story,
        red_tests=tuple(map(stack.to_stack_path, story.red_tests)),
        locked=MappingProxyType(
            {stack.to_stack_path(path): blob for path, blob in story.locked.items() if stack.contains_path(path)}
        ),
        changed_tests=tuple(
            each.model_copy(update={"test": stack.to_stack_path(each.test)}) for each in story.changed_tests
        ),
        before_red=git.subtree(story.before_red, stack.root) if story.before_red else "",
        held_out=HiddenExamples(
            files=tuple(file.model_copy(update={"path": stack.to_stack_path(file.path)}) for file in held.files),
            tests=tuple(map(stack.to_stack_path, held.tests)),
            dropped=held.dropped,
        )
        if held
        else None,
    )
