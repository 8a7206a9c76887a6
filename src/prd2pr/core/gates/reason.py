"""Why a test fails in RED: because what the story promises is missing, or for a reason that proves nothing."""

from __future__ import annotations

import re
import sys

from prd2pr.core.evidence import Evidence, Failure, FailureKind, PathKind
from prd2pr.core.paths import classify_path
from prd2pr.core.slips import is_promised, is_slip
from prd2pr.core.testfacts_programs import LOADERS, is_program

Wrong = tuple[str, str]  # code, message

_PLAIN: dict[FailureKind, tuple[str, str]] = {
    FailureKind.SYNTAX: ("RED301", "syntax error"),
    FailureKind.FIXTURE: ("RED303", "fails in a fixture or in set-up"),
    FailureKind.IMPORT: ("RED308", "an import fails for another reason than a missing name"),
    FailureKind.EXIT: ("RED304", "the process was ended"),
    FailureKind.TIMEOUT: ("RED305", "ran out of time"),
    FailureKind.EXPLICIT: ("RED306", "fails on purpose, by pytest.fail()"),
}
_CALL_FORM = re.compile(r"([\w.<>]+)\(\) (got an unexpected|got multiple|missing \d+ required|takes )")
_NO_FILE = re.compile(r"No such file or directory: '([^']+\.py)'")
_UNRESOLVED = re.compile(r"Name or service not known|name resolution|getaddrinfo failed|nodename nor servname")
_LIBRARY_LACKS = re.compile(r"^module '([\w.]+)' has no attribute")
# Where a flat project keeps what its tests share: that is written together with them.
_OF_TESTS = frozenset({"conftest", "helpers", "test_helpers", "testing_helpers", "testutils", "fixtures", "factories"})
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


def wrong_reason(failure: Failure, evidence: Evidence) -> Wrong | None:
    """None where the failure is what RED asks for."""
    # `else: pytest.fail("no error")`: what the subject did has led there.
    led = failure.kind is FailureKind.EXPLICIT and _on_subject(failure, evidence)
    return None if led or _is_missing_file(failure, evidence) else _wrong(failure, evidence)


def _wrong(failure: Failure, evidence: Evidence) -> Wrong | None:
    if failure.kind in _PLAIN:
        code, what = _PLAIN[failure.kind]
        return code, f"{what}{_told(failure)}"
    if failure.kind is FailureKind.COLLECTION:
        return _uncollected(failure, evidence)
    if failure.kind is FailureKind.MISSING_SYMBOL:
        return _missing(failure, evidence)
    if failure.stage != "call":
        return "RED309", f"fails in {failure.stage}, not in its call{_told(failure)}"
    if failure.kind in {FailureKind.EXCEPTION, FailureKind.NOT_IMPLEMENTED}:
        return _exception(failure, evidence)
    return None


def _is_missing_file(failure: Failure, evidence: Evidence) -> bool:
    """A module that the tests load by its path, and that is still to be written."""
    found = _NO_FILE.search(failure.message) if failure.exception == "FileNotFoundError" else None
    return found is not None and is_program(found[1]) and bool(LOADERS & set(evidence.called or ()))


def _uncollected(failure: Failure, evidence: Evidence) -> Wrong | None:
    if failure.exception == "TypeError" and _is_call_of_subject(failure, evidence):
        return None  # the parameter that the story adds, used where the module is set up
    is_async = "async" in failure.message
    return ("RED206", failure.message) if is_async else ("RED205", f"cannot be collected{_told(failure)}")


def _told(failure: Failure) -> str:
    text = f"{failure.exception} {failure.message.strip().partition(chr(10))[0]}".strip()
    return f": {text}" if text else ""


# --- exceptions -------------------------------------------------------------------------------------------------------


def _exception(failure: Failure, evidence: Evidence) -> Wrong | None:
    """Right where it came out of the project's source, or out of a line of the test that works on the subject."""
    if failure.path and not _in_test(failure, evidence):
        return None
    if failure.kind is FailureKind.EXCEPTION and not _is_of_surroundings(failure, evidence):
        if _on_subject(failure, evidence):
            return None
        if failure.exception == "TypeError" and _is_call_of_subject(failure, evidence):
            return None
    return "RED307", f"breaks in the test's own code{_told(failure)}"


def _on_subject(failure: Failure, evidence: Evidence) -> bool:
    return failure.line in evidence.subject_lines.get(failure.path, ())


def _is_of_surroundings(failure: Failure, evidence: Evidence) -> bool:
    """A name that cannot be looked up, a helper that calls itself for ever, an attribute that a library lacks."""
    if failure.exception in {"gaierror", "RecursionError", "MemoryError"} or _UNRESOLVED.search(failure.message):
        return True
    lacking = _LIBRARY_LACKS.search(failure.message) if failure.exception == "AttributeError" else None
    return lacking is not None and lacking[1].partition(".")[0] not in evidence.project_modules


def _in_test(failure: Failure, evidence: Evidence) -> bool:
    tests = {test.partition("::")[0] for test in evidence.story_tests}
    changed = {change.path for change in evidence.changes if change.kind is PathKind.TEST}
    return failure.path in tests | changed or classify_path(failure.path) is PathKind.TEST


def _is_call_of_subject(failure: Failure, evidence: Evidence) -> bool:
    """`earn() got an unexpected keyword argument 'rate'`: the parameter is what the story adds.

    Of a method, Python tells the class: `App.route()`, `App.__init__()`.
    """
    found = _CALL_FORM.search(failure.message)
    if found is None:
        return False
    told = set(found[1].split(".")) - {"__init__", "__new__", "<locals>"}
    called = [name for name in evidence.called or () if not name.startswith(".")]
    names = [symbol.name for symbol in evidence.planned or ()] + list(evidence.project_names) + called
    return any(told & set(name.split(".")) for name in names)


# --- missing names ----------------------------------------------------------------------------------------------------


def _missing(failure: Failure, evidence: Evidence) -> Wrong | None:
    name = failure.missing
    if failure.exception in {"NameError", "ReferenceError"} and "." not in name and _in_test(failure, evidence):
        return "RED307", f"uses `{name}`, which the test never defines or imports"
    if evidence.planned is not None:
        planned = [symbol.name for symbol in evidence.planned]
        if any(is_promised(name, promised) for promised in planned):
            return None
        return "RED302", f"`{name}` does not exist, and the design does not plan it{_plan(planned)}"
    return _missing_without_design(failure, evidence)


def _plan(planned: list[str]) -> str:
    return f" (planned: {', '.join(planned[:4])}{' …' if len(planned) > 4 else ''})" if planned else ""


def _missing_without_design(failure: Failure, evidence: Evidence) -> Wrong | None:
    name = failure.missing
    if not _is_used(name, evidence) and not _is_asked_of_object(failure, evidence):
        return "RED302", f"`{name}` does not exist, and the tests do nothing with it"
    alike = _misspelt(name, evidence)
    if alike is not None:
        return "RED302", f"`{name}` does not exist; `{alike}` does: a misspelt import?"
    if _is_namesake(name, evidence):
        return None
    problem = not_ours(name, frozenset(evidence.project_modules), flat=evidence.flat_layout)
    return ("RED302", problem) if problem else None


def _is_namesake(name: str, evidence: Evidence) -> bool:
    """`markdown` beside `test_markdown.py`, where modules lie at the root: the project's own, whatever others have."""
    top = name.partition(".")[0]
    tests = {change.path.rpartition("/")[2] for change in evidence.changes if change.kind is PathKind.TEST}
    return evidence.flat_layout and bool(tests & {f"test_{top}.py", f"{top}_test.py"})


def not_ours(name: str, own: frozenset[str], *, flat: bool) -> str:
    """Why a module of this name can be no part of the project; empty where it can."""
    top = name.partition(".")[0]
    if top in own:
        return ""
    if problem := _belongs_elsewhere(top):
        return problem
    if flat or not own:
        return ""
    return f"`{name}` does not exist, and is not part of the project ({', '.join(sorted(own)[:4])})"


def _belongs_elsewhere(top: str) -> str:
    """Why a module of this name is nobody's plan."""
    if top in sys.stdlib_module_names or top.lower() in _WELL_KNOWN:
        return f"`{top}` is not installed: a dependency is missing"
    if top in _OF_TESTS:
        return f"`{top}` does not exist: what tests share is committed with them"
    known = sorted(name for name in _WELL_KNOWN | sys.stdlib_module_names if not name.startswith("_"))
    alike = next((name for name in known if is_slip(top, name)), "")
    return f"`{top}` does not exist; `{alike}` does: a misspelt import?" if alike else ""


def _is_used(name: str, evidence: Evidence) -> bool:
    if evidence.called is None:
        return True
    return any(
        called == name or called.startswith(f"{name}.") or name.startswith(f"{called}.") for called in evidence.called
    )


def _is_asked_of_object(failure: Failure, evidence: Evidence) -> bool:
    """`app.errorhandler`, where `app` is an object of the project, whatever it was imported or made by."""
    return failure.exception == "AttributeError" and f".{failure.missing.rpartition('.')[2]}" in (evidence.called or ())


def _misspelt(name: str, evidence: Evidence) -> str | None:
    """An existing name that differs by one slip of the finger, at the first part that does not exist."""
    known = {*evidence.project_modules, *evidence.project_names}
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        here = ".".join(parts[:end])
        if here in known:
            continue
        parent = ".".join(parts[: end - 1])
        for other in sorted(known):
            if other.rpartition(".")[0] == parent and is_slip(parts[end - 1], other.rpartition(".")[2]):
                return other
    return None
