"""Signs that source code knows it is tested, or reaches into the run that tests it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.testfacts_model import FunctionNode, dotted, resolve

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
_ENDINGS = frozenset({"os._exit", "os.abort"})
_EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
# What programs set on purpose is left out: handlers and levels of logging, hooks of warnings, localisation.
_SHARED_MODULES = frozenset(sys.stdlib_module_names) - {"logging", "warnings", "gettext", "locale", "readline", "csv"}
_CHANGES = frozenset({"insert", "append", "extend", "setdefault", "pop", "update", "clear", "remove", "__setitem__"})
_LAUNCHES = frozenset({"os.fork", "os.setsid", "os.system", "subprocess.Popen", "subprocess.run", "subprocess.call"})
_WAITS = frozenset({"os.wait", "os.waitpid", "os.wait3", "os.wait4", "os.waitid"})


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


def sighting(code: str, node: ast.AST, message: str) -> Sighting:
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


# --- GRN403: reads who calls ------------------------------------------------------------------------------------------


def frame_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name) and (name := module.name(node)) in _FRAME_CALLS:
            yield sighting("GRN403", node, f"looks at the frames of its callers: `{name}`")
        elif isinstance(node, ast.Attribute) and node.attr in _FRAME_ATTRIBUTES:
            yield sighting("GRN403", node, f"looks into a frame: `.{node.attr}`")
        elif isinstance(node, ast.Call) and module.name(node.func) in {"getattr", "operator.attrgetter"}:
            asked = {constant_text(argument) for argument in node.args} & _FRAME_WORDS
            yield from (sighting("GRN403", node, f"looks into a frame: `{name}`") for name in sorted(asked))


# --- GRN404: ends or leaves the process -------------------------------------------------------------------------------


def exit_sightings(module: SourceModule) -> Iterator[Sighting]:
    functions = {node.name: node for node in ast.walk(module.tree) if isinstance(node, FunctionNode)}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute | ast.Name) and (name := module.name(node)) in _ENDINGS:
            yield sighting("GRN404", node, f"ends the process behind the test runner's back: `{name}`")
    for name, call in module.calls():
        if name == "atexit.register" and call.args and _exits(call.args[0], functions, module):
            yield sighting("GRN404", call, "ends the process with a status of its own from `atexit`")
        if name == "os.kill" and {"os.getpid", "os.getppid"} & {module.name(x.func) for x in _calls(call)}:
            yield sighting("GRN404", call, "kills its own process")
    yield from _left_behind(module)


def _left_behind(module: SourceModule) -> Iterator[Sighting]:
    """Processes that outlive whoever asked: a child that nobody waits for, a program that nobody keeps hold of."""
    names = {name for name, _ in module.calls()}
    if "os.fork" in names and not names & _WAITS:
        call = next(call for name, call in module.calls() if name == "os.fork")
        yield sighting("GRN404", call, "leaves a process behind: `os.fork`, and nobody waits for it")
    for node in ast.walk(module.tree):
        call_of = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call_of, ast.Call) or module.name(call_of.func) != "subprocess.Popen":
            continue
        if any(each.arg in {"start_new_session", "preexec_fn", "process_group"} for each in call_of.keywords):
            yield sighting("GRN404", call_of, "leaves a program behind that nobody keeps hold of")


def _exits(target: ast.expr, functions: Mapping[str, FunctionNode], module: SourceModule) -> bool:
    if module.name(target) in _EXITS:
        return True
    body: ast.AST | None = target if isinstance(target, ast.Lambda) else functions.get(dotted(target))
    return body is not None and any(module.name(call.func) in _EXITS for call in _calls(body))


def _calls(node: ast.AST) -> list[ast.Call]:
    return [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]


def import_sightings(module: SourceModule) -> Iterator[Sighting]:
    """What runs when the module is imported, `if __name__ == "__main__"` aside."""
    for statement in module.tree.body:
        if isinstance(statement, FunctionNode | ast.ClassDef) or _is_main_guard(statement):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and (name := module.name(node.func)) in _EXITS | _LAUNCHES:
                yield sighting("GRN404", node, f"`{name}` runs when the module is imported")
            elif isinstance(node, ast.Raise) and "SystemExit" in ast.dump(node):
                yield sighting("GRN404", node, "raises SystemExit when the module is imported")


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in {x.id for x in ast.walk(node.test) if isinstance(x, ast.Name)}


# --- GRN406, GRN407: answers right whatever is asked ----------------------------------------------------------


def getattr_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in module.tree.body:
        if isinstance(node, FunctionNode) and node.name == "__getattr__" and not _can_say_no(node):
            yield sighting(
                "GRN406", node, "the module's `__getattr__` answers to any name and never raises AttributeError"
            )
    for owner in (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)):
        for item in owner.body:
            if isinstance(item, FunctionNode) and item.name == "__getattr__" and _makes_up(item):
                said = f"`{owner.name}.__getattr__` has an answer for any name, whatever the object holds"
                yield sighting("GRN406", item, said)


def _can_say_no(node: FunctionNode) -> bool:
    excused = {id(inner) for each in ast.walk(node) if _asks_for_underscore(each) for inner in ast.walk(each)}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Raise | ast.Subscript) and id(inner) not in excused:
            return True
        if isinstance(inner, ast.Call) and dotted(inner.func).rpartition(".")[2] in {"getattr", "import_module"}:
            return True
    return False


def _asks_for_underscore(node: ast.AST) -> bool:
    """`if name.startswith("_"): raise …`, and nothing else: that says no to nothing that a test would ask for."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    asked = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    return all(
        isinstance(each, ast.Call)
        and dotted(each.func).rpartition(".")[2] in {"startswith", "endswith"}
        and all(set(constant_text(argument)) == {"_"} for argument in each.args)
        for each in asked
    )


def _makes_up(node: FunctionNode) -> bool:
    """Only answers that are written there, and that have nothing to do with the object. One that does nothing at all
    (`lambda *_: None`) may stand for an object that is not there; one that passes the name on looks at the object."""
    parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    if not parameters or not returned or any(isinstance(each, ast.Raise) for each in ast.walk(node)):
        return False
    return all(isinstance(each, ast.Lambda) and _is_written(each.body, parameters[0]) for each in returned)


def _is_written(answer: ast.expr, owner: str) -> bool:
    parts = list(ast.walk(answer))
    about_itself = any(isinstance(each, ast.Name) and each.id == owner for each in parts)
    told = any(isinstance(each, ast.Constant) and each.value is not None for each in parts)
    return told and not about_itself and not any(isinstance(each, ast.Call) and _is_made(each) for each in parts)


def _is_made(call: ast.Call) -> bool:
    """Something is called by its own name: a proxy that sends the question elsewhere. `{…}.get(name)` is a table."""
    return isinstance(call.func, ast.Name)


def patch_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        for target in _assigned(node):
            name = module.name(target.value if isinstance(target, ast.Subscript) else target)
            if _is_shared(name, module) or (isinstance(target, ast.Subscript) and name == "sys.modules"):
                yield sighting("GRN407", node, f"replaces `{name}` for the whole process")
            elif isinstance(target, ast.Attribute) and target.attr == "__code__":
                yield sighting("GRN407", node, f"replaces the code of a function: `{ast.unparse(target)}`")
    yield from _import_machinery(module)
    for name, call in module.calls():
        if name == "setattr" and call.args and module.name(call.args[0]) in _SHARED_MODULES:
            yield sighting("GRN407", call, f"replaces a part of `{module.name(call.args[0])}` for the whole process")
        if name == "random.seed" and call.args and isinstance(call.args[0], ast.Constant):
            yield sighting("GRN407", call, "seeds the process-wide random numbers with a constant")


def _import_machinery(module: SourceModule) -> Iterator[Sighting]:
    """Changes to what an import finds. A search path may be set while the program runs, not when it is imported."""
    for name, call in module.calls():
        owner, _, verb = name.rpartition(".")
        if verb in _CHANGES and owner in {"sys.modules", "sys.meta_path", "sys.path_hooks", "sys.path_importer_cache"}:
            yield sighting("GRN407", call, f"changes what every import finds: `{name}`")
    for node in ast.walk(module.tree):
        for target in node.targets if isinstance(node, ast.Delete) else ():
            if isinstance(target, ast.Subscript) and module.name(target.value) == "sys.modules":
                yield sighting("GRN407", node, "takes a module out of `sys.modules`")
    for statement in module.tree.body:
        if isinstance(statement, FunctionNode | ast.ClassDef) or _is_main_guard(statement):
            continue
        for call in _calls(statement):
            owner, _, verb = module.name(call.func).rpartition(".")
            if (owner, verb) == ("time", "tzset"):
                yield sighting("GRN407", call, "sets the time zone of the whole process when it is imported")
            if owner == "sys.path" and verb in _CHANGES:
                yield sighting("GRN407", call, f"`sys.path.{verb}` changes what every import finds, at import")


def _assigned(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return [x for x in node.targets if isinstance(x, ast.Attribute | ast.Subscript)]
    if isinstance(node, ast.AugAssign | ast.AnnAssign) and isinstance(node.target, ast.Attribute):
        return [node.target]
    return []


def _is_shared(name: str, module: SourceModule) -> bool:
    """A part of an imported module of Python's own; a variable may have the name of one."""
    head, _, rest = name.partition(".")
    if head != "builtins" and all(each.partition(".")[0] != head for each in module.imports.values()):
        return False
    harmless = {"sys.stdout", "sys.stderr", "sys.stdin", "sys.path", "sys.excepthook", "sys.argv", "os.environ"}
    return head in _SHARED_MODULES and bool(rest) and name not in harmless


# --- warnings: GRN409, GRN410 -----------------------------------------------------------------------------------------


def swallow_sightings(module: SourceModule) -> Iterator[Sighting]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node) and all(_says_nothing(item) for item in node.body):
            yield sighting("GRN409", node, "swallows every exception")
            if node.type is None or dotted(node.type) == "BaseException":
                yield sighting("GRN415", node, "swallows even what ends the program, and says nothing")
        elif isinstance(node, ast.Try) and _returns(node.finalbody):
            yield sighting("GRN415", node, "returns from `finally`, which drops whatever was raised")
        elif isinstance(node, FunctionNode) and node.name == "__exit__" and _always_says_yes(node):
            yield sighting("GRN415", node, "drops whatever was raised: `__exit__` is always true")
    for name, call in module.calls():
        if (
            name.endswith(".push")
            and call.args
            and isinstance(call.args[0], ast.Lambda)
            and _is_true(call.args[0].body)
        ):
            yield sighting("GRN415", call, "drops whatever was raised")
        if name == "contextlib.suppress" and "BaseException" in {dotted(each) for each in call.args}:
            yield sighting("GRN415", call, "suppresses even what ends the program")


def _always_says_yes(node: FunctionNode) -> bool:
    """The last word is True, whatever the error; one that asks what it is has another return, or a condition."""
    returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return)]
    return bool(returned) and all(each is not None and _is_true(each) for each in returned) and _returns(node.body[-1:])


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _returns(body: list[ast.stmt]) -> bool:
    """Itself, not a function that is defined there."""
    for node in body:
        if isinstance(node, FunctionNode | ast.ClassDef):
            continue
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt)]
        if isinstance(node, ast.Return) or _returns(inner):
            return True
    return False


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
                yield sighting("GRN410", node, f"`{function.name}` answers by how often it was called")
