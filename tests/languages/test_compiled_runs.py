"""Single runs with the real go and cargo: results if something cannot be built or ends early."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from languages.corpus_judge import INSTALLED
from prd2pr.config import TestRun
from prd2pr.domain.evidence import RunReport
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.project.detection import detect_project_stacks
from prd2pr.languages.runner import LanguageRunner
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.git import Git


def run(place: Path, files: dict[str, str], *paths: str, root: str = "") -> RunReport:
    (stack,) = [each for each in detect_project_stacks(files, {}) if not root or each.root == root]
    tool = {"go": "go", "rust": "cargo"}[stack.language]
    if shutil.which(tool) is None:
        pytest.skip(f"NOT TESTED: {tool} is not installed")
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    git = Git.open(place)
    tree = git.edit_tree(git.empty_tree, {path: text.encode() for path, text in files.items()})
    runner = LanguageRunner(git.export, stack, Dependencies(INSTALLED), TestRun())
    return runner.run(RunRequest(tree, paths=paths))


def describe(report: RunReport) -> dict[str, str]:
    return {
        each.id: f"{each.outcome} {each.failure.kind.value}" if each.failure else each.outcome
        for each in report.results
    }


GO_TEST = 'package a\n\nimport "testing"\n\n'


@pytest.mark.slow
def test_go_runs_the_packages_that_build(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        {
            "go.mod": "module example.com/shop\n\ngo 1.19\n\nrequire example.org/x v1.0.0\n",
            "vendor/modules.txt": "# example.org/x v1.0.0\n## explicit\nexample.org/x\n",
            "vendor/example.org/x/x.go": "package x\n\nfunc One() int { return 1 }\n",
            "a/a.go": 'package a\n\nimport "example.org/x"\n\nfunc Two() int { return 2 * x.One() }\n',
            "a/a_test.go": GO_TEST
            + 'func TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Fatal("no")\n\t}\n}\n\n'
            + "func TestPanics(t *testing.T) {\n\tvar m map[int]int\n\tm[Two()] = 1\n}\n\n"
            + "func TestAfterIt(t *testing.T) {\n\tif Two() != 3 {\n\t\tt.Error(Two())\n\t}\n}\n",
            "a/testdata/sample_test.go": "package sample, which nobody builds\n",
            "a/red_test.go": GO_TEST + "func TestThree(t *testing.T) {\n\tif Three() != 3 {\n\t\tt.Fail()\n\t}\n}\n",
        },
    )
    assert report.honest, report.problems
    assert describe(report) == {
        "a/a_test.go::TestTwo": "passed",
        "a/a_test.go::TestPanics": "failed exception",
        "a/a_test.go::TestAfterIt": "failed assertion",
        "a/red_test.go::TestThree": "error missing_symbol",
    }


@pytest.mark.slow
def test_go_finds_sibling_modules(tmp_path: Path) -> None:
    """With `go.work` and with `replace`; each module is its own stack."""
    module = "module example.com/{}\n\ngo 1.19\n"
    required = "\nrequire example.com/c v0.0.0\n\nreplace example.com/c => ../c\n"
    files = {
        "go.work": "go 1.19\n\nuse (\n\t./a\n\t./b\n)\n",
        "a/go.mod": module.format("a") + required,
        "a/a_test.go": (
            'package a\n\nimport (\n\t"testing"\n\n\t"example.com/b"\n\t"example.com/c"\n)\n\n'
            "func TestBoth(t *testing.T) {\n\tif b.One()+c.One() != 2 {\n\t\tt.Fail()\n\t}\n}\n"
        ),
        "b/go.mod": module.format("b"),
        "b/b.go": "package b\n\nfunc One() int { return 1 }\n",
        "c/go.mod": module.format("c"),
        "c/c.go": "package c\n\nfunc One() int { return 1 }\n",
    }
    report = run(tmp_path, files, root="a")
    assert report.honest, report.problems
    assert describe(report) == {"a/a_test.go::TestBoth": "passed"}


# The layout of `cargo vendor`.
VENDORED = {
    "service/.cargo/config.toml": (
        '[source.crates-io]\nreplace-with = "vendored-sources"\n\n[source.vendored-sources]\ndirectory = "vendor"\n'
    ),
    "service/vendor/kept/Cargo.toml": '[package]\nname = "kept"\nversion = "0.1.0"\nedition = "2021"\n',
    "service/vendor/kept/src/lib.rs": "pub fn kept() -> i64 { 1 }\n",
    "service/vendor/kept/.cargo-checksum.json": '{"files": {}, "package": "' + "0" * 64 + '"}',
}


def test_cargo_runs_the_crates_that_build(tmp_path: Path) -> None:
    package = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
    report = run(
        tmp_path,
        {
            "service/Cargo.toml": '[workspace]\nmembers = ["one", "two"]\nresolver = "2"\n',
            "service/one/Cargo.toml": package.format("one"),
            "service/one/src/lib.rs": "pub fn one() -> i64 { 1 }\n",
            "service/two/Cargo.toml": package.format("two-fold")
            + '\n[dependencies]\none = { path = "../one" }\nkept = "0.1"\n',
            **VENDORED,
            "service/two/src/lib.rs": "pub mod deep;\npub fn two() -> i64 { one::one() + kept::kept() }\n",
            "service/two/src/deep.rs": (
                "#[cfg(test)]\nmod tests {\n    #[test]\n    fn inner() { assert_eq!(crate::two(), 2); }\n}\n"
            ),
            "service/two/tests/two.rs": (
                "#[test]\nfn two() { assert_eq!(two_fold::two(), 2); }\n\n"
                "#[test]\n#[ignore]\nfn later() { assert_eq!(two_fold::two(), 3); }\n\n"
                '#[test]\nfn lost() { assert!(two_fold::two() == 3, "not {}", 3); }\n'
            ),
            "service/two/tests/red.rs": (
                "use two_fold::three;\n\n#[test]\nfn three_of_them() { assert_eq!(three(), 3); }\n"
            ),
        },
    )
    assert report.honest, report.problems
    assert describe(report) == {
        "service/two/tests/two.rs::two": "passed",
        "service/two/tests/two.rs::later": "skipped",
        "service/two/tests/two.rs::lost": "failed assertion",
        "service/two/src/deep.rs::tests > inner": "passed",
        "service/two/tests/red.rs::three_of_them": "error missing_symbol",
    }
