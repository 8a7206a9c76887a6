"""Runs pytest in the interpreter of the project under test and tells, event by event, what happened.

This file is executed by the *project's* Python (3.9 or later, pytest 7 or later), so it uses the standard library and
pytest alone and imports nothing of prd2pr. Parameters come on stdin; events go to a pipe whose other end the runner
holds: what has been written there can neither be taken back nor be edited later.

The order of things is the point: pytest, its own plugins and the plugins that the project names are imported first,
the checkout goes on `sys.path` after that. A `pytest.py` or a `*.dist-info` in the checkout therefore comes too late.
"""

from __future__ import annotations

import fcntl
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

import _pytest
import _pytest.config
import pytest
from _pytest._io import saferepr

PYTEST_MAJOR = int(pytest.__version__.partition(".")[0])
# A repr that never raises; the one that never cuts came in the course of pytest 7.
whole_repr = getattr(saferepr, "saferepr_unlimited", saferepr.saferepr)
MESSAGE_LIMIT = 4000
OPTION_READERS = ("argparse", "optparse", "click", "typer")
FAULT_TOOLS = (
    "forks",
    "patching",
    "seeing",
    "collecting",
    "clocks",
    "ways",
    "hearing",
    "replaying",
    "outside",
    "answering",
)
PARITY_TOOLS = ("forks", "seeing", "recipes", "recording", "varying", "fence", "calling")
COMPARED_LIMIT = 1500  # characters of a value, beyond which pytest would compare line by line for minutes
# Directory names that say nothing about which project a path belongs to.
COMMON_NAMES = {"tests", "test", "docs", "doc", "src", "setup", "conftest", "examples", "scripts", "build", "dist"}


class EventLog:
    """JSON lines, numbered and signed with the nonce. The functions are kept: the subject may replace `os.write`.

    Lines are held back until something is about to happen that may not come back: one write per test is enough.
    """

    def __init__(self, descriptor: int, nonce: str) -> None:
        self._descriptor = descriptor
        self._nonce = nonce
        self._count = 0
        self._held = b""
        self._process = os.getpid()
        self._write, self._dumps, self._getpid = os.write, json.dumps, os.getpid

    def hold(self, event: str, **facts: object) -> None:
        if self._getpid() != self._process:
            return  # a fork of the test process reports nothing
        self._count += 1
        line = self._dumps({"n": self._count, "nonce": self._nonce, "event": event, **facts})
        self._held += line.encode() + b"\n"

    def emit(self, event: str, **facts: object) -> None:
        self.hold(event, **facts)
        if self._getpid() == self._process:
            while self._held:
                self._held = self._held[self._write(self._descriptor, self._held) :]


class Describer:
    """Turns an exception into plain data: type, message, where in the checkout, and which name was missing."""

    def __init__(self, checkout: str) -> None:
        self._root = checkout + os.sep

    def inside(self, path: object) -> bool:
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
            "name": _text(getattr(error, "name", None)),
            "name_from": _text(getattr(error, "name_from", None)),
            "via_raises": _left_by_raises(error),
            "text_of": _text(getattr(error, "filename", None)) if isinstance(error, SyntaxError) else "",
            "refused_by": _option_reader(error) if isinstance(error, SystemExit) else "",
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
        """The deepest frame that is inside the checkout: a failing library call counts for whoever made it."""
        if isinstance(error, SyntaxError) and self.inside(error.filename):
            return "", self.relative(error.filename), error.lineno or 0, []
        found: tuple[str, str, int, list[int]] = ("", "", 0, [])
        step = error.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            if self.inside(code.co_filename):
                name = step.tb_frame.f_globals.get("__name__", "")
                found = (_text(name), self.relative(code.co_filename), step.tb_lineno, _span(code, step.tb_lasti))
            step = step.tb_next
        return found

    def _owner(self, owner: object) -> dict[str, Any]:
        if owner is None:
            return {}
        if isinstance(owner, types.ModuleType):
            return {"owner": _text(owner.__name__), "owner_inside": self._module_inside(owner)}
        kind = owner if isinstance(owner, type) else type(owner)
        module = _text(kind.__module__)
        return {
            "owner": module + "." + _text(kind.__qualname__),
            "owner_inside": self._module_inside(sys.modules.get(module)),
        }

    def _module_inside(self, module: types.ModuleType | None) -> bool:
        places = [getattr(module, "__file__", None), *list(getattr(module, "__path__", []))]
        return any(self.inside(place) for place in places)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _span(code: types.CodeType, instruction: int) -> list[int]:
    """Line, column, last line and its column of the expression that failed; empty before Python 3.11."""
    positions = getattr(code, "co_positions", None)
    found: Any = next(itertools.islice(positions(), instruction // 2, None), ()) if positions else ()
    if len(found) != 4 or None in found:
        return []
    first, last, column, end = found
    return [first, column, last, end]


def _left_by_raises(error: BaseException) -> bool:
    """`pytest.raises` reports a missing exception by `pytest.fail`: told apart by the frame that it came through."""
    home = str(Path(_pytest.__file__).parent) + os.sep
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename.startswith(home) and code.co_name in ("__exit__", "raises", "warns"):
            return True
        step = step.tb_next
    return False


def _option_reader(error: SystemExit) -> str:
    """The library that reads command lines and has refused one: `argparse`, where its code ended the program."""
    last, step = "", error.__traceback__
    while step is not None:
        last, step = _text(step.tb_frame.f_globals.get("__name__", "")), step.tb_next
    return last if error.code not in (None, 0) and last.partition(".")[0] in OPTION_READERS else ""


class Probe:
    """A pytest plugin that watches and changes nothing but the order, where the reversed one is asked for."""

    def __init__(self, log: EventLog, guard: Any, parameters: dict[str, Any], plugins: list[str]) -> None:
        self._log = log
        self._guard = guard
        self._checkout = parameters["checkout"]
        self._plugins = plugins
        self._only = parameters["only"]
        self._reverse = parameters["reverse"]
        self._describer = Describer(self._checkout)
        self._made: dict[tuple[str, str], tuple[str, Any]] = {}
        self._told: set[str] = set()

    # --- setting up ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_addoption(self, pluginmanager: pytest.PytestPluginManager) -> None:
        """Runs when this plugin is registered: after pytest's own plugins, before any file of the checkout is read."""
        for name in self._plugins:
            pluginmanager.load_setuptools_entrypoints("pytest11", name=name)
        self._guard.keep_runner()
        drop_copies(self._checkout)
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
        """Pytest wraps what a test module or a conftest raised on import; the cause is what matters."""
        conftest = ""
        if type(error).__name__ == "ConftestImportFailure":
            conftest = self._describer.relative(getattr(error, "path", ""))
        if conftest or isinstance(error, pytest.Collector.CollectError):
            error = error.__cause__ or error
        return error, conftest

    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._guard.keep_test(item)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, Any, None]:
        yield
        if self._reverse:
            items.reverse()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._look()
        self._log.emit("collected", ids=[item.nodeid for item in session.items])

    def _look(self, test: str = "") -> None:
        """Tell what was tampered with, once for each thing."""
        for problem in self._guard.tampering(test):
            if problem not in self._told:
                self._told.add(problem)
                self._log.hold("tampered", problem=problem)

    # --- running ---

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._look(nodeid)  # between two tests: what the one before replaced for itself is back in place
        self._log.emit("start", id=nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """What was really raised, beside what the report will say of it."""
        result = yield
        if result.excinfo is not None:
            return
        error = call.excinfo.value if call.excinfo is not None else None
        self._made[item.nodeid, call.when] = (result.get_result().outcome, error and self._describer.describe(error))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_assertrepr_compare(
        self, config: pytest.Config, left: object, right: object
    ) -> Generator[None, Any, None]:
        """The run asks pytest for values in full; large ones are told in brief all the same."""
        asked = config.option.verbose
        if max(len(whole_repr(value)) for value in (left, right)) > COMPARED_LIMIT:
            config.option.verbose = 0
        yield
        config.option.verbose = asked

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
        self._look()
        self._log.emit("finish", status=int(exitstatus))


def plugin_names(named: Iterable[str]) -> list[str]:
    """Entry points of the distributions that the project names; all others stay off."""
    names = []
    for distribution in named:
        try:
            points = importlib.metadata.distribution(distribution).entry_points
        except importlib.metadata.PackageNotFoundError:
            continue  # not installed: pytest says so itself where it matters
        names += [point.name for point in points if point.group == "pytest11"]
    return names


def drop_copies(checkout: str) -> None:
    """Take editable installs of this very project off the path: what is missing here must not be found there."""
    own = top_level_names(Path(checkout)) | top_level_names(Path(checkout, "src"))
    installed = {*site.getsitepackages(), *sysconfig.get_paths().values()}
    sys.path[:] = [entry for entry in sys.path if entry in installed or not own & top_level_names(Path(entry))]
    for finder in list(sys.meta_path):
        module = sys.modules.get(getattr(finder, "__module__", ""))
        mapping = getattr(module, "MAPPING", None)  # how setuptools' editable finders say what they serve
        if isinstance(mapping, dict) and own & {str(name).partition(".")[0] for name in mapping}:
            sys.meta_path.remove(finder)


def top_level_names(directory: Path) -> set[str]:
    """What can be imported from a directory: packages and modules, by name."""
    if not directory.is_dir():
        return set()
    return {entry.stem for entry in directory.iterdir() if entry.suffix == ".py" or holds_modules(entry)} - COMMON_NAMES


def holds_modules(directory: Path) -> bool:
    return directory.name.isidentifier() and directory.is_dir() and any(directory.glob("*.py"))


def load_beside(name: str) -> Any:
    """From a file beside this one, by its path: no name leads to it."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name}.py is missing beside the launcher")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_guard(parameters: dict[str, Any]) -> Any:
    return load_beside("guard").Guard(parameters["checkout"], parameters["locked"], parameters["imported_as"])


def some_tests(parameters: dict[str, Any], log: EventLog, plugins: list[str], options: list[str]) -> Callable[..., int]:
    """Runs pytest on some files, with more plugins; to be called in a fork."""

    def run(more: list[Any], only: Any, guard: Any = None) -> int:
        probe = Probe(log, guard or load_guard(parameters), {**parameters, "only": only or []}, plugins)
        return int(pytest.main(options, plugins=[probe, *more]))

    return run


def try_faults(parameters: dict[str, Any], log: EventLog, plugins: list[str], options: list[str]) -> int:
    """Not one run but many, in forks of this process: which deliberate faults do the tests notice?"""

    run = some_tests(parameters, log, plugins, options)
    placed = {"checkout": parameters["checkout"], "locked": parameters["locked"], "shut": [parameters["events"]]}
    order = {**parameters["bite"], **placed}
    tools = types.SimpleNamespace(**{name: load_beside(name) for name in FAULT_TOOLS})
    load_beside("biting").bite(order, tools, run, load_guard(parameters), lambda fact: log.emit("bite", **fact))
    log.emit("bitten")
    return 0


def compare(parameters: dict[str, Any], log: EventLog, plugins: list[str], options: list[str]) -> int:
    """Old code against new, in forks of this process: do the same calls end the same way?"""
    run = some_tests(parameters, log, plugins, options)
    order = {**parameters["parity"], "checkout": parameters["checkout"], "shut": [parameters["events"]]}
    tools = types.SimpleNamespace(**{name: load_beside(name) for name in PARITY_TOOLS})
    comparing = load_beside("comparing")
    comparing.compare(order, tools, run, lambda: load_guard(parameters), lambda fact: log.emit("parity", **fact))
    log.emit("compared")
    return 0


def load_pytest() -> None:
    """Its own plugins, which pytest would import anyhow: here it happens while nobody waits for the run yet."""
    for name in getattr(_pytest.config, "default_plugins", ()):
        importlib.import_module(f"_pytest.{name}")


def main() -> int:
    load_pytest()
    told = sys.stdin.buffer.read()
    if not told:
        return 0  # started in advance, and not needed
    parameters = json.loads(told)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    fcntl.fcntl(parameters["events"], fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    own = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if entry and Path(entry).resolve() != own]
    sys.argv = ["pytest"]
    log = EventLog(parameters["events"], parameters["nonce"])
    plugins = plugin_names(parameters["named"])
    more = [option for name in plugins for option in parameters["plugin_args"].get(name, [])]
    if PYTEST_MAJOR >= 8:  # the setting came with it, and an unknown one is an error under --strict-config
        more.append("--override-ini=verbosity_assertions=auto")
    options = [*more, *parameters["args"]]
    if parameters.get("bite"):
        sys.modules["__main__"] = types.ModuleType("__main__")
        return try_faults(parameters, log, plugins, options)
    if parameters.get("parity"):
        sys.modules["__main__"] = types.ModuleType("__main__")
        return compare(parameters, log, plugins, options)
    probe = Probe(log, load_guard(parameters), parameters, plugins)
    sys.modules["__main__"] = types.ModuleType("__main__")  # what runs the tests is not to be had by a name
    plugins_too = [probe]
    if parameters.get("survey"):
        survey = load_beside("surveying").Survey(
            parameters["checkout"], lambda reached: log.hold("survey", reached=reached)
        )
        plugins_too.append(survey)
        survey.start()
    try:
        status = int(pytest.main(options, plugins=plugins_too))
    except BaseException as error:
        log.emit("aborted", raised=Describer(parameters["checkout"]).describe(error))
        raise
    log.emit("end", status=status)
    return status


if __name__ == "__main__":
    sys.exit(main())
