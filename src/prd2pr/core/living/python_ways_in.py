"""How requests and commands get into Python code: routes of web frameworks, commands of command lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.living.node_kinds import NodeKinds
from prd2pr.core.living.source_file import CliCommand, Route
from prd2pr.core.testfacts_model import FunctionNode, dotted
from prd2pr.core.wording import clip, plain

_METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "trace"})
_DECORATORS = _METHODS | {"route", "api_route", "websocket"}
_ADDERS = {f"add_{method}": method for method in _METHODS} | dict.fromkeys(
    ("add_route", "add_url_rule", "add_api_route", "add_websocket_route"), "any"
)
_ROUTE_CLASSES = {"Route": "any", "WebSocketRoute": "websocket", "Mount": "mount"}
_PREFIXED = {"APIRouter": "prefix", "Blueprint": "url_prefix"}


def routes_in(tree: ast.Module, kinds: NodeKinds) -> tuple[Route, ...]:
    """Flask, FastAPI, Starlette, aiohttp and Django, by the forms that their own documentation shows."""
    prefixes = dict(_prefixes(tree))
    found: list[Route] = []
    for node in _functions(kinds):
        found += [route for mark in node.decorator_list for route in _decorated(mark, node.name, prefixes)]
    for call in kinds.of(ast.Call):
        found += _called(call, prefixes)
    assigned: list[ast.Assign | ast.AugAssign | ast.AnnAssign] = [
        *kinds.of(ast.Assign),
        *kinds.of(ast.AugAssign),
        *kinds.of(ast.AnnAssign),
    ]
    for statement in assigned:
        found += _django(statement)
    return tuple(sorted(set(found), key=lambda route: (route.line, route.path, route.method)))


def _functions(kinds: NodeKinds) -> tuple[FunctionNode, ...]:
    return (*kinds.of(ast.FunctionDef), *kinds.of(ast.AsyncFunctionDef))


def _prefixes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """`router = APIRouter(prefix="/users")`: what stands before each of its paths."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            keyword = _PREFIXED.get(dotted(node.value.func).rpartition(".")[2])
            for each in node.value.keywords:
                if each.arg == keyword and keyword and (text := _text(each.value)):
                    yield from ((dotted(target), text) for target in node.targets)


def _decorated(mark: ast.expr, handler: str, prefixes: dict[str, str]) -> Iterator[Route]:
    if not isinstance(mark, ast.Call) or not isinstance(mark.func, ast.Attribute) or mark.func.attr not in _DECORATORS:
        return
    path, owner = _path(mark), dotted(mark.func.value)
    if path is None or not owner or not (path.startswith("/") or (path == "" and owner in prefixes)):
        return
    whole = f"{prefixes.get(owner, '')}{path}" or "/"
    for method in _methods(mark, mark.func.attr):
        yield Route(method, whole, handler, mark.lineno)


def _called(call: ast.Call, prefixes: dict[str, str]) -> Iterator[Route]:
    name = dotted(call.func)
    owner, _, last = name.rpartition(".")
    told = _ADDERS.get(last) if owner else _ROUTE_CLASSES.get(last)
    if owner in {"web", "aiohttp.web"} and last in _METHODS:
        told = last
    path = _path(call)
    if not told or path is None or not path.startswith("/"):
        return
    handlers = [each.value for each in call.keywords if each.arg in {"endpoint", "handler", "view_func"}]
    given = [*handlers, *(each for each in reversed(call.args[1:]) if dotted(each))]
    for method in _methods(call, told):
        yield Route(method, f"{prefixes.get(owner, '')}{path}", dotted(given[0]) if given else "", call.lineno)


def _django(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Iterator[Route]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if "urlpatterns" not in map(dotted, targets) or node.value is None:
        return
    for call in ast.walk(node.value):
        if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] in {"path", "re_path", "url"}:
            text = _text(call.args[0]) if call.args else None
            if text is not None:
                view = call.args[1] if len(call.args) > 1 else None
                yield Route("any", text if text.startswith(("/", "^")) else f"/{text}", _view(view), call.lineno)


def _view(node: ast.expr | None) -> str:
    """`views.home`, `Home.as_view()`, `include("shop.urls")`"""
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        inner = _text(node.args[0]) if node.args else None
        return f"include {inner}" if name.endswith("include") and inner else name.removesuffix(".as_view")
    return dotted(node) if node is not None else ""


def _path(call: ast.Call) -> str | None:
    named = [each.value for each in call.keywords if each.arg in {"path", "rule"}]
    first = [*call.args[:1], *named]
    return _text(first[0]) if first else None


def _methods(call: ast.Call, told: str) -> list[str]:
    if told not in {"route", "api_route", "any"}:
        return [told.upper() if told in _METHODS else told]
    for each in call.keywords:
        if each.arg == "methods" and isinstance(each.value, ast.List | ast.Tuple | ast.Set):
            return [text.upper() for item in each.value.elts if (text := _text(item))]
    return ["GET"] if told == "route" else ["any"]


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


# --- command lines ----------------------------------------------------------------------------------------------------


def commands_in(kinds: NodeKinds) -> tuple[CliCommand, ...]:
    """`add_parser("name")` of argparse, and `@….command()` of click and typer."""
    found = [command for call in kinds.of(ast.Call) for command in _argparse(call)]
    for node in _functions(kinds):
        found += [command for mark in node.decorator_list for command in _click(mark, node)]
    return tuple(sorted(found, key=lambda command: (command.line, command.name)))


def _argparse(call: ast.Call) -> Iterator[CliCommand]:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "add_parser" and call.args:
        name = _text(call.args[0])
        helps = [_text(each.value) for each in call.keywords if each.arg in {"help", "description"}]
        if name:
            yield CliCommand(name, _told(next(filter(None, helps), "")), call.lineno)


def _click(mark: ast.expr, node: FunctionNode) -> Iterator[CliCommand]:
    call = mark if isinstance(mark, ast.Call) else None
    function = call.func if call else mark
    if not isinstance(function, ast.Attribute) or function.attr not in {"command", "group"}:
        return
    given = [_text(each) for each in call.args[:1]] if call else []
    given += [_text(each.value) for each in call.keywords if each.arg == "name"] if call else []
    name = next(filter(None, given), None) or node.name.replace("_", "-")
    yield CliCommand(name, _told((ast.get_docstring(node) or "").partition("\n\n")[0]), node.lineno)


def _told(text: str | None) -> str:
    return clip(plain(text or ""), 160)
