"""Where stories of Go and Rust have their tests, and which files decide how these are built."""

from __future__ import annotations

import pytest

from prd2pr.core.evidence import PathKind
from prd2pr.core.held_out import is_held_out, place, placed
from prd2pr.core.paths import classify_path, promote, story_place
from prd2pr.core.records import HeldOutFile
from prd2pr.core.stacks.detect import detect


@pytest.mark.parametrize(
    ("path", "becomes"),
    [
        ("points/tdd_loyalty_2_spend_test.go", "points/loyalty_2_spend_test.go"),
        ("tdd_loyalty_2_spend_test.go", "loyalty_2_spend_test.go"),
        ("tests/tdd_loyalty_2_spend.rs", "tests/loyalty_2_spend.rs"),
        ("crates/shop/tests/tdd_loyalty_2_spend.rs", "crates/shop/tests/loyalty_2_spend.rs"),
    ],
)
def test_a_story_s_tests_are_known_by_their_name(path: str, becomes: str) -> None:
    assert story_place(path, "loyalty-2")
    assert promote(path, "loyalty-2") == becomes
    assert not story_place(path, "loyalty-22")
    assert not story_place(path, "loyalty-1")
    assert not story_place(becomes, "loyalty-2")


@pytest.mark.parametrize("path", ["src/tdd_loyalty_2_x.rs", "points/tdd_loyalty_2_x.go", "tests/tdd_loyalty_2_x.py"])
def test_other_files_are_not(path: str) -> None:
    assert not story_place(path, "loyalty-2")


def test_held_out_examples_come_back_to_their_place() -> None:
    for path in ("points/tdd_loyalty_2_x_held_out_test.go", "tests/tdd_loyalty_2_x_held_out.rs"):
        assert is_held_out(path, "loyalty-2")
        waiting = place(HeldOutFile(path=path, blob="0"), "loyalty-2", "held")
        assert placed(waiting.removeprefix("held/"), "loyalty-2") == path


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("go.work", PathKind.TEST_CONFIG),
        (".cargo/config.toml", PathKind.TEST_CONFIG),
        ("build.rs", PathKind.TEST_CONFIG),
        ("crates/shop/build.rs", PathKind.TEST_CONFIG),
        ("src/build.rs", PathKind.SOURCE),
        ("rust-toolchain.toml", PathKind.TEST_CONFIG),
        ("go.mod", PathKind.MANIFEST),
        ("vendor/example.org/x/x.go", PathKind.MANIFEST),
        ("src/points/tests.rs", PathKind.TEST),
        ("points/testdata/sample.json", PathKind.TEST),
        ("config/config.toml", PathKind.SOURCE),
    ],
)
def test_what_decides_how_tests_are_built_is_no_source(path: str, kind: PathKind) -> None:
    assert classify_path(path) is kind


def test_modules_and_workspaces_are_found() -> None:
    paths = ["go.mod", "a/a.go", "web/Cargo.toml", "web/crates/x/Cargo.toml", "web/crates/x/src/lib.rs"]
    found = [(each.language, each.runner, each.root) for each in detect(paths, {})]
    assert found == [("go", "go test", "."), ("rust", "cargo test", "web")]
