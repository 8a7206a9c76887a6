"""Misspelt imports in a test file."""

from __future__ import annotations

import pytest

from prd2pr.languages.python.rules.test_code.misspelt_imports import check_misspelt_imports

SOURCES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "from shop.rates import rate\n\n\ndef square(name):\n    return name\n",
    "src/shop/rates.py": "def rate():\n    return 1\n",
    "src/shop/lazy.py": "def __getattr__(name):\n    raise AttributeError(name)\n\n\ndef square(x):\n    return x\n",
}
MODULES = frozenset({"shop", "shop.cart", "shop.rates", "shop.lazy"})


def reported(text: str, earlier: str = "", planned: tuple[str, ...] = ()) -> list[str]:
    facts = check_misspelt_imports({"tests/test_x.py": text}, {"tests/test_x.py": earlier}, SOURCES, MODULES, planned)
    return [f"{fact.code} {fact.line} {fact.message}" for fact in facts]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("from shop.cart import moves, sqaure", "shop.cart.square"),
        ("from shop.cart import moves\nfrom shop.raets import rate", "shop.rates"),
        ("import shop.raets", "shop.rates"),
    ],
)
def test_a_misspelling_after_a_planned_name_is_reported(text, meant):
    assert len(reported(text, planned=("shop.cart.moves",))) == 1
    assert f"`{meant}` does" in reported(text, planned=("shop.cart.moves",))[0]


@pytest.mark.parametrize(
    "text",
    [
        "from shop.cart import square, rate, squares, moves",
        "from shop.cart import colour\nfrom shop.points import earn",
        "from shop import cart, rates, points",
        "from shop.lazy import sqaure",
        "import jsno\nfrom other import sqaure",
        "try:\n    from shop.cart import sqaure\nexcept ImportError:\n    sqaure = None",
        "from shop.cart import *",
    ],
)
def test_new_and_third_party_names_are_not_reported(text):
    assert reported(text) == []


def test_planned_and_existing_names_are_not_reported():
    text = "from shop.cart import sqaure"
    assert reported(text, planned=("shop.cart.sqaure",)) == reported(text, earlier=text) == []
