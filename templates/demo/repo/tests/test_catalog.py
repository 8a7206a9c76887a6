import pytest

from shop.catalog import Catalog, UnknownProduct


def test_finds_a_product_by_its_number(tea, pot):
    assert Catalog([tea, pot]).find("pot") is pot


def test_an_unknown_number_is_an_error(tea):
    with pytest.raises(UnknownProduct):
        Catalog([tea]).find("coffee")
