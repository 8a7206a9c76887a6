"""Create commits with one `git fast-import`: a hundred thousand files take a second or two."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

IDENTITY = b"b <b@b>"
START = 1_767_225_600  # a fixed time, so that the same repository has the same commits


@dataclass
class FastImport:
    """A `git fast-import` process as a context manager."""

    repo: Path
    made: int = 0
    process: subprocess.Popen[bytes] = field(init=False, repr=False)

    def __enter__(self) -> Self:
        command = [
            "git",
            "-c",
            "core.compression=1",
            "-c",
            "fastimport.unpackLimit=1",
            "fast-import",
            "--depth=0",
            "--quiet",
            "--force",
        ]
        self.process = subprocess.Popen(command, cwd=self.repo, stdin=subprocess.PIPE)
        return self

    def __exit__(self, *_: object) -> None:
        self._stdin.close()
        if self.process.wait():
            raise SystemExit(f"git fast-import failed in {self.repo}")

    @property
    def _stdin(self):
        assert self.process.stdin is not None
        return self.process.stdin

    def commit(self, branch: str, message: str, files: Mapping[str, bytes | None], parent: str = "") -> None:
        """Commit to the branch, on its head or on `parent`. Content None deletes a file."""
        self.made += 1
        when = START + self.made
        text = message.encode()
        write = self._stdin.write
        write(b"commit refs/heads/%s\ncommitter %s %d +0000\n" % (branch.encode(), IDENTITY, when))
        write(b"data %d\n%s\n" % (len(text), text))
        if parent:
            write(b"from %s\n" % parent.encode())
        for path, content in files.items():
            if content is None:
                write(b"D %s\n" % path.encode())
            else:
                write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
