"""Puts the suite's own tools first on the PATH of this process: its Python, and Go as installed by pip.

Otherwise any `python3` on the PATH would run the tests of the sample projects. The `go` that pip puts next to Python
is a script; the real binary is among the packages.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

GO = Path(sysconfig.get_path("purelib")) / "go" / "bin"


def put_first() -> None:
    first = [str(place) for place in (GO, Path(sys.executable).parent) if place.is_dir()]
    os.environ["PATH"] = os.pathsep.join([*first, os.environ.get("PATH", os.defpath)])
