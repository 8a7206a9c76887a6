"""From a cart to a receipt."""

from __future__ import annotations

from dataclasses import dataclass

from shop.cart import Cart, Line
from shop.money import Money


class EmptyCart(ValueError):
    """There is nothing to buy."""


@dataclass(frozen=True)
class Receipt:
    customer: str
    lines: tuple[Line, ...]
    total: Money


def check_out(cart: Cart, customer: str) -> Receipt:
    if not cart.lines:
        raise EmptyCart("the cart is empty")
    return Receipt(customer=customer, lines=cart.lines, total=cart.total)
