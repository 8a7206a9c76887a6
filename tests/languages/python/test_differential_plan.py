"""Old code compared with new: what counts as a difference, which inputs are tried, which new code no test runs."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from prd2pr.domain.results.differential import Origin
from prd2pr.languages.python.differential.comparison import compare_outcomes, weigh_difference
from prd2pr.languages.python.differential.coverage_gaps import find_uncovered_code
from prd2pr.languages.python.differential.equality import compare_values
from prd2pr.languages.python.differential.plan import TimedTest, plan_differential, select_differential_tests
from prd2pr.languages.python.probes.input_variation import generate_cases
from prd2pr.languages.python.probes.value_recipes import observe_value


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (1, 1, "same"),
        (1, 2, "other"),
        (1, 1.0, "close"),
        (1, True, "close"),
        (0.1 + 0.2, 0.3, "same"),
        (0.1, 0.11, "other"),
        ("1", 1, "other"),
        ([1, 2], [1, 2], "same"),
        ([1, 2], (1, 2), "close"),
        ([1, 2], [2, 1], "other"),
        ([1, 2], [1], "other"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "close"),
        ({"a": 1}, {"a": 2}, "other"),
        ({"a": 1}, {"a": 1, "b": 2}, "other"),
        ({1, 2}, {2, 1}, "same"),
        ({1, 2}, frozenset({1, 2}), "close"),
        ({1, 2}, {1}, "other"),
        (None, False, "other"),
        ([[0.1 + 0.2]], [[0.3]], "same"),
    ],
)
def test_compare_values(old: object, new: object, found: str) -> None:
    assert compare_values(observe_value(old), observe_value(new)) == found


def test_order_is_ignored_if_the_old_code_used_sets() -> None:
    assert compare_values(observe_value(["a", "b"]), observe_value(["b", "a"]), unordered=True) == "close"
    assert compare_values(observe_value(["a", "b"]), observe_value(["b", "c"]), unordered=True) == "other"


def test_objects_are_compared_by_shared_public_attributes() -> None:
    class Old:
        def __init__(self) -> None:
            self.total, self._held = 3, [1, 2]

    class New:
        def __init__(self, total: int) -> None:
            self._sum, self.more = total, "x"

        @property
        def total(self) -> int:
            return self._sum

    Old.__name__ = New.__name__ = "Cart"
    assert compare_values(observe_value(Old()), observe_value(New(3))) == "same"
    assert compare_values(observe_value(Old()), observe_value(New(4))) == "other"


def returned(value: object) -> dict[str, Any]:
    return {"returned": observe_value(value), "left": observe_value([]), "printed": ""}


def raised(kind: type[Exception], *, meant: bool) -> dict[str, Any]:
    return {
        "raised": [each.__name__ for each in kind.__mro__[:-1]],
        "meant": meant,
        "left": observe_value([]),
        "printed": "",
    }


MEANT, HAPPENED = raised(ValueError, meant=True), raised(TypeError, meant=False)


@pytest.mark.parametrize(
    ("origin", "old", "new", "grave"),
    [
        ("recorded", returned(1), returned(1), None),
        ("recorded", returned(1), returned(2), True),
        ("near", returned(1), returned(2), True),
        ("guessed", returned(1), returned(2), True),
        ("odd", returned(1), returned(2), False),
        ("near", returned(1), returned(1.0), False),
        ("odd", returned(1), returned(1.0), None),
        ("near", returned(1), HAPPENED, True),
        ("odd", returned(1), HAPPENED, False),
        ("guessed", returned(1), HAPPENED, False),
        ("near", HAPPENED, returned(1), None),
        ("recorded", HAPPENED, returned(1), True),
        ("odd", MEANT, returned(1), True),
        ("guessed", MEANT, returned(1), False),
        ("near", MEANT, raised(KeyError, meant=True), True),
        ("near", MEANT, raised(UnicodeError, meant=True), None),  # a subclass of ValueError
        ("near", {**returned(1), "printed": "a"}, {**returned(1), "printed": "b"}, True),
        ("near", {**returned(1), "left": observe_value([[1]])}, {**returned(1), "left": observe_value([[]])}, False),
    ],
)
def test_weigh_difference(origin: Origin, old: dict[str, Any], new: dict[str, Any], grave: bool | None) -> None:
    assert weigh_difference(origin, old, new) is grave


def test_new_nondeterminism_is_grave() -> None:
    found = plan("def f(a):\n    return a\n", "def f(a):\n    return a + 0\n")
    case = {"id": 0, "target": found.targets[0].id, "called": "f", "kind": "function", "self": None, "kwargs": {}}
    case |= {"args": [["plain", 1]], "origin": "recorded"}
    plain, lots, slow = returned(1), {"unjudged": "uses randomness"}, {"unjudged": "it does not return"}
    for old, new, grave in ((plain, lots, True), (lots, plain, False), (lots, lots, False), (plain, slow, False)):
        functions, differences = compare_outcomes(found, [case], {"0": old}, {"0": new})
        assert functions[0].unjudged == 1
        assert any(each.grave for each in differences) is grave


# --- inputs ----------------------------------------------------------------------------------------------------------


def plan(before: str, after: str, **more: str) -> Any:
    return plan_differential({"app.py": before, **more}, {"app.py": after, **more}, {"app.py"}, {}, seed="s")


def targets(source: str) -> list[dict[str, Any]]:
    changed = source + "\nLIMIT = 1\n"
    return [{**vars(each), "hints": dict(each.hints)} for each in plan(source, changed).targets]


def planned_inputs(source: str, *calls: list[Any], constants: tuple[Any, ...] = ()) -> dict[str, list[Any]]:
    """Origin -> values of the first argument, as recipes."""
    found = targets(source)
    made = [{"target": found[0]["id"], "module": "app", "self": None, "args": call, "kwargs": {}} for call in calls]
    by: dict[str, list[Any]] = {}
    for case in generate_cases(found, made, {"app.py": list(constants)}, "seed"):
        by.setdefault(case["origin"], []).append(case["args"][0])
    return by


FUNCTION = "def f(a):\n    return a + 1\n"


def test_numbers_near_tests_and_constants_are_generated() -> None:
    seen = planned_inputs(FUNCTION, [["plain", 10]], constants=(500, "x", 2.5))
    assert seen["recorded"] == [["plain", 10]]
    assert {0, 1, 9, 11, 20, 499, 500, 501} <= {value for _, value in seen["near"]}
    assert {-1, -10, 1_000_030} <= {value for _, value in seen["odd"]}
    assert all(isinstance(value, int) for _, value in [*seen["near"], *seen["odd"]])


def test_negative_numbers_are_near_where_a_test_uses_one() -> None:
    assert ["plain", -1] in planned_inputs(FUNCTION, [["plain", 10]], [["plain", -4]])["near"]


def test_texts_and_rows() -> None:
    texts = planned_inputs(FUNCTION, [["plain", "ada"]], constants=("vip",))
    assert {"", "vip", "ADA", "a"} <= {value for _, value in texts["near"]}
    assert {" ada", "ada\n"} <= {value for _, value in texts["odd"]}
    rows = planned_inputs(FUNCTION, [["list", [["plain", 1], ["plain", 2]]]])["near"]
    assert ["list", []] in rows
    assert ["list", [["plain", 2], ["plain", 1]]] in rows


def test_none_is_near_if_an_annotation_allows_it() -> None:
    optional = "def f(a: int | None):\n    return a\n"
    assert ["plain", None] in planned_inputs(optional, [["plain", 1]])["near"]
    assert ["plain", None] not in planned_inputs(FUNCTION, [["plain", 1]])["near"]


def test_uncalled_functions_are_tried_by_annotation_or_guess() -> None:
    assert ["plain", 7] in planned_inputs("def f(a: int):\n    return a\n")["hinted"]
    assert set(planned_inputs(FUNCTION)) <= {"guessed", "odd"}
    assert planned_inputs("def f(a: Cart):\n    return a\n") == {}


def test_the_same_seed_gives_the_same_inputs() -> None:
    assert planned_inputs(FUNCTION, [["plain", 10]]) == planned_inputs(FUNCTION, [["plain", 10]])


# --- compared functions ----------------------------------------------------------------------------------------------


def test_only_public_functions_with_the_same_signature_are_compared() -> None:
    before = "def a(x):\n    return x\n\n\ndef b(x):\n    return x\n\n\ndef _c(x):\n    return x\n"
    after = "def a(x):\n    return x * 1\n\n\ndef b(x, y=1):\n    return x\n\n\ndef _c(x):\n    return 2\n"
    assert [each.name for each in plan(before, after).targets] == ["a"]


def test_callers_in_other_modules_are_compared_too() -> None:
    user = "from app import _c\n\n\ndef used(x):\n    return _c(x)\n"
    far = "import user\n\n\ndef far(x):\n    return user.used(x)\n"
    found = plan("def _c(x):\n    return x\n", "def _c(x):\n    return 2\n", **{"user.py": user, "far.py": far})
    assert [each.name for each in found.targets if each.judged] == ["used", "far"]


def test_story_tests_are_selected_first() -> None:
    tests = [TimedTest("a.py::t", 4), TimedTest("b.py::t", 4), TimedTest("c.py::t", 4)]
    texts = {"a.py": "import other", "b.py": "import shop.points", "c.py": "import other"}
    asked = select_differential_tests(["c.py::t"], tests, texts, ["shop.points"], seconds=9, most=10)
    assert asked.tests == ("c.py::t", "b.py::t")
    assert asked.partial
    assert not select_differential_tests([], tests, texts, [], seconds=99, most=10).partial


# --- new code that no test runs --------------------------------------------------------------------------------------


def unrun(before: str, after: str, ran_before: set[int], ran_after: set[int]) -> list[str]:
    old, new = {"a.py": dedent(before).lstrip()}, {"a.py": dedent(after).lstrip()}
    return [
        x.what for x in find_uncovered_code(old, new, {"a.py": frozenset(ran_before)}, {"a.py": frozenset(ran_after)})
    ]


PLAIN = """
    def f(a):
        return a
    """
BRANCHED = """
    def f(a):
        if a > 9:
            return 9
        return a
    """


def test_a_new_uncovered_branch_is_found() -> None:
    assert unrun(PLAIN, BRANCHED, {2}, {2, 4}) == ["return 9"]
    assert unrun(PLAIN, BRANCHED, {2}, {2, 3, 4}) == []


def test_a_branch_that_was_uncovered_before_may_be_reworded() -> None:
    other = """
        LIMIT = 9


        def f(a):
            if a > LIMIT:
                return LIMIT
            return a
        """
    assert unrun(BRANCHED, other, {2, 4}, {5, 7}) == []
    assert unrun(BRANCHED, other, {2, 3, 4}, {5, 7}) == ["return LIMIT"]


def test_an_uncovered_function_counts_once() -> None:
    more = """
        def f(a):
            return a


        def g(a):
            if a:
                return 1
            return 2
        """
    assert unrun(PLAIN, more, {2}, {2}) == ["def g(a):"]


def test_code_marked_as_unreachable_is_ignored() -> None:
    never = """
        def f(a):
            if a > 9:
                raise AssertionError("never")
            elif a < -9:
                pass
            return a
        """
    assert unrun(PLAIN, never, {2}, {2, 4, 6}) == []


def test_an_uncovered_tail_may_become_a_branch() -> None:
    chain = "def f(sign):\n    if sign == '+':\n        return 1\n    raise ValueError(sign)\n"
    table = (
        "def f(sign):\n    if sign not in SIGNS:\n        raise ValueError(f'unknown {sign}')\n    return SIGNS[sign]\n"
    )
    assert unrun(chain, table, {2, 3}, {2, 4}) == []
    assert unrun(chain, table, {2, 3, 4}, {2, 4}) == ["raise ValueError(f'unknown {sign}')"]
