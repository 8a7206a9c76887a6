"""A small project in Go and one in Rust, with a PRD and scripted answers, run by the real program and toolchain."""

from __future__ import annotations

from pathlib import Path

from languages.node_world import PRD
from world import Blocks, World, say, submit, use, write

# --- Go ---------------------------------------------------------------------------------------------------------------

GO_BASE = {
    "go.mod": "module example.com/shop\n\ngo 1.19\n",
    "points/money.go": (
        "package points\n\n// Cents of an amount in euros.\nfunc Cents(euros int) int { return euros * 100 }\n"
    ),
    "points/money_test.go": (
        'package points\n\nimport "testing"\n\nfunc TestCents(t *testing.T) {\n'
        '\tif got := Cents(2); got != 200 {\n\t\tt.Errorf("Cents(2) = %d, want 200", got)\n\t}\n}\n'
    ),
    "prds/calc.md": PRD,
}
GO_EARN_TEST = """package points

import "testing"

// calc-1.c1: full ten euros count
func TestEarn(t *testing.T) {
	for _, c := range []struct{ euros, want int }{{25, 2}, {100, 10}, {9, 0}} {
		if got := Earn(c.euros); got != c.want {
			t.Errorf("Earn(%d) = %d, want %d", c.euros, got, c.want)
		}
	}
}
"""
GO_EARN_HELD_OUT = """package points

import "testing"

// calc-1.c1: other amounts
func TestEarnOfOtherAmounts(t *testing.T) {
	if got := Earn(339); got != 33 {
		t.Errorf("Earn(339) = %d, want 33", got)
	}
}
"""
GO_EARN = (
    "package points\n\n// Earn is one point for each full ten euros.\nfunc Earn(euros int) int { return euros / 10 }\n"
)
GO_WORTH_TEST = """package points_test

import (
	"testing"

	"example.com/shop/points"
)

func TestWorth(t *testing.T) {
	// calc-2.c1: a cent each
	t.Run("many", func(t *testing.T) {
		if got := points.Worth(250); got != "2.50" {
			t.Fatalf("Worth(250) = %q, want 2.50", got)
		}
	})
	t.Run("none at all", func(t *testing.T) {
		if got := points.Worth(0); got != "0.00" {
			t.Fatalf("Worth(0) = %q, want 0.00", got)
		}
	})
}
"""
GO_WORTH = (
    'package points\n\nimport "fmt"\n\n// Earn is one point for each full ten euros.\n'
    "func Earn(euros int) int { return euros / 10 }\n\n// Worth of points, a cent each.\n"
    'func Worth(points int) string {\n\tif points == 0 {\n\t\treturn "0.00"\n\t} else {\n'
    '\t\treturn fmt.Sprintf("%d.%02d", points/100, points%100)\n\t}\n}\n'
)
GO_BETTER = (
    'package points\n\nimport "fmt"\n\n// Earn is one point for each full ten euros.\n'
    "func Earn(euros int) int { return euros / 10 }\n\n// Worth of points, a cent each.\n"
    'func Worth(points int) string {\n\treturn fmt.Sprintf("%d.%02d", points/100, points%100)\n}\n'
)

# --- Rust -------------------------------------------------------------------------------------------------------------

RUST_BASE = {
    "Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": (
        "pub mod points;\n\n/// Cents of an amount in euros.\npub fn cents(euros: i64) -> i64 {\n    euros * 100\n}\n\n"
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn two_euros() {\n"
        "        assert_eq!(super::cents(2), 200);\n    }\n}\n"
    ),
    "src/points.rs": "//! Points.\n",
    "tests/money.rs": "use shop::cents;\n\n#[test]\nfn euros_in_cents() {\n    assert_eq!(cents(3), 300);\n}\n",
    "prds/calc.md": PRD,
}
RUST_EARN_TEST = """use shop::points::earn;

/// calc-1.c1: full ten euros count
#[test]
fn full_tens_count() {
    for (euros, points) in [(25, 2), (100, 10), (9, 0)] {
        assert_eq!(earn(euros), points);
    }
}
"""
RUST_EARN_HELD_OUT = """use shop::points::earn;

/// calc-1.c1: other amounts
#[test]
fn other_amounts() {
    assert_eq!(earn(339), 33);
}
"""
RUST_EARN = (
    "//! Points.\n\n/// One point for each full ten euros.\npub fn earn(euros: i64) -> i64 {\n    euros / 10\n}\n"
)
RUST_WORTH_TEST = """use shop::points;

/// calc-2.c1: a cent each
#[test]
fn many_points() {
    assert_eq!(points::worth(250), "2.50");
}

/// calc-2.c1: nothing for nothing
#[test]
fn no_points() {
    assert_eq!(points::worth(0), "0.00", "nothing");
}
"""
RUST_WORTH = RUST_EARN + (
    "\n/// Worth of points, a cent each.\npub fn worth(points: i64) -> String {\n    if points == 0 {\n"
    '        String::from("0.00")\n    } else {\n        format!("{}.{:02}", points / 100, points % 100)\n    }\n}\n'
)
RUST_BETTER = RUST_EARN + (
    "\n/// Worth of points, a cent each.\npub fn worth(points: i64) -> String {\n"
    '    format!("{}.{:02}", points / 100, points % 100)\n}\n'
)


def story(key: str, title: str, criterion: str, requirement: str, source: str, after: list[str]) -> dict[str, object]:
    return {
        "key": key, "epic": "E1", "title": title, "description": title, "kind": "feature",
        "criteria": [{"text": criterion, "example": ""}], "depends_on": after, "complexity": 1,
        "estimate_minutes": 5, "requirements": [requirement], "module": "points", "interface": "",
        "source_paths": [source], "test_paths": [],
    }  # fmt: skip


def plan(source: str) -> dict[str, object]:
    return {
        "epics": [{"key": "E1", "title": "Points", "description": "Points", "requirements": ["FR-1", "FR-2"]}],
        "stories": [
            story("S1", "Earn points", "25 euros earn 2 points", "FR-1", source, []),
            story("S2", "Points are worth money", "250 points are worth 2.50", "FR-2", source, ["S1"]),
        ],
        "questions": [],
        "assumptions": [],
    }


def designed(name: str, source: str) -> Blocks:
    symbols = [{"name": name, "signature": "(…)"}]
    return [submit(summary="A function.", symbols=symbols, decisions=[], source_paths=[source], test_paths=[])]


def go_script() -> dict[str, Blocks]:
    source = "points/points.go"
    held = use("write_file", path="points/tdd_calc_1_earn_held_out_test.go", content=GO_EARN_HELD_OUT)
    return {
        "calc/plan/planner/1/1": say(plan(source)),
        "calc-1/design/architect/1/1": designed("points.Earn", source),
        "calc-1/red/tester/1/1": [held, *write("points/tdd_calc_1_earn_test.go", GO_EARN_TEST)],
        "calc-1/green/builder/1/1": write(source, GO_EARN),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
        "calc-2/design/architect/1/1": designed("points.Worth", source),
        "calc-2/red/tester/1/1": write("points/tdd_calc_2_worth_test.go", GO_WORTH_TEST),
        "calc-2/green/builder/1/1": write(source, GO_WORTH),
        "calc-2/refactor/refactorer/1/1": [use("write_file", path=source, content=GO_BETTER), submit()],
    }


def rust_script() -> dict[str, Blocks]:
    source = "src/points.rs"
    held = use("write_file", path="tests/tdd_calc_1_earn_held_out.rs", content=RUST_EARN_HELD_OUT)
    return {
        "calc/plan/planner/1/1": say(plan(source)),
        "calc-1/design/architect/1/1": designed("shop.points.earn", source),
        "calc-1/red/tester/1/1": [held, *write("tests/tdd_calc_1_earn.rs", RUST_EARN_TEST)],
        "calc-1/green/builder/1/1": write(source, RUST_EARN),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
        "calc-2/design/architect/1/1": designed("shop.points.worth", source),
        "calc-2/red/tester/1/1": write("tests/tdd_calc_2_worth.rs", RUST_WORTH_TEST),
        "calc-2/green/builder/1/1": write(source, RUST_WORTH),
        "calc-2/refactor/refactorer/1/1": [use("write_file", path=source, content=RUST_BETTER), submit()],
    }


class CompiledWorld(World):
    base: dict[str, str]

    def start(self, files: dict[str, str] | None = None) -> World:
        self.write({".prd2pr.yml": "refactoring: always\n", **self.base, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self


def compiled_world(language: str, place: Path) -> CompiledWorld:
    script, base = (go_script, GO_BASE) if language == "go" else (rust_script, RUST_BASE)
    world = CompiledWorld(place, answers=script())
    world.base = base
    world.start()
    return world
