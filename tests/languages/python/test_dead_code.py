"""Dead code may be removed with its tests; everything else stays."""

from __future__ import annotations

import pytest

from prd2pr.domain.results.removal import Removal
from prd2pr.languages.python.dead_code import check
from prd2pr.languages.python.dead_code.check import RemovalTexts, find_removal

EARN = "def earn(amount):\n    return amount // 10\n"
DEAD = """

RATE = 3


def redeem(points):
    return _worth(points)


def _worth(points):
    return points * RATE
"""
TEST_EARN = "\n\ndef test_earn():\n    assert earn(10) == 1\n"
TEST_DEAD = "\n\ndef test_redeem():\n    assert redeem(2) == 6\n"
BOTH = "from shop.points import earn, redeem\n"
ONE = "from shop.points import earn\n"


def removed(
    source_now: str = EARN,
    tests: str = BOTH + TEST_EARN + TEST_DEAD,
    tests_now: str | None = ONE + TEST_EARN,
    source: str = EARN + DEAD,
    others: dict[str, str] | None = None,
    more: dict[str, str] | None = None,
) -> Removal | None:
    rest = more or {}
    return find_removal(
        RemovalTexts(
            {"src/shop/points.py": source, **rest},
            {"src/shop/points.py": source_now, **rest},
            {"tests/test_points.py": tests},
            {} if tests_now is None else {"tests/test_points.py": tests_now},
            others or {},
        )
    )


def objections(**sides: object) -> tuple[str, ...]:
    found = removed(**sides)  # type: ignore[arg-type]
    assert found is not None
    return found.objections


def test_dead_code_is_removed_with_its_tests() -> None:
    found = removed()
    assert found == Removal(
        symbols=("shop.points.RATE", "shop.points._worth", "shop.points.redeem"),
        tests=("tests/test_points.py::test_redeem",),
        files=("tests/test_points.py",),
    )
    assert found.is_open


def test_a_module_is_removed_with_its_test_file() -> None:
    found = find_removal(
        RemovalTexts(
            {"src/shop/points.py": EARN, "src/shop/old.py": "def old(a):\n    return a\n"},
            {"src/shop/points.py": EARN},
            {"tests/test_old.py": "from shop import old\n\n\ndef test_old():\n    assert old.old(1) == 1\n"},
            {},
            {"README.md": "# old\n"},
        )
    )
    assert found is not None
    assert found.is_open
    assert found.tests == ("tests/test_old.py::test_old",)


def test_without_removed_code_there_is_no_removal() -> None:
    assert removed(source_now=EARN + DEAD) is None
    same = BOTH + TEST_EARN
    assert removed(source_now=EARN.replace("10", "5 // 2"), tests=same, tests_now=same) is None


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("from shop.points import redeem\n", "is used"),
        ("from shop import points\n\n\ndef f():\n    return points.redeem(1)\n", "is used"),
        ("from . import points\n\n\ndef f():\n    return points.redeem(1)\n", "is used"),
        ("from shop import points\n\n\ndef f():\n    return getattr(points, 'redeem')(1)\n", "is named in a string"),
        ("from shop import points\n\n\ndef f(n):\n    return getattr(points, f're{n}')(1)\n", "composed name"),
        ("__all__ = ['redeem']\n", "is named in a string"),
        ("from shop.points import *\n", "used as a whole"),
        ("import inspect\n\nfrom shop import points\n\nALL = inspect.getmembers(points)\n", "used as a whole"),
    ],
)
def test_code_used_elsewhere_is_not_dead(other: str, said: str) -> None:
    found = objections(more={"src/shop/other.py": other})
    assert any("redeem" in each and said in each for each in found), found


def test_similar_names_are_not_uses() -> None:
    other = "class Card:\n    def redeem(self):\n        return 1\n\n\ndef f(card):\n    return card.redeem()\n"
    assert objections(more={"src/shop/other.py": other}) == ()


def test_entry_points_count_as_uses() -> None:
    assert objections(others={"pyproject.toml": '[project.scripts]\nredeem = "shop.points:redeem"\n'}) == (
        "`shop.points.redeem` is named in pyproject.toml",
    )


def test_a_test_of_remaining_code_must_not_be_removed() -> None:
    both = BOTH + TEST_EARN + "\n\ndef test_redeem():\n    assert redeem(earn(20)) == 6\n"
    assert objections(tests=both) == (
        "tests/test_points.py::test_redeem also tests `shop.points.earn`, which was not removed",
    )
    (objection,) = objections(tests_now=None)
    assert "test_points.py::test_earn " in objection and "`shop.points.earn`" in objection


def test_remaining_code_used_by_a_fixture_counts() -> None:
    through = BOTH + (
        "import pytest\n\n\n@pytest.fixture\ndef points():\n    return earn(20)\n"
        "\n\ndef test_redeem(points):\n    assert redeem(points) == 6\n"
    )
    assert any("also tests `shop.points.earn`" in each for each in objections(tests=through, tests_now=ONE))


def test_an_unrelated_test_must_not_be_removed() -> None:
    strange = BOTH + TEST_EARN + TEST_DEAD + "\n\ndef test_strange():\n    assert 1 + 1 == 2\n"
    assert objections(tests=strange) == ("tests/test_points.py::test_strange does not test anything that was removed",)


def test_other_changes_are_objections() -> None:
    changed = EARN.replace("// 10", "// 9")
    assert objections(source_now=changed)[0] == "src/shop/points.py has changes other than removed definitions"
    assert objections(tests_now=ONE + TEST_EARN.replace("== 1", "== 0"))[0].startswith(
        "tests/test_points.py has changes other "
    )


def test_code_made_dead_by_the_same_step_was_not_dead() -> None:
    used = EARN + DEAD + "\n\ndef pay(points):\n    redeem(points)\n    return 1\n"
    dropped = EARN + "\n\ndef pay(points):\n    return 1\n"
    assert objections(source=used, source_now=dropped) != ()


def test_code_with_a_registering_decorator_is_not_dead() -> None:
    marked = EARN + DEAD.replace("def redeem", "@app.route('/redeem')\ndef redeem")
    assert objections(source=marked) == ("`redeem` may be registered somewhere by `@route`",)


LIVING: dict[str, dict[str, object]] = {
    "_check_other_changes": {"source_now": EARN + "\n\ndef more(amount):\n    return amount\n"},
    "_check_registrations": {"source": EARN + DEAD.replace("def redeem", "@app.route('/redeem')\ndef redeem")},
    "_check_uses": {"more": {"src/shop/other.py": "__all__ = ['redeem']\n"}},
    "_check_unrelated_tests": {"tests_now": None},
}


@pytest.mark.parametrize("rule", LIVING)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert objections(**LIVING[rule]) != ()
    monkeypatch.setattr(check, rule, lambda *_: ())
    assert objections(**LIVING[rule]) == ()
