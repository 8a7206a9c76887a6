"""The prefix of PRD branches, as set in a repository's configuration."""

from __future__ import annotations

from prd2pr.config import CONFIG_PATH, Config
from prd2pr.config_file import load_config
from prd2pr.errors import ConfigInvalid
from prd2pr.github.client.branches import read_remote_file
from prd2pr.github.client.calls import RepositoryApi


def parse_branch_prefix(configuration: bytes | None) -> str:
    """Return the configured prefix, or the default if the configuration is invalid, which the worker reports."""
    try:
        return load_config(configuration.decode("utf-8", "replace") if configuration else None).branch_prefix
    except ConfigInvalid:
        return Config().branch_prefix


def read_branch_prefix(api: RepositoryApi) -> str:
    """Return the prefix configured on the default branch, read through the API."""
    return parse_branch_prefix(read_remote_file(api, CONFIG_PATH))
