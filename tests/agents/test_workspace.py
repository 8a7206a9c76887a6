"""File access is confined to one directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prd2pr.agents.workspace import MAX_HITS, MAX_READ, MAX_WRITE, ToolFailure, Workspace
from prd2pr.domain.paths import PathRules
from prd2pr.domain.records import Phase
from prd2pr.domain.write_policy import build_write_policy

SECRET = "the-secret-outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret.txt").write_text(SECRET)
    root = tmp_path / "checkout"
    for path, text in {
        "src/shop/cart.py": "class Cart:\n    size = 0\n",
        "tests/test_cart.py": "def test_cart(): assert True\n",
        "tests/tdd/shop-1/test_shop_1_cart.py": "def test_x(): assert 1 == 2\n",
        ".git/config": SECRET,
        ".orch-state/status.json": SECRET,
        "src/shop/__pycache__/x.py": SECRET,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture
def green(root: Path) -> Workspace:
    locked = ["tests/tdd/shop-1/test_shop_1_cart.py"]
    return Workspace(root, build_write_policy(Phase.GREEN, "shop-1", locked=locked), PathRules())


@pytest.fixture
def red(root: Path) -> Workspace:
    return Workspace(root, build_write_policy(Phase.RED, "shop-1"), PathRules())


def test_written_file_can_be_read(green: Workspace) -> None:
    assert green.write("src/shop/deep/er/points.py", "x = 1\ny = 2\n") == "wrote src/shop/deep/er/points.py (2 lines)"
    assert green.read("src/shop/deep/er/points.py") == "x = 1\ny = 2\n"
    assert list(green.written) == ["src/shop/deep/er/points.py"]
    assert green.refused == []


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "src/../../secret.txt",
        "/etc/passwd",
        "src/a\0b",
        ".git/config",
        ".orch-state/status.json",
        "~/x",
    ],
)
def test_nothing_outside_is_read(green: Workspace, path: str) -> None:
    with pytest.raises(ToolFailure) as told:
        green.read(path)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    "path",
    [
        "../x.py",
        "src/../../x.py",
        "/tmp/x.py",
        "src/a\0b.py",
        ".git/hooks/pre-commit",
        ".orch-state/x.json",
        "src/\u202ex.py",
    ],
)
def test_nothing_outside_is_written(green: Workspace, root: Path, path: str) -> None:
    before = sorted(str(p) for p in root.parent.rglob("*"))
    with pytest.raises(ToolFailure, match="refused, GRN101"):
        green.write(path, "x = 1\n")
    assert sorted(str(p) for p in root.parent.rglob("*")) == before
    assert [(refused.path, refused.code) for refused in green.refused] == [(path, "GRN101")]


def test_a_link_to_a_file_outside_is_neither_read_nor_written(green: Workspace, root: Path) -> None:
    (root / "src/shop/link.py").symlink_to(root.parent / "secret.txt")
    with pytest.raises(ToolFailure, match="outside of the files"):
        green.read("src/shop/link.py")
    for attempt in (lambda: green.write("src/shop/link.py", "x"), lambda: green.edit("src/shop/link.py", SECRET, "x")):
        with pytest.raises(ToolFailure, match="symbolic link"):
            attempt()
    assert (root.parent / "secret.txt").read_text() == SECRET


def test_a_link_to_a_directory_outside_is_neither_read_nor_written(green: Workspace, root: Path) -> None:
    (root / "src/out").symlink_to(root.parent)
    with pytest.raises(ToolFailure):
        green.read("src/out/secret.txt")
    with pytest.raises(ToolFailure, match="symbolic link"):
        green.write("src/out/new.py", "x = 1\n")
    assert not (root.parent / "new.py").exists()
    with pytest.raises(ToolFailure):
        green.list_files("src/out")


def test_links_inside_are_read_but_never_written_through(green: Workspace, root: Path) -> None:
    (root / "src/shop/alias.py").symlink_to("cart.py")
    assert "class Cart" in green.read("src/shop/alias.py")
    with pytest.raises(ToolFailure, match="symbolic link"):
        green.write("src/shop/alias.py", "gone")
    assert "class Cart" in green.read("src/shop/cart.py")


def test_a_link_to_the_hidden_state_is_not_read(green: Workspace, root: Path) -> None:
    (root / "src/state").symlink_to("../.orch-state")
    with pytest.raises(ToolFailure, match=r"^src/state/status\.json is outside "):
        green.read("src/state/status.json")


def test_circular_links(green: Workspace, root: Path) -> None:
    (root / "src/a").symlink_to("b")
    (root / "src/b").symlink_to("a")
    with pytest.raises(ToolFailure):
        green.read("src/a")
    assert "src/a" in green.list_files("src")


def test_pipe_neither_blocks_nor_reveals_anything(green: Workspace, root: Path) -> None:
    os.mkfifo(root / "src/pipe.py")
    with pytest.raises(ToolFailure, match="not a regular file"):
        green.read("src/pipe.py")
    with pytest.raises(ToolFailure, match=r"^src/pipe\.py was not written: .* special file"):
        green.write("src/pipe.py", "x")


def test_listing_and_search_hide_internal_files(green: Workspace) -> None:
    listed = green.list_files().splitlines()
    assert listed == ["src/shop/cart.py", "tests/test_cart.py", "tests/tdd/shop-1/test_shop_1_cart.py"]
    assert green.search(SECRET) == f"no line contains {SECRET!r}."
    assert green.search("class", "src") == "src/shop/cart.py:1: class Cart:"


def test_search_is_plain_text_and_bounded(green: Workspace, root: Path) -> None:
    (root / "src/many.py").write_text("needle (a+)+$\n" * 500)
    hits = green.search("needle (a+)+$").splitlines()
    assert len(hits) == MAX_HITS + 1
    assert hits[-1].startswith("… and more")


def test_tests_are_locked_in_green_and_source_in_red(green: Workspace, red: Workspace) -> None:
    with pytest.raises(ToolFailure, match="refused, GRN201"):
        green.write("tests/tdd/shop-1/test_shop_1_cart.py", "def test_x(): pass\n")
    with pytest.raises(ToolFailure, match="refused, GRN101"):
        green.edit("tests/test_cart.py", "True", "1")
    with pytest.raises(ToolFailure, match="refused, RED101"):
        red.write("src/shop/cart.py", "")
    assert red.write("tests/tdd/shop-1/conftest.py", "import pytest\n").startswith("wrote")
    assert [refused.code for refused in green.refused] == ["GRN201", "GRN101"]


@pytest.mark.parametrize(("old", "why"), [("", "is empty"), ("nowhere", "does not occur"), ("s", "occurs 3 times")])
def test_an_edit_must_be_exact_and_unique(green: Workspace, old: str, why: str) -> None:
    with pytest.raises(ToolFailure, match=why):
        green.edit("src/shop/cart.py", old, "y")
    assert green.read("src/shop/cart.py") == "class Cart:\n    size = 0\n"


def test_an_edit_keeps_the_line_ends_of_the_file(green: Workspace, root: Path) -> None:
    (root / "src/dos.py").write_bytes(b"a = 1\r\nb = 2\r\n")
    green.edit("src/dos.py", "a = 1\nb = 2", "a = 3\nb = 4\nc = 5")
    assert (root / "src/dos.py").read_bytes() == b"a = 3\r\nb = 4\r\nc = 5\r\n"


def test_sizes_are_bounded(green: Workspace, root: Path) -> None:
    (root / "src/long.py").write_text("".join(f"line {n}\n" for n in range(20_000)))
    assert len(green.read("src/long.py")) < MAX_READ + 200
    assert "left out" in green.read("src/long.py")
    assert green.read("src/long.py", 19_999, 0) == "[lines 19999 to 20000 of 20000]\nline 19998\nline 19999\n"
    with pytest.raises(ToolFailure, match="has 20000 lines"):
        green.read("src/long.py", 30_000, 30_010)
    with pytest.raises(ToolFailure, match="the limit is 200000"):
        green.write("src/long.py", "x" * (MAX_WRITE + 1))
    with pytest.raises(ToolFailure, match="NUL"):
        green.write("src/nul.py", "a\0b")
    with pytest.raises(ToolFailure, match="not valid Unicode"):
        green.write("src/odd.py", "a\udc80b")


def test_binary_files_are_named_not_shown(green: Workspace, root: Path) -> None:
    (root / "src/logo.png").write_bytes(b"\x89PNG\0\0needle")
    (root / "src/latin.txt").write_bytes("größe".encode("latin-1"))
    with pytest.raises(ToolFailure, match="binary file of 12 bytes"):
        green.read("src/logo.png")
    with pytest.raises(ToolFailure, match="not UTF-8"):
        green.read("src/latin.txt")
    assert green.search("needle") == "no line contains 'needle'."
    assert "src/logo.png" in green.list_files("src")


def test_wrong_names_get_a_hint(green: Workspace) -> None:
    with pytest.raises(ToolFailure, match=r"Did you mean src/shop/cart\.py"):
        green.read("shop/cart.py")
    with pytest.raises(ToolFailure, match="is a directory"):
        green.read("src/shop")
    with pytest.raises(ToolFailure, match="is not a directory"):
        green.list_files("src/shop/cart.py")
    with pytest.raises(ToolFailure, match="of that name exists"):
        green.write("src/shop/cart.py/x.py", "x")
    with pytest.raises(ToolFailure, match=r"^src/shop was not written: a directory"):
        green.write("src/shop", "x")


def test_the_whole_repository_is_listed_for_a_dot_or_nothing(green: Workspace) -> None:
    assert green.list_files(".") == green.list_files("") == green.list_files("./")
    assert green.list_files("src/") == "src/shop/cart.py"


def test_workers_get_the_configured_roots(root: Path) -> None:
    policy = build_write_policy(Phase.GREEN, "shop-1")
    assert Workspace(root, policy, PathRules(source=("src", "lib/*.py"))).globs() == ("src/**", "lib/*.py")
