"""`prd2pr demo`: run a sample PRD from start to finish. Only the model's replies are replayed."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from prd2pr.cli.verbs import run, verify
from prd2pr.errors import SetupProblem
from prd2pr.templating import template_root

DEFAULT_DIRECTORY = "prd2pr-demo"
PRD = "prds/loyalty.md"
TRANSCRIPT = "transcript.jsonl"


@dataclass(frozen=True)
class Sample:
    """A sample repository with a PRD, and the replies of the model that implements it."""

    place: str  # directory below `templates/`
    prd: str  # the PRD's id
    about: str
    needs: str = ""  # tools required besides Python and git

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
# The demo works on a machine where git is not configured.
GIT_SETTINGS = {"user.name": "Demo", "user.email": "demo@example.com", "commit.gpgSign": "false"}


RECORDED_INTRODUCTION = """\
{about}: from the PRD to a pull request.
The model is replayed from a recorded transcript, which contains two deliberate mistakes. Git, the tests, the gates and
the evidence are real.

"""


WRITTEN_INTRODUCTION = """\
{about}: from the PRD to a pull request.
The model is replayed from a transcript that was written by hand. Git, the tests, the gates and the evidence are real.

"""


def main(options: argparse.Namespace) -> int:
    sample = SAMPLES[options.language]
    directory = Path(options.dir or DEFAULT_DIRECTORY).absolute()
    sys.stdout.write(
        (RECORDED_INTRODUCTION if sample.place == "demo" else WRITTEN_INTRODUCTION).format(about=sample.about)
    )
    prepare_sample(directory, sample)
    status = run.main(run_options(directory, sample))
    if status:
        return status
    sys.stdout.write("\nVerifying every step again, from the commits alone:\n")
    status = verify.main(verify_options(directory))
    sys.stdout.write(
        f"\nPR page:       {directory / '.git/prd2pr/pr' / f'{sample.prd}.html'}\n"
        f"Commits:       git -C {make_path_relative_to_cwd(directory)} log --stat main..prd2pr/{sample.prd}\n"
        f"Verify again:  {name_program()} verify --repo {make_path_relative_to_cwd(directory)}\n"
    )
    return status


def verify_options(directory: Path) -> argparse.Namespace:
    unset = dict.fromkeys(("range", "pr", "markdown", "workers", "attest", "statements"))
    # The demo shows a proof, so it ignores cached results of earlier demos on this machine.
    return argparse.Namespace(repo=str(directory), json=False, fresh=True, job=False, **unset)


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


def name_program() -> str:
    """Return the command that runs this program: its name, or its path if it is not on the PATH."""
    return "prd2pr" if shutil.which("prd2pr") else make_path_relative_to_cwd(Path(sys.argv[0]).absolute())


def make_path_relative_to_cwd(directory: Path) -> str:
    return os.path.relpath(directory)


def prepare_sample(directory: Path, sample: Sample = SAMPLES["python"]) -> None:
    """Create the sample repository atomically: build it next to its destination and then move it."""
    if (directory / ".git").exists() and (directory / sample.path).exists():
        return
    if directory.exists() and any(directory.iterdir()):
        raise SetupProblem(
            "the directory is not empty", where=str(directory), remedy="name a new one: prd2pr demo --dir D"
        )
    unfinished = directory.with_name(f".{directory.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(template_root() / sample.place / "repo", unfinished)
    run_git(unfinished, "init", "--quiet", "--initial-branch=main")
    for key, value in GIT_SETTINGS.items():
        run_git(unfinished, "config", key, value)
    run_git(unfinished, "add", "--all")
    run_git(unfinished, "commit", "--quiet", "--no-verify", "--message", sample.first_commit)
    if directory.exists():
        directory.rmdir()
    unfinished.rename(directory)


def run_git(directory: Path, *arguments: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        subprocess.run(["git", *arguments], cwd=directory, check=True, env=environment, capture_output=True, text=True)
    except FileNotFoundError:
        raise SetupProblem("git is not installed", remedy="install git 2.36 or newer") from None
    except subprocess.CalledProcessError as error:
        raise SetupProblem(f"git {arguments[0]} failed: {error.stderr.strip()}", where=str(directory)) from error
