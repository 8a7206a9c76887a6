"""Expected values outside test bodies, programs started by tests, and deliberate failures."""

from __future__ import annotations

import pytest

from prd2pr.languages.python.rules.test_code.existing_helpers import check_existing_helpers
from prd2pr.languages.python.rules.test_code.test_file import FactContext
from prd2pr.languages.python.shared_expectations import find_changed_values, find_dependent_tests, find_tests_using
from prd2pr.languages.python.signatures import list_import_names
from prd2pr.languages.python.test_model.module import find_certain_tests, parse_tests
from prd2pr.languages.python.test_model.programs import is_startable_file
from prd2pr.languages.python.test_model.subject_use import find_called_names, find_module_subject_lines

SHOP = FactContext(project_modules=frozenset({"shop"}))
PRICES = "from values import PRICE\nfrom shop import price\ndef test_one(): assert price(1) == PRICE\n"


def test_changed_literal_values() -> None:
    assert list(find_changed_values("A = 1\nB = [1]\nC = f()\n", "A = 2\nB = [1, 2]\nC = g()\n")) == ["A"]


def test_tests_depend_on_values_and_samples_that_they_name() -> None:
    before = {"tests/values.py": "PRICE = 120\n", "tests/test_a.py": PRICES}
    after = {**before, "tests/values.py": "PRICE = 135\n"}
    assert find_dependent_tests(before, after, ()) == {"tests/test_a.py::test_one"}
    assert find_dependent_tests(before, before, ()) == frozenset()
    golden = {"tests/test_b.py": "def test_b(): assert f() == open('golden/bill.txt').read()\n"}
    assert find_dependent_tests(golden, golden, ["tests/golden/bill.txt"]) == {"tests/test_b.py::test_b"}
    assert find_dependent_tests(golden, golden, ["tests/data/other.csv"]) == frozenset()


def test_shared_value_may_change_only_if_all_its_tests_turn_red() -> None:
    both = PRICES + "def test_near(): assert abs(price(2) - 240) < PRICE\n"
    before = {"tests/values.py": "PRICE = 120\n", "tests/test_a.py": both}
    after = {**before, "tests/values.py": "PRICE = 999\n"}
    one = frozenset({"tests/test_a.py::test_one"})
    assert [fact.code for fact in check_existing_helpers(before, after, frozenset(), one)] == ["RED508"]
    assert list(check_existing_helpers(before, after, frozenset(), one | {"tests/test_a.py::test_near"})) == []
    assert find_tests_using({"tests/conftest.py": "def helper(): return PRICE\n"}, "PRICE") is None


@pytest.mark.parametrize(
    ("path", "yes"),
    [
        ("scripts/count.py", True),
        ("bin/greet", True),
        ("tests/helper.py", False),
        ("/usr/bin/wc", False),
        ("../x/y.py", False),
        ("notes.txt", False),
    ],
)
def test_programs_of_the_project(path: str, *, yes: bool) -> None:
    assert is_startable_file(path) is yes


@pytest.mark.parametrize(
    ("body", "led"),
    [
        ("try:\n        f(0)\n    except ValueError: pass\n    else:\n        pytest.fail('none')", True),
        ("try:\n        f(0)\n        pytest.fail('none')\n    except ValueError: pass", True),
        ("if f(1) != 5:\n        pytest.fail('no')", True),
        ("if f(1) == 0:\n        pytest.fail('not implemented')", False),
        ("f(1)\n    pytest.fail(f'not implemented {f(1)}')", False),
        ("try:\n        print()\n    except ValueError: pass\n    else:\n        pytest.fail('none')", False),
    ],
)
def test_deliberate_failure_caused_by_the_subject(body: str, *, led: bool) -> None:
    text = f"import pytest\nfrom shop import f\ndef test_a():\n    {body}\n"
    line = next(number for number, each in enumerate(text.splitlines(), 1) if "pytest.fail" in each)
    assert (line in find_module_subject_lines("tests/test_a.py", text, SHOP)) is led


def test_recorded_calls_and_started_programs_belong_to_the_subject() -> None:
    text = (
        "import subprocess, sys, warnings\nfrom shop import f\n"
        "def test_a():\n    with warnings.catch_warnings(record=True) as seen:\n        f()\n    assert seen[0]\n"
        "def test_b():\n    subprocess.run([sys.executable, 'scripts/count.py'], check=True)\n"
        "def test_c():\n    subprocess.run(['false'], check=True)\n"
    )
    lines = find_module_subject_lines("tests/test_a.py", text, SHOP)
    assert 6 in lines
    assert 8 in lines
    assert 10 not in lines


def test_attribute_accesses_and_relative_imports_are_listed() -> None:
    text = "from ..moon import phase\napp = make()\n@app.before\ndef hook(): phase(1)\n"
    assert find_called_names("sky/tests/test_a.py", text) == (".before", "sky.moon.phase")


def test_imported_base_class_may_be_a_test_case() -> None:
    text = "from tests.base import Base\nclass Codes(Base):\n    def test_a(self): ...\ndef test_b(): ...\n"
    module = parse_tests("tests/test_a.py", text)
    assert module is not None
    assert [test.id.partition("::")[2] for test in module.tests] == ["Codes::test_a", "test_b"]
    assert find_certain_tests("tests/test_a.py", text) == ("tests/test_a.py::test_b",)


def test_names_under_which_a_module_can_be_imported() -> None:
    files = {"packages/core/src/core/__init__.py", "packages/core/src/core/users.py", "code/area.py", "tool/json.py"}
    assert "core.users" in set(list_import_names("packages/core/src/core/users.py", files))
    assert "users" not in set(list_import_names("packages/core/src/core/users.py", files))
    assert set(list_import_names("code/area.py", files)) == {"code.area", "area"}
    assert set(list_import_names("tool/json.py", files)) == {"tool.json"}
