"""Single runs with the real go and the real cargo: what is found where something cannot be built, or ends early."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from prd2pr.config import TestRun
from prd2pr.core.evidence import RunReport
from prd2pr.core.stacks.detect import detect
from prd2pr.ports import RunRequest
from prd2pr.repo.git import Git
from prd2pr.runners.dependencies import Dependencies
from prd2pr.runners.other_runner import OtherRunner


def run(place: Path, files: dict[str, str], *paths: str) -> RunReport:
    (stack,) = detect(files, {})
    tool = {"go": "go", "rust": "cargo"}[stack.language]
    if shutil.which(tool) is None:
        pytest.skip(f"NOT TESTED: {tool} is not installed")
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    git = Git.open(place)
    tree = git.edit_tree(git.empty_tree, {path: text.encode() for path, text in files.items()})
    runner = OtherRunner(git.export, stack, Dependencies(place / "kept"), TestRun())
    return runner.run(RunRequest(tree, paths=paths))


def told(report: RunReport) -> dict[str, str]:
    return {
        each.id: f"{each.outcome} {each.failure.kind.value}" if each.failure else each.outcome
        for each in report.results
    }


GO_TEST = 'package a\n\nimport "testing"\n\n'


def test_go_runs_what_can_be_built(tmp_path: Path) -> None:
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
    assert told(report) == {
        "a/a_test.go::TestTwo": "passed",
        "a/a_test.go::TestPanics": "failed exception",
        "a/a_test.go::TestAfterIt": "failed assertion",
        "a/red_test.go::TestThree": "error missing_symbol",
    }


def test_cargo_runs_what_can_be_built(tmp_path: Path) -> None:
    package = '[package]\nname = "{}"\nversion = "0.1.0"\nedition = "2021"\n'
    report = run(
        tmp_path,
        {
            "service/Cargo.toml": '[workspace]\nmembers = ["one", "two"]\nresolver = "2"\n',
            "service/one/Cargo.toml": package.format("one"),
            "service/one/src/lib.rs": "pub fn one() -> i64 { 1 }\n",
            "service/two/Cargo.toml": package.format("two-fold") + '\n[dependencies]\none = { path = "../one" }\n',
            "service/two/src/lib.rs": "pub mod deep;\npub fn two() -> i64 { 2 * one::one() }\n",
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
    assert told(report) == {
        "service/two/tests/two.rs::two": "passed",
        "service/two/tests/two.rs::later": "skipped",
        "service/two/tests/two.rs::lost": "failed assertion",
        "service/two/src/deep.rs::tests > inner": "passed",
        "service/two/tests/red.rs::three_of_them": "error missing_symbol",
    }
