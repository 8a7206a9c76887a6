"""Which files are relevant to a story."""

from __future__ import annotations

from prd2pr.agents.relevance import (
    find_imported_files,
    find_named_files,
    format_design_text,
    format_story_text,
    summarize_designs,
)
from prd2pr.domain.records import Criterion, Design, PlannedSymbol, Story

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "from shop.money import Money\n\nclass Line: ...\n\nclass Cart: ...\n\ndef total(): ...\n",
    "src/shop/money.py": "class Money: ...\n",
    "src/shop/rates.py": "from .money import Money\nfrom . import cart\n\ndef earn_rate(): ...\n",
    "tests/conftest.py": "class Cart: ...\n",
    "tests/test_cart.py": "import os\nimport shop.rates\nfrom shop import cart, missing\n",
}


def test_names_are_classes_modules_and_calls_not_plain_words() -> None:
    assert find_named_files(FILES, "The total of all lines in a cart") == ()
    assert find_named_files(FILES, "call total() on it") == ("src/shop/cart.py",)
    assert find_named_files(FILES, "earn_rate by default") == ("src/shop/rates.py",)
    assert find_named_files(FILES, "in shop.money, say") == ("src/shop/money.py",)


def test_the_most_named_file_comes_first() -> None:
    assert find_named_files(FILES, "Money of a Line in a Cart") == ("src/shop/cart.py", "src/shop/money.py")


def test_imports_lead_only_to_project_files() -> None:
    assert find_imported_files(FILES, ["src/shop/rates.py"]) == (
        "src/shop/money.py",
        "src/shop/cart.py",
        "src/shop/__init__.py",
    )
    assert find_imported_files(FILES, ["tests/test_cart.py", "gone.py"]) == (
        "src/shop/rates.py",
        "src/shop/cart.py",
        "src/shop/__init__.py",
    )


def test_unparsable_file_imports_nothing() -> None:
    assert find_imported_files({"a.py": "import b\ndef (", "b.py": ""}, ["a.py"]) == ()


def test_texts_include_everything_that_may_name_code() -> None:
    story = Story(id="s-1", epic="e", title="A", criteria=(Criterion(id="c", text="B", example="C"),), interface="D")
    assert format_story_text(story).split() == ["A", "D", "B", "C"]
    design = Design(summary="A", symbols=(PlannedSymbol(name="B", signature="(C)"),), decisions=("D",))
    assert format_design_text(design).split() == ["A", "B(C)", "D"]


def test_type_of_a_planned_value_is_a_separate_word() -> None:
    design = Design(summary="A limit.", symbols=(PlannedSymbol(name="shop.limits.MOST", signature="Money"),))
    assert find_named_files(FILES, format_design_text(design)) == ("src/shop/money.py",)


def test_earlier_designs_are_bounded() -> None:
    story = Story(id="s-1", epic="e", title="First")
    design = Design(summary="x", symbols=(PlannedSymbol(name="shop.cart"),), decisions=("Long. " * 30,) * 20)
    text = summarize_designs([(story, design)])
    assert text.startswith("s-1: First\n  decided: Long.")
    assert len(text) < 1600
    assert text.splitlines()[-1].startswith("… and ")
