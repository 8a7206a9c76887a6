"""Detect the stacks of a repository and decide to which one a step belongs."""

from __future__ import annotations

import shlex
from dataclasses import replace

from prd2pr.domain.evidence import Coverage, PathKind
from prd2pr.domain.records import Design, Story
from prd2pr.domain.stack import PYTHON, ROOT, Stack, find_stack, is_python_stack
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.errors import SetupProblem
from prd2pr.languages.hidden_examples import cover_criteria
from prd2pr.languages.project.detection import (
    detect_java_builds,
    detect_project_stacks,
    format_stack_setting,
    is_detection_file,
)
from prd2pr.languages.project.manifests import list_manifests
from prd2pr.state.git import Git
from prd2pr.verification.codebase import Codebase, TreePair
from prd2pr.verification.story_context import StoryContext

MAX_BYTES = 1_000_000  # larger manifests are ignored
_REGULAR = frozenset({"100644", "100755"})  # without links, which could point outside the commit
_CODE_KINDS = frozenset({PathKind.TEST, PathKind.SOURCE, PathKind.TEST_CONFIG})


def detect_stacks(git: Git, commit: str) -> tuple[Stack, ...]:
    """Detect the stacks from the files of this commit."""
    entries = git.entries(git.code_tree(commit))
    asked = [entry for entry in entries if is_detection_file(entry.path) and entry.mode in _REGULAR]
    blobs = git.read_blobs(entry.blob for entry in asked) if asked else {}
    texts = {
        entry.path: blobs[entry.blob].decode("utf-8", "replace")
        for entry in asked
        if len(blobs[entry.blob]) <= MAX_BYTES
    }
    paths = [entry.path for entry in entries]
    found = detect_project_stacks(paths, texts)
    if found == (PYTHON,) and not any(path.endswith(".py") for path in paths):
        _refuse_unset(paths)
        _refuse_unknown_runner(sorted(path for path in texts if path.endswith("package.json")))
    return found


def _refuse_unset(paths: list[str]) -> None:
    """Raise an error for a project with a known build tool but without a test command, instead of assuming Python."""
    for stack in detect_java_builds(paths):
        raise SetupProblem(
            f"this is a {stack.package_manager} project, and the configuration does not say how to run its tests",
            where=stack.to_repository_path(
                min(path for path in paths if path.endswith(("pom.xml", ".gradle", ".gradle.kts")))
            ),
            remedy=f"add to .prd2pr.yml, with your own command: {format_stack_setting(stack)}",
        )


def _refuse_unknown_runner(manifests: list[str]) -> None:
    if manifests:
        raise SetupProblem(
            "this is a Node project without a test runner that prd2pr knows",
            where=manifests[0],
            remedy="add a test script that calls vitest, jest or `node --test`; for another runner, add its "
            'command to .prd2pr.yml: stacks: [{runner: tap, command: [npx, mocha, --reporter, tap, "{file}"]}]',
        )


def apply_setup_commands(
    git: Git, commit: str, stacks: tuple[Stack, ...], commands: tuple[str, ...]
) -> tuple[Stack, ...]:
    """Apply the configured `setup` commands to the stack at the root, and list the manifests that each set-up reads."""
    if commands:
        whose = next((stack for stack in stacks if stack.root == ROOT), stacks[0] if len(stacks) == 1 else None)
        if whose is None:
            raise SetupProblem(
                "`setup` applies to the stack at the root of the repository, but there is none",
                where=f"stacks: {'; '.join(stack.name for stack in stacks)}",
                remedy="put the commands under `stacks:` in .prd2pr.yml, with their runner and root",
            )
        words = tuple(tuple(shlex.split(command)) for command in commands)
        stacks = tuple(replace(each, setup=words, manifests=()) if each == whose else each for each in stacks)
    if not any(stack.setup and not stack.manifests for stack in stacks):
        return stacks
    paths = [entry.path for entry in git.entries(git.code_tree(commit)) if entry.kind == "blob"]
    return tuple(
        replace(stack, manifests=list_manifests(paths, stack)) if stack.setup and not stack.manifests else stack
        for stack in stacks
    )


def choose_step_stack(stacks: tuple[Stack, ...], pair: TreePair, story: StoryContext | None) -> Stack:
    """Choose the stack of the story's tests or, if no tests are known yet, of the changed files."""
    if len(stacks) < 2:
        return stacks[0] if stacks else PYTHON
    tests = [test.partition("::")[0] for test in story.red_tests] if story else []
    changed = [change.path for change in pair.changes if change.kind in _CODE_KINDS]
    return find_stack(tests or changed, stacks, ENDINGS)


def choose_planned_stack(stacks: tuple[Stack, ...], story: Story | None, design: Design | None) -> Stack:
    """Choose the stack of the files planned for the story."""
    planned = [*(design.source_paths if design else ()), *(story.source_paths if story else ())]
    return find_stack(planned, stacks, ENDINGS)


def find_named_criteria(
    side: Codebase, stack: Stack, paths: tuple[str, ...], criteria: tuple[str, ...]
) -> tuple[Coverage, ...]:
    """Return the criteria that the tests in these files name, each with those tests."""
    if is_python_stack(stack):
        return cover_criteria(side.test_texts, paths, criteria, side.naming)
    from prd2pr.languages.criteria_coverage import match_criteria
    from prd2pr.languages.registry import get_language

    language, texts = get_language(stack.language), side.texts(lambda path: path in paths)
    tests = [test for path, text in sorted(texts.items()) for test in language.read_tests(path, text).tests]
    return tuple(each for each in match_criteria(tests, criteria) if each.tests)
