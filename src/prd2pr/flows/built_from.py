"""Which commit of prd2pr this is. Workflows pin the Action to it, so it must be known exactly or not at all."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ACTION = "prd2pr/prd2pr"  # the repository of the Action
PACKAGE = Path(__file__).resolve().parents[1]
COMMIT = re.compile(r"[0-9a-f]{40}")


def built_from(package: Path = PACKAGE) -> str:
    """The commit that the wheel was built from (written by `hatch_build.py`), or that the source checkout is on.

    Empty where neither is known.
    """
    try:
        noted = (package / "built_from.txt").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        noted = head_of(package.parents[1])
    return noted if COMMIT.fullmatch(noted) else ""


def head_of(root: Path) -> str:
    """Asked only of a checkout of prd2pr itself, never of a repository that happens to lie around the installation."""
    if not (root / "action.yml").is_file() or not (root / ".git").exists():
        return ""
    try:
        asked = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()
