"""Which tests cover a source file, in languages other than Python."""

from __future__ import annotations

import pytest

from prd2pr.agents.relevance import find_covering_tests

FILES = {
    "src/format.ts": "export function format() {}",
    "tests/format.test.ts": 'import { format } from "../src/format";\n',
    "tests/formats.test.ts": 'import { x } from "../src/formats";\n',
    "src/formatting.ts": 'import { format } from "./format";\n',
    "fare/fare.go": "package fare",
    "fare/fare_test.go": "package fare",
    "tax/tax_test.go": "package tax",
    "src/reading.rs": "pub fn read() {}",
    "tests/readings.rs": "use shop::reading::read;\n",
    "tests/both.rs": "use shop::{other, reading};\n",
    "tests/other.rs": "use shop::readings;\n",
    "src/shop/cart.py": "x = 1",
    "tests/test_cart.py": "from shop.cart import x\n",
}


@pytest.mark.parametrize(
    ("source", "tests"),
    [
        ("src/format.ts", ("tests/format.test.ts",)),
        ("fare/fare.go", ("fare/fare_test.go",)),
        ("src/reading.rs", ("tests/both.rs", "tests/readings.rs")),
        ("src/shop/cart.py", ("tests/test_cart.py",)),
        ("src/absent.ts", ()),
    ],
)
def test_tests_are_found_by_what_they_import(source: str, tests: tuple[str, ...]) -> None:
    assert find_covering_tests(FILES, [source]) == tests
