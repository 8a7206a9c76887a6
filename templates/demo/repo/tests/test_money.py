import pytest

from shop.money import Money


def test_amounts_add_and_subtract():
    assert Money.of(4, 50) + Money.of(0, 75) == Money(525)
    assert Money.of(4, 50) - Money.of(5) == Money(-50)


@pytest.mark.parametrize(("cents", "rate", "expected"), [(1000, 5, 50), (999, 5, 50), (990, 5, 50), (989, 5, 49)])
def test_percent_rounds_half_up(cents, rate, expected):
    assert Money(cents).percent(rate) == Money(expected)


def test_reads_like_a_price():
    assert str(Money(-1205)) == "-12.05 EUR"
