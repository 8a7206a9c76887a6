"""Facts are cached by blob; records of the upcoming commit are included as if they were already there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from living_tree import LivingTree, done, prd
from prd2pr.domain.memory_records import FailureRecord, Pattern
from prd2pr.livingdocs.cache import FactsCache
from prd2pr.livingdocs.render import DocsSource, list_code_files, render_docs
from prd2pr.state.cache import MAX_UNUSED_LINES, find_cache_directory

SOURCES = {f"src/m{n}.py": f'"""Module {n}."""\n\n\ndef f{n}(): ...\n' for n in range(20)}


def facts_path(tree: LivingTree) -> Path:
    return find_cache_directory(tree.git.private) / FactsCache().name


def test_file_is_parsed_once_whatever_its_path(tree: LivingTree) -> None:
    """A wrong cache entry shows up in the document, so the file was not parsed again."""
    first = tree.put(SOURCES).render()
    assert tree.render() == first
    cache = facts_path(tree)
    assert len(cache.read_text().splitlines()) == 20
    cache.write_text(cache.read_text().replace('"Module ', '"Kept '))
    docs = tree.put({"src/m0.py": None, "src/moved.py": SOURCES["src/m0.py"], "src/new.py": '"""New."""\n'}).docs()
    assert docs["CODEBASE_MAP"].count("Kept ") == 20, "moved is not changed"
    assert "Module " not in docs["CODEBASE_MAP"] and "New." in docs["CODEBASE_MAP"]
    assert len(cache.read_text().splitlines()) == 21


@pytest.mark.parametrize("damage", [b"", b"garbage\n", b"Python:0\t{\n", b"\xff\xfe\x00" * 100])
def test_a_damaged_or_deleted_cache_changes_nothing(tree: LivingTree, damage: bytes) -> None:
    first = tree.put(SOURCES).render()
    path = facts_path(tree)
    path.write_bytes(path.read_bytes()[:300] + damage)
    assert tree.render() == first
    path.unlink()
    assert tree.render() == first


def test_cache_size_is_bounded(tree: LivingTree) -> None:
    cache = FactsCache(tree.git.private)
    for number in range(MAX_UNUSED_LINES + 100):
        cache.put(f"Python:{number:040}", "{}")
    cache.save()
    tree.put(SOURCES).render()
    assert len(facts_path(tree).read_text().splitlines()) == 20


def test_records_of_the_upcoming_commit_are_included(tree: LivingTree) -> None:
    common = {"prd": "shop", "story": "shop-1", "at": "2026-11-16T09:00:00Z"}
    records = (
        FailureRecord(id="shop-1-4", feature="F", approach="A", why_failed="W", lesson="Look first", **common),
        Pattern(id="shop-1-p", name="N", description="D", **common),
    )
    tree.put(SOURCES).work(prd(), done("shop-1"))
    ground = DocsSource(tree.git, list_code_files(tree.git, tree.tree), tree.tree)
    before = render_docs(replace(ground, own=records))
    assert b"Look first" in before.files["docs/FAILURES.md"]
    tree.remember(*records)
    assert tree.render() == before


def test_undecodable_file_names_are_handled(tree: LivingTree) -> None:
    odd = os.fsdecode(b"src/\xff\xfe.py")
    docs = tree.put({odd: "def f(): ...\neval(f)\n", "src/a\nb.py": "import os\nos.environ['X']\n"}).docs()
    assert "src/%FF%FE.py#L2" in docs["SECURITY_REVIEW"]
    assert "a\\u{a}b.py" in docs["CODEBASE_MAP"]
