"""`prd2pr demo`: the whole way on a sample repository. Only the model's words are replayed, and it says so."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from prd2pr.entry.verbs import run, verify
from prd2pr.errors import SetupProblem
from prd2pr.templating import template_root

DEFAULT_DIRECTORY = "prd2pr-demo"
PRD = "prds/loyalty.md"
TRANSCRIPT = "transcript.jsonl"
IDENTITY = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgSign=false")

FIRST_COMMIT = "A small shop, and a PRD for loyalty points"

INTRODUCTION = """\
A small shop, a PRD for loyalty points, and the whole way to a pull request.
The model is a replayed transcript: its words were recorded, with two mistakes in it on purpose. Git, the tests, the
gates and the evidence are real.

"""


def main(options: argparse.Namespace) -> int:
    directory = Path(options.dir or DEFAULT_DIRECTORY).absolute()
    sys.stdout.write(INTRODUCTION)
    prepare(directory)
    status = run.main(run_options(directory))
    if status:
        return status
    sys.stdout.write("\nProving every step again, from the commits alone:\n")
    status = verify.main(verify_options(directory))
    sys.stdout.write(
        f"\nLook at it:   {directory / '.git/prd2pr/pr/loyalty.html'}\n"
        f"The commits:  git -C {shown(directory)} log --stat main..prd2pr/loyalty\n"
        f"Prove again:  prd2pr verify --repo {shown(directory)}\n"
    )
    return status


def verify_options(directory: Path) -> argparse.Namespace:
    unasked = dict.fromkeys(("range", "markdown", "workers", "attest", "statements"))
    # The demo shows a proof: results that an earlier demo left on this machine are not one.
    return argparse.Namespace(repo=str(directory), json=False, fresh=True, job=False, **unasked)


def run_options(directory: Path) -> argparse.Namespace:
    return argparse.Namespace(
        repo=str(directory),
        prd=str(directory / PRD),
        model=f"replay:{template_root() / 'demo' / TRANSCRIPT}",
        record=None,
        story=None,
        max_steps=None,
        json=False,
    )


def shown(directory: Path) -> str:
    return os.path.relpath(directory)


def prepare(directory: Path) -> None:
    """The sample repository, whole or not at all: made beside its place and then moved there."""
    if (directory / ".git").exists() and (directory / PRD).exists():
        return
    if directory.exists() and any(directory.iterdir()):
        raise SetupProblem(
            "this directory has other things in it", where=str(directory), remedy="name a new one: prd2pr demo --dir D"
        )
    unfinished = directory.with_name(f".{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(template_root() / "demo" / "repo", unfinished)
    git(unfinished, "init", "--quiet", "--initial-branch=main")
    git(unfinished, "add", "--all")
    git(unfinished, *IDENTITY, "commit", "--quiet", "--no-verify", "--message", FIRST_COMMIT)
    if directory.exists():
        directory.rmdir()
    unfinished.rename(directory)


def git(directory: Path, *arguments: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        subprocess.run(["git", *arguments], cwd=directory, check=True, env=environment, capture_output=True, text=True)
    except FileNotFoundError:
        raise SetupProblem("git is not installed", remedy="install git 2.36 or newer") from None
    except subprocess.CalledProcessError as error:
        raise SetupProblem(f"git {arguments[0]} failed: {error.stderr.strip()}", where=str(directory)) from error
