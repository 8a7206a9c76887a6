"""Why tests fail, from real pytest runs: one small test per reason."""

from __future__ import annotations

import pytest
from small_projects import run_files

from prd2pr.domain.evidence import Failure, RunReport
from prd2pr.domain.evidence import FailureKind as Kind

SHOP = {
    "shop/__init__.py": "",
    "shop/points.py": """
        class Card:
            def __init__(self, points):
                self.points = points

        def earn(total):
            return total // 10

        def spend(total):
            raise NotImplementedError("later")

        def convert(total):
            return round_half_up(total)

        def lookup(prices, name):
            return prices[name]
        """,
    "shop/circular.py": "from shop.circular import itself\n",
    "shop/broken.py": "def half(:\n",
    "shop/needs.py": "import surely_not_installed\n",
}

CALLS = [
    ("assert earn(19) == 2", Kind.ASSERTION, ""),
    ("assert False", Kind.ASSERTION, ""),
    ("with pytest.raises(ValueError):\n        earn(-1)", Kind.ASSERTION, ""),
    ("with pytest.raises(TypeError, match='zzz'):\n        earn('x')", Kind.ASSERTION, ""),
    ("with pytest.warns(UserWarning):\n        earn(1)", Kind.ASSERTION, ""),
    ("pytest.fail('not yet')", Kind.EXPLICIT, ""),
    ("pytest.fail('DID NOT RAISE ValueError')", Kind.EXPLICIT, ""),
    ("from shop.points import redeem", Kind.MISSING_SYMBOL, "shop.points.redeem"),
    ("import shop.cart", Kind.MISSING_SYMBOL, "shop.cart"),
    ("from shop.cart.items import Item", Kind.MISSING_SYMBOL, "shop.cart"),
    ("import shop.points as p; p.redeem(1)", Kind.MISSING_SYMBOL, "shop.points.redeem"),
    ("Card(1).spend(1)", Kind.MISSING_SYMBOL, "shop.points.Card.spend"),
    ("Card.of(1)", Kind.MISSING_SYMBOL, "shop.points.Card.of"),
    ("None.spend(1)", Kind.EXCEPTION, ""),
    ("import json; json.earn(1)", Kind.EXCEPTION, ""),
    ("with mock.patch('shop.points.clock'): earn(1)", Kind.MISSING_SYMBOL, "shop.points.clock"),
    ("redeem(1)", Kind.MISSING_SYMBOL, "redeem"),
    ("convert(1)", Kind.MISSING_SYMBOL, "shop.points.round_half_up"),
    ("import shop.needs", Kind.MISSING_SYMBOL, "surely_not_installed"),
    ("import shop.circular", Kind.IMPORT, ""),
    ("import shop.broken", Kind.SYNTAX, ""),
    ("spend(1)", Kind.NOT_IMPLEMENTED, ""),
    ("lookup({}, 'a')", Kind.EXCEPTION, ""),
    ("earn(1, rounding='up')", Kind.EXCEPTION, ""),
    ("raise SystemExit(3)", Kind.EXIT, ""),
    ("def deep(): return deep()\n    deep()", Kind.EXCEPTION, ""),
]


@pytest.fixture(scope="module")
def calls() -> RunReport:
    bodies = "\n\n".join(f"def test_{number}():\n    {body}" for number, (body, _, _) in enumerate(CALLS))
    head = "import pytest\nfrom unittest import mock\nfrom shop.points import Card, convert, earn, lookup, spend\n\n"
    return run_files({**SHOP, "tests/test_calls.py": f"{head}{bodies}\n"})


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[body.replace("\n", " ") for body, _, _ in CALLS])
def test_failures_in_the_call(calls: RunReport, number: int) -> None:
    assert calls.problems == ()
    _, kind, missing = CALLS[number]
    failure = calls.by_id()[f"tests/test_calls.py::test_{number}"].failure
    assert failure is not None
    assert (failure.kind, failure.missing, failure.stage) == (kind, missing, "call")


def test_location_is_the_deepest_one_inside_the_checkout(calls: RunReport) -> None:
    def place(body: str) -> str:
        number = [entry[0] for entry in CALLS].index(body)
        failure = calls.by_id()[f"tests/test_calls.py::test_{number}"].failure
        return failure.path if failure else ""

    assert place("lookup({}, 'a')") == "shop/points.py"
    assert place("spend(1)") == "shop/points.py"
    assert place("earn(1, rounding='up')") == "tests/test_calls.py"
    assert place("import shop.broken") == "shop/broken.py"


MODULES = [
    ("from shop.points import redeem\n", Kind.MISSING_SYMBOL, "shop.points.redeem", "ImportError"),
    ("from shop.cart import Cart\n", Kind.MISSING_SYMBOL, "shop.cart", "ModuleNotFoundError"),
    ("import surely_not_installed\n", Kind.MISSING_SYMBOL, "surely_not_installed", "ModuleNotFoundError"),
    ("import shop.points\nshop.points.redeem\n", Kind.MISSING_SYMBOL, "shop.points.redeem", "AttributeError"),
    ("import shop.broken\n", Kind.SYNTAX, "", "SyntaxError"),
    ("1 / 0\n", Kind.COLLECTION, "", "ZeroDivisionError"),
    ("assert 1 == 2\n", Kind.COLLECTION, "", "AssertionError"),
    ("import pytest\npytest.fail('no')\n", Kind.COLLECTION, "", "Failed"),
]


def test_failures_while_collecting() -> None:
    files = {f"tests/test_{n}.py": f"{text}\ndef test_it(): ...\n" for n, (text, *_) in enumerate(MODULES)}
    report = run_files({**SHOP, **files, "tests/test_syntax.py": "def test_it(:\n"})
    assert report.problems == ()
    for number, (_, kind, missing, exception) in enumerate(MODULES):
        result = report.by_id()[f"tests/test_{number}.py::test_it"]
        assert result.outcome == "error"
        failure = result.failure
        assert failure is not None
        assert (failure.stage, failure.kind, failure.missing, failure.exception) == (
            "collect",
            kind,
            missing,
            exception,
        )
    syntax = [error for error in report.collect_errors if error.path == "tests/test_syntax.py"]
    assert [error.kind for error in syntax] == [Kind.SYNTAX]


def test_async_without_a_plugin_skips_and_unusual_parameters() -> None:
    report = run_files(
        {
            "test_async.py": "async def test_a():\n    assert False\n",
            "test_whole.py": "import pytest\npytest.importorskip('surely_not_installed')\ndef test_a(): ...\n",
            "test_odd.py": "import pytest\n@pytest.mark.parametrize('x', [1])\ndef test_a(): ...\n",
        }
    )
    assert report.problems == ()
    results = report.by_id()
    failure = results["test_async.py::test_a"].failure
    assert failure is not None
    assert (failure.kind, "no plugin" in failure.message) == (Kind.COLLECTION, True)
    assert results["test_whole.py::test_a"].outcome == "skipped"
    odd = results["test_odd.py::test_a"].failure
    assert odd is not None
    assert (odd.kind, odd.stage) == (Kind.COLLECTION, "collect")


@pytest.mark.slow
def test_the_signature_is_the_same_in_another_order_and_with_another_seed() -> None:
    files = {
        **SHOP,
        "tests/test_a.py": "from shop.points import earn\ndef test_a(): assert {earn(10), 'x', 'y'} == set()\n",
    }
    first, second = (run_files(files, order=order, hash_seed=seed) for order, seed in (("normal", 0), ("reversed", 1)))
    assert [signature(first), signature(second)] == [["call:assertion:AssertionError:"]] * 2


def signature(report: RunReport) -> list[str]:
    failures: list[Failure | None] = [result.failure for result in report.results]
    return [failure.signature for failure in failures if failure]
