"""Which stack a step belongs to, and what of a tree is its own."""

from __future__ import annotations

import shlex
from dataclasses import replace

from prd2pr.core.evidence import Coverage, PathKind
from prd2pr.core.held_out import named_criteria
from prd2pr.core.records import Design, Story
from prd2pr.core.stacks.detect import as_setting, detect, not_by_itself, wanted
from prd2pr.core.stacks.manifests import manifests_in
from prd2pr.core.stacks.stack import PYTHON, ROOT, Stack, is_python, stack_of
from prd2pr.core.stacks.words import ENDINGS
from prd2pr.errors import SetupProblem
from prd2pr.flows.codebase import Codebase, Pair
from prd2pr.flows.story_context import StoryContext
from prd2pr.repo.git import Git

MOST_BYTES = 1_000_000  # of a manifest; a larger one was not written to be read
_REGULAR = frozenset({"100644", "100755"})  # no link leads out of the commit
_TELLING = frozenset({PathKind.TEST, PathKind.SOURCE, PathKind.TEST_CONFIG})


def stacks_in(git: Git, commit: str) -> tuple[Stack, ...]:
    """As the repository's own files show them in this commit."""
    entries = git.entries(git.code_tree(commit))
    asked = [entry for entry in entries if wanted(entry.path) and entry.mode in _REGULAR]
    blobs = git.read_blobs(entry.blob for entry in asked) if asked else {}
    texts = {
        entry.path: blobs[entry.blob].decode("utf-8", "replace")
        for entry in asked
        if len(blobs[entry.blob]) <= MOST_BYTES
    }
    paths = [entry.path for entry in entries]
    found = detect(paths, texts)
    if found == (PYTHON,) and not any(path.endswith(".py") for path in paths):
        _refuse_unset(paths)
        _refuse_unknown_runner(sorted(path for path in texts if path.endswith("package.json")))
    return found


def _refuse_unset(paths: list[str]) -> None:
    """A project of which only the build tool is known is not taken for one in Python."""
    for stack in not_by_itself(paths):
        raise SetupProblem(
            f"this is a project of {stack.package_manager}, whose tests are run where the configuration says how",
            where=stack.placed(min(path for path in paths if path.endswith(("pom.xml", ".gradle", ".gradle.kts")))),
            remedy=f"write into .prd2pr.yml, with your own command: {as_setting(stack)}",
        )


def _refuse_unknown_runner(manifests: list[str]) -> None:
    """Nor is one whose `package.json` names no runner that is known."""
    if manifests:
        raise SetupProblem(
            "this is a project of node, and nothing in it names a test runner that prd2pr knows",
            where=manifests[0],
            remedy="give it a test script that calls vitest, jest or `node --test`; of another runner, write its "
            'command into .prd2pr.yml: stacks: [{runner: tap, command: [npx, mocha, --reporter, tap, "{file}"]}]',
        )


def with_setup(git: Git, commit: str, stacks: tuple[Stack, ...], commands: tuple[str, ...]) -> tuple[Stack, ...]:
    """`commands`: what the configuration has for the stack at the root. Each set-up knows the files that it reads."""
    if commands:
        whose = next((stack for stack in stacks if stack.root == ROOT), stacks[0] if len(stacks) == 1 else None)
        if whose is None:
            raise SetupProblem(
                "`setup` is for the stack at the root of the repository, and there is none",
                where=f"stacks: {'; '.join(stack.name for stack in stacks)}",
                remedy="put the commands under `stacks:` in .prd2pr.yml, with the runner and root that they are for",
            )
        words = tuple(tuple(shlex.split(command)) for command in commands)
        stacks = tuple(replace(each, setup=words, manifests=()) if each == whose else each for each in stacks)
    if not any(stack.setup and not stack.manifests for stack in stacks):
        return stacks
    paths = [entry.path for entry in git.entries(git.code_tree(commit)) if entry.kind == "blob"]
    return tuple(
        replace(stack, manifests=manifests_in(paths, stack)) if stack.setup and not stack.manifests else stack
        for stack in stacks
    )


def step_stack(stacks: tuple[Stack, ...], pair: Pair, story: StoryContext | None) -> Stack:
    """By the story's tests, and where none are known yet, by what the step changes."""
    if len(stacks) < 2:
        return stacks[0] if stacks else PYTHON
    tests = [test.partition("::")[0] for test in story.red_tests] if story else []
    changed = [change.path for change in pair.changes if change.kind in _TELLING]
    return stack_of(tests or changed, stacks, ENDINGS)


def planned_stack(stacks: tuple[Stack, ...], story: Story | None, design: Design | None) -> Stack:
    """Where a story will be built, by the files that are planned for it."""
    planned = [*(design.source_paths if design else ()), *(story.source_paths if story else ())]
    return stack_of(planned, stacks, ENDINGS)


def named_in(side: Codebase, stack: Stack, paths: tuple[str, ...], criteria: tuple[str, ...]) -> tuple[Coverage, ...]:
    """Which tests of these files are about which criterion; those that have none are left out."""
    if is_python(stack):
        return named_criteria(side.test_texts, paths, criteria, side.naming)
    from prd2pr.core.other.coverage import coverage_of
    from prd2pr.core.other.language import language_of

    language, texts = language_of(stack.language), side.texts(lambda path: path in paths)
    tests = [test for path, text in sorted(texts.items()) for test in language.tests(path, text).tests]
    return tuple(each for each in coverage_of(tests, criteria) if each.tests)
