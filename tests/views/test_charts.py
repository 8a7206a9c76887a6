from __future__ import annotations

import pytest

from prd2pr.domain.records import Spend
from prd2pr.views.board.charts import ChartValue, abbreviate_number, build_bar_chart, build_line_chart, round_up_axis
from prd2pr.views.board.labels import format_attempts, format_spend


def test_bar_height_matches_its_value() -> None:
    chart = build_bar_chart([ChartValue("a", 50, "50"), ChartValue("b", 100, "100")], "told")
    assert chart is not None
    assert chart.bars[1].height == pytest.approx(2 * chart.bars[0].height)
    assert all(each.y + each.height == pytest.approx(chart.floor) for each in chart.bars)
    assert [line.label for line in chart.lines] == ["0", "50", "100"]


def test_empty_chart_is_not_drawn() -> None:
    assert build_bar_chart([], "told") is None
    assert build_bar_chart([ChartValue("a", 0, "nothing")], "told") is None
    assert build_line_chart([ChartValue("a", 3, "3")], "told") is None


def test_line_chart_is_a_step_chart() -> None:
    chart = build_line_chart([ChartValue("a", 2, "2"), ChartValue("b", 1, "1"), ChartValue("c", 0, "0")], "told")
    assert chart is not None
    assert chart.path.count("H") == chart.path.count("V") == 2
    assert chart.bars[-1].y == pytest.approx(chart.floor)


@pytest.mark.parametrize(("highest", "top"), [(0.07, 0.08), (6, 6), (7, 8), (11, 20), (142, 200), (1, 2), (0, 0)])
def test_axis_maximum_is_a_round_number(highest: float, top: float) -> None:
    assert round_up_axis(highest, whole=highest >= 1) == pytest.approx(top)


def test_many_labels_are_thinned() -> None:
    chart = build_bar_chart([ChartValue(str(n), 1, "1") for n in range(60)], "told")
    assert chart is not None
    assert len(chart.bars) == 60
    assert len(chart.labels) <= 7


def test_long_labels_fit_on_a_phone() -> None:
    chart = build_line_chart([ChartValue(f"11-17 13:{n:02}", 1, "1") for n in range(7)], "told")
    assert chart is not None
    assert [each.label for each in chart.labels] == ["11-17 13:00", "11-17 13:03", "11-17 13:06"]


def test_spending_as_text() -> None:
    assert format_spend(Spend()) == ""
    assert format_spend(Spend(calls=1, input_tokens=1200, usd=0.5)) == "1.2k tokens, $0.50"
    assert format_spend(Spend(calls=1, input_tokens=1200, usd=None)) == "1.2k tokens, no price known"
    assert format_spend(Spend(calls=1, input_tokens=1200, usd=0)) == "1.2k tokens"
    assert (format_attempts(0, 0), format_attempts(1, 0), format_attempts(5, 2)) == (
        "",
        "1 attempt",
        "5 attempts, 2 refused",
    )
    assert (abbreviate_number(1500), abbreviate_number(2_000_000), abbreviate_number(0.25)) == ("1.5k", "2M", "0.25")
