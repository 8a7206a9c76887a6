"""Which mutants are planned, from texts alone."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from prd2pr.domain.results.mutation import CallReplay, MutantResult, MutationResult, ReplayDifference
from prd2pr.languages.changed_lines import find_changed_lines
from prd2pr.languages.mutation_plan import MutationPlan
from prd2pr.languages.python.mutation.exemptions import drop_registration_differences
from prd2pr.languages.python.mutation.plan import plan_mutations
from prd2pr.languages.python.source_text import parse_source
from prd2pr.views.mutation_text import format_mutation_score


def planned(after: str, before: str | None = None, tests: str = "") -> MutationPlan:
    old = {} if before is None else {"app.py": dedent(before)}
    return plan_mutations(old, {"app.py": dedent(after)}, {"test_app.py": dedent(tests)}, seed="s", most=1000)


def changes(code: str) -> set[str]:
    return {fault.change for fault in planned(code).mutants}


MUTATED = [
    ("a < b", "`a < b` → `a <= b`"),
    ("a is not None", "`a is not None` → `a is None`"),
    ("a not in b", "`a not in b` → `a in b`"),
    ("a // b", "`a // b` → `a * b`"),
    ("(a) + (b)", "`(a) + (b)` → `(a) - (b)`"),
    ("a and b", "`a and b` → `a or b`"),
    ("not a", "`not a` → `(a)`"),
    ("-a", "`-a` → `(a)`"),
    ("a[1:b]", "`a[1:b]` → `a[1:(b) + 1]`"),
    ("a[0]", "`0` → `1`"),
    ("'x'", "`'x'` → `\"x~\"`"),
    ("True", "`True` → `False`"),
    ("min(a, b)", "`min(a, b)` → `max(a, b)`"),
    ("range(a)", "`range(a)` → `range((a) + 1)`"),
    ("a if b else c", "`a if b else c` → `a if not (b) else c`"),
    ("[x for x in a if x]", "`x` → `not (x)`"),
    ("f(key=1)", "`1` → `2`"),
]


@pytest.mark.parametrize(("code", "change"), MUTATED)
def test_a_mutant_of_each_kind(code: str, change: str) -> None:
    assert change in changes(f"def f(a, b, c):\n    return {code}\n")


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("if a:\n        b()", "`a` → `not (a)`"),
        ("if a:\n        b()\n    else:\n        c()", "`a` always holds"),
        ("while a:\n        b()", "`while a` never runs"),
        ("raise ValueError(a)", "`raise ValueError(a)` removed"),
        ("a.append(b)", "`a.append(b)` removed"),
        ("a.b = c", "`a.b = c` removed"),
        ("a += b", "`a += b` → `a -= b`"),
        ("return a", "`return a` → `return None`"),
    ],
)
def test_statements(code: str, change: str) -> None:
    assert change in changes(f"def f(a, b, c):\n    {code}\n")


@pytest.mark.parametrize(
    "code",
    [
        '"""Only a docstring: 1 < 2."""',
        "def f(a: 'int' = None) -> 'list[1]': ...",
        "def f():\n    raise NotImplementedError('later')",
        "class A:\n    def __repr__(self):\n        return 'A' + '1'",
        "import logging\nlog = logging.getLogger()\ndef f(a):\n    log.info('%s < 1', a)",
        "def f(a):\n    print(a + 1)",
        "if TYPE_CHECKING:\n    LIMIT = 3",
        "if __name__ == '__main__':\n    run(1)",
        "limit: 'Literal[3]'",
    ],
)
def test_code_without_tested_behaviour_is_not_mutated(code: str) -> None:
    plan = planned(code)
    assert [fault.change for fault in plan.mutants] == []
    assert bool(plan.knock_outs) is ("info" in code or "print" in code)


def test_error_messages_are_not_mutated() -> None:
    assert changes("def f(a):\n    raise ValueError('too ' + a)") == {"`raise ValueError('too ' + a)` removed"}


def test_only_changed_lines_are_mutated_and_changed_functions_knocked_out() -> None:
    before = """
        def old(a):
            return a + 1


        def documented(a):
            return a
        """
    after = """
        def old(a):
            return a + 1


        def documented(a: int) -> int:
            \"\"\"Now with words.\"\"\"
            return a


        def new(a):
            return a * 2
        """
    plan = planned(after, before)
    assert [fault.function for fault in plan.knock_outs] == ["new"]
    assert {fault.function for fault in plan.mutants} == {"new"}


def test_a_deletion_has_no_mutants() -> None:
    assert planned("def a():\n    return 1\n", "def a():\n    return 1\n\n\ndef b():\n    return 2\n").is_empty


def test_every_edit_is_valid_and_keeps_line_numbers() -> None:
    path = __file__
    code = Path(path).read_text(encoding="utf-8")
    text = parse_source(path, code)
    assert text is not None
    plan = plan_mutations({}, {path: code}, {path: code}, seed="s", most=10)
    for fault in (*plan.knock_outs, *plan.mutants[:60], *plan.perturbations[:60]):
        start, end, replacement = fault.edit
        edited = (text.data[:start] + replacement.encode() + text.data[end:]).decode()
        ast.parse(edited)
        assert fault.statement[0] <= fault.edit[0] <= fault.edit[1] <= fault.statement[1]
        if fault.kind != "knock_out":
            assert edited.count("\n") == code.count("\n")


def test_selection_depends_only_on_the_seed() -> None:
    code = {"app.py": "\n".join(f"def f{n}(a):\n    return a + {n}\n" for n in range(30))}
    first, again, other = (plan_mutations({}, code, {}, seed=seed, most=2).mutants for seed in ("s", "s", "t"))
    assert first == again
    assert first != other
    assert len({fault.line for fault in first[:20]}) == 20


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        ("assert f(1) == 90", ["90"]),
        ("assert 90 == f(1)", ["90"]),
        ("assert f(1) == wanted", ["f(1)", "wanted"]),
        ("assert f(1) == pytest.approx(0.3, abs=1e-6)", ["0.3"]),
        ("assert f(1) is True", ["True"]),
        ("assert 'total' in f(1)", ["'total'"]),
        ("assert f(1) in (1, 2)", ["(1, 2)"]),
        ("assert f(1) == 1 and f(2) == 2", ["1", "2"]),
        ("self.assertEqual(f(1), 3)", ["3"]),
        ("self.assertIn('a', f(1))", ["'a'"]),
        ("sent.assert_called_once_with(3, to='me')", ["3"]),
        ("with pytest.raises(ValueError, match='neg'):\n        f(1)", ["'neg'"]),
        ("assert f(1) == ANY", ["f(1)"]),
        ("assert f(1) != 3", []),
        ("assert not f(1) == 3", []),
        ("assert f(1) == 1 or f(2) == 2", []),
        ("with pytest.raises(AssertionError):\n        assert f(1) == 3", []),
        ("try:\n        assert f(1) == 3\n    except AssertionError:\n        pass", []),
    ],
)
def test_expected_values(assertion: str, expected: list[str]) -> None:
    plan = planned("def f(a):\n    return a\n", tests=f"def test_f(self, wanted):\n    {assertion}\n")
    assert sorted(fault.change for fault in plan.perturbations) == [f"another value than `{each}`" for each in expected]


def test_changed_lines() -> None:
    assert find_changed_lines(None, "a\nb\n") == {1, 2}
    assert find_changed_lines("a\nb\n", "a\nx\nb\ny\n") == {2, 4}
    assert find_changed_lines("a\nb\n", "if c:\n    a\nb\n") == {1}


def test_words() -> None:
    killed, survived, late = (
        MutantResult(id=outcome, path="a.py", line=1, outcome=outcome) for outcome in ("killed", "survived", "timeout")
    )
    assert format_mutation_score(MutationResult(mutants=(killed, survived, late))) == "1 of 2 mutants killed"
    assert format_mutation_score(MutationResult(knock_outs=(killed,))) == "1 of 1 removed functions detected"
    assert format_mutation_score(MutationResult()) == "no code to mutate"
    assert format_mutation_score(MutationResult(problems=("x",))) == "not measured"
    assert MutationResult(mutants=(killed, survived, late)).score == 0.5
    assert MutationResult(mutants=(late,)).score is None


REGISTRY = """
_known = {}
def register(function):
    _known[function.__name__] = function
def call(name):
    return _known[name]()
"""


@pytest.mark.parametrize(
    ("head", "dropped"),
    [
        ("from shop.registry import call, register\n@register\ndef tea():\n    return 1\n", 1),
        ("from shop import registry\nregistry.register(print)\n", 1),
        ("from shop.registry import call\nKEPT = call('tea')\n", 0),
        ("import pytest\nfrom shop.registry import call\n@pytest.fixture\ndef tea():\n    return 1\n", 0),
    ],
)
def test_differences_by_registration_on_import_are_dropped(head: str, dropped: int) -> None:
    other = ReplayDifference(
        path="shop/registry.py",
        line=5,
        function="call",
        test="tests/t.py::test_a",
        shown="call('tea')",
        inside="1",
        outside="raises KeyError",
    )
    bite = MutationResult(replay=CallReplay(same=3, differing=(other,)))
    found = drop_registration_differences(bite, {"tests/t.py": head}, {"shop/registry.py": REGISTRY}).replay
    assert found == CallReplay(same=3, not_judged=dropped, differing=() if dropped else (other,))
