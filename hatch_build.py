"""Record in wheel and sdist the commit they were built from: `prd2pr init` pins the Action to it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NOTE = "src/prd2pr/built_from.txt"  # its path in an sdist


class BuiltFrom(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        commit = commit_of(root)
        if version == "editable" or (root / NOTE).exists() or not commit:
            return
        self.place = tempfile.TemporaryDirectory()
        note = Path(self.place.name, "built_from.txt")
        note.write_text(commit + "\n", encoding="ascii")
        build_data["force_include"][str(note)] = NOTE if self.target_name == "sdist" else "prd2pr/built_from.txt"

    def finalize(self, *_: object) -> None:
        if hasattr(self, "place"):
            self.place.cleanup()


def commit_of(root: Path) -> str:
    """Return the commit from git or, in an archive, from the line that git fills in (`.gitattributes`)."""
    filled = re.search(r"\b[0-9a-f]{40}\b", (root / ".git_archival.txt").read_text(encoding="ascii"))
    if filled:
        return filled[0]
    if not (root / ".git").exists():
        return ""
    head = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return head.stdout.strip()
