"""Puts this directory on the path, so that tests can import `fakes`; and the suite's Python first on the PATH.

Without that, whatever `python3` happens to be there would run the tests of the projects that prd2pr works on.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
