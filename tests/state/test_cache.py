"""The cache: entries in one directory, bounded by their size."""

from __future__ import annotations

import os
from pathlib import Path

from prd2pr.state.cache import TOUCH_SECONDS, Cache


def test_an_entry_is_read_as_it_was_written(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.read("a") is None
    cache.write("a", b"one")
    cache.write("a", b"two", is_durable=True)
    assert cache.read("a") == b"two"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["a"]


def test_without_a_directory_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.write("a", b"one")
    cache.delete("")
    assert cache.read("a") is None


def test_the_least_recently_used_entries_are_deleted(tmp_path: Path) -> None:
    cache = Cache(tmp_path, max_bytes=30)
    (tmp_path / "dependencies").mkdir()
    (tmp_path / "dependencies" / "large").write_bytes(b"x" * 100)
    for age, name in enumerate("abcd"):
        cache.write(name, b"x" * 10)
        os.utime(tmp_path / name, (1e9 - age * TOUCH_SECONDS,) * 2)
    assert cache.read("d") is not None, "the oldest one is used"
    cache.prune()
    assert [name for name in "abcd" if cache.read(name)] == ["a", "b", "d"]
    assert (tmp_path / "dependencies" / "large").exists()


def test_the_first_write_of_a_process_prunes(tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    directory.mkdir()
    for name in "ab":
        (directory / name).write_bytes(b"x" * 10)
        os.utime(directory / name, (1e9, 1e9))
    Cache(directory, max_bytes=15).write("c", b"x" * 10)
    assert [path.name for path in directory.iterdir()] == ["c"]


def test_a_write_that_fails_is_no_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    Cache(tmp_path / "file" / "cache").write("a", b"x")  # its parent is no directory
    (tmp_path / "cache" / "a" / "b").mkdir(parents=True)
    Cache(tmp_path / "cache").write("a", b"x")  # a directory of that name cannot be replaced
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["a"]
