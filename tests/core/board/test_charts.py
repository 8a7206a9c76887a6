from __future__ import annotations

import pytest

from prd2pr.core.board.charts import Measured, bar_chart, line_chart, nice_top, short
from prd2pr.core.board.words import age, cost, tries
from prd2pr.core.records import Spend


def test_bars_reach_as_high_as_what_they_stand_for() -> None:
    chart = bar_chart([Measured("a", 50, "50"), Measured("b", 100, "100")], "told")
    assert chart is not None
    assert chart.bars[1].height == pytest.approx(2 * chart.bars[0].height)
    assert all(each.y + each.height == pytest.approx(chart.floor) for each in chart.bars)
    assert [line.label for line in chart.lines] == ["0", "50", "100"]


def test_nothing_is_not_drawn() -> None:
    assert bar_chart([], "told") is None
    assert bar_chart([Measured("a", 0, "nothing")], "told") is None
    assert line_chart([Measured("a", 3, "3")], "told") is None


def test_a_line_goes_in_steps() -> None:
    chart = line_chart([Measured("a", 2, "2"), Measured("b", 1, "1"), Measured("c", 0, "0")], "told")
    assert chart is not None
    assert chart.path.count("H") == chart.path.count("V") == 2
    assert chart.dots[-1].y == pytest.approx(chart.floor)


@pytest.mark.parametrize(("highest", "top"), [(0.07, 0.08), (6, 6), (7, 8), (11, 20), (142, 200), (1, 2), (0, 0)])
def test_the_top_is_round(highest: float, top: float) -> None:
    assert nice_top(highest, whole=highest >= 1) == pytest.approx(top)


def test_many_labels_are_thinned() -> None:
    chart = bar_chart([Measured(str(n), 1, "1") for n in range(60)], "told")
    assert chart is not None
    assert len(chart.bars) == 60
    assert len(chart.labels) <= 7


def test_long_labels_have_room_on_a_phone() -> None:
    chart = line_chart([Measured(f"11-17 13:{n:02}", 1, "1") for n in range(7)], "told")
    assert chart is not None
    assert [each.label for each in chart.labels] == ["11-17 13:00", "11-17 13:03", "11-17 13:06"]


@pytest.mark.parametrize(
    ("since", "words"),
    [
        ("2026-11-16T11:59:30Z", "just now"),
        ("2026-11-16T11:55:00Z", "5 min ago"),
        ("2026-11-16T09:00:00Z", "3 h ago"),
        ("2026-11-10T12:00:00Z", "6 days ago"),
        ("2026-11-16T12:05:00Z", "just now"),
        ("soon", ""),
    ],
)
def test_how_long_ago(since: str, words: str) -> None:
    assert age(since, "2026-11-16T12:00:00Z") == words


def test_what_was_spent_in_words() -> None:
    assert cost(Spend()) == ""
    assert cost(Spend(calls=1, input_tokens=1200, usd=0.5)) == "1.2k tokens, $0.50"
    assert cost(Spend(calls=1, input_tokens=1200, usd=None)) == "1.2k tokens, no price known"
    assert cost(Spend(calls=1, input_tokens=1200, usd=0)) == "1.2k tokens"
    assert (tries(0, 0), tries(1, 0), tries(5, 2)) == ("", "1 attempt", "5 attempts, 2 refused")
    assert (short(1500), short(2_000_000), short(0.25)) == ("1.5k", "2M", "0.25")
