"""RED: distinguish a test that fails because the planned code is missing from one whose failure proves nothing."""

from __future__ import annotations

import re
import sys

from prd2pr.domain.evidence import Evidence, Failure, FailureKind, PathKind
from prd2pr.domain.paths import classify_path
from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error
from prd2pr.languages.python.rules.test_code.misspelt_imports import is_misspelling, is_planned_name
from prd2pr.languages.python.test_model.programs import LOADER_FUNCTIONS, is_startable_file

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RED205",
        "a test file cannot be collected",
        "Importing the file raises an error before any test runs.",
        bad="raise ValueError('not ready')   # at the top of tests/test_earn.py",
        good="from shop.points import earn   # planned, so it may be missing",
        remedy="make the file importable; only a planned name may be missing.",
    ),
    define_strict_error(
        "RED301",
        "syntax error",
        "A file with a syntax error fails whether or not the subject is correct.",
        bad="def test_earn(:\n    assert earn(5) == 1",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="fix the syntax.",
    ),
    define_strict_error(
        "RED302",
        "fails because of a name that is not planned",
        "A test may fail because a name that the design plans does not exist yet. This one fails because of "
        "another missing name: a misspelled import, or a dependency that is not installed.",
        bad="from shop.pionts import earn   # the design plans shop.points.earn",
        good="from shop.points import earn   # as planned in the design",
        remedy="import the planned name; install a missing dependency before the story.",
    ),
    define_strict_error(
        "RED303",
        "fails in a fixture or in setup",
        "The body of the test never ran, so the failure says nothing about the subject.",
        bad="def test_total(cart):   # fixture 'cart' not found\n    assert cart.total() == 0",
        good="@pytest.fixture\ndef cart():\n    return Cart()\n\ndef test_total(cart):\n    assert cart.total() == 0",
        remedy="fix the fixture.",
    ),
    define_strict_error(
        "RED304",
        "the test process was terminated",
        "SystemExit, KeyboardInterrupt or pytest.exit stop the run. This is not a failing assertion.",
        bad="def test_usage():\n    main(['--no-such-option'])   # raises SystemExit(2)",
        good="def test_usage():\n    with pytest.raises(SystemExit):\n        main(['--no-such-option'])",
        remedy="assert on the result; expect an exit with pytest.raises(SystemExit).",
    ),
    define_strict_error(
        "RED305",
        "timed out",
        "A test that hangs does not show what is missing, and it would hang in every later run.",
        bad="def test_queue():\n    while poll() is None:   # forever\n        pass",
        good="def test_queue():\n    assert poll(tries=3) is None",
        remedy="make sure that the test terminates.",
    ),
    define_strict_error(
        "RED307",
        "the test's own code fails",
        "The exception was raised by the test itself or by third-party code, not by the subject or by the call to it.",
        bad="def test_earn():\n    order = {}\n    assert earn(order['amount']) == 1   # KeyError in the test itself",
        good="def test_earn():\n    order = {'amount': 5}\n    assert earn(order['amount']) == 1",
        remedy="fix the test; only missing behavior may make it fail.",
    ),
    define_strict_error(
        "RED308",
        "an import fails, but not because a name is missing",
        "Importing a module raises an error: a circular import, or an error at the top of the module.",
        bad="ImportError: cannot import name 'a' (most likely due to a circular import)",
        good="ImportError: cannot import name 'earn' from 'shop.points', which the design plans",
        remedy="fix the import; only a planned name may be missing.",
    ),
    define_strict_error(
        "RED309",
        "did not fail in its call phase",
        "Only a failure in the call phase counts. This test failed during collection, setup or teardown.",
        bad="@pytest.fixture\n"
        "def account():\n"
        "    found = Account()\n"
        "    yield found\n"
        "    assert found.points == 1   # fails in teardown",
        good="def test_earn():\n    assert earn(5) == 1   # fails here, in the call phase",
        remedy="make the test itself fail.",
    ),
)


WrongReason = tuple[str, str]  # finding code and message

_WRONG_KINDS: dict[FailureKind, tuple[str, str]] = {
    FailureKind.SYNTAX: ("RED301", "syntax error"),
    FailureKind.FIXTURE: ("RED303", "fails in a fixture or in setup"),
    FailureKind.IMPORT: ("RED308", "an import fails, but not because of a missing name"),
    FailureKind.EXIT: ("RED304", "the test process exited"),
    FailureKind.TIMEOUT: ("RED305", "timed out"),
    FailureKind.EXPLICIT: ("RED306", "fails on purpose with pytest.fail()"),
}
_CALL_FORM = re.compile(r"([\w.<>]+)\(\) (got an unexpected|got multiple|missing \d+ required|takes )")
_NO_FILE = re.compile(r"No such file or directory: '([^']+\.py)'")
_UNRESOLVED = re.compile(r"Name or service not known|name resolution|getaddrinfo failed|nodename nor servname")
_LIBRARY_LACKS = re.compile(r"^module '([\w.]+)' has no attribute")
# Modules of shared test code in a flat project. They are committed together with the tests.
_TEST_HELPER_MODULES = frozenset(
    {"conftest", "helpers", "test_helpers", "testing_helpers", "testutils", "fixtures", "factories"}
)
_WELL_KNOWN_WORDS = """
    aiohttp alembic anthropic apprise arrow attr attrs babel bcrypt black boto3 botocore bs4 celery certifi cffi
    chardet click cryptography cython dateutil dask django docker dotenv faker fastapi flask flask_sqlalchemy
    freezegun gevent github google graphql greenlet grpc gunicorn httpx hypothesis jinja2 jose joblib jsonschema jwt
    keras kombu langchain lightgbm lxml markdown marshmallow matplotlib mock mongoengine motor msgpack mypy mysql
    nacl networkx nltk nox numba numpy oauthlib openai opentelemetry orjson packaging pandas paramiko passlib peewee
    pendulum pil pip playwright plotly pluggy polars psutil psycopg psycopg2 pyarrow pydantic pygments pylint
    pymongo pymysql pytest pytz redis regex requests requests_mock respx responses rich ruamel ruff scipy seaborn
    selenium sentry_sdk setuptools shapely six sklearn sqlalchemy sqlmodel starlette statsmodels stripe sympy
    tabulate tenacity tensorflow toml tomli torch tornado tox tqdm transformers twisted typer tzlocal ujson urllib3
    uvicorn vcr watchdog websocket websockets werkzeug wheel wrapt xarray xgboost yaml yarl zmq
"""
_WELL_KNOWN = frozenset(_WELL_KNOWN_WORDS.split())


def find_wrong_reason(failure: Failure, evidence: Evidence) -> WrongReason | None:
    """Return the finding code and message of a failure that proves nothing, or None if the reason is right."""
    # In `else: pytest.fail("no error")`, the subject's behavior caused the failure.
    led = failure.kind is FailureKind.EXPLICIT and _is_on_subject(failure, evidence)
    return None if led or _is_missing_file(failure, evidence) else _classify_failure(failure, evidence)


def _classify_failure(failure: Failure, evidence: Evidence) -> WrongReason | None:
    if failure.kind in _WRONG_KINDS:
        code, what = _WRONG_KINDS[failure.kind]
        return code, f"{what}{_describe_exception(failure)}"
    if failure.kind is FailureKind.COLLECTION:
        return _classify_collection_failure(failure, evidence)
    if failure.kind is FailureKind.MISSING_SYMBOL:
        return _classify_missing_name(failure, evidence)
    if failure.stage != "call":
        return "RED309", f"fails in {failure.stage}, not in its call{_describe_exception(failure)}"
    if failure.kind in {FailureKind.EXCEPTION, FailureKind.NOT_IMPLEMENTED}:
        return _classify_exception(failure, evidence)
    return None


def _is_missing_file(failure: Failure, evidence: Evidence) -> bool:
    """Return whether the tests load a module that does not exist yet by its path."""
    found = _NO_FILE.search(failure.message) if failure.exception == "FileNotFoundError" else None
    return found is not None and is_startable_file(found[1]) and bool(LOADER_FUNCTIONS & set(evidence.called or ()))


def _classify_collection_failure(failure: Failure, evidence: Evidence) -> WrongReason | None:
    if failure.exception == "TypeError" and _is_call_of_subject(failure, evidence):
        return None  # the story adds this parameter, and the module uses it on import
    is_async = "async" in failure.message
    return ("RED206", failure.message) if is_async else ("RED205", f"cannot be collected{_describe_exception(failure)}")


def _describe_exception(failure: Failure) -> str:
    text = f"{failure.exception} {failure.message.strip().partition(chr(10))[0]}".strip()
    return f": {text}" if text else ""


# --- exceptions -------------------------------------------------------------------------------------------------------


def _classify_exception(failure: Failure, evidence: Evidence) -> WrongReason | None:
    """Accept an exception raised by the project's source or by a test line that uses the subject."""
    if failure.path and not _is_in_test(failure, evidence):
        return None
    if failure.kind is FailureKind.EXCEPTION and not _is_environment_failure(failure, evidence):
        if _is_on_subject(failure, evidence):
            return None
        if failure.exception == "TypeError" and _is_call_of_subject(failure, evidence):
            return None
    return "RED307", f"fails in the test's own code{_describe_exception(failure)}"


def _is_on_subject(failure: Failure, evidence: Evidence) -> bool:
    return failure.line in evidence.subject_lines.get(failure.path, ())


def _is_environment_failure(failure: Failure, evidence: Evidence) -> bool:
    """Return whether a failed DNS lookup, the recursion limit or an attribute missing in a library is the cause."""
    if failure.exception in {"gaierror", "RecursionError", "MemoryError"} or _UNRESOLVED.search(failure.message):
        return True
    lacking = _LIBRARY_LACKS.search(failure.message) if failure.exception == "AttributeError" else None
    return lacking is not None and lacking[1].partition(".")[0] not in evidence.project_modules


def _is_in_test(failure: Failure, evidence: Evidence) -> bool:
    tests = {test.partition("::")[0] for test in evidence.story_tests}
    changed = {change.path for change in evidence.changes if change.kind is PathKind.TEST}
    return failure.path in tests | changed or classify_path(failure.path) is PathKind.TEST


def _is_call_of_subject(failure: Failure, evidence: Evidence) -> bool:
    """Return whether a TypeError such as `earn() got an unexpected keyword argument 'rate'` is about the subject.

    For a method, the message contains the class: `App.route()`, `App.__init__()`.
    """
    found = _CALL_FORM.search(failure.message)
    if found is None:
        return False
    parts = set(found[1].split(".")) - {"__init__", "__new__", "<locals>"}
    called = [name for name in evidence.called or () if not name.startswith(".")]
    names = [symbol.name for symbol in evidence.planned or ()] + list(evidence.project_names) + called
    return any(parts & set(name.split(".")) for name in names)


# --- missing names ----------------------------------------------------------------------------------------------------


def _classify_missing_name(failure: Failure, evidence: Evidence) -> WrongReason | None:
    name = failure.missing
    if failure.exception in {"NameError", "ReferenceError"} and "." not in name and _is_in_test(failure, evidence):
        return "RED307", f"the test uses `{name}` but never defines or imports it"
    if evidence.planned is not None:
        planned = [symbol.name for symbol in evidence.planned]
        if any(is_planned_name(name, promised) for promised in planned):
            return None
        return "RED302", f"`{name}` does not exist, and the design does not plan it{_describe_plan(planned)}"
    return _classify_missing_without_design(failure, evidence)


def _describe_plan(planned: list[str]) -> str:
    return f" (planned: {', '.join(planned[:4])}{' …' if len(planned) > 4 else ''})" if planned else ""


def _classify_missing_without_design(failure: Failure, evidence: Evidence) -> WrongReason | None:
    name = failure.missing
    if not _is_used(name, evidence) and not _is_attribute_use(failure, evidence):
        return "RED302", f"`{name}` does not exist, and the tests do not use it"
    alike = _find_similar_name(name, evidence)
    if alike is not None:
        return "RED302", f"`{name}` does not exist; `{alike}` does: a misspelled import?"
    if _is_namesake(name, evidence):
        return None
    problem = explain_foreign_module(name, frozenset(evidence.project_modules), flat=evidence.flat_layout)
    return ("RED302", problem) if problem else None


def _is_namesake(name: str, evidence: Evidence) -> bool:
    """Return whether a flat project has tests named after this module, such as `test_markdown.py` for `markdown`.

    The module is then expected to belong to the project.
    """
    top = name.partition(".")[0]
    tests = {change.path.rpartition("/")[2] for change in evidence.changes if change.kind is PathKind.TEST}
    return evidence.flat_layout and bool(tests & {f"test_{top}.py", f"{top}_test.py"})


def explain_foreign_module(name: str, own: frozenset[str], *, flat: bool) -> str:
    """Explain why a module of this name cannot be part of the project. Return an empty string if it can."""
    top = name.partition(".")[0]
    if top in own:
        return ""
    if problem := _explain_known_module(top):
        return problem
    if flat or not own:
        return ""
    return f"`{name}` does not exist and is not part of the project ({', '.join(sorted(own)[:4])})"


def _explain_known_module(top: str) -> str:
    """Explain why the missing module is not a planned one: it is a library, shared test code or a misspelt name."""
    if top in sys.stdlib_module_names or top.lower() in _WELL_KNOWN:
        return f"`{top}` is not installed: a dependency is missing"
    if top in _TEST_HELPER_MODULES:
        return f"`{top}` does not exist: commit shared test code together with the tests"
    known = sorted(name for name in _WELL_KNOWN | sys.stdlib_module_names if not name.startswith("_"))
    alike = next((name for name in known if is_misspelling(top, name)), "")
    return f"`{top}` does not exist; `{alike}` does: a misspelled import?" if alike else ""


def _is_used(name: str, evidence: Evidence) -> bool:
    if evidence.called is None:
        return True
    return any(
        called == name
        or called.startswith(f"{name}.")
        or name.startswith(f"{called}.")
        or _is_member_of_exported_class(called, name)
        for called in evidence.called
    )


def _is_member_of_exported_class(called: str, name: str) -> bool:
    """Return whether `shop.Cart.total` is `shop.cart.Cart.total`, because the package exports the class."""
    package, *parents, owner, member = ["", "", *name.split(".")][-max(4, len(name.split("."))) :]
    return called.startswith(f"{package}.") and called.split(".")[-2:] == [owner, member] and bool(parents)


def _is_attribute_use(failure: Failure, evidence: Evidence) -> bool:
    """Return whether the tests use the missing name as an attribute of an object, as in `app.errorhandler`."""
    return failure.exception == "AttributeError" and f".{failure.missing.rpartition('.')[2]}" in (evidence.called or ())


def _find_similar_name(name: str, evidence: Evidence) -> str | None:
    """Return an existing name that differs by one typo from the first missing part of `name`."""
    known = {*evidence.project_modules, *evidence.project_names}
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        here = ".".join(parts[:end])
        if here in known:
            continue
        parent = ".".join(parts[: end - 1])
        for other in sorted(known):
            if other.rpartition(".")[0] == parent and is_misspelling(parts[end - 1], other.rpartition(".")[2]):
                return other
    return None
