"""Remove links that point outside a checkout, so that writing to the checkout never changes other files."""

from __future__ import annotations

import os
from pathlib import Path


def remove_external_links(checkout: Path) -> list[str]:
    """Remove every symbolic link whose target is outside the checkout, and return their paths."""
    root = checkout.resolve()
    removed = []
    for directory, folders, files in os.walk(checkout):
        for name in (*folders, *files):
            path = Path(directory, name)
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                path.unlink()
                removed.append(path.relative_to(checkout).as_posix())
    return removed
