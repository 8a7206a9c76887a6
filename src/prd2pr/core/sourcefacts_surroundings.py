"""Signs that source code looks around for its tests: at loaded modules, arguments, variables, its own process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.sourcefacts_subject import Sighting, SourceModule, constant_text, sighting
from prd2pr.core.testfacts_model import FunctionNode, dotted

_RUNNERS = frozenset({"pytest", "_pytest", "unittest", "pluggy"})
_OF_SYS = frozenset({"modules", "argv", "orig_argv"})
# How this very process was started, or who watches it: no answer depends on that.
_OF_THE_RUN = frozenset({"sys.flags", "sys.dont_write_bytecode", "sys.meta_path", "sys.gettrace", "sys.getprofile"})
_STAND_INS = frozenset({"DontReadFromInput", "EncodedFile", "CaptureIO"})  # what pytest puts in place of streams
_OWN_PROCESS = tuple(f"/proc/self/{name}" for name in ("cmdline", "environ", "comm", "maps", "status"))
_COUNTING = frozenset({"len", "list", "sorted", "tuple", "set", "str", "repr", "frozenset"})
_VARIABLE = "PYTEST_CURRENT_TEST PYTEST_DISABLE_PLUGIN_AUTOLOAD PYTEST_VERSION"
_SHORTEST = 3  # letters of a word that is looked for among names
# Variables by which programs are told that they are in CI or under test.
_CI_NAMES = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TRAVIS", "CIRCLECI", "JENKINS_URL", "BUILDKITE", "TF_BUILD")
_TEST_NAMES = ("TESTING", "TEST", "TEST_MODE", "TEST_ENV", "IS_TEST", "UNITTEST", "RUNNING_TESTS", "UNDER_TEST")
_SETTING = "addHandler removeHandler basicConfig dictConfig fileConfig clear append remove extend"
_HANDLING = frozenset(f"{_SETTING} setLevel flush close setFormatter emit handle".split())
_AGES = frozenset({"st_mtime", "st_ctime", "st_mtime_ns", "getmtime", "getctime"})
_ORIGINS = frozenset({"__module__", "__qualname__", "__file__", "co_filename", "__code__"})
_TOLD = frozenset({*_CI_NAMES, *_TEST_NAMES})


def surrounding_sightings(module: SourceModule) -> Iterator[Sighting]:
    words = _constants(module.tree)
    modules = _names_of(module, "sys.modules")
    for node in ast.walk(module.tree):
        yield from _looks_into_sys(node, module)
        yield from _looks_for_runner(node, module, words, modules)
        yield from _goes_through(node, module)
        yield from _own_process(node)
        if isinstance(node, ast.Attribute) and module.name(node) in _OF_THE_RUN:
            yield sighting("GRN401", node, f"looks at how it is run: `{ast.unparse(node)}`")
        yield from _ci(node, module)
        yield from _where_it_comes_from(node)
    yield from _by_handlers(module)


def _by_handlers(module: SourceModule) -> Iterator[Sighting]:
    """Test runners listen to the log. Who sets handlers up may look for them; nobody's answer hangs on them."""
    for scope in _scopes(module.tree):
        own = list(_of_scope(scope))
        changes = {
            each.func.attr for each in own if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)
        }
        if changes & _HANDLING:
            continue
        for node in own:
            asked = node.test if isinstance(node, ast.If | ast.IfExp | ast.While) else node
            if not isinstance(node, ast.If | ast.IfExp | ast.While | ast.BoolOp | ast.BinOp | ast.Compare | ast.Call):
                continue
            if isinstance(node, ast.Call) and module.name(node.func) not in _COUNTING | {"bool", "any", "all", "int"}:
                continue
            found = next((each for each in ast.walk(asked) if _is_handlers(each, module)), None)
            if found is not None:
                yield sighting("GRN401", found, f"lets the log's handlers decide: `{ast.unparse(found)}`")
                break


def _scopes(tree: ast.Module) -> list[ast.AST]:
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, FunctionNode | ast.Lambda))]


def _of_scope(scope: ast.AST) -> Iterator[ast.AST]:
    """What runs in it: functions that are defined there are scopes of their own."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, FunctionNode | ast.Lambda):
            yield child
            yield from _of_scope(child)


def _is_handlers(node: ast.AST, module: SourceModule) -> bool:
    """`logging.getLogger().handlers`, `logging.root.hasHandlers()`: of the root, whose handlers others set."""
    if not isinstance(node, ast.Attribute) or node.attr not in {"handlers", "hasHandlers"}:
        return False
    owner = node.value
    if isinstance(owner, ast.Call):
        return module.name(owner.func) == "logging.getLogger" and not owner.args
    return module.name(owner) in {"logging.root", "logging.Logger.root"}


def _where_it_comes_from(node: ast.AST) -> Iterator[Sighting]:
    """`work.__module__.startswith("test_")`: whether what it was handed was written in a test."""
    if not isinstance(node, ast.Compare | ast.Call):
        return
    parts = list(ast.walk(node))
    attributes = {each.attr for each in parts if isinstance(each, ast.Attribute)}
    if isinstance(node, ast.Compare) and attributes & _AGES and "__file__" in {dotted(each) for each in parts}:
        yield sighting("GRN401", node, f"asks how old its own code is: `{ast.unparse(node)[:60]}`")
    asked = attributes & _ORIGINS
    told = [text for each in parts if (text := constant_text(each))]
    if asked and any("test" in text.lower() for text in told):
        yield sighting("GRN401", node, f"asks whether it was handed something of a test: `{ast.unparse(node)[:60]}`")


def _constants(tree: ast.Module) -> dict[str, str]:
    """Names that are bound once, to a text."""
    bound: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                bound.setdefault(target.id, []).append(constant_text(node.value))
    return {name: texts[0] for name, texts in bound.items() if len(texts) == 1 and texts[0]}


def _names_of(module: SourceModule, meant: str) -> frozenset[str]:
    """The thing itself, and names that it was given."""
    given = [
        target.id
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Assign) and module.name(node.value) == meant
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    return frozenset({meant, *given})


def _looks_into_sys(node: ast.AST, module: SourceModule) -> Iterator[Sighting]:
    """`getattr(sys, "modules")`, `vars(sys)["argv"]`: nobody writes it like this who does not hide it."""
    if isinstance(node, ast.Call) and module.name(node.func) == "getattr" and len(node.args) > 1:
        if module.name(node.args[0]) == "sys" and constant_text(node.args[1]) in _OF_SYS:
            yield sighting("GRN401", node, f"looks around by a detour: `{ast.unparse(node)}`")
    elif isinstance(node, ast.Subscript):
        owner = node.value
        by_vars = isinstance(owner, ast.Call) and module.name(owner.func) == "vars" and len(owner.args) == 1
        inside = module.name(owner.args[0]) if by_vars and isinstance(owner, ast.Call) else module.name(owner)
        if inside == ("sys" if by_vars else "sys.__dict__") and constant_text(node.slice) in _OF_SYS:
            yield sighting("GRN401", node, f"looks around by a detour: `{ast.unparse(node)}`")


def _looks_for_runner(
    node: ast.AST, module: SourceModule, words: dict[str, str], modules: frozenset[str]
) -> Iterator[Sighting]:
    """The word may stand elsewhere, under a name; and so may `sys.modules`."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.Compare) and any(module.name(each) in modules for each in node.comparators):
        asked = [node.left]
    elif isinstance(node, ast.Subscript) and module.name(node.value) in modules:
        asked = [node.slice]
    elif (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and module.name(node.func.value) in modules
    ):
        asked = node.args[:1]
    if isinstance(node, ast.Call) and module.name(node.func) in _COUNTING and _first(node, module) in modules:
        yield sighting("GRN401", node, f"looks at all that is loaded: `{ast.unparse(node)}`")
    for each in asked:
        text = constant_text(each) or (words.get(each.id, "") if isinstance(each, ast.Name) else "")
        direct = isinstance(each, ast.Name) or "sys.modules" not in ast.unparse(node)
        if text == "__main__" or (text.partition(".")[0] in _RUNNERS and direct):
            yield sighting("GRN401", node, f"asks whether a test is running: `{ast.unparse(node)}`")
    if constant_text(node) in _STAND_INS:
        yield sighting("GRN401", node, f"knows what the test runner puts in its way: `{constant_text(node)}`")


def _first(call: ast.Call, module: SourceModule) -> str:
    return module.name(call.args[0]) if call.args else ""


def _goes_through(node: ast.AST, module: SourceModule) -> Iterator[Sighting]:
    """Searches all variables, or all arguments, for a part of a word that only a test run has."""
    if not isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp | ast.For):
        return
    sources = [node.iter] if isinstance(node, ast.For) else [each.iter for each in node.generators]
    names = {module.name(x) for source in sources for x in ast.walk(source) if isinstance(x, ast.Attribute | ast.Name)}
    place = _VARIABLE if "os.environ" in names else "pytest" if names & {"sys.argv", "sys.orig_argv"} else ""
    for inner in ast.walk(node) if place else ():
        text = constant_text(inner)
        if len(text) >= _SHORTEST and text.upper() in place.upper() and isinstance(inner, ast.Constant):
            yield sighting("GRN401", node, f"searches for a sign of a test run: `{text}`")
            return


def _own_process(node: ast.AST) -> Iterator[Sighting]:
    if constant_text(node).startswith(_OWN_PROCESS):
        yield sighting("GRN401", node, f"looks at how its own process was started: `{constant_text(node)}`")


def _ci(node: ast.AST, module: SourceModule) -> Iterator[Sighting]:
    asked = ""
    if isinstance(node, ast.Call) and module.name(node.func) in {"os.getenv", "os.environ.get"} and node.args:
        asked = constant_text(node.args[0])
    elif isinstance(node, ast.Subscript) and module.name(node.value) == "os.environ":
        asked = constant_text(node.slice)
    elif isinstance(node, ast.Compare) and [module.name(each) for each in node.comparators] == ["os.environ"]:
        asked = constant_text(node.left)
    if asked in _TOLD:
        yield sighting("GRN414", node, f"asks the environment where it runs: `{asked}`")
