"""Signs that source code knows its tests: it asks whether one is running, imports them or reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.sourcefacts_subject import Sighting, SourceModule, constant_text, sighting
from prd2pr.core.testfacts_model import FunctionNode, dotted

RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "pluggy"})

# --- GRN401: knows the test runner ------------------------------------------------------------------------------------


def runner_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        yield from _runner_imports(node)
        if (name := _asks_for_runner(node, module)) is not None:
            yield sighting("GRN401", node, f"asks whether a test is running: `{name}`")


def _runner_imports(node: ast.AST) -> Iterator[Sighting]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = _imported_from(node)
    elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in {
        "__import__",
        "import_module",
        "find_spec",
    }:
        names = [constant_text(argument) for argument in node.args[:1]]
    for name in names:
        if name.split(".")[0] in RUNNERS or name == "__main__":
            yield sighting("GRN401", node, f"source imports `{name}`: it can tell that it is tested")
        elif _is_of_tests(name):
            yield sighting("GRN411", node, f"source imports the tests: `{name}`")


def _asks_for_runner(node: ast.AST, module: SourceModule) -> str | None:
    text = constant_text(node)
    if (text.startswith("PYTEST_") and text != "PYTEST_") or "CURRENT_TEST" in text:
        return text
    if isinstance(node, ast.comprehension | ast.For) and _goes_through_modules(node.iter, module):
        return "sys.modules"
    if isinstance(node, ast.If | ast.IfExp) and _asks_for_program(node.test, module):
        return "sys.argv[0]"
    if not isinstance(node, ast.Compare | ast.Subscript | ast.Call | ast.comprehension):
        return None
    names = {module.name(inner) for inner in ast.walk(node) if isinstance(inner, ast.Attribute | ast.Name)}
    asked = names & {"sys.modules", "sys.argv", "sys.orig_argv"}
    told = [text for inner in ast.walk(node) if (text := constant_text(inner))]
    if asked and any(RUNNERS & set(text.replace(".", " ").split()) or _is_of_tests(text) for text in told):
        return min(asked)
    return None


def _imported_from(node: ast.ImportFrom) -> list[str]:
    """The module, and what is taken out of a package of tests; `.` stands for the package of a relative import."""
    module = ".".join([*(["here"] if node.level else []), *([node.module] if node.module else [])])
    package = module.rpartition(".")[2] in {"tests", "here"}
    return [module, *(f"{module}.{alias.name}" for alias in node.names if package and alias.name.startswith("test_"))]


def _is_of_tests(name: str) -> bool:
    """`tests.helpers`, `shop.tests.test_cart`, `test_cart`, `conftest`; a module `shop.tests` may be anything."""
    parts = name.split(".")
    inside = parts[0] == "tests" or "tests" in parts[:-1] or "conftest" in parts or parts[-1].startswith("test_")
    return inside and all(part.isidentifier() for part in parts)


def _goes_through_modules(node: ast.expr, module: SourceModule) -> bool:
    """Whoever looks at every loaded module finds the runner and the tests among them."""
    names = {module.name(x) for x in ast.walk(node) if isinstance(x, ast.Attribute | ast.Name)}
    one = any(isinstance(x, ast.Subscript) and module.name(x.value) == "sys.modules" for x in ast.walk(node))
    return "sys.modules" in names and not one


def _asks_for_program(test: ast.expr, module: SourceModule) -> bool:
    """`sys.argv[0].endswith("st")`; that a program was started as `__main__.py` is for its usage line."""
    first = [
        x
        for x in ast.walk(test)
        if isinstance(x, ast.Subscript)
        and module.name(x.value) in {"sys.argv", "sys.orig_argv"}
        and isinstance(x.slice, ast.Constant)
        and x.slice.value == 0
    ]
    told = [constant_text(x) for x in ast.walk(test) if constant_text(x)]
    return bool(first) and bool(told) and not any("__main__" in text for text in told)


# --- GRN411: reads the tests ------------------------------------------------------------------------------------------

_READERS = frozenset({"open", "Path", "PurePath", "getline", "getlines", "glob", "rglob", "listdir"})
_LISTS = frozenset({"iterdir", "glob", "rglob", "listdir", "scandir", "walk"})
_CONTENTS = frozenset({"open", "read_text", "read_bytes", "write_text", "write_bytes", "getlines"})


def reading_sightings(module: SourceModule) -> Iterator[Sighting]:
    for name, call in module.calls():
        if name.rpartition(".")[2] in _READERS:
            for argument in call.args:
                text = constant_text(argument)
                if _is_test_path(text):
                    yield sighting("GRN411", call, f"source reads the tests: `{text}`")
    for node in ast.walk(module.tree):
        text = constant_text(node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else ""
        if _is_test_path(text) and text.endswith(".py"):
            yield sighting("GRN411", node, f"source reaches for the tests: `{text}`")
    yield from _looks_around(module)


def _is_test_path(text: str) -> bool:
    parts = text.replace("\\", "/").split("/")
    return parts[0] == "tests" or "conftest.py" in parts or parts[-1].startswith("test_")


def _looks_around(module: SourceModule) -> Iterator[Sighting]:
    """Opens whatever Python files lie beside it. Data in a directory of its own, or of another kind, is fine."""
    homes = {
        dotted(target)
        for node in module.tree.body
        if isinstance(node, ast.Assign) and _is_own_directory(node.value, set())
        for target in node.targets
    }
    functions = [node for node in ast.walk(module.tree) if isinstance(node, FunctionNode)]
    inside = {id(x) for function in functions for x in ast.walk(function)}
    top = [node for node in module.tree.body if not isinstance(node, FunctionNode | ast.ClassDef)]
    for scope in (*functions, *top):
        calls = [x for x in ast.walk(scope) if isinstance(x, ast.Call) and (scope in functions or id(x) not in inside)]
        reads = any(_verb(call) in _CONTENTS for call in calls)
        for call in calls:
            if reads and _verb(call) in _LISTS and _lists_own_code(call, homes):
                yield sighting("GRN411", call, f"source opens the code that lies beside it: `{ast.unparse(call)}`")


def _verb(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)


def _lists_own_code(call: ast.Call, homes: set[str]) -> bool:
    pattern = constant_text(call.args[0]) if call.args else ""
    if "." in pattern and not pattern.endswith((".py", ".*")):
        return False  # `glob("*.sql")`
    places = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    return any(_is_own_directory(place, homes) for place in places)


def _is_own_directory(node: ast.expr, homes: set[str]) -> bool:
    """`Path(__file__).parent`, and not `Path(__file__).parent / "templates"`."""
    joined = any(isinstance(x, ast.BinOp) or (isinstance(x, ast.Call) and _verb(x) == "join") for x in ast.walk(node))
    names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
    return not joined and ("__file__" in names or bool(names & homes))
