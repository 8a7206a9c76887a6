import pytest
from shop.cart import Cart
from shop.money import Money


def test_totals_over_lines(tea, pot):
    cart = Cart()
    cart.add(tea, 2)
    cart.add(pot)
    assert cart.total == Money.of(41)


def test_the_same_product_is_one_line(tea):
    cart = Cart()
    cart.add(tea)
    cart.add(tea, 2)
    assert [line.quantity for line in cart.lines] == [3]


@pytest.mark.parametrize("quantity", [0, -1])
def test_refuses_less_than_one(tea, quantity):
    with pytest.raises(ValueError, match="at least 1"):
        Cart().add(tea, quantity)
