"""The growth benchmark: the program works in its sample repositories, and its figures match the measurements."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from growth.__main__ import curve, measure
from growth.axes import AXES, Axis
from growth.chart import draw, render_chart
from growth.curves import Curve, as_json, from_json, slope
from growth.finished_stories import finished_world
from growth.measure import Usage, call
from growth.report import BEGIN, END, read_figures, with_table, write_docs
from growth.shop import Built, first_story, git

ROOT = Path(__file__).resolve().parents[2]
BENCH, DOCS = ROOT / "bench", ROOT / "docs"
SIZES = (10, 100, 1000, 10_000)


def grown(power: float, *, flat: bool = False, bare: bool = False) -> Curve:
    taken = tuple(Usage(round(size**power / 10, 3), 50.0) for size in SIZES)
    return Curve("a `step`", "stories", SIZES, taken, flat, bare)


@pytest.mark.parametrize(
    ("power", "verdict"), [(0.0, "linear or less"), (1.0, "linear or less"), (1.3, "worse than linear")]
)
def test_exponent_is_fitted_and_judged(power: float, verdict: str) -> None:
    found = grown(power)
    assert found.exponent == pytest.approx(power, abs=0.01) and found.verdict == verdict


def test_start_up_time_does_not_hide_the_second_exponent() -> None:
    taken = tuple(Usage(100 + size**2 / 1e5, 50.0) for size in SIZES)
    found = Curve("a step", "stories", SIZES, taken)
    assert found.exponent < 1 and found.over_start == pytest.approx(2.0, abs=0.01)
    assert grown(0.0).over_start is None


def test_constant_steps_are_judged_by_ratio_and_baselines_not_at_all() -> None:
    assert grown(0.05, flat=True).verdict == "flat" and grown(0.5, flat=True).verdict == "grows"
    assert grown(2.0, bare=True).verdict == "baseline"
    assert slope((10, 10), (1, 2)) == 0


def use_much_memory(directory: Path, _: Built, size: int) -> Path:
    directory.mkdir()
    bytearray(b"x" * size)
    return directory


@pytest.mark.slow
def test_memory_for_the_sample_repository_is_not_counted(tmp_path: Path) -> None:
    before = call("true", cwd=tmp_path).megabytes
    axis = Axis("bytes", (), (), use_much_memory, lambda repo, _: iter([("`true`", call("true", cwd=repo))]))
    (found,) = next(measure(axis, tmp_path, Built(tmp_path, {}, {}, ()), (1 << 29,), 1))
    assert found.taken[0].megabytes < before + 100


def test_figures_round_trip() -> None:
    for each in (grown(1.0), grown(0.5, flat=True), grown(2.0, bare=True)):
        assert as_json(from_json(as_json(each))) == as_json(each)


def test_a_chart_names_each_curve_with_its_exponent(tmp_path: Path) -> None:
    place = draw("log records", [grown(1.0), grown(0.1, flat=True), grown(0.6, bare=True)], tmp_path)
    assert place.name == "log-records.svg"
    texts = [each.text or "" for each in ElementTree.parse(place).iter() if each.tag.endswith("text")]
    assert {"a step", "a step, bare", "n^1.00, 1000 s", "10,000", "100 s"} <= set(texts)
    assert any(text.startswith("× 2") for text in texts)


def test_docs_show_the_measured_figures_and_charts() -> None:
    figures = DOCS / "growth" / "figures.json"
    curves = read_figures(figures)
    page = (DOCS / "benchmarks.md").read_text()
    assert curves and {each.axis for each in curves} <= set(AXES)
    assert with_table(page, curves) == page
    for axis in {each.axis for each in curves}:
        chart = figures.with_name(f"{axis.replace(' ', '-')}.svg").read_text()
        assert chart == render_chart(axis, [each for each in curves if each.axis == axis])


def test_axis_not_measured_again_is_kept(tmp_path: Path) -> None:
    (tmp_path / "benchmarks.md").write_text(f"# Benchmarks\n\n{BEGIN}\nold\n{END}\n\nMore.\n")
    write_docs(tmp_path, [grown(1.0)])
    write_docs(tmp_path, [replace(grown(0.5), axis="tests")])
    page = (tmp_path / "benchmarks.md").read_text()
    assert page.startswith("# Benchmarks") and page.endswith("More.\n") and "old" not in page
    assert (
        "against stories" in page
        and "against tests" in page
        and "| a `step` | 10 to 10,000 | 1.0 s to 1000 s | 50 MB | 1.00 | 1.00 |" in page
    )
    assert (tmp_path / "growth" / "tests.svg").exists()


def test_call_counts_processes_that_outlive_their_parent(tmp_path: Path) -> None:
    """As in a sandboxed test run, whose supervisor outlives the process that started it."""
    work = "sum(i * i for i in range(3_000_000))"
    left = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {work!r}])"
    alone = call(sys.executable, "-c", "pass", cwd=tmp_path)
    assert call(sys.executable, "-c", left, cwd=tmp_path).processor > 2 * alone.processor


def test_failed_call_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="exit 3"):
        call(sys.executable, "-c", "raise SystemExit(3)", cwd=tmp_path)


@pytest.mark.slow
def test_a_plan_is_measured_against_its_requirements(tmp_path: Path) -> None:
    nobody = Built(tmp_path / "none", {}, {}, ())
    *_, found = measure(AXES["requirements"], tmp_path, nobody, (5, 15), 1)
    assert {each.step for each in found} == {"`plan`", "`next`, a PLAN", "`status`"}
    assert all(each.sizes == (5, 15) and min(t.processor for t in each.taken) > 0 for each in found)
    assert curve(AXES["stories"], (1, 2), "bare: git", []).bare


@pytest.mark.slow
def test_repository_of_finished_stories_can_be_continued(tmp_path: Path) -> None:
    built = first_story(tmp_path / "built")
    world = finished_world(tmp_path / "world", built, 3)
    told = subprocess.run(
        [sys.executable, "-m", "prd2pr", "status", "--json"], cwd=world, check=True, capture_output=True, text=True
    )
    (prd,) = json.loads(told.stdout)["prds"]
    assert (prd["done"], prd["outcome"]) == (3, "ready")
    assert len(git(world, "rev-list", "main..prd2pr/loyalty").split()) == 1 + 2 * (len(built.messages) - 1)


@pytest.mark.slow
def test_whole_benchmark_runs_in_short_form(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    (tmp_path / "benchmarks.md").write_text(f"# Benchmarks\n\n{BEGIN}\n{END}\n")
    command = [sys.executable, "-m", "growth", "--short", "--docs", str(tmp_path), "--out", str(out)]
    subprocess.run(command, cwd=BENCH, check=True, capture_output=True)
    told = json.loads(out.read_text())["curves"]
    assert {each["against"] for each in told} == set(AXES)
    charts = {path.stem for path in (tmp_path / "growth").glob("*.svg")}
    assert charts == {name.replace(" ", "-") for name in AXES}
