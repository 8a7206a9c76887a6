from __future__ import annotations

import pytest

from prd2pr.domain.stack import Stack
from prd2pr.languages.example_files import HiddenExample, find_invalid_examples, write_example_file

SUBJECT = "import { earn } from '../../../src/points.js'"
TEST, ASSERT = 'import { test } from "node:test";', 'import assert from "node:assert/strict";'


@pytest.mark.parametrize(
    ("runner", "given", "added"),
    [
        ("node:test", SUBJECT, [TEST, ASSERT]),
        ("node:test", f"import {{ test }} from 'node:test'\n{SUBJECT}", [ASSERT]),
        ("node:test", f"{TEST}\n{ASSERT}\n{SUBJECT}", []),
        ("vitest", SUBJECT, ['import { expect, test } from "vitest";']),
        ("jest", SUBJECT, []),
    ],
)
def test_imports_of_the_runner_are_added(runner: str, given: str, added: list[str]) -> None:
    """Each example becomes a call of `test`, whatever its author imports."""
    stack = Stack(language="javascript", runner=runner)
    text = write_example_file(stack, given, [HiddenExample(1, "shop-1.c1", "assert.equal(earn(61), 6)")])
    assert text.partition("\n\n")[0].splitlines() == [*added, *given.splitlines()]


SHARED = """
from shop.cart import Cart, Voucher

def cart(*cents):
    return Cart(list(cents))

def voucher(cents):
    return Voucher(cents)

def paid(*cents):
    return cart(*cents).pay()
"""


def test_helpers_that_stories_share_are_written_where_they_are_used() -> None:
    example = HiddenExample(1, "shop-1.c1", "assert paid(61).total() == 61")
    text = write_example_file(Stack(), SHARED, [example])
    assert "from shop.cart import Cart\n" in text, "Voucher, which the code may not have yet, is not imported"
    assert "def cart(" in text and "def paid(" in text and "def voucher(" not in text
    assert not find_invalid_examples(Stack(), "tests/test_a_held_out.py", SHARED, [example], ())


def test_constants_that_stories_share_are_written_where_they_are_used() -> None:
    shared = f"{SHARED}\nPRICE = 61\nRATES = {{'full': 19}}\n\ndef taxed():\n    return cart(PRICE)\n"
    example = HiddenExample(1, "shop-1.c1", "assert taxed().total() == 61")
    text = write_example_file(Stack(), shared, [example])
    assert "PRICE = 61\n" in text and text.index("PRICE = 61") < text.index("def taxed(") and "RATES" not in text
    assert not find_invalid_examples(Stack(), "tests/test_a_held_out.py", shared, [example], ())


@pytest.mark.parametrize(
    "more", ["def test_a():\n    pass", "@fixture\ndef cart():\n    pass", "pytestmark = 7", "cents += 7"]
)
def test_other_code_between_the_imports_is_refused(more: str) -> None:
    example = HiddenExample(1, "shop-1.c1", "assert cart(61).total() == 61")
    assert find_invalid_examples(Stack(), "tests/test_a_held_out.py", f"{SHARED}\n{more}", [example], ())
