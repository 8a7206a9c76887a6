"""How the branches of PRDs begin in a repository: its own configuration says it."""

from __future__ import annotations

from prd2pr.config import CONFIG_PATH, Config, load_config
from prd2pr.errors import ConfigInvalid
from prd2pr.forges.github.heads import file_at
from prd2pr.forges.github.wire import Wire


def prefix_in(configuration: bytes | None) -> str:
    """Where it cannot be read, as usual: whoever works there says what is wrong with it."""
    try:
        return load_config(configuration.decode("utf-8", "replace") if configuration else None).branch_prefix
    except ConfigInvalid:
        return Config().branch_prefix


def prefix_of(wire: Wire) -> str:
    """By the default branch as it is now, for who has no clone."""
    return prefix_in(file_at(wire, CONFIG_PATH))
