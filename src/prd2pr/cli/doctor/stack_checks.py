"""Stack checks of `prd2pr doctor`: language, set-up, missing tools and unsupported checks of each stack."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prd2pr.cli.context import find_stacks, find_toolchain
from prd2pr.cli.doctor.checkup import SetupCheck
from prd2pr.config import Config, list_configured_stacks
from prd2pr.domain.stack import PYTHON, ROOT, Stack, is_python_stack
from prd2pr.errors import Prd2prError
from prd2pr.languages.capabilities import list_never_checked_layers
from prd2pr.languages.project.detection import detect_java_builds, format_stack_setting, is_package_manifest
from prd2pr.languages.project.workspaces import is_package_json
from prd2pr.sandbox.interpreter import find_python
from prd2pr.state.git import Git


@dataclass(frozen=True)
class StackView:
    """A stack and its tools on this machine."""

    stack: Stack
    tools: str = ""  # the interpreter or tool that runs the tests on this machine
    missing: str = ""
    remedy: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the stack for `--json`."""
        stack = self.stack
        return {
            "language": stack.language,
            "runner": stack.runner,
            "root": stack.root,
            "package_manager": stack.package_manager,
            "setup": [" ".join(command) for command in stack.setup],
            "manifests": list(stack.manifests),
            "story_tests": stack.to_repository_path(stack.story_tests),
            "tools": self.tools,
            "missing": self.missing,
            "not_checked": list(list_never_checked_layers(stack.runner)),
        }


def inspect_stacks(git: Git, config: Config) -> tuple[StackView, ...]:
    return tuple(_inspect_stack(git, config, stack) for stack in find_stacks(git, config, git.rev("HEAD")))


def _inspect_stack(git: Git, config: Config, stack: Stack) -> StackView:
    try:
        tools = _describe_tools(git, config, stack)
    except Prd2prError as error:
        return StackView(stack, missing=error.what, remedy=error.remedy)
    installer = stack.setup[0][0] if stack.setup else ""
    if installer and "/" not in installer and shutil.which(installer) is None:
        missing_tool = f"`{installer}`, which installs the dependencies of the tests, is not installed"
        return StackView(
            stack, tools, missing_tool, f"install {installer}, or set `setup` for the stack in .prd2pr.yml"
        )
    return StackView(stack, tools)


def _describe_tools(git: Git, config: Config, stack: Stack) -> str:
    if is_python_stack(stack):
        return (
            ".venv created by the setup"
            if stack.setup
            else str(find_python(git.workdir, config.test.python, within=stack.root))
        )
    from prd2pr.languages.registry import get_language

    get_language(stack.language).read_tests("", "")  # checks that the grammar can be loaded
    found = find_toolchain(stack)
    return format_tool(found.name, found.version)


def format_tool(name: str, version: str) -> str:
    """Return the name and version, without repeating a name that the version starts with."""
    return version if version.startswith(f"{name} ") else " ".join(filter(None, (name, version)))


def run_unconfigured_checks(git: Git, config: Config) -> Iterator[SetupCheck]:
    """Report projects whose tests will not run until they are configured."""
    if list_configured_stacks(config):
        return
    yield from _unreadable_manifests(git)
    for stack in detect_java_builds(entry.path for entry in git.entries(git.code_tree(git.rev("HEAD")))):
        directory = "the root" if stack.root == ROOT else f"{stack.root}/"
        found = f"{stack.package_manager} in {directory}: its tests are not run"
        yield SetupCheck(
            "stack",
            "warning",
            found,
            f"add to .prd2pr.yml, together with all other stacks: {format_stack_setting(stack)}",
        )


def _unreadable_manifests(git: Git) -> Iterator[SetupCheck]:
    manifests = [each for each in git.entries(git.code_tree(git.rev("HEAD"))) if is_package_manifest(each.path)]
    blobs = git.read_blobs(each.blob for each in manifests) if manifests else {}
    for each in manifests:
        if not is_package_json(blobs[each.blob].decode("utf-8", "replace")):
            yield SetupCheck("stack", "wrong", f"{each.path} is not a JSON object", f"fix {each.path}")


def list_stack_checks(views: tuple[StackView, ...]) -> Iterator[SetupCheck]:
    """Yield one check per stack, except for a Python-only project, which other checks cover.

    Only problems of the first stack fail the check; work does not depend on the others.
    """
    if [view.stack for view in views] == [PYTHON]:
        return
    for index, view in enumerate(views):
        found = "; ".join(_describe_stack(view))
        if not view.missing:
            yield SetupCheck("stack", "ok", found)
        else:
            yield SetupCheck("stack", "warning" if index else "wrong", f"{found}; {view.missing}", view.remedy)


def _describe_stack(view: StackView) -> Iterator[str]:
    stack = view.stack
    directory = "at the root" if stack.root == ROOT else f"in {stack.root}/"
    yield f"{stack.language} by {stack.runner} {directory}" + (f", {view.tools}" if view.tools else "")
    if stack.setup:
        manager = f"{stack.package_manager}: " if stack.package_manager else ""
        yield f"set up by {manager}{' && '.join(' '.join(command) for command in stack.setup)}"
    unchecked = list_never_checked_layers(stack.runner)
    if unchecked:
        yield f"not checked for this stack: {', '.join(unchecked)}"
