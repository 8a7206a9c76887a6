"""Signatures and metrics."""

from __future__ import annotations

import pytest

from prd2pr.languages.python.complexity import is_same_program, measure, measure_improvement
from prd2pr.languages.python.signatures import list_instance_attributes, list_public_signatures

SOURCE = """
from math import sqrt
from .rates import RATE as rate

LIMIT = 10
_HIDDEN = 1


class Cart:
    def __init__(self, owner: str, *, gold: bool = False) -> None: ...
    def total(self, tax=0.19): ...
    def _sum(self): ...
    @property
    def size(self): ...


async def fetch(url: str, /, *rest, **more): ...
def _private(): ...
"""


def test_public_signatures() -> None:
    found = {signature.name: signature.text for signature in list_public_signatures("src/shop/cart.py", SOURCE)}
    assert found == {
        "shop.cart.Cart": "class()",
        "shop.cart.Cart.__init__": "(self, owner, *, gold=False)",
        "shop.cart.Cart.size": "property (self)",
        "shop.cart.Cart.total": "(self, tax=0.19)",
        "shop.cart.LIMIT": "value 10",
        "shop.cart.fetch": "async (url, /, *rest, **more)",
        "shop.cart.rate": "-> shop.rates.RATE",
        "shop.cart.sqrt": "-> math.sqrt",
    }


def texts(source: str) -> dict[str, str]:
    return {
        signature.name.removeprefix("shop."): signature.text for signature in list_public_signatures("shop.py", source)
    }


def test_deleted_names_are_not_public() -> None:
    assert texts("RATE = 2\ndef f(): ...\ndef g(): ...\ndel f, RATE\n") == {"g": "()"}


def test_plain_values_are_part_of_the_signature() -> None:
    source = "A = 60 * 60\nB = 'x'\nC = load()\nD: int = -1\nclass E:\n    size = 3\n    name: str\n    rows = []\n"
    assert texts(source) == {
        "A": "value 3600", "B": "value 'x'", "C": "value", "D": "value -1", "E": "class()", "E.size": "attribute 3",
    }  # fmt: skip


def test_dataclass_has_its_generated_methods() -> None:
    by_hand = """
class Line:
    def __init__(self, name, cents=0): ...
    def __eq__(self, them): ...
    def __repr__(self): ...
"""
    made = "@dataclass\nclass Line:\n    name: str\n    cents: int = 0\n    kinds: ClassVar[int]\n"
    assert texts(by_hand).items() <= texts(made).items()
    assert "Line.__eq__" not in texts(made.replace("@dataclass", "@dataclass(eq=False)"))
    assert texts(made.replace("@dataclass", "@dataclass(kw_only=True)"))["Line.__init__"] == "(self, *, name, cents=0)"


def test_dunder_all_and_private_modules_limit_the_public_names() -> None:
    only = list_public_signatures("shop/__init__.py", "__all__ = ['a']\ndef a(): ...\ndef b(): ...\n")
    assert [signature.name for signature in only] == ["shop.a"]
    assert list_public_signatures("src/shop/_impl.py", "def a(): ...") == ()
    assert list_public_signatures("shop.py", "def a(: ...") == ()


def test_measure() -> None:
    source = (
        '"""Words."""\n'
        "def f(x):\n    # a comment\n    if x and x > 1:\n        return [y for y in x if y]\n    return 0\n\n"
        "def g(x):\n    return x\n"
    )
    assert measure(source) == {
        "lines": 6,
        "functions": 2,
        "complexity_max": 5,
        "complexity_sum": 6,
        "longest_function": 5,
        "duplicate_lines": 0,
    }


def test_duplicated_lines_are_counted() -> None:
    block = "    a = x + 1\n    b = a * 2\n    c = b - 3\n"
    assert measure(f"def f(x):\n{block}    return c\ndef g(x):\n{block}    return -c\n")["duplicate_lines"] == 6
    assert measure(f"def f(x):\n{block}    return c\n")["duplicate_lines"] == 0


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("def f():\n    return 1\n", 'def f():\n    """One."""\n    # why\n    return (1)\n', True),
        ('"""Old."""\nx = 1\n', "x = 1\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("def f(:", "def f(:", True),
        ("def f(:", "def f(): pass", False),
    ],
)
def test_code_that_differs_only_in_comments_is_equal(old: str, new: str, *, same: bool) -> None:
    assert is_same_program(old, new) is same


def test_improvement_of_several_files() -> None:
    old = {"a.py": "def f(x):\n    if x:\n        return 1\n    return 2\n"}
    new = {"a.py": "def f(x):\n    return 1 if x else 2\n", "b.py": "y = 1\n"}
    told = measure_improvement(old, new)
    assert (told["before"]["lines"], told["after"]["lines"]) == (4, 3)
    assert told["comment_only"] is False
    assert measure_improvement(old, {"a.py": old["a.py"] + "# words\n"})["comment_only"] is True
    assert measure_improvement({"t.html": "a"}, {"t.html": "b"})["comment_only"] is False


def test_attributes_of_instances_are_listed() -> None:
    source = "class Quote:\n    cents: int\n    days = 3\n    def __init__(self):\n        self.total = self._own = 1\n"
    names = [each.name for each in list_instance_attributes("src/shop/quotes.py", source)]
    assert names == ["shop.quotes.Quote.cents", "shop.quotes.Quote.total"]
