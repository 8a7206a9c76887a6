"""The tools that tests are run with, first on the PATH of this process: its own Python, and Go as pip brings it along.

Without that, whatever `python3` happens to be there would run the tests of the projects that prd2pr works on. What pip
puts beside Python as `go` is a script; the real one lies among the packages.
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
