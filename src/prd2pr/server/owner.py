"""Files that root makes in a service's directory, by a restore or the first token: the service has to open them."""

from __future__ import annotations

import os
from pathlib import Path


def hand_over(made: Path) -> None:
    """To whom the directory belongs. Not through a link: whoever owns the directory may have put one there."""
    if os.geteuid() == 0:
        place = made.parent.stat()
        os.chown(made, place.st_uid, place.st_gid, follow_symlinks=False)
