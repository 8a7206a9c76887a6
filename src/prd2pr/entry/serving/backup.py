"""`prd2pr serve --backup FILE` and `--restore FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from prd2pr.server.backup import back_up, restore
from prd2pr.server.database import open_database
from prd2pr.server.settings import ServerSettings


def write_backup(settings: ServerSettings, target: Path) -> int:
    size = back_up(settings.database, target)
    sys.stdout.write(f"wrote    {target} ({size} bytes), as the database was at one moment\n")
    return 0


def read_backup(settings: ServerSettings, source: Path) -> int:
    kept = restore(settings.database, source)
    open_database(settings.database).close()  # an older one is migrated now, not at the next start
    sys.stdout.write(f"restored {source}\n")
    if kept is not None:
        sys.stdout.write(f"kept     {kept}, what was there before\n")
    return 0
