"""The commit from which this copy of prd2pr was built. Workflows pin the Action to it, so it must be exact or empty."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ACTION = "prd2pr/prd2pr"  # the repository of the Action, wherever it is published
PROJECT_URL = f"https://github.com/{ACTION}"
PACKAGE = Path(__file__).resolve().parent
COMMIT = re.compile(r"[0-9a-f]{40}")


def get_build_commit(package: Path = PACKAGE) -> str:
    """Return the commit of the wheel (written by `hatch_build.py`) or of the source checkout, or "" if unknown."""
    try:
        noted = (package / "built_from.txt").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        noted = read_checkout_head(package.parents[1])
    return noted if COMMIT.fullmatch(noted) else ""


def read_checkout_head(root: Path) -> str:
    """Return HEAD if `root` is a checkout of prd2pr itself, or "" if it is any other repository."""
    if not (root / "action.yml").is_file() or not (root / ".git").exists():
        return ""
    try:
        result = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip()
