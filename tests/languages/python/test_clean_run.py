"""The clean run on honest projects: the report, and isolation from this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_projects import run_files

from prd2pr.config import TestRun
from prd2pr.domain.evidence import FailureKind, RunReport

SHOP = {
    "shop/__init__.py": "",
    "shop/points.py": "def earn(total):\n    return total // 10\n",
    "tests/test_points.py": """
        from shop.points import earn

        def test_ten_is_one():
            assert earn(10) == 1

        def test_rounds_up():
            assert earn(19) == 2
        """,
}


def outcomes(report: RunReport) -> dict[str, str]:
    return {result.id: result.outcome for result in report.results}


def test_each_test_has_its_result_and_canaries_are_gone() -> None:
    report = run_files(SHOP)
    assert report.problems == ()
    assert outcomes(report) == {
        "tests/test_points.py::test_ten_is_one": "passed",
        "tests/test_points.py::test_rounds_up": "failed",
    }
    assert report.exit_status == 1
    assert report.tools["python"] == sys.version.split()[0]
    assert report.tools["pytest"] == pytest.__version__
    assert "pytest-timeout" not in report.tools  # installed here, but not named by this project
    assert report.canary_dirs == ("tests",)


def test_a_failed_assertion_names_place_and_values() -> None:
    failure = run_files(SHOP).by_id()["tests/test_points.py::test_rounds_up"].failure
    assert failure is not None
    assert (failure.kind, failure.stage, failure.exception) == (FailureKind.ASSERTION, "call", "AssertionError")
    assert (failure.path, failure.line) == ("tests/test_points.py", 8)
    assert "assert 1 == 2" in failure.message


def test_a_failed_assertion_shows_full_values_without_pytest_notes() -> None:
    report = run_files(
        {
            "test_values.py": """
                from dataclasses import dataclass

                @dataclass
                class Entry:
                    day: str
                    points: int

                def test_records():
                    assert [Entry("mo", n) for n in (1, 2, 3)] == [Entry("mo", n) for n in (1, 2, 4, 5)]

                def test_record():
                    assert Entry("mo", 1) == Entry("sunday", 2)
                """
        }
    )
    records, record = (result.failure.message for result in report.results if result.failure)
    first, *others = records.splitlines()
    assert first.startswith(
        "assert [Entry(day='mo', points=1), Entry(day='mo', points=2), Entry(day='mo', points=3)] == ["
    )
    assert first.endswith("Entry(day='mo', points=4), Entry(day='mo', points=5)]")
    assert others == [
        "  At index 2 diff: Entry(day='mo', points=3) != Entry(day='mo', points=4)",
        "  Right contains one more item: Entry(day='mo', points=5)",
    ]
    assert "day: 'mo' != 'sunday'" in record
    assert "points: 1 != 2" in record
    assert [words for words in ("Use -v", "truncated", "Drill down", "...") if words in record] == []


def test_large_values_are_compared_briefly() -> None:
    report = run_files(
        {
            "test_values.py": """
                import random

                def test_numbers():
                    source = random.Random(1)
                    assert [source.random() for _ in range(3000)] == [source.random() for _ in range(3000)]
                """
        }
    )
    (result,) = report.results
    assert result.failure
    assert "At index 0 diff" in result.failure.message
    assert result.seconds < 5


def test_src_layout_unittest_classes_and_parameters() -> None:
    report = run_files(
        {
            "src/shop/__init__.py": "",
            "src/shop/cart.py": "def size(items):\n    return len(items)\n",
            "tests/__init__.py": "",
            "tests/unit/__init__.py": "",
            "tests/unit/test_cart.py": """
                import unittest
                import pytest
                from shop.cart import size

                class CartTest(unittest.TestCase):
                    def test_empty(self):
                        self.assertEqual(size([]), 0)

                    def test_wrong(self):
                        with self.subTest(n=1):
                            self.assertEqual(size([1]), 2)

                @pytest.mark.parametrize("items,expected", [([1], 1), ([1, 2], 3)], ids=["one", "a/b::c"])
                def test_sizes(items, expected):
                    assert size(items) == expected

                @pytest.mark.skip(reason="later")
                def test_later(): ...

                @pytest.mark.xfail
                def test_known():
                    assert size([]) == 1

                @pytest.mark.xfail
                def test_mended():
                    assert size([]) == 0

                @pytest.mark.xfail(strict=True)
                def test_strictly_mended():
                    assert size([]) == 0
                """,
        }
    )
    assert report.problems == ()
    place = "tests/unit/test_cart.py::"
    assert outcomes(report) == {
        f"{place}CartTest::test_empty": "passed",
        f"{place}CartTest::test_wrong": "failed",
        f"{place}test_sizes[one]": "passed",
        f"{place}test_sizes[a/b::c]": "failed",
        f"{place}test_later": "skipped",
        f"{place}test_known": "xfailed",
        f"{place}test_mended": "xpassed",
        f"{place}test_strictly_mended": "failed",
    }
    failure = report.by_id()[f"{place}CartTest::test_wrong"].failure
    assert failure is not None
    assert failure.kind == FailureKind.ASSERTION


def test_subtests_fixture() -> None:
    report = run_files(
        {
            "test_numbers.py": """
                def test_even(subtests):
                    for number in (2, 3):
                        with subtests.test(number=number):
                            assert number % 2 == 0

                def test_all_even(subtests):
                    for number in (2, 4):
                        with subtests.test(number=number):
                            assert number % 2 == 0
                """
        }
    )
    assert report.problems == ()
    assert outcomes(report) == {"test_numbers.py::test_even": "failed", "test_numbers.py::test_all_even": "passed"}


def test_teardown_and_fixture_errors_are_distinguished() -> None:
    report = run_files(
        {
            "test_it.py": """
                import pytest

                @pytest.fixture
                def broken():
                    raise RuntimeError("no database")

                @pytest.fixture
                def messy():
                    yield 1
                    raise RuntimeError("cannot clean")

                def test_setup(broken): ...
                def test_teardown(messy): assert messy == 1
                def test_both(messy): assert messy == 2
                def test_unknown(nowhere): ...
                """
        }
    )
    assert report.problems == ()
    seen = {test.partition("::")[2]: result for test, result in report.by_id().items()}
    stages = {name: (result.outcome, result.failure and result.failure.stage) for name, result in seen.items()}
    assert stages == {
        "test_setup": ("error", "setup"),
        "test_teardown": ("error", "teardown"),
        "test_both": ("failed", "call"),
        "test_unknown": ("error", "setup"),
    }
    kinds = {name: result.failure.kind for name, result in seen.items() if result.failure}
    assert kinds["test_both"] == FailureKind.ASSERTION
    assert kinds["test_setup"] == kinds["test_teardown"] == kinds["test_unknown"] == FailureKind.FIXTURE
    assert "nowhere" in str(seen["test_unknown"].failure)


def test_a_module_that_cannot_be_imported_still_has_its_tests() -> None:
    report = run_files(
        {
            **SHOP,
            "tests/tdd/s-1/test_redeem.py": """
                import pytest
                from shop.redeem import redeem

                @pytest.mark.parametrize("n", [1, 2])
                def test_redeem(n):
                    assert redeem(n) == n

                class TestLimits:
                    def test_zero(self):
                        assert redeem(0) == 0
                """,
        },
        canary_dirs=("tests/tdd/s-1",),
    )
    assert report.problems == ()
    new = {test: result for test, result in report.by_id().items() if "tdd" in test}
    assert sorted(new) == [
        "tests/tdd/s-1/test_redeem.py::TestLimits::test_zero",
        "tests/tdd/s-1/test_redeem.py::test_redeem",
    ]
    for result in new.values():
        assert result.outcome == "error"
        assert result.failure is not None
        assert (result.failure.stage, result.failure.kind) == ("collect", FailureKind.MISSING_SYMBOL)
        assert result.failure.missing == "shop.redeem"
    assert outcomes(report)["tests/test_points.py::test_ten_is_one"] == "passed"  # the others run anyway
    assert len(report.collect_errors) == 1


def test_a_conftest_that_imports_what_does_not_exist_yet() -> None:
    report = run_files(
        {
            **SHOP,
            "tests/tdd/s-1/conftest.py": "from shop.cart import Cart\n",
            "tests/tdd/s-1/test_cart.py": "def test_cart(): assert True\n",
        },
        canary_dirs=("tests/tdd/s-1",),
    )
    assert report.problems == ()
    failure = report.by_id()["tests/tdd/s-1/test_cart.py::test_cart"].failure
    assert failure is not None
    assert (failure.kind, failure.missing) == (FailureKind.MISSING_SYMBOL, "shop.cart")


def test_an_autouse_fixture_that_needs_what_does_not_exist_yet() -> None:
    report = run_files(
        {
            **SHOP,
            "tests/tdd/s-1/conftest.py": """
                import pytest

                @pytest.fixture(autouse=True)
                def empty_store():
                    from shop.store import clear
                    clear()
                """,
            "tests/tdd/s-1/test_store.py": "def test_it(): assert 1 == 1\n",
        },
        canary_dirs=("tests/tdd/s-1",),
    )
    assert report.problems == ()
    failure = report.by_id()["tests/tdd/s-1/test_store.py::test_it"].failure
    assert failure is not None
    assert (failure.stage, failure.kind, failure.missing) == ("setup", FailureKind.MISSING_SYMBOL, "shop.store")


@pytest.mark.slow
def test_paths_narrow_the_run_and_the_order_can_be_reversed() -> None:
    files = {**SHOP, "tests/test_other.py": "def test_a(): ...\ndef test_b(): ...\n"}
    report = run_files(files, paths=("tests/test_other.py",), order="reversed", hash_seed=7)
    assert report.problems == ()
    assert list(outcomes(report)) == ["tests/test_other.py::test_b", "tests/test_other.py::test_a"]
    assert (report.order, report.hash_seed) == ("reversed", 7)


@pytest.mark.slow
def test_restored_files_are_run() -> None:
    weak = {**SHOP, "tests/test_points.py": "def test_ten_is_one(): pass\n"}
    report = run_files(weak, restore={"tests/test_points.py": SHOP["tests/test_points.py"]})
    assert len(report.results) == 2


@pytest.mark.slow
def test_the_environment_is_built_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    report = run_files(
        {
            "test_env.py": """
                import os, sys
                from pathlib import Path

                def test_environment():
                    pytest_own = {"PYTEST_VERSION", "PYTEST_CURRENT_TEST"}
                    assert set(os.environ) - pytest_own - {"LC_CTYPE"} == {
                        "PATH", "LANG", "HOME", "TMPDIR", "PYTHONHASHSEED", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
                    assert list(Path.home().iterdir()) == []
                    assert os.environ["PYTHONHASHSEED"] == "3"

                def test_interpreter():
                    assert sys.flags.optimize == 0 and sys.flags.dont_write_bytecode and sys.flags.utf8_mode
                    assert sys.argv == ["pytest"]
                    assert not any("prd2pr/languages/python/runner" in entry for entry in sys.path)
                """
        },
        hash_seed=3,
    )
    assert [result.failure for result in report.results] == [None, None]
    assert report.honest


INI = "python_files = check_*.py\npython_functions = should"
TOML = 'python_files = ["check_*.py"]\npython_functions = ["should"]'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", f"[pytest]\n{INI}_*\naddopts = -x -q --strict-markers --strict-config\ntestpaths = specs\n"),
        ("pyproject.toml", f'[tool.pytest.ini_options]\n{TOML}\naddopts = "--lf -W error"\ntestpaths = ["specs"]\n'),
        ("setup.cfg", f"[tool:pytest]\n{INI}\naddopts = -p no:cacheprovider --strict-config\n"),
        ("tox.ini", f"[pytest]\n{INI}*\nfilterwarnings = error\n"),
        ("pytest.toml", f'[pytest]\n{TOML}\naddopts = ["--doctest-modules", "--import-mode=importlib"]\n'),
    ],
)
def test_canaries_follow_the_projects_patterns(name: str, text: str) -> None:
    report = run_files({name: text, "specs/check_sum.py": "def should_add():\n    assert 1 + 1 == 2\n"})
    assert report.problems == ()
    assert outcomes(report) == {"specs/check_sum.py::should_add": "passed"}


def test_a_pattern_without_a_wildcard() -> None:
    report = run_files({"pytest.ini": "[pytest]\npython_files = tests.py\n", "app/tests.py": "def test_a(): ...\n"})
    assert report.problems == ()
    assert outcomes(report) == {"app/tests.py::test_a": "passed"}


@pytest.mark.parametrize(
    "option",
    ["-m unit", pytest.param("-munit", marks=pytest.mark.slow), pytest.param("-m 'not slow'", marks=pytest.mark.slow)],
)
def test_canaries_have_the_markers_that_select_tests(option: str) -> None:
    ini = f"[pytest]\naddopts = --strict-markers {option}\nmarkers =\n    unit: quick\n    slow: slow\n"
    test = "import pytest\n\n@pytest.mark.unit\ndef test_one():\n    assert 1 + 1 == 2\n"
    report = run_files({"pytest.ini": ini, "tests/test_one.py": test})
    assert report.problems == ()
    assert [result.outcome for result in report.results] == ["passed"]


@pytest.mark.slow
def test_named_plugins_are_enabled() -> None:
    report = run_files(
        {
            "pyproject.toml": """
                [project]
                name = "shop"
                version = "1"
                [project.optional-dependencies]
                dev = ["pytest-timeout>=2", "pytest_xdist", "hypothesis"]
                [tool.pytest.ini_options]
                addopts = "-n 2 --strict-config"
                timeout = 30
                required_plugins = "pytest-timeout"
                """,
            "tests/test_a.py": "def test_a(pytestconfig):\n    assert pytestconfig.getini('timeout') == '30'\n",
        }
    )
    assert report.problems == ()
    assert outcomes(report) == {"tests/test_a.py::test_a": "passed"}
    assert {"pytest-timeout", "pytest-xdist", "hypothesis"} <= set(report.tools)


def test_story_directory_outside_the_projects_testpaths() -> None:
    files = {
        "pytest.ini": "[pytest]\ntestpaths = tests/unit\n",
        "tests/unit/test_a.py": "def test_a(): ...\n",
        "tests/tdd/s-1/test_b.py": "def test_b(): ...\n",
    }
    report = run_files(files, canary_dirs=("tests/tdd/s-1",))
    assert report.problems == ()
    assert set(outcomes(report)) == {"tests/unit/test_a.py::test_a", "tests/tdd/s-1/test_b.py::test_b"}


def test_an_ignored_directory_is_not_suspicious() -> None:
    report = run_files(
        {
            "conftest.py": "collect_ignore_glob = ['slow/*']\n",
            "slow/test_a.py": "def test_a(): ...\n",
            "slow/test_b.py": "def test_b(): ...\n",
            "fast/test_c.py": "def test_c(): ...\n",
        }
    )
    assert report.problems == ()
    assert outcomes(report) == {"fast/test_c.py::test_c": "passed"}


def test_no_tests_at_all() -> None:
    report = run_files({"README.md": "nothing yet\n"})
    assert report.problems == ()
    assert report.results == ()


@pytest.mark.slow
def test_an_editable_install_elsewhere_is_not_tested(tmp_path: Path) -> None:
    """The interpreter's site directory points to another copy of the project, which has the missing code."""
    elsewhere = tmp_path / "working copy"
    (elsewhere / "shop").mkdir(parents=True)
    (elsewhere / "shop" / "__init__.py").write_text("")
    (elsewhere / "shop" / "points.py").write_text("def earn(total):\n    return 2\n")
    (elsewhere / "redeem.py").write_text("def redeem(): return 1\n")
    python = virtual_environment(tmp_path / "venv", pth=str(elsewhere))
    files = {**SHOP, "tests/test_redeem.py": "import redeem\ndef test_redeem(): assert redeem.redeem() == 1\n"}
    report = run_files(files, python=python)
    assert report.problems == ()
    assert outcomes(report)["tests/test_points.py::test_rounds_up"] == "failed"
    failure = report.by_id()["tests/test_redeem.py::test_redeem"].failure
    assert failure is not None
    assert failure.missing == "redeem"


def virtual_environment(place: Path, pth: str) -> Path:
    """A bare environment that uses this interpreter's packages."""
    import venv

    venv.create(place, with_pip=False, symlinks=True)
    site = next(place.glob("lib/python*/site-packages"))
    own = next(Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    (site / "borrowed.pth").write_text(f"{own}\n")
    (site / "project.pth").write_text(f"{pth}\n")
    return place / "bin" / "python"


@pytest.mark.slow
def test_messages_name_no_path_of_this_machine() -> None:
    report = run_files(
        {
            "test_paths.py": """
                from pathlib import Path

                def test_here(tmp_path):
                    raise RuntimeError(f"{Path.cwd()} {Path.cwd() / 'test_paths.py'} {tmp_path} {object()}")

                def test_long():
                    assert "x" * 5000 == ""
                """
        }
    )
    text = report.model_dump_json()
    assert "/tmp" not in text
    assert all(result.failure and len(result.failure.message) <= 900 for result in report.results)


@pytest.mark.slow
def test_settings_reach_pytest() -> None:
    report = run_files(
        {"test_m.py": "import pytest\n@pytest.mark.slow\ndef test_slow(): ...\ndef test_quick(): ...\n"},
        settings=TestRun(args=("-m", "not slow")),
    )
    assert outcomes(report) == {"test_m.py::test_quick": "passed"}
    assert report.command == ("pytest", "-m", "not slow")
