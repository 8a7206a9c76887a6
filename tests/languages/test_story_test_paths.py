"""Locations of story tests in Go and Rust, and files that affect their build."""

from __future__ import annotations

import pytest

from prd2pr.domain.evidence import PathKind
from prd2pr.domain.paths import classify_path, get_story_test_root, promote
from prd2pr.domain.records import HiddenExampleFile
from prd2pr.languages.hidden_examples import (
    get_hidden_example_path,
    get_original_example_path,
    is_hidden_example,
)
from prd2pr.languages.project.detection import detect_project_stacks


@pytest.mark.parametrize(
    ("path", "becomes"),
    [
        ("points/tdd_loyalty_2_spend_test.go", "points/loyalty_2_spend_test.go"),
        ("tdd_loyalty_2_spend_test.go", "loyalty_2_spend_test.go"),
        ("tests/tdd_loyalty_2_spend.rs", "tests/loyalty_2_spend.rs"),
        ("crates/shop/tests/tdd_loyalty_2_spend.rs", "crates/shop/tests/loyalty_2_spend.rs"),
    ],
)
def test_story_tests_are_known_by_name(path: str, becomes: str) -> None:
    assert get_story_test_root(path, "loyalty-2")
    assert promote(path, "loyalty-2") == becomes
    assert not get_story_test_root(path, "loyalty-22")
    assert not get_story_test_root(path, "loyalty-1")
    assert not get_story_test_root(becomes, "loyalty-2")


@pytest.mark.parametrize("path", ["src/tdd_loyalty_2_x.rs", "points/tdd_loyalty_2_x.go", "tests/tdd_loyalty_2_x.py"])
def test_other_files_are_no_story_tests(path: str) -> None:
    assert not get_story_test_root(path, "loyalty-2")


def test_hidden_examples_are_restored_to_their_path() -> None:
    for path in ("points/tdd_loyalty_2_x_held_out_test.go", "tests/tdd_loyalty_2_x_held_out.rs"):
        assert is_hidden_example(path, "loyalty-2")
        waiting = get_hidden_example_path(HiddenExampleFile(path=path, blob="0"), "loyalty-2", "held")
        assert get_original_example_path(waiting.removeprefix("held/"), "loyalty-2") == path


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
def test_build_files_are_not_source(path: str, kind: PathKind) -> None:
    assert classify_path(path) is kind


def test_modules_and_workspaces_are_found() -> None:
    paths = ["go.mod", "a/a.go", "web/Cargo.toml", "web/crates/x/Cargo.toml", "web/crates/x/src/lib.rs"]
    found = [(each.language, each.runner, each.root) for each in detect_project_stacks(paths, {})]
    assert found == [("go", "go test", "."), ("rust", "cargo test", "web")]
