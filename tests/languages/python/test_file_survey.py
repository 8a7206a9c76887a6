"""Which files each test file executes, seen by the real runner; a gate's run is not traced."""

from __future__ import annotations

import pytest
from small_projects import TARGET, exporter

from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import RunRequest

SHOP = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "RATE = 2\n\ndef add(a, b):\n    return a + b\n",
    "src/shop/points.py": "from shop.cart import RATE, add\n\ndef earn(total):\n    return add(total, 0) // 10\n",
    "src/shop/mail.py": "def send(to):\n    return to.upper()\n",
    "tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef to():\n    return 'ann'\n",
    "tests/test_cart.py": "from shop.cart import add\n\ndef test_add():\n    assert add(1, 1) == 2\n",
    "tests/test_points.py": """
        def test_earn():
            from shop.points import earn
            assert earn(10) == 1
        """,
    "tests/test_mail.py": "from shop.mail import send\n\ndef test_send(to):\n    assert send(to) == 'ann'\n",
    "tests/test_unwatched.py": "import sys\n\ndef test_unwatched():\n    assert sys.gettrace() is None\n",
}


@pytest.mark.slow
def test_a_test_file_reaches_what_it_imports_first_and_what_it_calls() -> None:
    surveyed = PytestRunner(exporter(SHOP), TARGET).survey(RunRequest("t"))
    assert surveyed.report.problems == ()
    reached = surveyed.reached
    assert reached is not None
    assert "src/shop/cart.py" in reached["tests/test_cart.py"]
    assert {"src/shop/points.py", "src/shop/cart.py"} <= reached["tests/test_points.py"]
    assert {"src/shop/mail.py", "tests/conftest.py"} <= reached["tests/test_mail.py"]
    assert "src/shop/mail.py" not in reached["tests/test_cart.py"] | reached["tests/test_points.py"]
    outcomes = {result.id.rpartition("::")[2]: result.outcome for result in surveyed.report.results}
    assert (outcomes["test_earn"], outcomes["test_send"]) == ("passed", "failed")


def test_a_run_for_a_gate_is_not_traced() -> None:
    report = PytestRunner(exporter(SHOP), TARGET).run(RunRequest("t"))
    assert report.by_id()["tests/test_unwatched.py::test_unwatched"].outcome == "passed"
