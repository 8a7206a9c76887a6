"""What the shop sells."""

from __future__ import annotations

from dataclasses import dataclass

from shop.money import Money


class UnknownProduct(KeyError):
    """There is no product with this number."""


@dataclass(frozen=True)
class Product:
    sku: str
    name: str
    price: Money
    earns_points: bool = True  # gift cards do not


class Catalog:
    def __init__(self, products: list[Product]) -> None:
        self._products = {product.sku: product for product in products}

    def find(self, sku: str) -> Product:
        try:
            return self._products[sku]
        except KeyError:
            raise UnknownProduct(sku) from None

    def __len__(self) -> int:
        return len(self._products)
