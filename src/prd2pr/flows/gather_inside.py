"""Python below a root of its own: gathered as if that directory were the repository, told as the repository knows it.

Imports, configuration and the tests' places begin in that root, so everything that reads Python may go on as it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from prd2pr.core.evidence import Evidence, LockedFile, StackFacts
from prd2pr.core.records import HeldOut, Phase
from prd2pr.core.stacks.placed import placed
from prd2pr.core.stacks.stack import Stack
from prd2pr.flows.codebase import Pair, put_in
from prd2pr.flows.story_context import StoryContext

Gather = Callable[[str, str, StoryContext | None], Evidence]  # base, head and story, seen from inside


def gather_inside(stack: Stack, phase: Phase, pair: Pair, story: StoryContext | None, gather: Gather) -> Evidence:
    """`pair`: the repository as a whole, for what lies outside of the root."""
    git, root = pair.head.git, stack.root
    base, head = (git.subtree(side.tree, root) for side in (pair.base, pair.head))
    seen = placed(gather(base, head, story_inside(story, stack) if story else None), root)
    after = _whole(pair, phase, story)
    outside = {path: blob for path, blob in pair.base.locked.items() if not stack.holds(path)}
    return seen.model_copy(
        update={
            "changes": after.changes,
            "base_tree": pair.base.tree,
            "head_tree": after.head.tree,
            "locked": (*seen.locked, *_outside(pair, phase, outside)),
            "stack": StackFacts(language=stack.language, runner=stack.runner, root=root),
        }
    )


def _whole(pair: Pair, phase: Phase, story: StoryContext | None) -> Pair:
    """GREEN ends with the held-out examples in their place, on both sides of what it compares."""
    if phase is not Phase.GREEN or story is None or story.pre_implemented or story.held_out is None:
        return pair
    files = story.held_out.files
    return replace(pair, base=put_in(pair.base, files, over=True), head=put_in(pair.head, files))


def _outside(pair: Pair, phase: Phase, expected: dict[str, str]) -> tuple[LockedFile, ...]:
    """What configures or makes up the tests of other stacks must not change either."""
    return () if phase is Phase.RED else pair.locked_files(expected, lambda _: False)


def story_inside(story: StoryContext, stack: Stack) -> StoryContext:
    held = story.held_out
    return replace(
        story,
        red_tests=tuple(map(stack.local, story.red_tests)),
        locked=MappingProxyType({stack.local(path): blob for path, blob in story.locked.items() if stack.holds(path)}),
        held_out=HeldOut(
            files=tuple(file.model_copy(update={"path": stack.local(file.path)}) for file in held.files),
            tests=tuple(map(stack.local, held.tests)),
        )
        if held
        else None,
    )
