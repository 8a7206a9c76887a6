"""Write loose git objects directly, without a process for each."""

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
    """The loose objects of one repository. Concurrent writers are safe, because they write the same bytes."""

    def __init__(self, directory: Path, digest: Callable[[bytes], Any]) -> None:
        self._directory = directory
        self._digest = digest

    def name(self, kind: str, content: bytes) -> str:
        name: str = self._digest(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()
        return name

    def write(self, kind: str, content: bytes) -> str:
        name = self.name(kind, content)
        path = self._directory / name[:2] / name[2:]
        try:
            os.utime(path)  # so that `git gc` does not prune it as old
        except OSError:
            try:
                self._write_file(path, zlib.compress(b"%s %d\0" % (kind.encode(), len(content)) + content, 1))
            except OSError as error:
                raise BranchProblem(
                    f"a git object could not be written: {error.strerror}",
                    where=str(path),
                    remedy="check that the disk is not full and that you may write to the repository",
                ) from error
        return name

    def _write_file(self, path: Path, data: bytes) -> None:
        """Write atomically, even if this process is killed."""
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="tmp_obj_")  # `git gc` removes such leftovers
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), READ_ONLY)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
