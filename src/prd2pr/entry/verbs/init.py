"""`prd2pr init`: what a repository needs, written once and never overwritten."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from prd2pr import __version__
from prd2pr.errors import NotARepository
from prd2pr.repo.git import Git
from prd2pr.templating import render

FILES = {
    ".prd2pr.yml": "init/prd2pr.yml.j2",
    ".github/workflows/prd2pr.yml": "init/workflow.yml.j2",
    "prds/_template.md": "init/prd_template.md.j2",
}


def main(options: argparse.Namespace) -> int:
    root = Git.open(Path(options.repo)).workdir
    if root is None:
        raise NotARepository("this is a bare repository", remedy="run prd2pr init in a checkout of it")
    for name, template in FILES.items():
        path = root / name
        if path.exists():
            sys.stdout.write(f"kept     {name} (it was there already)\n")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(template, {"version": __version__}), encoding="utf-8")
        sys.stdout.write(f"wrote    {name}\n")
    sys.stdout.write("Next: copy prds/_template.md to a PRD of yours, commit, and `prd2pr plan` it.\n")
    return 0
