"""Links in a checkout that lead out of it. Writing beside the tests must never write into somebody's own files."""

from __future__ import annotations

import os
from pathlib import Path


def cut_links(checkout: Path) -> list[str]:
    """Take away every symlink whose end lies outside; the answer names them."""
    root = checkout.resolve()
    cut = []
    for directory, folders, files in os.walk(checkout):
        for name in (*folders, *files):
            path = Path(directory, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                path.unlink()
                cut.append(path.relative_to(checkout).as_posix())
    return cut
