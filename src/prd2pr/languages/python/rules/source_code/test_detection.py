"""GRN401, GRN411, GRN414: source code that detects, imports or reads its tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.languages.python.rules.source_code.source_module import SourceFault, SourceModule, make_source_fault
from prd2pr.languages.python.test_model.constants import get_constant_text
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, unparse_node

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "GRN401",
        "the source detects that it is being tested",
        "It imports the test runner or checks whether a test is running, so it can behave differently under test.",
        bad="import os\n"
        "\n"
        "def redeem(total, points):\n"
        "    if 'PYTEST_CURRENT_TEST' in os.environ:\n"
        "        return 90\n"
        "    return 0",
        good="def redeem(total, points):\n    return total - points",
        remedy="remove the check; the subject must not know about its tests.",
    ),
    define_error(
        "GRN411",
        "the source reads the tests",
        "Code that opens test files can read the expected values from them.",
        bad="def redeem(total, points):\n"
        "    text = open('tests/test_redeem.py').read()\n"
        "    return int(text.rpartition('== ')[2])",
        good="def redeem(total, points):\n    return total - points",
        remedy="remove it.",
    ),
    define_warning(
        "GRN414",
        "checks whether it runs in CI or under test",
        "A variable such as `CI` or `TESTING` may control how much is printed. If it decides the result, the "
        "tested behavior differs from the behavior elsewhere.",
        bad="import os\n\ndef redeem(total, points):\n    return total - points if os.environ.get('CI') else total",
        good="def redeem(total, points):\n    return total - points",
        remedy="control the difference with a setting of the program.",
    ),
)


RUNNERS = frozenset({"pytest", "_pytest", "unittest", "nose", "pluggy"})
_READING_CALLS = frozenset({"open", "Path", "PurePath", "getline", "getlines", "glob", "rglob", "listdir"})
_LISTING_CALLS = frozenset({"iterdir", "glob", "rglob", "listdir", "scandir", "walk"})
_CONTENT_CALLS = frozenset({"open", "read_text", "read_bytes", "write_text", "write_bytes", "getlines"})
_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "pluggy"})
_SYS_ATTRIBUTES = frozenset({"modules", "argv", "orig_argv"})
# How the process was started or is traced. No result may depend on it.
_RUN_ATTRIBUTES = frozenset({"sys.flags", "sys.dont_write_bytecode", "sys.meta_path", "sys.gettrace", "sys.getprofile"})
_PYTEST_STREAMS = frozenset(
    {"DontReadFromInput", "EncodedFile", "CaptureIO"}
)  # pytest's replacements for the standard streams
_PROC_FILES = tuple(f"/proc/self/{name}" for name in ("cmdline", "environ", "comm", "maps", "status"))
_COLLECTING_CALLS = frozenset({"len", "list", "sorted", "tuple", "set", "str", "repr", "frozenset"})
_PYTEST_VARIABLES = "PYTEST_CURRENT_TEST PYTEST_DISABLE_PLUGIN_AUTOLOAD PYTEST_VERSION"
_MIN_WORD_LENGTH = 3  # minimum length of a word to search for
# Variables that tell a program that it runs in CI or under test.
_CI_NAMES = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TRAVIS", "CIRCLECI", "JENKINS_URL", "BUILDKITE", "TF_BUILD")
_TEST_NAMES = ("TESTING", "TEST", "TEST_MODE", "TEST_ENV", "IS_TEST", "UNITTEST", "RUNNING_TESTS", "UNDER_TEST")
_HANDLER_CHANGES = "addHandler removeHandler basicConfig dictConfig fileConfig clear append remove extend"
_HANDLER_METHODS = frozenset(f"{_HANDLER_CHANGES} setLevel flush close setFormatter emit handle".split())
_FILE_TIMES = frozenset({"st_mtime", "st_ctime", "st_mtime_ns", "getmtime", "getctime"})
_ORIGIN_ATTRIBUTES = frozenset({"__module__", "__qualname__", "__file__", "co_filename", "__code__"})
_ENVIRONMENT_NAMES = frozenset({*_CI_NAMES, *_TEST_NAMES})


# --- GRN401: knows the test runner ------------------------------------------------------------------------------------


def check_runner_detection(module: SourceModule) -> Iterator[SourceFault]:
    for node in module.nodes:
        yield from _check_runner_imports(node)
        if (name := _find_runner_check(node, module)) is not None:
            yield make_source_fault("GRN401", node, f"checks whether a test is running: `{name}`")


def _check_runner_imports(node: ast.AST) -> Iterator[SourceFault]:
    names: list[str] = []
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = _list_imported_modules(node)
    elif isinstance(node, ast.Call) and get_dotted_name(node.func).rpartition(".")[2] in {
        "__import__",
        "import_module",
        "find_spec",
    }:
        names = [get_constant_text(argument) for argument in node.args[:1]]
    for name in names:
        if name.split(".")[0] in RUNNERS or name == "__main__":
            yield make_source_fault("GRN401", node, f"source imports `{name}`, so it can detect tests")
        elif _is_test_module(name):
            yield make_source_fault("GRN411", node, f"source imports the tests: `{name}`")


def _find_runner_check(node: ast.AST, module: SourceModule) -> str | None:
    text = get_constant_text(node)
    if (text.startswith("PYTEST_") and text != "PYTEST_") or "CURRENT_TEST" in text:
        return text
    if isinstance(node, ast.comprehension | ast.For) and _iterates_modules(node.iter, module):
        return "sys.modules"
    if isinstance(node, ast.If | ast.IfExp) and _checks_program_name(node.test, module):
        return "sys.argv[0]"
    if not isinstance(node, ast.Compare | ast.Subscript | ast.Call | ast.comprehension):
        return None
    names = {module.resolve(inner) for inner in ast.walk(node) if isinstance(inner, ast.Attribute | ast.Name)}
    sources = names & {"sys.modules", "sys.argv", "sys.orig_argv"}
    texts = [text for inner in ast.walk(node) if (text := get_constant_text(inner))]
    if sources and any(RUNNERS & set(text.replace(".", " ").split()) or _is_test_module(text) for text in texts):
        return min(sources)
    return None


def _list_imported_modules(node: ast.ImportFrom) -> list[str]:
    """Return the imported module and test modules. Relative imports start with `here`."""
    module = ".".join([*(["here"] if node.level else []), *([node.module] if node.module else [])])
    package = module.rpartition(".")[2] in {"tests", "here"}
    return [module, *(f"{module}.{alias.name}" for alias in node.names if package and alias.name.startswith("test_"))]


def _is_test_module(name: str) -> bool:
    """Return whether the name is a test module, such as `tests.helpers`, `test_cart` or `conftest`.

    `shop.tests` may be anything, so it does not count.
    """
    parts = name.split(".")
    inside = parts[0] == "tests" or "tests" in parts[:-1] or "conftest" in parts or parts[-1].startswith("test_")
    return inside and all(part.isidentifier() for part in parts)


def _iterates_modules(node: ast.expr, module: SourceModule) -> bool:
    """Return whether the node iterates over all loaded modules, which include the test runner and the tests."""
    names = {module.resolve(x) for x in ast.walk(node) if isinstance(x, ast.Attribute | ast.Name)}
    one = any(isinstance(x, ast.Subscript) and module.resolve(x.value) == "sys.modules" for x in ast.walk(node))
    return "sys.modules" in names and not one


def _checks_program_name(test: ast.expr, module: SourceModule) -> bool:
    """Return whether the condition checks the program name, as in `sys.argv[0].endswith("st")`.

    `__main__` is allowed.
    """
    first = [
        x
        for x in ast.walk(test)
        if isinstance(x, ast.Subscript)
        and module.resolve(x.value) in {"sys.argv", "sys.orig_argv"}
        and isinstance(x.slice, ast.Constant)
        and x.slice.value == 0
    ]
    texts = [get_constant_text(x) for x in ast.walk(test) if get_constant_text(x)]
    return bool(first) and bool(texts) and not any("__main__" in text for text in texts)


# --- GRN411: reads the tests ------------------------------------------------------------------------------------------


def check_test_reading(module: SourceModule) -> Iterator[SourceFault]:
    for name, call in module.iterate_calls():
        if name.rpartition(".")[2] in _READING_CALLS:
            for argument in call.args:
                text = get_constant_text(argument)
                if _is_test_path(text):
                    yield make_source_fault("GRN411", call, f"source reads the tests: `{text}`")
    for node in module.nodes:
        text = get_constant_text(node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else ""
        if _is_test_path(text) and text.endswith(".py"):
            yield make_source_fault("GRN411", node, f"source uses the path of a test: `{text}`")
    yield from _check_own_directory_reads(module)


def _is_test_path(text: str) -> bool:
    parts = text.replace("\\", "/").split("/")
    return parts[0] == "tests" or "conftest.py" in parts or parts[-1].startswith("test_")


def _check_own_directory_reads(module: SourceModule) -> Iterator[SourceFault]:
    """Report code that opens the Python files in its own directory. Data files and subdirectories are allowed."""
    homes = {
        get_dotted_name(target)
        for node in module.tree.body
        if isinstance(node, ast.Assign) and _is_own_directory(node.value, set())
        for target in node.targets
    }
    functions = [node for node in module.nodes if isinstance(node, FunctionNode)]
    inside = {id(x) for function in functions for x in ast.walk(function)}
    top = [node for node in module.tree.body if not isinstance(node, FunctionNode | ast.ClassDef)]
    for scope in (*functions, *top):
        calls = [x for x in ast.walk(scope) if isinstance(x, ast.Call) and (scope in functions or id(x) not in inside)]
        reads = any(_get_called_name(call) in _CONTENT_CALLS for call in calls)
        for call in calls:
            if reads and _get_called_name(call) in _LISTING_CALLS and _lists_own_directory(call, homes):
                yield make_source_fault(
                    "GRN411", call, f"source reads the code in its own directory: `{unparse_node(call)}`"
                )


def _get_called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else get_dotted_name(call.func)


def _lists_own_directory(call: ast.Call, homes: set[str]) -> bool:
    pattern = get_constant_text(call.args[0]) if call.args else ""
    if "." in pattern and not pattern.endswith((".py", ".*")):
        return False  # `glob("*.sql")`
    places = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
    return any(_is_own_directory(place, homes) for place in places)


def _is_own_directory(node: ast.expr, homes: set[str]) -> bool:
    """Return whether the node is `Path(__file__).parent`, but not `Path(__file__).parent / "templates"`."""
    joined = any(
        isinstance(x, ast.BinOp) or (isinstance(x, ast.Call) and _get_called_name(x) == "join") for x in ast.walk(node)
    )
    names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
    return not joined and ("__file__" in names or bool(names & homes))


# --- GRN401, GRN414: checks its environment ---------------------------------------------------------------------------


def check_environment_detection(module: SourceModule) -> Iterator[SourceFault]:
    words = _find_text_constants(module.tree)
    modules = _find_aliases(module, "sys.modules")
    for node in module.nodes:
        yield from _check_indirect_sys(node, module)
        yield from _check_loaded_modules(node, module, words, modules)
        yield from _check_searches(node, module)
        yield from _check_own_process(node)
        if isinstance(node, ast.Attribute) and module.resolve(node) in _RUN_ATTRIBUTES:
            yield make_source_fault("GRN401", node, f"checks how it is run: `{unparse_node(node)}`")
        yield from _check_ci_variables(node, module)
        yield from _check_origin(node)
    yield from _check_log_handlers(module)


def _check_log_handlers(module: SourceModule) -> Iterator[SourceFault]:
    """Report checks of log handlers, which can detect a test runner. Code that configures handlers may check them."""
    for scope in _list_scopes(module.tree):
        own = list(_walk_scope(scope))
        changes = {
            each.func.attr for each in own if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
        }
        if changes & _HANDLER_METHODS:
            continue
        for node in own:
            condition = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
            if not isinstance(node, ast.If | ast.IfExp | ast.While | ast.BoolOp | ast.BinOp | ast.Compare | ast.Call):
                continue
            if isinstance(node, ast.Call) and module.resolve(node.func) not in _COLLECTING_CALLS | {
                "bool",
                "any",
                "all",
                "int",
            }:
                continue
            found = next((each for each in ast.walk(condition) if _is_root_handlers(each, module)), None)
            if found is not None:
                yield make_source_fault("GRN401", found, f"depends on the log handlers: `{unparse_node(found)}`")
                break


def _list_scopes(tree: ast.Module) -> list[ast.AST]:
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, FunctionNode | ast.Lambda))]


def _walk_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """Walk the nodes of a scope, skipping nested functions."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, FunctionNode | ast.Lambda):
            yield child
            yield from _walk_scope(child)


def _is_root_handlers(node: ast.AST, module: SourceModule) -> bool:
    """Return whether the node reads handlers of the root logger, as in `logging.getLogger().handlers`."""
    if not isinstance(node, ast.Attribute) or node.attr not in {"handlers", "hasHandlers"}:
        return False
    owner = node.value
    if isinstance(owner, ast.Call):
        return module.resolve(owner.func) == "logging.getLogger" and not owner.args
    return module.resolve(owner) in {"logging.root", "logging.Logger.root"}


def _check_origin(node: ast.AST) -> Iterator[SourceFault]:
    """Report checks of the module in which an argument was defined, as in `work.__module__.startswith("test_")`."""
    if not isinstance(node, ast.Compare | ast.Call):
        return
    parts = list(ast.walk(node))
    attributes = {each.attr for each in parts if isinstance(each, ast.Attribute)}
    if (
        isinstance(node, ast.Compare)
        and attributes & _FILE_TIMES
        and "__file__" in {get_dotted_name(each) for each in parts}
    ):
        yield make_source_fault("GRN401", node, f"checks the age of its own code: `{unparse_node(node)[:60]}`")
    origins = attributes & _ORIGIN_ATTRIBUTES
    texts = [text for each in parts if (text := get_constant_text(each))]
    if origins and any("test" in text.lower() for text in texts):
        yield make_source_fault(
            "GRN401", node, f"checks whether an argument comes from a test: `{unparse_node(node)[:60]}`"
        )


def _find_text_constants(tree: ast.Module) -> dict[str, str]:
    """Return the names that are bound once, to a string."""
    bound: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                bound.setdefault(target.id, []).append(get_constant_text(node.value))
    return {name: texts[0] for name, texts in bound.items() if len(texts) == 1 and texts[0]}


def _find_aliases(module: SourceModule, name: str) -> frozenset[str]:
    """Return the name and its aliases."""
    aliases = [
        target.id
        for node in module.nodes
        if isinstance(node, ast.Assign) and module.resolve(node.value) == name
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return frozenset({name, *aliases})


def _check_indirect_sys(node: ast.AST, module: SourceModule) -> Iterator[SourceFault]:
    """Report indirect access to `sys`, such as `getattr(sys, "modules")`, which only serves to hide it."""
    if isinstance(node, ast.Call) and module.resolve(node.func) == "getattr" and len(node.args) > 1:
        if module.resolve(node.args[0]) == "sys" and get_constant_text(node.args[1]) in _SYS_ATTRIBUTES:
            yield make_source_fault("GRN401", node, f"accesses `sys` indirectly: `{unparse_node(node)}`")
    elif isinstance(node, ast.Subscript):
        owner = node.value
        by_vars = isinstance(owner, ast.Call) and module.resolve(owner.func) == "vars" and len(owner.args) == 1
        inside = module.resolve(owner.args[0]) if by_vars and isinstance(owner, ast.Call) else module.resolve(owner)
        if inside == ("sys" if by_vars else "sys.__dict__") and get_constant_text(node.slice) in _SYS_ATTRIBUTES:
            yield make_source_fault("GRN401", node, f"accesses `sys` indirectly: `{unparse_node(node)}`")


def _check_loaded_modules(
    node: ast.AST, module: SourceModule, words: dict[str, str], modules: frozenset[str]
) -> Iterator[SourceFault]:
    """Report lookups of the test runner in `sys.modules`, including those through constants and aliases."""
    keys: list[ast.expr] = []
    if isinstance(node, ast.Compare) and any(module.resolve(each) in modules for each in node.comparators):
        keys = [node.left]
    elif isinstance(node, ast.Subscript) and module.resolve(node.value) in modules:
        keys = [node.slice]
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and module.resolve(node.func.value) in modules
    ):
        keys = node.args[:1]
    if (
        isinstance(node, ast.Call)
        and module.resolve(node.func) in _COLLECTING_CALLS
        and _get_first_argument(node, module) in modules
    ):
        yield make_source_fault("GRN401", node, f"inspects all loaded modules: `{unparse_node(node)}`")
    for each in keys:
        text = get_constant_text(each) or (words.get(each.id, "") if isinstance(each, ast.Name) else "")
        direct = isinstance(each, ast.Name) or "sys.modules" not in unparse_node(node)
        if text == "__main__" or (text.partition(".")[0] in _RUNNERS and direct):
            yield make_source_fault("GRN401", node, f"checks whether a test is running: `{unparse_node(node)}`")
    if get_constant_text(node) in _PYTEST_STREAMS:
        yield make_source_fault("GRN401", node, f"refers to internals of the test runner: `{get_constant_text(node)}`")


def _get_first_argument(call: ast.Call, module: SourceModule) -> str:
    return module.resolve(call.args[0]) if call.args else ""


def _check_searches(node: ast.AST, module: SourceModule) -> Iterator[SourceFault]:
    """Report code that searches all environment variables or arguments for a word that only a test run contains."""
    if not isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.For):
        return
    sources = [node.iter] if isinstance(node, ast.For) else [each.iter for each in node.generators]
    names = {
        module.resolve(x) for source in sources for x in ast.walk(source) if isinstance(x, ast.Attribute | ast.Name)
    }
    place = _PYTEST_VARIABLES if "os.environ" in names else "pytest" if names & {"sys.argv", "sys.orig_argv"} else ""
    for inner in ast.walk(node) if place else ():
        text = get_constant_text(inner)
        if len(text) >= _MIN_WORD_LENGTH and text.upper() in place.upper() and isinstance(inner, ast.Constant):
            yield make_source_fault("GRN401", node, f"searches for traces of a test run: `{text}`")
            return


def _check_own_process(node: ast.AST) -> Iterator[SourceFault]:
    if get_constant_text(node).startswith(_PROC_FILES):
        yield make_source_fault("GRN401", node, f"checks how its own process was started: `{get_constant_text(node)}`")


def _check_ci_variables(node: ast.AST, module: SourceModule) -> Iterator[SourceFault]:
    variable = ""
    if isinstance(node, ast.Call) and module.resolve(node.func) in {"os.getenv", "os.environ.get"} and node.args:
        variable = get_constant_text(node.args[0])
    elif isinstance(node, ast.Subscript) and module.resolve(node.value) == "os.environ":
        variable = get_constant_text(node.slice)
    elif isinstance(node, ast.Compare) and [module.resolve(each) for each in node.comparators] == ["os.environ"]:
        variable = get_constant_text(node.left)
    if variable in _ENVIRONMENT_NAMES:
        yield make_source_fault("GRN414", node, f"checks where it runs: `{variable}`")
