"""GitHub's public example payloads, from npm. Fetched once, stored next to the virtual environment, never committed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

PACKAGE, VERSION = "@octokit/webhooks-examples", "7.6.1"
MEMBER = "package/api.github.com/index.json"


def examples() -> list[tuple[str, dict[str, Any]]]:
    """(event name, payload) of all 329; skips the test if npm cannot fetch them."""
    kept = Path(sys.prefix) / "share" / "prd2pr-tests" / f"webhooks-examples-{VERSION}.json"
    if not kept.exists():
        fetch(kept)
    listed = json.loads(kept.read_text(encoding="utf-8"))
    return [(event["name"], example) for event in listed for example in event["examples"]]


def fetch(kept: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"npm is not installed, so {PACKAGE} {VERSION} cannot be fetched: the payloads are NOT tested")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        dir=kept.parent
    ) as made:  # a private directory: tests in other processes fetch them too
        place = Path(made)
        packed = subprocess.run(
            [npm, "pack", f"{PACKAGE}@{VERSION}", "--silent"], cwd=place, capture_output=True, text=True, check=False
        )
        if packed.returncode:
            pytest.skip(f"npm could not fetch {PACKAGE} {VERSION}: the payloads are NOT tested: {packed.stderr[-200:]}")
        with tarfile.open(place / packed.stdout.split()[-1]) as opened:
            member = opened.extractfile(MEMBER)
            assert member is not None
            partial = place / "index.json"
            partial.write_bytes(member.read())
        partial.replace(kept)
