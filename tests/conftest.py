"""Adds this directory to sys.path, so tests can import `fakes`, and puts the suite's own tools first on the PATH.

The tests' cache is separate from the user's.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

import tool_path
import warm_starts
from certificates import read_certificates_once
from world import World

# A suite started in the background may ignore Ctrl-C, and its child processes would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

gc.disable()  # until all tests are collected
tool_path.put_first()
read_certificates_once()

# Directories with long modules: they are run first, so that no process is left with one at the end.
LONG = ("kill", "act", "workflow", "languages", "github", "golden", "cheats", "honest", "memory", "livingdocs", "proof")
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ranks = {name: rank for rank, name in enumerate(LONG)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(HERE).parts[0], len(LONG)))


def pytest_collection_finish() -> None:
    """Leave the collected tests, a million objects, out of every later garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory) -> None:
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    os.environ.pop("GITHUB_ACTIONS", None)  # the tests choose themselves whether they are a job


@pytest.fixture(scope="session", autouse=True)
def own_identity(tmp_path_factory) -> None:
    """The author of commits, whoever runs the tests; found in the second place if a test clears git's variables."""
    settings = tmp_path_factory.mktemp("settings")
    (settings / "git").mkdir()
    (settings / "git" / "config").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    os.environ |= {"XDG_CONFIG_HOME": str(settings), "GIT_CONFIG_GLOBAL": str(settings / "git" / "config")}


@pytest.fixture(scope="session", autouse=True)
def runs_are_kept(tmp_path_factory: pytest.TempPathFactory) -> None:
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    warm_starts.KEPT_RUNS[:] = [shared / "kept-runs"]


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path).start()
