"""Carving honest cycles, and the rules on installed packages."""

from __future__ import annotations

from importlib.metadata import distribution
from pathlib import Path

import pytest

from prd2pr.languages.python.test_model.module import parse_python
from real_code.carving import GROWN, NEW_CLASS, NEW_FILE, NEW_MODULE, Cycle, asserts_something, carve, record_calls
from real_code.packages import PACKAGES, STATIC_PACKAGES
from real_code.rules import check_package, read_texts

SOURCES = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        "def total(prices):\n    found = sum(prices)\n    return found\n\n\n"
        "def largest(prices):\n    found = max(prices)\n    return found\n\n\n"
        "class Cart:\n    def __init__(self):\n        self.items = []\n\n"
        "    def add(self, item):\n        self.items.append(item)\n        return self\n\n"
        "    def count(self):\n        found = len(self.items)\n        return found\n"
    ),
    "shop/rounding.py": "def to_cents(amount):\n    cents = amount * 100\n    return round(cents)\n",
}
TESTS = {
    "tests/test_cart.py": (
        "import pytest\nfrom shop.cart import Cart, largest, total\n\nPRICES = [1, 2]\n\n\n"
        "@pytest.fixture\ndef cart():\n    return Cart()\n\n\n"
        "def test_total():\n    assert total(PRICES) == 3\n\n\n"
        "def test_largest():\n    assert largest(PRICES) == 2\n\n\n"
        "def test_count(cart):\n    assert cart.add(1).count() == 1\n"
    ),
    "tests/test_rounding.py": (
        "from shop.rounding import to_cents\n\n\ndef test_to_cents():\n    assert to_cents(1.5) == 150\n"
    ),
}


def carve_all() -> dict[tuple[str, str], Cycle]:
    return {(cycle.style, cycle.name.rpartition("/")[2]): cycle for cycle in carve(SOURCES, TESTS, 50)}


def test_every_style_is_carved() -> None:
    assert {style for style, _ in carve_all()} == {GROWN, NEW_FILE, NEW_MODULE}
    assert (NEW_MODULE, "rounding.py") in carve_all()
    without_fixture = {**TESTS, "tests/test_cart.py": TESTS["tests/test_cart.py"].replace("return Cart()", "return 1")}
    styles = {cycle.style for cycle in carve(SOURCES, {**without_fixture, "tests/test_x.py": USES_CLASS}, 50)}
    assert NEW_CLASS in styles


USES_CLASS = "import shop.cart\n\n\ndef test_add():\n    assert shop.cart.Cart().add(1).count() == 1\n"


def test_a_grown_file_imports_the_new_name_again_at_the_top() -> None:
    cycle = carve_all()[GROWN, "cart.py:total"]
    assert cycle.tests == ("tests/test_cart.py::test_total",)
    assert "def total" not in (cycle.base["shop/cart.py"] or "")
    assert "from shop.cart import Cart, largest\n" in (cycle.base["tests/test_cart.py"] or "")
    assert cycle.red["tests/test_cart.py"] == TESTS["tests/test_cart.py"]
    assert cycle.green["shop/cart.py"] == SOURCES["shop/cart.py"]


def test_a_new_file_has_what_its_tests_need() -> None:
    cycle = carve_all()[NEW_FILE, "cart.py:largest"]
    text = cycle.red["tests/test_largest_story.py"] or ""
    assert cycle.tests == ("tests/test_largest_story.py::test_largest",)
    assert "from shop.cart import largest\n" in text and "PRICES = [1, 2]" in text
    assert "fixture" not in text and "pytest" not in text
    assert cycle.base["tests/test_largest_story.py"] is None
    assert "test_largest" not in (cycle.green["tests/test_cart.py"] or "")


def test_the_calls_of_new_functions_are_recorded(tmp_path: Path) -> None:
    cycle = carve_all()[NEW_MODULE, "rounding.py"]
    changed, names = record_calls(cycle, str(tmp_path / "log"))
    assert names == {"shop/rounding.py:to_cents"}
    place: dict[str, object] = {}
    exec(changed["shop/rounding.py"], place)
    assert place["to_cents"](2) == 200  # type: ignore[operator]
    assert (tmp_path / "log").read_text() == "shop/rounding.py:to_cents\n"


def test_a_test_without_assertion_is_not_honest_work() -> None:
    cycle = carve_all()[NEW_MODULE, "rounding.py"]
    assert asserts_something(cycle)
    idle = {**cycle.red, "tests/test_rounding.py": "def test_to_cents():\n    to_cents(1)\n"}
    assert not asserts_something(Cycle(cycle.name, cycle.style, cycle.tests, cycle.base, idle, cycle.green))


def test_the_packages_are_pinned_once() -> None:
    names = [package.name for package in (*PACKAGES, *STATIC_PACKAGES)]
    assert len(names) == len(set(names)) >= 100
    assert len(PACKAGES) >= 30


@pytest.mark.parametrize(
    "name", ["pluggy", "iniconfig", *(pytest.param(name, marks=pytest.mark.slow) for name in ("click", "jinja2"))]
)
def test_no_rule_crashes_on_an_installed_package(name: str) -> None:
    found = distribution(name)
    roots = {Path(str(found.locate_file(file))).parent for file in found.files or () if file.name == "__init__.py"}
    assert roots
    texts = {path: text for root in roots for path, text in read_texts(root).items()}
    assert texts and all(parse_python(text) for text in texts.values())
    # Its modules are judged as source code and, under another name, as tests, which no rule expects.
    disguised = {f"tests/test_{path.replace('/', '_')}": text for path, text in texts.items()}
    assert not check_package(name, {**texts, **disguised}).crashes
