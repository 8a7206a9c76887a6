"""Runs pytest in the interpreter of the project under test and reports events.

The *project's* Python (3.9 or later, with pytest 7 or later) executes this file, so it uses only the standard library
and pytest and imports nothing from prd2pr. Parameters arrive on stdin. Events go to a pipe whose other end belongs to
the runner, so they cannot be edited or withdrawn once written.

The import order matters: pytest, its own plugins and the plugins that the project names are imported before the
checkout is added to `sys.path`. This way a `pytest.py` or a `*.dist-info` in the checkout has no effect.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import os
import platform
import site
import sys
import sysconfig
import traceback
import types
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

gc.disable()  # until pytest is loaded: nothing of it becomes garbage

import _pytest  # noqa: E402
import _pytest.config  # noqa: E402
import pytest  # noqa: E402
from _pytest._io import saferepr  # noqa: E402

PYTEST_MAJOR = int(pytest.__version__.partition(".")[0])
# A repr that never raises. The unlimited variant was added in a later pytest 7 release.
whole_repr = getattr(saferepr, "saferepr_unlimited", saferepr.saferepr)
MESSAGE_LIMIT = 4000
OPTION_READERS = ("argparse", "optparse", "click", "typer")
MUTATION_TOOLS = (
    "forks",
    "patches",
    "line_tracer",
    "collection",
    "clock",
    "flakiness",
    "call_recorder",
    "call_replay",
    "outside_calls",
    "return_values",
)
DIFFERENTIAL_TOOLS = (
    "forks",
    "line_tracer",
    "value_recipes",
    "recipe_recorder",
    "input_variation",
    "side_effect_guard",
    "calls",
)
COMPARISON_LIMIT = 1500  # characters in a value above which pytest's comparison takes minutes
# Directory names too generic to identify a project.
COMMON_NAMES = {"tests", "test", "docs", "doc", "src", "setup", "conftest", "examples", "scripts", "build", "dist"}


class EventLog:
    """Writes events as JSON lines, numbered and signed with the nonce.

    References to `os.write` and similar functions are saved, because the code under test may replace them. Lines are
    buffered until something starts that may not return, so one write per test is enough.
    """

    def __init__(self, descriptor: int, nonce: str) -> None:
        self._descriptor = descriptor
        self._nonce = nonce
        self._count = 0
        self._buffer = b""
        self._process = os.getpid()
        self._write, self._dumps, self._getpid = os.write, json.dumps, os.getpid

    def hold(self, event: str, **facts: object) -> None:
        if self._getpid() != self._process:
            return  # forks of the test process report nothing
        self._count += 1
        line = self._dumps({"n": self._count, "nonce": self._nonce, "event": event, **facts})
        self._buffer += line.encode() + b"\n"

    def emit(self, event: str, **facts: object) -> None:
        self.hold(event, **facts)
        if self._getpid() == self._process:
            while self._buffer:
                self._buffer = self._buffer[self._write(self._descriptor, self._buffer) :]


class Describer:
    """Describes an exception as plain data: type, message, location in the checkout, and missing name."""

    def __init__(self, checkout: str) -> None:
        self._root = checkout + os.sep

    def is_inside(self, path: object) -> bool:
        return bool(path) and str(path).startswith(self._root)

    def relative(self, path: object) -> str:
        return str(path)[len(self._root) :].replace(os.sep, "/")

    def describe(self, error: BaseException) -> dict[str, Any]:
        module, path, line, span = self._place(error)
        facts = {
            "type": type(error).__name__,
            "mro": [kind.__name__ for kind in type(error).__mro__],
            "message": self._message(error)[:MESSAGE_LIMIT],
            "module": module,
            "path": path,
            "line": line,
            "span": span,
            "name": _as_text(getattr(error, "name", None)),
            "name_from": _as_text(getattr(error, "name_from", None)),
            "via_raises": _is_from_raises(error),
            "text_of": _as_text(getattr(error, "filename", None)) if isinstance(error, SyntaxError) else "",
            "refused_by": _find_option_reader(error) if isinstance(error, SystemExit) else "",
        }
        if isinstance(error, AttributeError):
            facts.update(self._owner(getattr(error, "obj", None)))
        return facts

    def _message(self, error: BaseException) -> str:
        if isinstance(error, SyntaxError):
            return str(error.msg)
        if type(error).__name__ == "FixtureLookupError":
            return f"fixture {getattr(error, 'argname', '?')!r} not found"
        lines = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n")
        return lines.partition(": ")[2]

    def _place(self, error: BaseException) -> tuple[str, str, int, list[int]]:
        """Return the deepest frame in the checkout, so that a failing library call is attributed to its caller."""
        if isinstance(error, SyntaxError) and self.is_inside(error.filename):
            return "", self.relative(error.filename), error.lineno or 0, []
        found: tuple[str, str, int, list[int]] = ("", "", 0, [])
        step = error.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            if self.is_inside(code.co_filename):
                name = step.tb_frame.f_globals.get("__name__", "")
                found = (
                    _as_text(name),
                    self.relative(code.co_filename),
                    step.tb_lineno,
                    _find_span(code, step.tb_lasti),
                )
            step = step.tb_next
        return found

    def _owner(self, owner: object) -> dict[str, Any]:
        if owner is None:
            return {}
        if isinstance(owner, types.ModuleType):
            return {"owner": _as_text(owner.__name__), "owner_inside": self._module_inside(owner)}
        kind = _find_lacking_class(owner)
        module = _as_text(kind.__module__)
        return {
            "owner": module + "." + _as_text(kind.__qualname__),
            "owner_inside": self._module_inside(sys.modules.get(module)),
        }

    def _module_inside(self, module: types.ModuleType | None) -> bool:
        places = [getattr(module, "__file__", None), *list(getattr(module, "__path__", []))]
        return any(self.is_inside(place) for place in places)


def _find_lacking_class(owner: object) -> type:
    """Return the class that lacks an attribute.

    This is never a test module's class that inherits from the project's class.
    """
    is_super = isinstance(owner, super)
    start: type = getattr(owner, "__thisclass__", object) if is_super else type(owner)
    if isinstance(owner, type):
        start = owner
    classes: tuple[type, ...] = start.__mro__[1 if is_super else 0 :]
    for kind in classes:
        last = _as_text(kind.__module__).rpartition(".")[2]
        if not last.startswith("test_") and not last.endswith("_test") and kind is not object:
            return kind
    return classes[0] if classes else object


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _find_span(code: types.CodeType, instruction: int) -> list[int]:
    """Return the first line and column and the last line and column of the expression that failed.

    The list is empty before Python 3.11.
    """
    positions = getattr(code, "co_positions", None)
    found: Any = next(itertools.islice(positions(), instruction // 2, None), ()) if positions else ()
    if len(found) != 4 or None in found:
        return []
    first, last, column, end = found
    return [first, column, last, end]


def _is_from_raises(error: BaseException) -> bool:
    """Return whether `pytest.raises` reported a missing exception.

    It calls `pytest.fail`, so its frame is in the traceback.
    """
    home = str(Path(_pytest.__file__).parent) + os.sep
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename.startswith(home) and code.co_name in ("__exit__", "raises", "warns"):
            return True
        step = step.tb_next
    return False


def _find_option_reader(error: SystemExit) -> str:
    """Return the library that rejected the command line, such as `argparse`, or an empty string."""
    last, step = "", error.__traceback__
    while step is not None:
        last, step = _as_text(step.tb_frame.f_globals.get("__name__", "")), step.tb_next
    return last if error.code not in (None, 0) and last.partition(".")[0] in OPTION_READERS else ""


class Probe:
    """A pytest plugin that reports events of the run and, on request, reverses the order of the tests."""

    def __init__(self, log: EventLog, guard: Any, parameters: dict[str, Any], plugins: list[str]) -> None:
        self._log = log
        self._guard = guard
        self._checkout = parameters["checkout"]
        self._plugins = plugins
        self._only = parameters["only"]
        self._reverse = parameters["reverse"]
        self._describer = Describer(self._checkout)
        self._made: dict[tuple[str, str], tuple[str, Any]] = {}
        self._reported: set[str] = set()

    # --- setting up ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_addoption(self, pluginmanager: pytest.PytestPluginManager) -> None:
        """Run on registration, after pytest's own plugins are loaded and before any file of the checkout is read."""
        for name in self._plugins:
            pluginmanager.load_setuptools_entrypoints("pytest11", name=name)
        self._guard.remember_runner()
        remove_editable_installs(self._checkout)
        source = Path(self._checkout, "src")
        sys.path[:0] = [self._checkout, *([str(source)] if source.is_dir() else [])]

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        tools = {"python": platform.python_version(), "pytest": pytest.__version__}
        for _, distribution in session.config.pluginmanager.list_plugin_distinfo():
            tools[distribution.project_name] = distribution.version
        self._log.hold("tools", tools=tools)

    # --- collecting ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if not self._only or collection_path.name == "__init__.py" or collection_path.is_dir():
            return None
        path = self._describer.relative(collection_path)
        return None if any(path == only or path.startswith(only + "/") for only in self._only) else True

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        if isinstance(collector, pytest.File):
            self._log.emit("collect", id=collector.nodeid)
        result = yield
        if result.excinfo is not None:
            return
        report = result.get_result()
        call = getattr(report, "call", None)
        if call is not None and call.excinfo is not None:
            error, conftest = self._collect_cause(call.excinfo.value)
            facts = self._describer.describe(error)
            self._log.emit("uncollected", id=report.nodeid, outcome=report.outcome, conftest=conftest, raised=facts)
        elif report.outcome != "passed":
            self._log.emit("uncollected", id=report.nodeid, outcome=report.outcome, conftest="", raised=None)
        elif isinstance(collector, pytest.File):
            self._log.hold("collected_file", id=collector.nodeid)

    def _collect_cause(self, error: BaseException) -> tuple[BaseException, str]:
        """Return the exception that a test module or conftest raised on import, which pytest wraps."""
        conftest = ""
        if type(error).__name__ == "ConftestImportFailure":
            conftest = self._describer.relative(getattr(error, "path", ""))
        if conftest or isinstance(error, pytest.Collector.CollectError):
            error = error.__cause__ or error
        return error, conftest

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._guard.remember_test(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, Any, None]:
        yield
        if self._reverse:
            items.reverse()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._report_tampering()
        self._log.emit("collected", ids=[item.nodeid for item in session.items])

    def _report_tampering(self, test: str = "") -> None:
        """Report each detected manipulation once."""
        for problem in self._guard.find_tampering(test):
            if problem not in self._reported:
                self._reported.add(problem)
                self._log.hold("tampered", problem=problem)

    # --- running ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._report_tampering(nodeid)  # monkeypatches are undone between two tests
        self._log.emit("start", id=nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Record the exception that was actually raised next to the report."""
        result = yield
        if result.excinfo is not None:
            return
        error = call.excinfo.value if call.excinfo is not None else None
        self._made[item.nodeid, call.when] = (result.get_result().outcome, error and self._describer.describe(error))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_assertrepr_compare(
        self, config: pytest.Config, left: object, right: object
    ) -> Generator[None, Any, None]:
        """Show compared values in full unless they are large."""
        verbosity = config.option.verbose
        if max(len(whole_repr(value)) for value in (left, right)) > COMPARISON_LIMIT:
            config.option.verbose = 0
        yield
        config.option.verbose = verbosity

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        made, raised = self._made.get((report.nodeid, report.when), ("", None))
        if report.when == "setup" and report.outcome == made == "passed":
            return
        self._log.hold(
            "report",
            id=report.nodeid,
            when=report.when,
            outcome=report.outcome,
            made=made,
            raised=raised,
            xfail=hasattr(report, "wasxfail"),
            sub=hasattr(report, "context"),
            text="" if report.outcome == "passed" else str(getattr(report, "longrepr", ""))[-MESSAGE_LIMIT:],
            seconds=round(report.duration, 4),
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._report_tampering()
        self._log.emit("finish", status=int(exitstatus))


def list_plugin_names(named: Iterable[str]) -> list[str]:
    """Return the plugin entry points of the distributions that the project names. All other plugins stay disabled."""
    names = []
    for distribution in named:
        try:
            points = importlib.metadata.distribution(distribution).entry_points
        except importlib.metadata.PackageNotFoundError:
            continue  # not installed; pytest reports it if it matters
        names += [point.name for point in points if point.group == "pytest11"]
    return names


def remove_editable_installs(checkout: str) -> None:
    """Remove editable installs of this project from the path, so that a module missing here is not found there."""
    own = list_top_level_names(Path(checkout)) | list_top_level_names(Path(checkout, "src"))
    installed = {*site.getsitepackages(), *sysconfig.get_paths().values()}
    sys.path[:] = [entry for entry in sys.path if entry in installed or not own & list_top_level_names(Path(entry))]
    for finder in list(sys.meta_path):
        module = sys.modules.get(getattr(finder, "__module__", ""))
        mapping = getattr(module, "MAPPING", None)  # modules served by setuptools' editable finders
        if isinstance(mapping, dict) and own & {str(name).partition(".")[0] for name in mapping}:
            sys.meta_path.remove(finder)


def list_top_level_names(directory: Path) -> set[str]:
    """Return the names of the packages and modules that can be imported from a directory."""
    if not directory.is_dir():
        return set()
    return {
        entry.stem for entry in directory.iterdir() if entry.suffix == ".py" or contains_modules(entry)
    } - COMMON_NAMES


def contains_modules(directory: Path) -> bool:
    return directory.name.isidentifier() and directory.is_dir() and any(directory.glob("*.py"))


def load_sibling(name: str) -> Any:
    """Load a module from a file in this directory by path, without adding it to `sys.modules`."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name}.py is missing next to the launcher")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_guard(parameters: dict[str, Any]) -> Any:
    return load_sibling("guard").Guard(parameters["checkout"], parameters["locked"], parameters["imported_as"])


def make_pytest_runner(
    parameters: dict[str, Any], log: EventLog, plugins: list[str], options: list[str]
) -> Callable[..., int]:
    """Return a function that runs pytest on some files with extra plugins. That function must be called in a fork."""

    def run(more: list[Any], only: Any, guard: Any = None) -> int:
        probe = Probe(log, guard or load_guard(parameters), {**parameters, "only": only or []}, plugins)
        return int(pytest.main(options, plugins=[probe, *more]))

    return run


def run_mutation_testing(parameters: dict[str, Any], log: EventLog, plugins: list[str], options: list[str]) -> int:
    """Run the tests in forks of this process to find out which deliberate faults they detect."""

    run = make_pytest_runner(parameters, log, plugins, options)
    placed = {"checkout": parameters["checkout"], "locked": parameters["locked"], "shut": [parameters["events"]]}
    order = {**parameters["mutation"], **placed}
    tools = types.SimpleNamespace(**{name: load_sibling(name) for name in MUTATION_TOOLS})
    load_sibling("mutation").try_all_faults(
        order, tools, run, load_guard(parameters), lambda fact: log.emit("mutation", **fact)
    )
    log.emit("mutation_end")
    return 0


def run_comparison(parameters: dict[str, Any], log: EventLog, plugins: list[str], options: list[str]) -> int:
    """Run old and new code in forks of this process to find out whether the same calls have the same outcome."""
    run = make_pytest_runner(parameters, log, plugins, options)
    order = {**parameters["differential"], "checkout": parameters["checkout"], "shut": [parameters["events"]]}
    tools = types.SimpleNamespace(**{name: load_sibling(name) for name in DIFFERENTIAL_TOOLS})
    differential = load_sibling("differential")
    differential.compare_versions(
        order, tools, run, lambda: load_guard(parameters), lambda fact: log.emit("differential", **fact)
    )
    log.emit("differential_end")
    return 0


def load_pytest() -> None:
    """Import pytest's own plugins before the parameters of the run arrive."""
    for name in getattr(_pytest.config, "default_plugins", ()):
        importlib.import_module(f"_pytest.{name}")
    gc.freeze()
    gc.enable()


def main() -> int:
    load_pytest()
    data = sys.stdin.buffer.read()
    if not data:
        return 0  # started in advance and not needed
    parameters = json.loads(data)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    fcntl.fcntl(parameters["events"], fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    directory = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != directory]
    sys.argv = ["pytest"]
    log = EventLog(parameters["events"], parameters["nonce"])
    plugins = list_plugin_names(parameters["named"])
    options_of_plugins = [option for name in plugins for option in parameters["plugin_args"].get(name, [])]
    if PYTEST_MAJOR >= 8:  # older versions reject this setting under --strict-config
        options_of_plugins.append("--override-ini=verbosity_assertions=auto")
    options = [*options_of_plugins, *parameters["args"]]
    if parameters.get("mutation"):
        sys.modules["__main__"] = types.ModuleType("__main__")
        return run_mutation_testing(parameters, log, plugins, options)
    if parameters.get("differential"):
        sys.modules["__main__"] = types.ModuleType("__main__")
        return run_comparison(parameters, log, plugins, options)
    probe = Probe(log, load_guard(parameters), parameters, plugins)
    sys.modules["__main__"] = types.ModuleType("__main__")  # the launcher must not be importable by name
    pytest_plugins = [probe]
    if parameters.get("survey"):
        survey = load_sibling("file_survey").FileSurvey(
            parameters["checkout"], lambda reached: log.hold("survey", reached=reached)
        )
        pytest_plugins.append(survey)
        survey.start()
    if parameters.get("coverage"):
        measured = load_sibling("line_coverage").LineMeter(
            parameters["checkout"], lambda tool, files: log.hold("coverage", tool=tool, files=files)
        )
        pytest_plugins.append(measured)
        measured.start()
    try:
        status = int(pytest.main(options, plugins=pytest_plugins))
    except BaseException as error:
        log.emit("aborted", raised=Describer(parameters["checkout"]).describe(error))
        raise
    log.emit("end", status=status)
    return status


if __name__ == "__main__":
    sys.exit(main())
