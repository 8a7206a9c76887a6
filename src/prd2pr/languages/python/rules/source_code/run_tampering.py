"""GRN403, GRN404, GRN406, GRN407, GRN409, GRN410, GRN415: source code that interferes with the test run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping

from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.languages.python.rules.source_code.source_module import SourceFault, SourceModule, make_source_fault
from prd2pr.languages.python.test_model.constants import get_constant_text
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, unparse_node

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "GRN403",
        "the source inspects its callers",
        "With frame inspection the code can read what the test expects.",
        bad="import sys\n\ndef redeem(total, points):\n    return sys._getframe(1).f_locals['expected']",
        good="def redeem(total, points):\n    return total - points",
        remedy="pass what the function needs as an argument.",
    ),
    define_error(
        "GRN404",
        "the source exits the process, or starts one at import",
        "Code that exits the process bypasses the test runner and can forge the result of a run.",
        bad="import os\n\ndef redeem(total, points):\n    os._exit(0)",
        good="def redeem(total, points):\n"
        "    if points < 0:\n"
        "        raise ValueError('negative points')\n"
        "    return total - points",
        remedy="raise an exception; call sys.exit only in main().",
    ),
    define_error(
        "GRN406",
        "the module provides every name",
        "A module `__getattr__` that never raises AttributeError makes every import succeed.",
        bad="def __getattr__(name):\n    return lambda *arguments: 90",
        good="def __getattr__(name):\n"
        "    if name == 'award':   # the old name of earn\n"
        "        return earn\n"
        "    raise AttributeError(name)",
        remedy="raise AttributeError for unknown names.",
    ),
    define_error(
        "GRN407",
        "patches the standard library for the whole process",
        "Patched time, random numbers or built-ins also change what the tests see.",
        bad="import time\n\ntime.time = lambda: 0",
        good="def age(created, now):\n    return now - created",
        remedy="pass a clock or a generator as an argument.",
    ),
    define_warning(
        "GRN409",
        "swallows every exception",
        "A broad handler that does nothing hides faults that the tests would have shown.",
        bad="def points_of(text):\n    try:\n        return int(text)\n    except Exception:\n        pass",
        good="def points_of(text):\n    try:\n        return int(text)\n    except ValueError:\n        return 0",
        remedy="catch only the exception that you expect.",
    ),
    define_warning(
        "GRN410",
        "the result depends on the number of calls",
        "A call counter that decides the result may be tuned to the order of the tests.",
        bad="calls = 0\n"
        "\n"
        "def redeem(total, points):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    return 90 if calls == 1 else 80",
        good="def redeem(total, points):\n    return total - points",
        remedy="make the result depend only on the arguments.",
    ),
    define_error(
        "GRN415",
        "hides failures from the tests",
        "A handler for every exception returns the value that a test expects, or even swallows exceptions that "
        "end the program. The tests pass whether the code works or not.",
        bad="def points_of(text):\n    try:\n        return int(text)\n    except:\n        pass",
        good="def points_of(text):\n    try:\n        return int(text)\n    except ValueError:\n        return 0",
        remedy="catch the exception that you expect, and let all others propagate.",
    ),
)


_FRAME_CALLS = frozenset(
    [
        *(f"sys.{name}" for name in ("_getframe", "_current_frames", "settrace", "setprofile")),
        *(f"sys.monitoring.{name}" for name in ("use_tool_id", "set_events", "register_callback")),
        *(f"inspect.{name}" for name in ("stack", "currentframe", "getouterframes", "getinnerframes", "trace")),
        *(f"traceback.{name}" for name in ("extract_stack", "walk_stack", "format_stack")),
        *(f"gc.{name}" for name in ("get_referrers", "get_objects")),
    ]
)
_FRAME_ATTRIBUTES = frozenset(
    ["tb_frame", "f_back", "f_locals", "f_globals", "f_code", "co_consts", "cr_frame", "_getframe", "_current_frames"]
)
_FRAME_WORDS = _FRAME_ATTRIBUTES | {"settrace", "setprofile"}
_HARD_EXITS = frozenset({"os._exit", "os.abort"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
# Excludes modules that programs configure on purpose: logging, warnings, localization.
_SHARED_MODULES = frozenset(sys.stdlib_module_names) - {"logging", "warnings", "gettext", "locale", "readline", "csv"}
_MUTATING_METHODS = frozenset(
    {"insert", "append", "extend", "setdefault", "pop", "update", "clear", "remove", "__setitem__"}
)
_PROCESS_STARTS = frozenset(
    {"os.fork", "os.setsid", "os.system", "subprocess.Popen", "subprocess.run", "subprocess.call"}
)
_PROCESS_WAITS = frozenset({"os.wait", "os.waitpid", "os.wait3", "os.wait4", "os.waitid"})


# --- GRN403: inspects its caller --------------------------------------------------------------------------------------


_PACKAGE_KEYS = frozenset({"__name__", "__package__", "__spec__"})
_COMPARED_NAMES = frozenset({"__main__", "", None})


def _asks_only_for_package(function: FunctionNode, module: SourceModule) -> bool:
    """Return whether the function only determines which package calls it, and no decision depends on the result.

    The name may be cut at a dot and compared with `__main__`. Any other comparison could recognize the tests.
    """
    frames = [each for each in ast.walk(function) if _reads_frame(each, module)]
    if not frames or any(isinstance(each, ast.Attribute) and each.attr == "f_locals" for each in frames):
        return False
    steps = {"currentframe", "_getframe", "f_back", "f_globals"}
    names = [each.attr if isinstance(each, ast.Attribute) else module.resolve(each) for each in frames]
    held = set(_find_names_of(function, frames))
    asked = [each for each in ast.walk(function) if _reads_globals(each, held)]
    return (
        all(name.rpartition(".")[2] in steps for name in names)
        and bool(asked)
        and all(get_constant_text(_get_key(each)) in _PACKAGE_KEYS for each in asked)
        and all(_COMPARED_NAMES.issuperset(_list_compared_constants(each)) for each in ast.walk(function))
        and not any(_decides_by_text(each) for each in ast.walk(function) if each not in asked)
    )


def _reads_frame(node: ast.AST, module: SourceModule) -> bool:
    if isinstance(node, ast.Attribute | ast.Name) and module.resolve(node) in _FRAME_CALLS:
        return True
    return isinstance(node, ast.Attribute) and node.attr in _FRAME_ATTRIBUTES


def _find_names_of(function: FunctionNode, frames: list[ast.AST]) -> Iterator[str]:
    """Yield the names that are bound to the caller's globals."""
    known = {id(each) for each in frames if isinstance(each, ast.Attribute) and each.attr == "f_globals"}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(id(inner) in known for inner in ast.walk(node.value)):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _reads_globals(node: ast.AST, held: set[str]) -> bool:
    """Return whether the node reads a value of the caller's globals, as in `frame.f_globals["__name__"]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner: ast.expr | None = node.func.value
    else:
        owner = node.value if isinstance(node, ast.Subscript) else None
    return (isinstance(owner, ast.Name) and owner.id in held) or (
        isinstance(owner, ast.Attribute) and owner.attr == "f_globals"
    )


def _get_key(node: ast.AST) -> ast.AST:
    """Return the key that is read, or the node itself if something else is done with the globals."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        return node.args[0]
    return node.slice if isinstance(node, ast.Subscript) else node


def _list_compared_constants(node: ast.AST) -> list[object]:
    compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
    return [each.value if isinstance(each, ast.Constant) else each for each in compared if not _is_plain_name(each)]


def _is_plain_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def _decides_by_text(node: ast.AST) -> bool:
    """Return whether the node searches a text or looks it up in a table. It could be the name of a test module."""
    searches = {"startswith", "endswith", "find", "index", "count", "match", "search", "fullmatch", "pop", "__eq__"}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in searches | {"get", "__contains__", "__getitem__"}
    is_lookup = isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant)
    return is_lookup or isinstance(node, ast.In | ast.NotIn | ast.Match | ast.Dict)


def check_frame_inspection(module: SourceModule) -> Iterator[SourceFault]:
    excused = {
        id(inner)
        for function in module.nodes
        if isinstance(function, FunctionNode) and _asks_only_for_package(function, module)
        for inner in ast.walk(function)
    }
    for node in (each for each in module.nodes if id(each) not in excused):
        if isinstance(node, ast.Attribute | ast.Name) and (name := module.resolve(node)) in _FRAME_CALLS:
            yield make_source_fault("GRN403", node, f"inspects the frames of its callers: `{name}`")
        elif isinstance(node, ast.Attribute) and node.attr in _FRAME_ATTRIBUTES:
            yield make_source_fault("GRN403", node, f"inspects a frame: `.{node.attr}`")
        elif isinstance(node, ast.Call) and module.resolve(node.func) in {"getattr", "operator.attrgetter"}:
            attributes = {get_constant_text(argument) for argument in node.args} & _FRAME_WORDS
            yield from (make_source_fault("GRN403", node, f"inspects a frame: `{name}`") for name in sorted(attributes))


# --- GRN404: ends or leaves the process -------------------------------------------------------------------------------


def check_process_control(module: SourceModule) -> Iterator[SourceFault]:
    functions = {node.name: node for node in module.nodes if isinstance(node, FunctionNode)}
    for node in module.nodes:
        if isinstance(node, ast.Attribute | ast.Name) and (name := module.resolve(node)) in _HARD_EXITS:
            yield make_source_fault("GRN404", node, f"exits the process and bypasses the test runner: `{name}`")
    for name, call in module.iterate_calls():
        if name == "atexit.register" and call.args and _calls_exit(call.args[0], functions, module):
            yield make_source_fault("GRN404", call, "exits the process with its own status from `atexit`")
        if name == "os.kill" and {"os.getpid", "os.getppid"} & {module.resolve(x.func) for x in _list_calls(call)}:
            yield make_source_fault("GRN404", call, "kills its own process")
    yield from _check_orphan_processes(module)


def _check_orphan_processes(module: SourceModule) -> Iterator[SourceFault]:
    """Report processes that outlive their parent: a child without a wait, or a `Popen` object that is not stored."""
    names = {name for name, _ in module.iterate_calls()}
    if "os.fork" in names and not names & _PROCESS_WAITS:
        call = next(call for name, call in module.iterate_calls() if name == "os.fork")
        yield make_source_fault("GRN404", call, "leaves a process running: `os.fork` without waiting for it")
    for node in module.nodes:
        call_of = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call_of, ast.Call) or module.resolve(call_of.func) != "subprocess.Popen":
            continue
        if any(each.arg in {"start_new_session", "preexec_fn", "process_group"} for each in call_of.keywords):
            yield make_source_fault("GRN404", call_of, "leaves a program running: the `Popen` object is not stored")


def _calls_exit(target: ast.expr, functions: Mapping[str, FunctionNode], module: SourceModule) -> bool:
    if module.resolve(target) in _EXITS:
        return True
    body: ast.AST | None = target if isinstance(target, ast.Lambda) else functions.get(get_dotted_name(target))
    return body is not None and any(module.resolve(call.func) in _EXITS for call in _list_calls(body))


def _list_calls(node: ast.AST) -> list[ast.Call]:
    return [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]


def check_import_effects(module: SourceModule) -> Iterator[SourceFault]:
    """Report exits and processes at import, except under `if __name__ == "__main__"`."""
    for statement in module.tree.body:
        if isinstance(statement, FunctionNode | ast.ClassDef) or _is_main_guard(statement):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and (name := module.resolve(node.func)) in _EXITS | _PROCESS_STARTS:
                yield make_source_fault("GRN404", node, f"`{name}` runs when the module is imported")
            elif isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node):
                yield make_source_fault("GRN404", node, "raises SystemExit when the module is imported")


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in {x.id for x in ast.walk(node.test) if isinstance(x, ast.Name)}


# --- GRN406, GRN407: dynamic attributes and patches ----------------------------------------------------------


def check_dynamic_attributes(module: SourceModule) -> Iterator[SourceFault]:
    for node in module.tree.body:
        if isinstance(node, FunctionNode) and node.name == "__getattr__" and not _can_raise(node):
            yield make_source_fault(
                "GRN406", node, "the module's `__getattr__` accepts any name and never raises AttributeError"
            )
    for owner in (node for node in module.nodes if isinstance(node, ast.ClassDef)):
        for item in owner.body:
            if isinstance(item, FunctionNode) and item.name == "__getattr__" and _always_has_attribute(item):
                message = f"`{owner.name}.__getattr__` returns a value for any name, whatever the object contains"
                yield make_source_fault("GRN406", item, message)


def _can_raise(node: FunctionNode) -> bool:
    excused = {id(inner) for each in ast.walk(node) if _refuses_only_underscore(each) for inner in ast.walk(each)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise | ast.Subscript) and id(inner) not in excused:
            return True
        if isinstance(inner, ast.Call) and get_dotted_name(inner.func).rpartition(".")[2] in {
            "getattr",
            "import_module",
        }:
            return True
    return False


def _refuses_only_underscore(node: ast.AST) -> bool:
    """Return whether only names with an underscore are rejected, as in `if name.startswith("_"): raise …`."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    conditions = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return all(
        isinstance(each, ast.Call)
        and get_dotted_name(each.func).rpartition(".")[2] in {"startswith", "endswith"}
        and all(set(get_constant_text(argument)) == {"_"} for argument in each.args)
        for each in conditions
    )


def _always_has_attribute(node: FunctionNode) -> bool:
    """Return whether all results are literals that do not depend on the object.

    A result that does nothing (`lambda *_: None`) may be a null object, and one that uses the name is a proxy.
    """
    parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    if not parameters or not returned or any(isinstance(each, ast.Raise) for each in ast.walk(node)):
        return False
    return all(isinstance(each, ast.Lambda) and _is_literal_answer(each.body, parameters[0]) for each in returned)


def _is_literal_answer(answer: ast.expr, owner: str) -> bool:
    parts = list(ast.walk(answer))
    uses_object = any(isinstance(each, ast.Name) and each.id == owner for each in parts)
    has_literal = any(isinstance(each, ast.Constant) and each.value is not None for each in parts)
    return (
        has_literal
        and not uses_object
        and not any(isinstance(each, ast.Call) and _is_named_call(each) for each in parts)
    )


def _is_named_call(call: ast.Call) -> bool:
    """Return whether a function is called by name, as in a proxy. `{…}.get(name)` is a table lookup."""
    return isinstance(call.func, ast.Name)


def check_patches(module: SourceModule) -> Iterator[SourceFault]:
    for node in module.nodes:
        for target in _list_assigned_targets(node):
            name = module.resolve(target.value if isinstance(target, ast.Subscript) else target)
            if _is_standard_library(name, module) or (isinstance(target, ast.Subscript) and name == "sys.modules"):
                yield make_source_fault("GRN407", node, f"replaces `{name}` for the whole process")
            elif isinstance(target, ast.Attribute) and target.attr == "__code__":
                yield make_source_fault("GRN407", node, f"replaces the code of a function: `{unparse_node(target)}`")
    yield from _check_import_machinery(module)
    for name, call in module.iterate_calls():
        if name == "setattr" and call.args and module.resolve(call.args[0]) in _SHARED_MODULES:
            yield make_source_fault(
                "GRN407", call, f"replaces a part of `{module.resolve(call.args[0])}` for the whole process"
            )
        if name == "random.seed" and call.args and isinstance(call.args[0], ast.Constant):
            yield make_source_fault("GRN407", call, "seeds the global random generator with a constant")


def _check_import_machinery(module: SourceModule) -> Iterator[SourceFault]:
    """Report changes to the import system. The search path may be changed at run time but not at import."""
    for name, call in module.iterate_calls():
        owner, _, verb = name.rpartition(".")
        if verb in _MUTATING_METHODS and owner in {
            "sys.modules",
            "sys.meta_path",
            "sys.path_hooks",
            "sys.path_importer_cache",
        }:
            yield make_source_fault("GRN407", call, f"changes how every import is resolved: `{name}`")
    for node in module.nodes:
        for target in node.targets if isinstance(node, ast.Delete) else ():
            if isinstance(target, ast.Subscript) and module.resolve(target.value) == "sys.modules":
                yield make_source_fault("GRN407", node, "removes a module from `sys.modules`")
    for statement in module.tree.body:
        if isinstance(statement, FunctionNode | ast.ClassDef) or _is_main_guard(statement):
            continue
        for call in _list_calls(statement):
            owner, _, verb = module.resolve(call.func).rpartition(".")
            if (owner, verb) == ("time", "tzset"):
                yield make_source_fault("GRN407", call, "sets the time zone of the whole process at import")
            if owner == "sys.path" and verb in _MUTATING_METHODS:
                yield make_source_fault(
                    "GRN407", call, f"`sys.path.{verb}` at import changes how every import is resolved"
                )


def _list_assigned_targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [x for x in node.targets if isinstance(x, ast.Attribute | ast.Subscript)]
    if isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Attribute):
        return [node.target]
    return []


def _is_standard_library(name: str, module: SourceModule) -> bool:
    """Return whether the name belongs to an imported standard library module and is not a variable of that name."""
    head, _, rest = name.partition(".")
    if head != "builtins" and all(each.partition(".")[0] != head for each in module.imports.values()):
        return False
    harmless = {"sys.stdout", "sys.stderr", "sys.stdin", "sys.path", "sys.excepthook", "sys.argv", "os.environ"}
    return head in _SHARED_MODULES and bool(rest) and name not in harmless


# --- warnings: GRN409, GRN410 -----------------------------------------------------------------------------------------


def check_swallowed_exceptions(module: SourceModule) -> Iterator[SourceFault]:
    for node in module.nodes:
        if (
            isinstance(node, ast.ExceptHandler)
            and _is_broad_handler(node)
            and all(_does_nothing(item) for item in node.body)
        ):
            yield make_source_fault("GRN409", node, "swallows every exception")
            if node.type is None or get_dotted_name(node.type) == "BaseException":
                yield make_source_fault("GRN415", node, "silently swallows even exceptions that end the program")
        elif isinstance(node, ast.Try) and _contains_return(node.finalbody):
            yield make_source_fault("GRN415", node, "returns from `finally`, which discards every exception")
        elif isinstance(node, FunctionNode) and node.name == "__exit__" and _always_returns_true(node):
            yield make_source_fault("GRN415", node, "suppresses every exception: `__exit__` always returns True")
    for name, call in module.iterate_calls():
        if (
            name.endswith(".push")
            and call.args
            and isinstance(call.args[0], ast.Lambda)
            and _is_true(call.args[0].body)
        ):
            yield make_source_fault("GRN415", call, "suppresses every exception")
        if name == "contextlib.suppress" and "BaseException" in {get_dotted_name(each) for each in call.args}:
            yield make_source_fault("GRN415", call, "suppresses even exceptions that end the program")


def _always_returns_true(node: FunctionNode) -> bool:
    """Return whether every return value is True.

    A method that checks the exception has another return or a condition.
    """
    returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    return (
        bool(returned)
        and all(each is not None and _is_true(each) for each in returned)
        and _contains_return(node.body[-1:])
    )


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _contains_return(body: list[ast.stmt]) -> bool:
    """Return whether the statements contain a `return`, ignoring nested functions."""
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            continue
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        if isinstance(node, ast.Return) or _contains_return(inner):
            return True
    return False


def _is_broad_handler(node: ast.ExceptHandler) -> bool:
    return node.type is None or get_dotted_name(node.type) in {"Exception", "BaseException"}


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return):
        return node.value is None or isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass | ast.Continue)


def check_call_counters(module: SourceModule) -> Iterator[SourceFault]:
    """Report functions whose result depends on the number of calls."""
    for function in (node for node in module.nodes if isinstance(node, FunctionNode)):
        shared = {
            name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
        }
        counted = {
            name
            for node in ast.walk(function)
            if isinstance(node, ast.AugAssign)
            and (name := get_dotted_name(node.target))
            and (name in shared or name.split(".")[0] == function.name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Compare) and {get_dotted_name(node.left)} & counted:
                yield make_source_fault(
                    "GRN410", node, f"the result of `{function.name}` depends on the number of calls"
                )
