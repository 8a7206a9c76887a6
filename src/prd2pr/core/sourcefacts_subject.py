"""Signs that source code knows it is tested, or reaches into the run that tests it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.testfacts_model import FunctionNode, dotted, resolve

_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "pluggy"})
_FRAME_CALLS = frozenset(
    [
        *(f"sys.{name}" for name in ("_getframe", "_current_frames", "settrace", "setprofile")),
        *(f"inspect.{name}" for name in ("stack", "currentframe", "getouterframes", "getinnerframes", "trace")),
        *(f"traceback.{name}" for name in ("extract_stack", "walk_stack", "format_stack")),
        *(f"gc.{name}" for name in ("get_referrers", "get_objects")),
    ]
)
_FRAME_ATTRIBUTES = frozenset({"tb_frame", "f_back", "f_locals", "f_globals", "f_code"})
_ENDINGS = frozenset({"os._exit", "os.abort"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
_SHARED_MODULES = frozenset({"time", "random", "datetime", "builtins", "math", "os", "sys", "decimal", "secrets"})
_LAUNCHES = frozenset({"os.fork", "os.setsid", "os.system", "subprocess.Popen", "subprocess.run", "subprocess.call"})


@dataclass(frozen=True)
class Sighting:
    code: str
    key: str  # what makes two sightings the same, whatever the line
    line: int
    message: str


@dataclass(frozen=True)
class SourceModule:
    tree: ast.Module
    imports: Mapping[str, str]

    def name(self, node: ast.AST) -> str:
        return resolve(dotted(node), self.imports)

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield self.name(node.func), node


def _sighting(code: str, node: ast.AST, message: str) -> Sighting:
    return Sighting(code, ast.dump(node), getattr(node, "lineno", 0), message)


def constant_text(node: ast.AST) -> str:
    """A string constant, also one that is glued together from constants."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant_text(node.left), constant_text(node.right)
        return left + right if left and right else ""
    if isinstance(node, ast.JoinedStr):
        parts = [constant_text(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        return "".join(parts) if all(parts) else ""
    return ""


# --- GRN401: knows the test runner ------------------------------------------------------------------------------------


def runner_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        yield from _runner_imports(node)
        if (name := _asks_for_runner(node, module)) is not None:
            yield _sighting("GRN401", node, f"asks whether a test is running: `{name}`")


def _runner_imports(node: ast.AST) -> Iterator[Sighting]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [node.module or ""]
    elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in {
        "__import__",
        "import_module",
        "find_spec",
    }:
        names = [constant_text(argument) for argument in node.args[:1]]
    for name in names:
        if name.split(".")[0] in _RUNNERS:
            yield _sighting("GRN401", node, f"source imports `{name}`: it can tell that it is tested")


def _asks_for_runner(node: ast.AST, module: SourceModule) -> str | None:
    text = constant_text(node)
    if text.startswith("PYTEST_") and text != "PYTEST_":
        return text
    if not isinstance(node, ast.Compare | ast.Subscript | ast.Call | ast.comprehension):
        return None
    names = {module.name(inner) for inner in ast.walk(node) if isinstance(inner, ast.Attribute | ast.Name)}
    asked = names & {"sys.modules", "sys.argv", "sys.orig_argv"}
    told = [text for inner in ast.walk(node) if (text := constant_text(inner))]
    if asked and any(_RUNNERS & set(text.replace(".", " ").split()) or text == "conftest" for text in told):
        return min(asked)
    return None


# --- GRN403, GRN411: reads who calls ----------------------------------------------------------------------------------


def frame_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name) and (name := module.name(node)) in _FRAME_CALLS:
            yield _sighting("GRN403", node, f"looks at the frames of its callers: `{name}`")
        elif isinstance(node, ast.Attribute) and node.attr in _FRAME_ATTRIBUTES:
            yield _sighting("GRN403", node, f"looks into a frame: `.{node.attr}`")


def reading_sightings(module: SourceModule) -> Iterator[Sighting]:
    for name, call in module.calls():
        if name.rpartition(".")[2] not in {
            "open",
            "Path",
            "PurePath",
            "getline",
            "getlines",
            "glob",
            "rglob",
            "listdir",
        }:
            continue
        for argument in call.args:
            text = constant_text(argument)
            parts = text.replace("\\", "/").split("/")
            if parts[0] == "tests" or "conftest.py" in parts or parts[-1].startswith("test_"):
                yield _sighting("GRN411", call, f"source reads the tests: `{text}`")


# --- GRN404: ends or leaves the process -------------------------------------------------------------------------------


def exit_sightings(module: SourceModule) -> Iterator[Sighting]:
    functions = {node.name: node for node in ast.walk(module.tree) if isinstance(node, FunctionNode)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name) and (name := module.name(node)) in _ENDINGS:
            yield _sighting("GRN404", node, f"ends the process behind the test runner's back: `{name}`")
    for name, call in module.calls():
        if name == "atexit.register" and call.args and _exits(call.args[0], functions, module):
            yield _sighting("GRN404", call, "ends the process with a status of its own from `atexit`")
        if name == "os.kill" and {"os.getpid", "os.getppid"} & {module.name(x.func) for x in _calls(call)}:
            yield _sighting("GRN404", call, "kills its own process")
    yield from _import_time(module)


def _exits(target: ast.expr, functions: Mapping[str, FunctionNode], module: SourceModule) -> bool:
    if module.name(target) in _EXITS:
        return True
    body: ast.AST | None = target if isinstance(target, ast.Lambda) else functions.get(dotted(target))
    return body is not None and any(module.name(call.func) in _EXITS for call in _calls(body))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]


def _import_time(module: SourceModule) -> Iterator[Sighting]:
    """What runs when the module is imported, `if __name__ == "__main__"` aside."""
    for statement in module.tree.body:
        if isinstance(statement, FunctionNode | ast.ClassDef) or _is_main_guard(statement):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and (name := module.name(node.func)) in _EXITS | _LAUNCHES:
                yield _sighting("GRN404", node, f"`{name}` runs when the module is imported")
            elif isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node):
                yield _sighting("GRN404", node, "raises SystemExit when the module is imported")


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in {x.id for x in ast.walk(node.test) if isinstance(x, ast.Name)}


# --- GRN405, GRN406, GRN407: answers right whatever is asked ----------------------------------------------------------


def equality_sightings(module: SourceModule) -> Iterator[Sighting]:
    for owner in (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)):
        for item in owner.body:
            compares = _comparison(item)
            if compares is not None and ignores_other(compares[1]):
                why = f"`{owner.name}.{compares[0]}` does not look at what it is compared with"
                yield _sighting("GRN405", item, why)


def _comparison(item: ast.stmt) -> tuple[str, FunctionNode | ast.Lambda] | None:
    if isinstance(item, FunctionNode) and item.name in {"__eq__", "__ne__"}:
        return item.name, item
    if (
        isinstance(item, ast.Assign)
        and dotted(item.targets[0]) in {"__eq__", "__ne__"}
        and isinstance(item.value, ast.Lambda)
    ):
        return dotted(item.targets[0]), item.value
    return None


def ignores_other(node: FunctionNode | ast.Lambda) -> bool:
    parameters = [*node.args.posonlyargs, *node.args.args]
    if len(parameters) < 2:
        return True
    body = node.body if isinstance(node.body, list) else [node.body]
    values = [inner for statement in body for inner in ast.walk(statement)]
    returned = [x.value for x in values if isinstance(x, ast.Return)] if isinstance(node, FunctionNode) else [node.body]
    if returned and all(isinstance(value, ast.Constant) and value.value is True for value in returned):
        return True
    raises = any(isinstance(inner, ast.Raise) for inner in values)
    return not raises and parameters[1].arg not in {inner.id for inner in values if isinstance(inner, ast.Name)}


def getattr_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in module.tree.body:
        if isinstance(node, FunctionNode) and node.name == "__getattr__" and not _can_say_no(node):
            yield _sighting(
                "GRN406", node, "the module's `__getattr__` answers to any name and never raises AttributeError"
            )


def _can_say_no(node: FunctionNode) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise | ast.Subscript):
            return True
        if isinstance(inner, ast.Call) and dotted(inner.func).rpartition(".")[2] in {"getattr", "import_module"}:
            return True
    return False


def patch_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        for target in _assigned(node):
            name = module.name(target.value if isinstance(target, ast.Subscript) else target)
            if _is_shared(name) or (isinstance(target, ast.Subscript) and name == "sys.modules"):
                yield _sighting("GRN407", node, f"replaces `{name}` for the whole process")
    for name, call in module.calls():
        if name == "setattr" and call.args and module.name(call.args[0]) in _SHARED_MODULES:
            yield _sighting("GRN407", call, f"replaces a part of `{module.name(call.args[0])}` for the whole process")
        if name == "random.seed" and call.args and isinstance(call.args[0], ast.Constant):
            yield _sighting("GRN407", call, "seeds the process-wide random numbers with a constant")


def _assigned(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [x for x in node.targets if isinstance(x, ast.Attribute | ast.Subscript)]
    if isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Attribute):
        return [node.target]
    return []


def _is_shared(name: str) -> bool:
    head, _, rest = name.partition(".")
    harmless = {"sys.stdout", "sys.stderr", "sys.stdin", "sys.path", "sys.excepthook", "sys.argv", "os.environ"}
    return head in _SHARED_MODULES and bool(rest) and name not in harmless


# --- warnings: GRN409, GRN410 -----------------------------------------------------------------------------------------


def swallow_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and all(_says_nothing(item) for item in node.body):
            yield _sighting("GRN409", node, "swallows every exception")


def _is_broad(node: ast.ExceptHandler) -> bool:
    return node.type is None or dotted(node.type) in {"Exception", "BaseException"}


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return):
        return node.value is None or isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass | ast.Continue)


def counter_sightings(module: SourceModule) -> Iterator[Sighting]:
    """An answer that depends on how often it was asked for."""
    for function in (node for node in ast.walk(module.tree) if isinstance(node, FunctionNode)):
        shared = {
            name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names
        }
        counted = {
            name
            for node in ast.walk(function)
            if isinstance(node, ast.AugAssign)
            and (name := dotted(node.target))
            and (name in shared or name.split(".")[0] == function.name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Compare) and {dotted(node.left)} & counted:
                yield _sighting("GRN410", node, f"`{function.name}` answers by how often it was called")
