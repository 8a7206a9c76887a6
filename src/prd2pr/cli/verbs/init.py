"""`prd2pr init`: write the files that a repository needs, keeping existing ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prd2pr.build_info import PROJECT_URL
from prd2pr.config import CONFIG_PATH
from prd2pr.config_file import load_config
from prd2pr.errors import NotARepository
from prd2pr.github.setup.onboarding import TEMPLATE_PATH, render_starting_files
from prd2pr.github.setup.workflow_file import (
    SCHEDULE_PATH,
    VERIFY_PATH,
    WORKFLOW_PATH,
    check_action_ref,
    list_key_names,
    render_schedule,
    render_workflow,
    verify_workflow_text,
)
from prd2pr.state.branch_base import USUAL_BASES
from prd2pr.state.git import Git
from prd2pr.workflow.prd_files import list_checkout_prds

NEXT = """
Model: {model}
       (choose another with --model, or `models:` in {config})

Next:
  1. {first} to {branch}
  2. check the setup: prd2pr doctor
  3. on your machine: prd2pr plan {prd}
     on GitHub: set the secret {keys},
     allow Actions to open pull requests, then push:
     {github}
"""

EXAMPLE_PRD = "prds/my-feature.md"
COPY_FIRST = f"copy {TEMPLATE_PATH} to {EXAMPLE_PRD}, fill it in, and commit all of this"

UNCERTAIN = """
NOTE: the workflow is written for the branch {branch}, but this checkout does not know GitHub's default branch.
If it is a different one: git remote set-head origin --auto, delete {path}, and run prd2pr init again.

"""


def main(options: argparse.Namespace) -> int:
    action = check_action_ref(options.action) if options.action else ""
    with Git.open(Path(options.repo)) as git:
        root = git.workdir
        if root is None:
            raise NotARepository("this is a bare repository", remedy="run prd2pr init in a checkout")
        branch, certain = guess_default_branch(git)
    files = render_starting_files()
    for path in files:
        write_once(root / path, path, partial(files.__getitem__, path))
    config = load_config((root / CONFIG_PATH).read_text(encoding="utf-8"))
    with Git.open(root) as git:
        prds = list_checkout_prds(git, config.prds)
    write_once(
        root / WORKFLOW_PATH,
        WORKFLOW_PATH,
        lambda: render_workflow(config, branch, action, standalone=options.standalone),
    )
    write_once(root / SCHEDULE_PATH, SCHEDULE_PATH, lambda: render_schedule(config))
    if options.verify or config.attest:
        write_once(root / VERIFY_PATH, VERIFY_PATH, lambda: verify_workflow_text(config, action))
    keys = " and ".join(list_key_names(config)) or "for your model, if it needs one"
    sys.stdout.write("" if certain else UNCERTAIN.format(branch=branch, path=WORKFLOW_PATH))
    text = NEXT.format(
        model=config.models.default,
        config=CONFIG_PATH,
        first="commit all of this" if prds else COPY_FIRST,
        branch=branch,
        prd=prds[0] if prds else EXAMPLE_PRD,
        keys=keys,
        github=f"{PROJECT_URL}/blob/main/docs/github.md",
    )
    sys.stdout.write(text)
    return 0


def guess_default_branch(git: Git) -> tuple[str, bool]:
    """Return the default branch, and whether git knows it. The current branch is the last guess."""
    known = git.default_branch()
    if known:
        return known, True
    current = git.head_branch() or ""
    candidates = [name for name in USUAL_BASES if name == current or git.remote_head(name) or git.branch_head(name)]
    if candidates == [current]:
        return current, True
    return (*candidates, current or USUAL_BASES[0])[0], False


def write_once(path: Path, name: str, text: Callable[[], str]) -> None:
    if path.exists():
        sys.stdout.write(f"kept     {name} (exists already)\n")
        return
    content = text()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    sys.stdout.write(f"wrote    {name}\n")
