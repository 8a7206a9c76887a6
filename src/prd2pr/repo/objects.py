"""Objects written as git itself writes them, without a process for each: a file of its own, named by its content."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prd2pr.errors import BranchProblem

READ_ONLY = 0o444


class LooseObjects:
    """Of one repository. What is there already is not written again; two writers at once write the same bytes."""

    def __init__(self, directory: Path, digest: Callable[[bytes], Any]) -> None:
        self._directory = directory
        self._digest = digest

    def name(self, kind: str, content: bytes) -> str:
        name: str = self._digest(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()
        return name

    def write(self, kind: str, content: bytes) -> str:
        name = self.name(kind, content)
        place = self._directory / name[:2] / name[2:]
        try:
            os.utime(place)  # so that nobody who cleans up takes it for old
        except OSError:
            try:
                self._put(place, zlib.compress(b"%s %d\0" % (kind.encode(), len(content)) + content, 1))
            except OSError as error:
                raise BranchProblem(
                    f"git's objects cannot be written: {error.strerror}",
                    where=str(place),
                    remedy="is the disk full, or the repository somebody else's?",
                ) from error
        return name

    def _put(self, place: Path, data: bytes) -> None:
        """Whole or not at all, whoever reads meanwhile and whenever this process is killed."""
        place.parent.mkdir(exist_ok=True)
        handle, made = tempfile.mkstemp(dir=place.parent, prefix="tmp_obj_")  # `git gc` knows such leftovers
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), READ_ONLY)
            Path(made).replace(place)
        except BaseException:
            Path(made).unlink(missing_ok=True)
            raise
