"""A step that adds tests may extend the helpers of existing tests, but not change their behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest

from prd2pr.languages.python.rules.test_code.existing_helpers import check_existing_helpers

BEFORE = {
    "tests/conftest.py": """
        import pytest

        @pytest.fixture
        def rate():
            return 25
        """,
    "tests/helpers.py": """
        LIMITS = {"low": 1}

        def check(actual, expected):
            assert actual == expected

        def cart(items=()):
            return Cart(items)

        class Clock:
            def now(self):
                return 5
        """,
    "tests/test_price.py": """
        from helpers import LIMITS, Clock, cart, check
        from shop.price import net

        EXPECTED = 80
        CASES = [(1, 2), (2, 4)]

        def test_net(rate):
            assert net(100, rate) == EXPECTED

        def test_checked(rate):
            check(net(200, rate), 160)

        @pytest.mark.parametrize("given, wanted", CASES)
        def test_cases(given, wanted):
            assert cart(given).at(Clock().now()) == wanted + LIMITS["low"]
        """,
}


def reported(changes: Mapping[str, str | None], fresh: frozenset[str] = frozenset()) -> list[str]:
    before = {path: dedent(text) for path, text in BEFORE.items()}
    after = {path: dedent(text) for path, text in {**BEFORE, **changes}.items() if text is not None}
    for path, text in after.items():
        compile(text, path, "exec")
    return [f"{fact.code} {fact.path}: {fact.message}" for fact in check_existing_helpers(before, after, fresh)]


def edited(path: str, old: str, new: str) -> dict[str, str | None]:
    assert old in BEFORE[path]
    return {path: BEFORE[path].replace(old, dedent(new).replace("\n", "\n        "))}


FIXTURE = "@pytest.fixture"
BENT: dict[str, tuple[str, str, str]] = {
    "a helper no longer asserts": ("tests/helpers.py", "assert actual == expected", "return actual == expected"),
    "a helper leaves early": ("tests/helpers.py", "assert actual", "return\n    assert actual"),
    "a helper asserts on demand": (
        "tests/helpers.py",
        "check(actual, expected):\n            assert actual == expected",
        "check(actual, expected, strict=False):\n    if strict:\n        assert actual == expected",
    ),
    "a new parameter is on by default": (
        "tests/helpers.py",
        "check(actual, expected):\n            assert",
        "check(actual, expected, lax=True):\n    if lax:\n        return\n    assert",
    ),
    "a class gets a base": ("tests/helpers.py", "class Clock:", "class Clock(Anything):"),
    "a class gets an equality": (
        "tests/helpers.py",
        "class Clock:",
        "class Clock:\n    def __eq__(self, other):\n        return True\n",
    ),
    "a method says something else": ("tests/helpers.py", "return 5", "return 6"),
    "a value in a table": ("tests/helpers.py", '{"low": 1}', '{"low": 2}'),
    "a constant": ("tests/test_price.py", "EXPECTED = 80", "EXPECTED = net(100, 25)"),
    "a constant is bound again": ("tests/test_price.py", "EXPECTED = 80", "EXPECTED = 80\nEXPECTED = ANY"),
    "a case is dropped": ("tests/test_price.py", "[(1, 2), (2, 4)]", "[(1, 2)]"),
    "an import": ("tests/test_price.py", "from shop.price import net", "from fakes import net"),
    "a name of one's own": (
        "tests/test_price.py",
        "from shop.price import net\n",
        "def net(gross, rate):\n    return 80\n",
    ),
    "a star": ("tests/test_price.py", "EXPECTED = 80", "from fakes import *\nEXPECTED = 80"),
    "a patch on import": ("tests/test_price.py", "EXPECTED = 80", "shop.price.net = fake\nEXPECTED = 80"),
    "a fixture's value": ("tests/conftest.py", "return 25", "return 0"),
    "a fixture that nobody asks for": (
        "tests/conftest.py",
        FIXTURE,
        "@pytest.fixture(autouse=True)\ndef easy(monkeypatch):\n    monkeypatch.setattr('test_price.net', f)\n\n"
        + FIXTURE,
    ),
    "a set-up that rebinds": (
        "tests/test_price.py",
        "def test_net(",
        "def setup_function():\n    global net\n    net = fake\n\ndef test_net(",
    ),
    "a fixture in place of another": (
        "tests/test_price.py",
        "def test_net(",
        "@pytest.fixture\ndef rate():\n    return 0\n\ndef test_net(",
    ),
}


@pytest.mark.parametrize("name", BENT)
def test_a_changed_helper_is_reported(name: str) -> None:
    facts = reported(edited(*BENT[name]))
    assert facts
    assert all(fact.startswith(f"RED508 {BENT[name][0]}") for fact in facts)


GROWN: dict[str, tuple[str, str, str]] = {
    "a message": (
        "tests/helpers.py",
        "check(actual, expected):\n            assert actual == expected",
        "check(actual, expected, message=''):\n    assert actual == expected, message",
    ),
    "a parameter that is handed on": (
        "tests/helpers.py",
        "cart(items=()):\n            return Cart(items)",
        "cart(items=(), coupon=None):\n    return Cart(items, coupon=coupon)",
    ),
    "a step on demand": (
        "tests/helpers.py",
        "def cart(items=()):",
        "def cart(items=(), *, quiet=False):\n    '''A cart.'''\n    if quiet:\n        silence()",
    ),
    "a method": ("tests/helpers.py", "class Clock:", "class Clock:\n    def later(self):\n        return 9\n"),
    "a key": ("tests/helpers.py", '{"low": 1}', '{"low": 1, "high": 9}'),
    "a case": ("tests/test_price.py", "(2, 4)]", "(2, 4), (3, 6)]"),
    "an import": ("tests/test_price.py", "import net", "import gross, net"),
    "a name passed on by its package": ("tests/test_price.py", "from shop.price import net", "from shop import net"),
    "a fixture": (
        "tests/conftest.py",
        FIXTURE,
        "@pytest.fixture\ndef gross():\n    return 9\n\n" + FIXTURE,
    ),
    "a quiet fixture for all": (
        "tests/conftest.py",
        FIXTURE,
        "@pytest.fixture(autouse=True)\ndef place(monkeypatch):\n    monkeypatch.setenv('HOME', '/')\n\n" + FIXTURE,
    ),
    "hints": ("tests/helpers.py", "def check(actual, expected):", "def check(actual: int, expected: int) -> None:"),
}


@pytest.mark.parametrize("name", GROWN)
def test_a_compatible_extension_is_not_reported(name: str) -> None:
    assert reported(edited(*GROWN[name])) == []


def test_helper_used_only_by_edited_tests_may_change() -> None:
    change = edited("tests/test_price.py", "EXPECTED = 80", "EXPECTED = 81")
    assert reported(change, frozenset({"tests/test_price.py::test_net"})) == []


def test_a_deleted_or_shadowed_helper_is_reported() -> None:
    (deleted,) = reported({"tests/helpers.py": None})
    assert deleted.startswith("RED508 tests/helpers.py: ")
    (covered,) = reported({"tests/helpers/__init__.py": "def check(a, b):\n    pass\n"})
    assert covered.startswith("RED508 tests/helpers/__init__.py: ") and "tests/helpers.py" in covered


def test_a_conftest_affects_the_tests_below_it() -> None:
    override = "import pytest\n\n@pytest.fixture\ndef rate():\n    return 0\n"
    assert reported({"conftest.py": override}) != []
    assert reported({"tests/new/conftest.py": override}) == []


def test_a_conftest_cannot_replace_a_test_modules_own_fixture() -> None:
    fixture = "import pytest\n\n@pytest.fixture\ndef shop():\n    return 1\n"
    module = {"tests/test_shop.py": f"{fixture}\ndef test_it(shop):\n    assert shop\n"}
    later = {**module, "tests/conftest.py": fixture}
    assert list(check_existing_helpers(module, later, frozenset())) == []
    passed_on = {**module, "conftest.py": "from tests.test_shop import shop\n"}
    (replaced,) = check_existing_helpers(passed_on, {**passed_on, **later}, frozenset())
    assert replaced.path == "tests/conftest.py"
