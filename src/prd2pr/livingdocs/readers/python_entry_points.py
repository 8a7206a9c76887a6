"""Find HTTP routes and CLI commands in Python code."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.domain.wording import clean_line, clip
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name
from prd2pr.livingdocs.readers.node_kinds import NodeKinds
from prd2pr.livingdocs.readers.source_file import CliCommand, HttpRoute

_METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "trace"})
_DECORATORS = _METHODS | {"route", "api_route", "websocket"}
_ADDERS = {f"add_{method}": method for method in _METHODS} | dict.fromkeys(
    ("add_route", "add_url_rule", "add_api_route", "add_websocket_route"), "any"
)
_ROUTE_CLASSES = {"Route": "any", "WebSocketRoute": "websocket", "Mount": "mount"}
_PREFIXED = {"APIRouter": "prefix", "Blueprint": "url_prefix"}


def find_routes(tree: ast.Module, kinds: NodeKinds) -> tuple[HttpRoute, ...]:
    """Find the routes of Flask, FastAPI, Starlette, aiohttp and Django in their documented forms."""
    prefixes = dict(_list_prefixes(tree))
    found: list[HttpRoute] = []
    for node in _list_functions(kinds):
        found += [route for mark in node.decorator_list for route in _find_decorator_routes(mark, node.name, prefixes)]
    for call in kinds.of(ast.Call):
        found += _find_call_routes(call, prefixes)
    assigned: list[ast.Assign | ast.AugAssign | ast.AnnAssign] = [
        *kinds.of(ast.Assign),
        *kinds.of(ast.AugAssign),
        *kinds.of(ast.AnnAssign),
    ]
    for statement in assigned:
        found += _find_django_routes(statement)
    return tuple(sorted(set(found), key=lambda route: (route.line, route.path, route.method)))


def _list_functions(kinds: NodeKinds) -> tuple[FunctionNode, ...]:
    return (*kinds.of(ast.FunctionDef), *kinds.of(ast.AsyncFunctionDef))


def _list_prefixes(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield router names with their path prefixes, as in `router = APIRouter(prefix="/users")`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            keyword = _PREFIXED.get(get_dotted_name(node.value.func).rpartition(".")[2])
            for each in node.value.keywords:
                if each.arg == keyword and keyword and (text := _read_string(each.value)):
                    yield from ((get_dotted_name(target), text) for target in node.targets)


def _find_decorator_routes(mark: ast.expr, handler: str, prefixes: dict[str, str]) -> Iterator[HttpRoute]:
    if not isinstance(mark, ast.Call) or not isinstance(mark.func, ast.Attribute) or mark.func.attr not in _DECORATORS:
        return
    path, owner = _read_path(mark), get_dotted_name(mark.func.value)
    if path is None or not owner or not (path.startswith("/") or (path == "" and owner in prefixes)):
        return
    whole = f"{prefixes.get(owner, '')}{path}" or "/"
    for method in _list_methods(mark, mark.func.attr):
        yield HttpRoute(method, whole, handler, mark.lineno)


def _find_call_routes(call: ast.Call, prefixes: dict[str, str]) -> Iterator[HttpRoute]:
    name = get_dotted_name(call.func)
    owner, _, last = name.rpartition(".")
    kind = _ADDERS.get(last) if owner else _ROUTE_CLASSES.get(last)
    if owner in {"web", "aiohttp.web"} and last in _METHODS:
        kind = last
    path = _read_path(call)
    if not kind or path is None or not path.startswith("/"):
        return
    handlers = [each.value for each in call.keywords if each.arg in {"endpoint", "handler", "view_func"}]
    given = [*handlers, *(each for each in reversed(call.args[1:]) if get_dotted_name(each))]
    for method in _list_methods(call, kind):
        yield HttpRoute(
            method, f"{prefixes.get(owner, '')}{path}", get_dotted_name(given[0]) if given else "", call.lineno
        )


def _find_django_routes(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Iterator[HttpRoute]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if "urlpatterns" not in map(get_dotted_name, targets) or node.value is None:
        return
    for call in ast.walk(node.value):
        if isinstance(call, ast.Call) and get_dotted_name(call.func).rpartition(".")[2] in {"path", "re_path", "url"}:
            text = _read_string(call.args[0]) if call.args else None
            if text is not None:
                view = call.args[1] if len(call.args) > 1 else None
                yield HttpRoute(
                    "any", text if text.startswith(("/", "^")) else f"/{text}", _format_view(view), call.lineno
                )


def _format_view(node: ast.expr | None) -> str:
    """Return the name of a Django view, such as `views.home`, `Home.as_view()` or `include("shop.urls")`."""
    if isinstance(node, ast.Call):
        name = get_dotted_name(node.func)
        inner = _read_string(node.args[0]) if node.args else None
        return f"include {inner}" if name.endswith("include") and inner else name.removesuffix(".as_view")
    return get_dotted_name(node) if node is not None else ""


def _read_path(call: ast.Call) -> str | None:
    named = [each.value for each in call.keywords if each.arg in {"path", "rule"}]
    first = [*call.args[:1], *named]
    return _read_string(first[0]) if first else None


def _list_methods(call: ast.Call, kind: str) -> list[str]:
    if kind not in {"route", "api_route", "any"}:
        return [kind.upper() if kind in _METHODS else kind]
    for each in call.keywords:
        if each.arg == "methods" and isinstance(each.value, ast.List | ast.Tuple | ast.Set):
            return [text.upper() for item in each.value.elts if (text := _read_string(item))]
    return ["GET"] if kind == "route" else ["any"]


def _read_string(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


# --- command lines ----------------------------------------------------------------------------------------------------


def find_cli_commands(kinds: NodeKinds) -> tuple[CliCommand, ...]:
    """Find `add_parser("name")` calls of argparse and `@….command()` decorators of click and typer."""
    found = [command for call in kinds.of(ast.Call) for command in _find_argparse_commands(call)]
    for node in _list_functions(kinds):
        found += [command for mark in node.decorator_list for command in _find_click_commands(mark, node)]
    return tuple(sorted(found, key=lambda command: (command.line, command.name)))


def _find_argparse_commands(call: ast.Call) -> Iterator[CliCommand]:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "add_parser" and call.args:
        name = _read_string(call.args[0])
        helps = [_read_string(each.value) for each in call.keywords if each.arg in {"help", "description"}]
        if name:
            yield CliCommand(name, _shorten_help(next(filter(None, helps), "")), call.lineno)


def _find_click_commands(mark: ast.expr, node: FunctionNode) -> Iterator[CliCommand]:
    call = mark if isinstance(mark, ast.Call) else None
    function = call.func if call else mark
    if not isinstance(function, ast.Attribute) or function.attr not in {"command", "group"}:
        return
    given = [_read_string(each) for each in call.args[:1]] if call else []
    given += [_read_string(each.value) for each in call.keywords if each.arg == "name"] if call else []
    name = next(filter(None, given), None) or node.name.replace("_", "-")
    yield CliCommand(name, _shorten_help((ast.get_docstring(node) or "").partition("\n\n")[0]), node.lineno)


def _shorten_help(text: str | None) -> str:
    return clip(clean_line(text or ""), 160)
