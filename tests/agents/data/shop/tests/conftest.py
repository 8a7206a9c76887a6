from __future__ import annotations

import pytest
from shop.catalog import Product
from shop.money import Money


@pytest.fixture
def tea() -> Product:
    return Product("tea", "Green tea", Money.of(4, 50))


@pytest.fixture
def pot() -> Product:
    return Product("pot", "Tea pot", Money.of(32))


@pytest.fixture
def gift_card() -> Product:
    return Product("gift", "Gift card", Money.of(25), earns_points=False)
