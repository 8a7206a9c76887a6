import pytest
from shop.cart import Cart
from shop.checkout import EmptyCart, check_out
from shop.money import Money


def test_a_receipt_names_customer_and_total(tea):
    cart = Cart()
    cart.add(tea, 2)
    receipt = check_out(cart, "ada")
    assert (receipt.customer, receipt.total) == ("ada", Money.of(9))


def test_an_empty_cart_is_refused():
    with pytest.raises(EmptyCart):
        check_out(Cart(), "ada")
