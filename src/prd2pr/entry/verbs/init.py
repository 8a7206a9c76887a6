"""`prd2pr init`: what a repository needs, written once and never overwritten."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prd2pr.config import CONFIG_PATH, load_config
from prd2pr.errors import NotARepository
from prd2pr.flows.onboarding import TEMPLATE_PATH, starting_files
from prd2pr.flows.start import USUAL_BASES
from prd2pr.flows.workflow_file import (
    VERIFY_PATH,
    WORKFLOW_PATH,
    key_names,
    named_action,
    verify_workflow_text,
    workflow_text,
)
from prd2pr.repo.git import Git

NEXT = """Next:
  1. copy {template} to a PRD of yours and commit all of this to {branch}
  2. on a machine: prd2pr plan prds/YOURS.md
     on GitHub: set the secret {keys} and let Actions open pull requests (docs/github.md), then push
  3. prd2pr doctor says what is missing
"""

UNCERTAIN = """
LOOK HERE: the workflow is written for the branch {branch}, and this checkout does not know GitHub's default branch.
If that is another one: git remote set-head origin --auto, delete {path}, then prd2pr init again.

"""


def main(options: argparse.Namespace) -> int:
    action = named_action(options.action) if options.action else ""
    with Git.open(Path(options.repo)) as git:
        root = git.workdir
        if root is None:
            raise NotARepository("this is a bare repository", remedy="run prd2pr init in a checkout of it")
        branch, certain = branch_for(git)
    files = starting_files()
    for path in files:
        place(root / path, path, partial(files.__getitem__, path))
    config = load_config((root / CONFIG_PATH).read_text(encoding="utf-8"))
    place(root / WORKFLOW_PATH, WORKFLOW_PATH, lambda: workflow_text(config, branch, action))
    if options.verify:
        place(root / VERIFY_PATH, VERIFY_PATH, lambda: verify_workflow_text(action))
    keys = " and ".join(key_names(config)) or "of your model, if it needs one"
    sys.stdout.write("" if certain else UNCERTAIN.format(branch=branch, path=WORKFLOW_PATH))
    sys.stdout.write(NEXT.format(template=TEMPLATE_PATH, branch=branch, keys=keys))
    return 0


def branch_for(git: Git) -> tuple[str, bool]:
    """The default branch, and whether git knows it. One that somebody works on is the last guess."""
    known = git.default_branch()
    if known:
        return known, True
    here = git.head_branch() or ""
    usual = [name for name in USUAL_BASES if name == here or git.remote_head(name) or git.branch_head(name)]
    if usual == [here]:
        return here, True
    return (*usual, here or USUAL_BASES[0])[0], False


def place(path: Path, name: str, text: Callable[[], str]) -> None:
    if path.exists():
        sys.stdout.write(f"kept     {name} (it was there already)\n")
        return
    made = text()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(made, encoding="utf-8")
    sys.stdout.write(f"wrote    {name}\n")
