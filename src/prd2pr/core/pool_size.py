"""How many stories are worked on at once."""

from __future__ import annotations

MOST_WORKERS = 64
AUTOMATIC = 4  # at most, where the number is left to the machine
ONE_WORKER = "the sandbox does not keep test runs apart here, so there is one worker instead of several"


def pool_size(asked: int, cores: int) -> int:
    """As many as were asked for; 0: one for each core, within reason."""
    return min(asked or min(cores, AUTOMATIC), MOST_WORKERS)
