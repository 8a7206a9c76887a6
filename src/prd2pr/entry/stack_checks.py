"""What `prd2pr doctor` says of each stack: what it is, how it is set up, what is missing here, what is not checked."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.config import Config, configured_stacks
from prd2pr.core.stacks.detect import as_setting, is_manifest, not_by_itself
from prd2pr.core.stacks.layers import never_checked
from prd2pr.core.stacks.stack import PYTHON, ROOT, Stack, is_python
from prd2pr.core.stacks.workspaces import is_readable
from prd2pr.entry.checkup import Check
from prd2pr.entry.ground import find_tools, stacks_of
from prd2pr.errors import Prd2prError
from prd2pr.repo.git import Git
from prd2pr.runners.interpreter import find_python


@dataclass(frozen=True)
class StackView:
    """A stack, and what this machine has for it."""

    stack: Stack
    tools: str = ""  # what runs the tests here
    missing: str = ""
    remedy: str = ""

    def told(self) -> dict[str, Any]:
        """For `--json`."""
        stack = self.stack
        return {
            "language": stack.language,
            "runner": stack.runner,
            "root": stack.root,
            "package_manager": stack.package_manager,
            "setup": [" ".join(command) for command in stack.setup],
            "manifests": list(stack.manifests),
            "story_tests": stack.placed(stack.story_tests),
            "tools": self.tools,
            "missing": self.missing,
            "not_checked": list(never_checked(stack.runner)),
        }


def stack_views(git: Git, config: Config) -> tuple[StackView, ...]:
    return tuple(_view(git, config, stack) for stack in stacks_of(git, config, git.rev("HEAD")))


def _view(git: Git, config: Config, stack: Stack) -> StackView:
    try:
        tools = _tools(git, config, stack)
    except Prd2prError as error:
        return StackView(stack, missing=error.what, remedy=error.remedy)
    installer = stack.setup[0][0] if stack.setup else ""
    if installer and "/" not in installer and shutil.which(installer) is None:
        what = f"`{installer}` is not installed, and it installs what the tests need"
        return StackView(stack, tools, what, f"install {installer}, or set `setup` of the stack in .prd2pr.yml")
    return StackView(stack, tools)


def _tools(git: Git, config: Config, stack: Stack) -> str:
    if is_python(stack):
        return (
            ".venv of the set-up"
            if stack.setup
            else str(find_python(git.workdir, config.test.python, within=stack.root))
        )
    from prd2pr.core.other.language import language_of

    language_of(stack.language).tests("", "")  # its grammar is loaded
    found = find_tools(stack)
    return tool_words(found.name, found.version)


def tool_words(name: str, version: str) -> str:
    """Some programs begin their version with their own name."""
    return version if version.startswith(f"{name} ") else " ".join(filter(None, (name, version)))


def unset_checks(git: Git, config: Config) -> Iterator[Check]:
    """Projects of which doctor knows what to set, and which nothing runs until it is set."""
    if configured_stacks(config):
        return
    yield from _unreadable(git)
    for stack in not_by_itself(entry.path for entry in git.entries(git.code_tree(git.rev("HEAD")))):
        place = "the root" if stack.root == ROOT else f"{stack.root}/"
        found = f"{stack.package_manager} in {place}: its tests are not run"
        yield Check("stack", "warning", found, f"in .prd2pr.yml, with all other stacks: {as_setting(stack)}")


def _unreadable(git: Git) -> Iterator[Check]:
    """Manifests that are not JSON: neither npm nor prd2pr knows what they say."""
    asked = [each for each in git.entries(git.code_tree(git.rev("HEAD"))) if is_manifest(each.path)]
    blobs = git.read_blobs(each.blob for each in asked) if asked else {}
    for each in asked:
        if not is_readable(blobs[each.blob].decode("utf-8", "replace")):
            yield Check(
                "stack", "wrong", f"{each.path} is no JSON object: what it says is not known", f"mend {each.path}"
            )


def stack_checks(views: tuple[StackView, ...]) -> Iterator[Check]:
    """A line for each, but for a project that is Python and nothing else, of which the other checks tell all.

    The first stack is what doctor runs the tests of; of others, work on the first does not depend.
    """
    if [view.stack for view in views] == [PYTHON]:
        return
    for at, view in enumerate(views):
        found = "; ".join(_words(view))
        if not view.missing:
            yield Check("stack", "ok", found)
        else:
            yield Check("stack", "warning" if at else "wrong", f"{found}; {view.missing}", view.remedy)


def _words(view: StackView) -> Iterator[str]:
    stack = view.stack
    place = "at the root" if stack.root == ROOT else f"in {stack.root}/"
    yield f"{stack.language} by {stack.runner} {place}" + (f", {view.tools}" if view.tools else "")
    if stack.setup:
        manager = f"{stack.package_manager}: " if stack.package_manager else ""
        yield f"set-up by {manager}{' && '.join(' '.join(command) for command in stack.setup)}"
    lacking = never_checked(stack.runner)
    if lacking:
        yield f"not checked here: {', '.join(lacking)}"
