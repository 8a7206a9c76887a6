"""Branches of an earlier version can still be verified and continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_branches import (
    FINISHED,
    HALF_WAY,
    JAVASCRIPT,
    PACKED,
    Branch,
    Continued,
    check,
    code_tree,
    git,
    program,
    steps,
    without_place,
)


def verified(place: Path, own_cache: Path, *arguments: str) -> dict[str, Any]:
    """The report of `verify`, which finds no result of an earlier run."""
    done = program(place, "verify", *arguments, "--json", env={"XDG_CACHE_HOME": str(own_cache)})
    assert (done.status, done.err) == (0, ""), done.text
    report: dict[str, Any] = done.json
    return report


def check_report(name: str, report: dict[str, Any]) -> None:
    """How many test runs were needed is not pinned: better planning of runs may change it."""
    report.pop("runs")
    check(name, json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def test_the_first_story_of_a_finished_branch_is_proved(tmp_path: Path) -> None:
    place = FINISHED.clone(tmp_path)
    recorded = list(steps(place, FINISHED).items())[:5]
    assert [step for step, _ in recorded][-1] == "loyalty/loyalty-1/4"
    report = verified(place, tmp_path / "cache", f"main..{recorded[-1][1]}")
    assert [(each["step"], each["commit"]) for each in report["steps"] if each["proved"]] == recorded
    check_report("finished/verify_first_story.json", report)


@pytest.mark.slow
@pytest.mark.parametrize(("branch", "count"), [(FINISHED, 26), (JAVASCRIPT, 10)], ids=["finished", "javascript"])
def test_every_step_of_a_finished_branch_is_proved(branch: Branch, count: int, tmp_path: Path) -> None:
    place = branch.clone(tmp_path)
    recorded = list(steps(place, branch).items())
    assert len(recorded) == count
    report = verified(place, tmp_path / "cache")
    assert [(each["step"], each["commit"]) for each in report["steps"] if each["proved"]] == recorded
    check_report(f"{branch.bundle}/verify.json", report)


def test_a_changed_step_is_not_proved(tmp_path: Path) -> None:
    """The counterpart: without it, the tests above would pass if `verify` accepted everything."""
    place = FINISHED.clone(tmp_path, checkout=FINISHED.name)
    green = steps(place, FINISHED)["loyalty/loyalty-1/3"]
    git(place, "switch", "--quiet", "--detach", green)
    points = place / "src/shop/points.py"
    points.write_text(points.read_text(encoding="utf-8") + "\n# a later change\n", encoding="utf-8")
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false")
    git(place, *identity, "commit", "--quiet", "--all", "--amend", "--no-edit")
    done = program(place, "verify", f"{green}~1..HEAD", "--json", env={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.status == 1, done.text
    assert done.json["total"]["proved"] == 0


@pytest.mark.slow
def test_a_branch_in_the_middle_of_a_story_goes_on(continued: Continued) -> None:
    assert continued.ended.status == 0, continued.ended.text
    place = continued.place
    last, commit = list(steps(place, HALF_WAY).items())[-1]
    assert last == "loyalty/loyalty-2/3"
    assert git(place, "show", "--no-patch", "--format=%s", commit).startswith("green(loyalty-2): ")
    check("half_way/continued_status.txt", without_place(program(place, "status").text, place))


@pytest.mark.slow
def test_the_continued_branch_has_the_code_of_the_finished_one(continued: Continued, tmp_path: Path) -> None:
    whole = FINISHED.clone(tmp_path)
    expected = steps(whole, FINISHED)
    for step, commit in steps(continued.place, HALF_WAY).items():
        assert code_tree(continued.place, commit) == code_tree(whole, expected[step]), step


# --- records that are packed ------------------------------------------------------------------------------------------


def test_packed_records_are_read(tmp_path: Path) -> None:
    place = PACKED.clone(tmp_path, checkout=PACKED.name)
    assert "6 of 6 stories integrated" in program(place, "status", PACKED.prd, warm=True).out
    assert json.loads(program(place, "evidence", "loyalty-1/3", warm=True).out)["verdict"] == "accepted"
    traced = program(place, "query", "trace", "FR-1.1", "--json", warm=True).json["rows"]
    assert {row["verdict"] for row in traced} == {"proven"}
    counted = program(place, "query", "--sql", "SELECT count(*) FROM estimates", "--json", warm=True).json["rows"]
    assert counted == [[6]]


def test_branch_with_packed_records_goes_on(tmp_path: Path) -> None:
    place = PACKED.clone(tmp_path)
    assert verified(place, tmp_path / "cache", f"{PACKED.name}^..{PACKED.name}")["all_proved"]
    packed = git(place, "rev-parse", PACKED.name).strip()
    git(place, "config", "user.name", "Ada")
    git(place, "config", "user.email", "ada@example.org")
    done = program(place, "command", "/feedback", "fine", "--prd", PACKED.prd)
    assert done.status == 0, done.text
    subjects = git(place, "log", "--format=%s", f"{packed}..{PACKED.name}").splitlines()
    assert subjects == ["note(plan): the PRD is complete by prd2pr", "note(plan): /feedback by Ada: fine"]
    assert verified(place, tmp_path / "cache", f"{packed}..{PACKED.name}")["all_proved"]
    listed = git(place, "ls-tree", "-r", "--name-only", PACKED.name, ".orch-state/prds/loyalty").splitlines()
    left = {path.removeprefix(".orch-state/prds/loyalty/") for path in listed}
    assert left == {"status.json", "summary.json", "tdd/evidence/plan/4-note.json"}
    restored = git(place, "ls-tree", "-r", "--name-only", f"{PACKED.name}^", ".orch-state/prds/loyalty/tdd/cycles")
    assert len(restored.splitlines()) == 6
