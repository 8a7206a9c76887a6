"""Ownership of files that root creates in the service's directory and the service must be able to open."""

from __future__ import annotations

import os
from pathlib import Path


def match_directory_owner(path: Path) -> None:
    """Give the file to its directory's owner. Symlinks are not followed, because that owner may have created them."""
    if os.geteuid() == 0:
        directory = path.parent.stat()
        os.chown(path, directory.st_uid, directory.st_gid, follow_symlinks=False)
