"""Files of the code as rows of the index. Python is read by its syntax tree, other files are only listed."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from prd2pr.core.complexity import measure
from prd2pr.core.paths import classify_path
from prd2pr.core.signatures import module_name
from prd2pr.core.test_naming import USUAL
from prd2pr.core.testfacts_model import (
    DeclaredTest,
    FunctionNode,
    absolute_module,
    dotted,
    imports_of,
    parse,
    parse_tests,
    resolve,
)

Row = tuple[str, dict[str, Any]]

CODE_TABLES = ("files", "symbols", "dependencies", "test_index")
PLAIN_MODES = ("100644", "100755")
MOST_BYTES = 1_000_000  # of a file that is read: what is longer was not written by hand
LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".go": "go", ".rs": "rust", ".java": "java", ".kt": "kotlin",
    ".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".hpp": "c++", ".cs": "c#", ".rb": "ruby", ".php": "php",
    ".swift": "swift", ".sh": "shell", ".sql": "sql", ".html": "html", ".css": "css", ".md": "markdown",
    ".rst": "restructuredtext", ".json": "json", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml",
}  # fmt: skip


def is_read(path: str, mode: str) -> bool:
    """Whether the file's text is asked for."""
    return mode in PLAIN_MODES and path.endswith(".py")


def code_rows(path: str, mode: str, data: bytes | None) -> Iterator[Row]:
    """`data`: None where the text was not asked for."""
    text = data.decode("utf-8", "replace") if data is not None and len(data) <= MOST_BYTES else None
    tree = parse(text) if text is not None else None
    yield "files", file_columns(path, mode, text)
    if text is None or tree is None:
        return
    module = module_name(path)
    yield from (("symbols", columns) for columns in symbols(tree.body, module, in_class=False))
    yield from (("dependencies", columns) for columns in dependencies(path, module, tree))
    yield from (("test_index", columns) for columns in tests(path, text))


def file_columns(path: str, mode: str, text: str | None) -> dict[str, Any]:
    measured = measure(text) if text is not None else {}
    return {
        "mode": mode,
        "kind": classify_path(path).value,
        "language": LANGUAGES.get(PurePosixPath(path).suffix.lower(), "") if mode in PLAIN_MODES else "",
        "module": module_name(path) if text is not None else "",
        "lines": measured.get("lines"),
        "functions": measured.get("functions"),
        "complexity": measured.get("complexity_sum"),
    }


def symbols(body: list[ast.stmt], prefix: str, *, in_class: bool) -> Iterator[dict[str, Any]]:
    for node in body:
        if isinstance(node, FunctionNode):
            kind = "method" if in_class else "function"
            yield symbol(f"{prefix}.{node.name}", kind, node, f"({ast.unparse(node.args)})")
        elif isinstance(node, ast.ClassDef):
            name = f"{prefix}.{node.name}"
            yield symbol(name, "class", node, f"({', '.join(map(ast.unparse, node.bases))})")
            yield from symbols(node.body, name, in_class=True)


def symbol(name: str, kind: str, node: ast.stmt, signature: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "line": node.lineno, "end_line": node.end_lineno, "signature": signature}


def dependencies(path: str, module: str, tree: ast.Module) -> Iterator[dict[str, Any]]:
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ({"line": node.lineno, "module": alias.name, "name": ""} for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(node, package)
            yield from ({"line": node.lineno, "module": base, "name": alias.name} for alias in node.names)


def tests(path: str, text: str) -> Iterator[dict[str, Any]]:
    module = parse_tests(path, text) if USUAL.is_module(path) else None
    if module is None:
        return
    imports = imports_of(module.tree.body)
    for test in module.tests:
        yield {"test": test.id, "line": test.node.lineno, "covers": json.dumps(covered(test, imports))}


def covered(test: DeclaredTest, imports: dict[str, str]) -> list[str]:
    """Full names of what the test itself uses of what its file imports."""
    found: set[str] = set()
    for node in ast.walk(test.node):
        name = dotted(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name.partition(".")[0] in imports:
            found.add(resolve(name, imports))
    longest = {name for name in found if not any(other.startswith(f"{name}.") for other in found)}
    return sorted(longest)
