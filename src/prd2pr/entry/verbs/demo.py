"""`prd2pr demo`: the whole way on a sample repository. Only the model's words are replayed, and it says so."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from prd2pr.entry.verbs import run, verify
from prd2pr.errors import SetupProblem
from prd2pr.templating import template_root

DEFAULT_DIRECTORY = "prd2pr-demo"
PRD = "prds/loyalty.md"
TRANSCRIPT = "transcript.jsonl"


@dataclass(frozen=True)
class Sample:
    """A sample repository with a PRD, and the words of the model that builds it."""

    place: str  # among the templates
    prd: str  # its id
    about: str
    needs: str = ""  # beside Python and git

    @property
    def first_commit(self) -> str:
        return self.about.replace(", a PRD", ", and a PRD")

    @property
    def path(self) -> str:
        return f"prds/{self.prd}.md"

    @property
    def transcript(self) -> Path:
        return template_root() / self.place / TRANSCRIPT


SAMPLES: dict[str, Sample] = {
    "python": Sample("demo", "loyalty", "A small shop, a PRD for loyalty points"),
    "javascript": Sample("demos/javascript", "slugs", "A small newspaper, a PRD for addresses of articles", "node"),
    "typescript": Sample("demos/typescript", "parking", "A car park, a PRD for its fees", "node, and npm for vitest"),
    "go": Sample("demos/go", "fares", "A small ferry, a PRD for its fares", "go"),
    "rust": Sample("demos/rust", "readings", "A weather station, a PRD for its readings", "cargo"),
}
IDENTITY = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgSign=false")


INTRODUCTION = """\
{about}, and the whole way to a pull request.
The model is a replayed transcript: its words were recorded, with two mistakes in it on purpose. Git, the tests, the
gates and the evidence are real.

"""


WRITTEN = """\
{about}, and the whole way to a pull request.
The model is a replayed transcript: its words were written beforehand. Git, the tests, the gates and the evidence are
real.

"""


def main(options: argparse.Namespace) -> int:
    sample = SAMPLES[options.language]
    directory = Path(options.dir or DEFAULT_DIRECTORY).absolute()
    sys.stdout.write((INTRODUCTION if sample.place == "demo" else WRITTEN).format(about=sample.about))
    prepare(directory, sample)
    status = run.main(run_options(directory, sample))
    if status:
        return status
    sys.stdout.write("\nProving every step again, from the commits alone:\n")
    status = verify.main(verify_options(directory))
    sys.stdout.write(
        f"\nLook at it:   {directory / '.git/prd2pr/pr' / f'{sample.prd}.html'}\n"
        f"The commits:  git -C {shown(directory)} log --stat main..prd2pr/{sample.prd}\n"
        f"Prove again:  prd2pr verify --repo {shown(directory)}\n"
    )
    return status


def verify_options(directory: Path) -> argparse.Namespace:
    unasked = dict.fromkeys(("range", "markdown", "workers", "attest", "statements"))
    # The demo shows a proof: results that an earlier demo left on this machine are not one.
    return argparse.Namespace(repo=str(directory), json=False, fresh=True, job=False, **unasked)


def run_options(directory: Path, sample: Sample = SAMPLES["python"]) -> argparse.Namespace:
    return argparse.Namespace(
        repo=str(directory),
        prd=str(directory / sample.path),
        model=f"replay:{sample.transcript}",
        record=None,
        story=None,
        max_steps=None,
        json=False,
    )


def shown(directory: Path) -> str:
    return os.path.relpath(directory)


def prepare(directory: Path, sample: Sample = SAMPLES["python"]) -> None:
    """The sample repository, whole or not at all: made beside its place and then moved there."""
    if (directory / ".git").exists() and (directory / sample.path).exists():
        return
    if directory.exists() and any(directory.iterdir()):
        raise SetupProblem(
            "this directory has other things in it", where=str(directory), remedy="name a new one: prd2pr demo --dir D"
        )
    unfinished = directory.with_name(f".{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(template_root() / sample.place / "repo", unfinished)
    git(unfinished, "init", "--quiet", "--initial-branch=main")
    git(unfinished, "add", "--all")
    git(unfinished, *IDENTITY, "commit", "--quiet", "--no-verify", "--message", sample.first_commit)
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
