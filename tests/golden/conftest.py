"""What several files of golden tests begin with."""

from __future__ import annotations

import pytest
from golden_branches import HALF_WAY, Continued, program


@pytest.fixture(scope="session")
def continued(tmp_path_factory: pytest.TempPathFactory) -> Continued:
    """The branch that was stopped in the middle of a story, after one `prd2pr next`."""
    place = HALF_WAY.clone(tmp_path_factory.mktemp("continued"))
    return Continued(place, program(place, "next", "--model", HALF_WAY.model, "--json"))
