"""Change the owner of files that root creates in the service's directory, so that the service can open them."""

from __future__ import annotations

import os
from pathlib import Path


def match_directory_owner(path: Path) -> None:
    """Change the file's owner to that of its directory.

    Symlinks are not followed, because the directory's owner may have created them.
    """
    if os.geteuid() == 0:
        directory = path.parent.stat()
        os.chown(path, directory.st_uid, directory.st_gid, follow_symlinks=False)
