"""What a customer is about to buy."""

from __future__ import annotations

from dataclasses import dataclass

from shop.catalog import Product
from shop.money import Money


@dataclass(frozen=True)
class Line:
    product: Product
    quantity: int

    @property
    def total(self) -> Money:
        return self.product.price * self.quantity


class Cart:
    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def add(self, product: Product, quantity: int = 1) -> None:
        if quantity < 1:
            raise ValueError(f"quantity must be at least 1, not {quantity}")
        before = self._lines.get(product.sku)
        self._lines[product.sku] = Line(product, quantity + (before.quantity if before else 0))

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(self._lines.values())

    @property
    def total(self) -> Money:
        return sum((line.total for line in self.lines), Money(0))
