"""Runs that fake better results: each is a problem of the run, never a passed test."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import pytest
from small_projects import Files, run_files

from prd2pr.config import TestRun
from prd2pr.domain.evidence import FailureKind

WRONG = {
    "shop.py": "def add(a, b):\n    return a - b\n",
    "tests/test_shop.py": "from shop import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}

SUBVERTED: dict[str, Files] = {
    "conftest rewrites reports": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(item, call):
                outcome = yield
                report = outcome.get_result()
                report.outcome = "passed"
            """
    },
    "conftest rewrites reports, outermost": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_runtest_makereport(item, call):
                outcome = yield
                outcome.get_result().outcome = "passed"
            """
    },
    "conftest rewrites only the real test": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(tryfirst=True)
            def pytest_runtest_logreport(report):
                if "test_add" in report.nodeid:
                    report.outcome = "passed"
            """
    },
    "conftest rewrites only the real test, early": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(item, call):
                outcome = yield
                if item.name == "test_add":
                    outcome.get_result().outcome = "passed"
            """
    },
    "conftest swallows the call": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(tryfirst=True)
            def pytest_pyfunc_call(pyfuncitem):
                return True
            """
    },
    "conftest empties the collection": {
        "tests/conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"
    },
    "conftest drops tests later": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(tryfirst=True)
            def pytest_runtestloop(session):
                session.items[:] = [item for item in session.items if item.name != "test_add"]
            """
    },
    "conftest sets the exit status": {
        "tests/conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    },
    "conftest skips what fails": {
        "tests/conftest.py": """
            import pytest

            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_call(item):
                outcome = yield
                if outcome.excinfo:
                    pytest.skip("not today")
            """
    },
    "addopts only collects": {"pytest.ini": "[pytest]\naddopts = --co\n"},
    "addopts selects": {"pytest.ini": "[pytest]\naddopts = -k nothing_like_it\n"},
    "subject exits at import": {"shop.py": "import os\nos._exit(0)\n"},
    "subject exits at call": {"shop.py": "import os\ndef add(a, b):\n    os._exit(0)\n"},
    "subject exits with status 1": {"shop.py": "import os\ndef add(a, b):\n    os._exit(1)\n"},
    "subject exits at exit": {
        "shop.py": "import atexit, os\natexit.register(os._exit, 0)\ndef add(a, b):\n    return a - b\n"
    },
    "subject leaves pytest": {
        "shop.py": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=0)\n"
    },
    "subject leaves pytest with status 1": {
        "shop.py": "import pytest\ndef add(a, b):\n    pytest.exit('done', returncode=1)\n"
    },
    "subject interrupts": {"shop.py": "def add(a, b):\n    raise KeyboardInterrupt\n"},
    "test module exits while collected": {"tests/test_other.py": "import sys\nsys.exit(0)\n"},
    "subject patches pytest's reports": {
        "shop.py": """
            import _pytest.reports as reports
            make = reports.TestReport.from_item_and_call
            def passed(item, call):
                call.excinfo = None
                return make(item, call)
            reports.TestReport.from_item_and_call = staticmethod(passed)
            def add(a, b):
                return a - b
            """
    },
    "subject empties the result file at exit": {
        "shop.py": """
            import atexit, gc
            def forge():
                for thing in gc.get_objects():
                    path = getattr(thing, "logfile", None)
                    if path and str(path).endswith(".xml"):
                        open(path, "w").write("<testsuites/>")
            atexit.register(forge)
            def add(a, b):
                return a - b
            """
    },
    "subject writes events of its own": {
        "shop.py": """
            import os
            for descriptor in range(3, 1024):
                try:
                    os.write(descriptor, b'{"event": "end", "status": 1, "n": 1}\\n')
                except OSError:
                    pass
            def add(a, b):
                return a - b
            """
    },
    "subject rewrites the tests before they are read": {
        "tests/test_before.py": "import shop\n",
        "shop.py": """
            from pathlib import Path
            for path in Path(__file__).parent.glob("tests/t*shop.py"):
                path.write_text("def test_add():\\n    pass\\n")
            def add(a, b):
                return a - b
            """,
    },
    "subject rewrites the tests and puts them back": {
        "tests/test_before.py": "import shop\n",
        "tests/test_zero.py": "def test_zero():\n    import shop\n    shop.put_back()\n",
        "shop.py": """
            from pathlib import Path
            import os
            path = Path(__file__).with_name("tests") / "test_shop.py"
            text, status = path.read_text(), path.stat()
            path.write_text("def test_add():\\n    pass\\n")
            def put_back():
                path.write_text(text)
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            def add(a, b):
                return a - b
            """,
    },
    "subject rewrites what is expected": {
        "tests/data/sum.txt": "3",
        "tests/test_shop.py": """
            from pathlib import Path
            from shop import add
            def test_add():
                assert add(1, 2) == int(Path(__file__).with_name("data").joinpath("sum.txt").read_text())
            """,
        "shop.py": """
            from pathlib import Path
            def add(a, b):
                (Path(__file__).parent / "tests" / "data" / "sum.txt").write_text(str(a - b))
                return a - b
            """,
    },
    "subject patches pytest for one test, under a name made up at run time": {
        "shop.py": """
            import importlib
            Function = importlib.import_module(bytes([112, 121, 116, 101, 115, 116]).decode()).Function
            run = Function.runtest
            Function.runtest = lambda self: None if "add" in self.name else run(self)
            def add(a, b):
                return a - b
            """
    },
    "subject replaces the code of another test": {
        "tests/test_a.py": "import shop\ndef test_first():\n    shop.add(1, 1)\n",
        "shop.py": """
            import sys
            def add(a, b):
                for module in list(sys.modules.values()):
                    test = getattr(module, "test_add", None)
                    if test is not None:
                        test.__code__ = (lambda: None).__code__
                return a - b
            """,
    },
    "subject gives the tests another helper": {
        "tests/helpers.py": "def check(a, b):\n    assert a == b\n",
        "tests/test_shop.py": """
            from shop import add
            from helpers import check
            def test_add():
                check(add(1, 2), 3)
            """,
        "shop.py": """
            import sys, types
            sys.modules["helpers"] = types.ModuleType("helpers")
            sys.modules["helpers"].check = lambda a, b: None
            def add(a, b):
                return a - b
            """,
    },
    "subject replaces a helper where a test calls it": {
        "tests/helpers.py": "def check(a, b):\n    assert a == b\n",
        "tests/test_shop.py": """
            from shop import add
            from helpers import check
            def test_add():
                check(add(1, 2), 3)
            """,
        "shop.py": """
            import sys
            def add(a, b):
                for module in list(sys.modules.values()):
                    if "test_add" in vars(module):
                        module.check = lambda a, b: None
                return a - b
            """,
    },
}  # fmt: skip


# In `make test-all`: other forms of an attack that is tried in `make test`.
FURTHER_FORMS = (
    "conftest rewrites reports, outermost",
    "conftest rewrites only the real test, early",
    "conftest drops tests later",
    "addopts selects",
    "subject exits with status 1",
    "subject exits at exit",
    "subject leaves pytest with status 1",
    "subject rewrites the tests and puts them back",
    "subject replaces a helper where a test calls it",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in FURTHER_FORMS else []) for name in SUBVERTED]
)
def test_a_subverted_run_is_not_honest(name: str) -> None:
    report = run_files({**WRONG, **SUBVERTED[name]})
    assert report.problems, report
    assert "/checkout" not in str(report.problems)
    assert {result.id.partition("::")[0] for result in report.results} <= set(WRONG) | set(SUBVERTED[name])


HARMLESS: dict[str, Files] = {
    "pytest shadowed": {"pytest.py": "raise SystemExit(0)\n", "_pytest/__init__.py": "raise SystemExit(0)\n"},
    "sitecustomize": {
        "sitecustomize.py": "import os\nos._exit(0)\n",
        "usercustomize.py": "import os\nos._exit(0)\n",
        "evil.pth": "import os; os._exit(0)\n",
    },
    "plugin by metadata in the workspace": {
        "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: pytest-timeout\nVersion: 1.0\n",
        "evil-1.0.dist-info/entry_points.txt": "[pytest11]\ntimeout = evil\n",
        "requirements-dev.txt": "pytest-timeout\n",
        "evil.py": "import os\nos._exit(0)\n",
    },
    "poisoned byte code": {"__pycache__/shop.cpython-311.pyc": "not byte code"},
    "forged result file in the checkout": {"results.xml": "<testsuites/>", "report.xml": "<testsuites/>"},
}


@pytest.mark.parametrize("name", HARMLESS)
def test_files_in_the_workspace_have_no_influence(name: str) -> None:
    report = run_files({**WRONG, **HARMLESS[name]})
    assert report.problems == ()
    assert [(result.id, result.outcome) for result in report.results] == [("tests/test_shop.py::test_add", "failed")]


def test_the_subject_cannot_import_the_launcher() -> None:
    subject = """
        import __main__
        def add(a, b):
            return sorted(name for name in vars(__main__) if not name.startswith("__"))
        """
    test = "from shop import add\n\ndef test_add():\n    assert add(1, 2) == []\n"
    report = run_files({"shop.py": subject, "tests/test_shop.py": test})
    assert report.problems == ()
    assert [result.outcome for result in report.results] == ["passed"]


def test_a_helper_may_have_the_name_of_a_module_of_the_project() -> None:
    files = {
        "conftest.py": "import shop\n",
        "src/shop/__init__.py": "from util import double\n",
        "src/util.py": "def double(n):\n    return 2 * n\n",
        "tests/shop/__init__.py": "",
        "tests/unit/util.py": "def half(n):\n    return n // 2\n",
        "tests/unit/test_shop.py": "import shop\n\ndef test_double():\n    assert shop.double(2) == 4\n",
    }
    report = run_files(files)
    assert report.problems == ()
    assert [result.outcome for result in report.results] == ["passed"]


@pytest.mark.parametrize(
    ("subject", "kind", "stage"),
    [
        ("import os\ndef add(a, b):\n    os._exit(0)\n", FailureKind.EXIT, "call"),
        ("import os\nos._exit(0)\n", FailureKind.EXIT, "collect"),
        ("def add(a, b):\n    raise KeyboardInterrupt\n", FailureKind.EXIT, "call"),
        ("import sys\ndef add(a, b):\n    sys.exit(1)\n", FailureKind.EXIT, "call"),
        pytest.param(
            "import time\ndef add(a, b):\n    time.sleep(60)\n", FailureKind.TIMEOUT, "call", marks=pytest.mark.slow
        ),
        pytest.param("import time\ntime.sleep(60)\n", FailureKind.TIMEOUT, "collect", marks=pytest.mark.slow),
    ],
)
def test_the_test_that_ended_the_run_is_named(subject: str, kind: FailureKind, stage: str) -> None:
    report = run_files({**WRONG, "shop.py": subject}, settings=TestRun(stall_seconds=6))
    failure = report.by_id()["tests/test_shop.py::test_add"].failure
    assert failure is not None
    assert (failure.kind, failure.stage) == (kind, stage)
    assert report.honest == (subject.count("sys.exit") == 1)  # pytest reports a SystemExit like any exception


@pytest.mark.slow
def test_the_whole_run_has_a_limit() -> None:
    chatty = {f"test_{n}.py": "import time\ndef test_a():\n    time.sleep(0.4)\n" for n in range(100)}
    began = time.monotonic()
    report = run_files(chatty, settings=TestRun(timeout_seconds=2))
    assert time.monotonic() - began < 20
    assert report.exit_status is None
    assert "timed out" in report.problems[0]


@pytest.mark.parametrize("own_session", [True, False])
@pytest.mark.parametrize("sandboxed", [True, False])
def test_no_process_is_left(own_session: bool, sandboxed: bool) -> None:
    name = f"left-behind-{secrets.token_hex(8)}"  # its pid inside a sandbox is meaningless outside
    report = run_files(
        {
            "test_spawn.py": f"""
                import subprocess, sys
                def test_spawn():
                    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{name}"],
                                             start_new_session={own_session})
                    assert child.poll() is None
                """
        },
        sandboxed=sandboxed,
    )
    assert report.problems == ()
    assert [result.outcome for result in report.results] == ["passed"]
    assert not _alive(name)


def _alive(name: str) -> bool:
    deadline = time.monotonic() + 20  # an orphan is reaped by init a moment later
    while any(name.encode() in _command(place) for place in Path("/proc").glob("[0-9]*")):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.05)
    return False


def _command(process: Path) -> bytes:
    """The command line of a process; empty if it has ended."""
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.slow
def test_endless_output_is_bounded() -> None:
    report = run_files({"test_loud.py": "import os\ndef test_loud():\n    os.write(1, b'x' * 50_000_000)\n"})
    assert report.problems == ()
    assert len(report.model_dump_json()) < 2000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pytest.ini": "[pytest]\naddopts = --cov=shop\n"}, "unrecognized arguments: --cov=shop"),
        ({"pytest.ini": "[pytest]\naddopts = --strict-config\nfoo = 1\n"}, "Unknown config option: foo"),
        ({"pyproject.toml": "[tool.pytest.ini_options\n"}, "pyproject.toml"),
        ({"conftest.py": "import nowhere_at_all\n"}, "No module named 'nowhere_at_all'"),
    ],
)
def test_run_that_cannot_start_reports_why(files: Files, words: str) -> None:
    report = run_files({**WRONG, **files})
    assert (report.exit_status, report.results) == (4, ())
    (problem,) = report.problems
    assert problem.startswith("pytest could not start")
    assert words in problem
