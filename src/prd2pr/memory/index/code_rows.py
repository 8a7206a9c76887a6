"""Rows of the index for code files. Python files are parsed; other files are only listed."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from prd2pr.domain.paths import classify_path
from prd2pr.languages.python.complexity import measure
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    FunctionNode,
    collect_imports,
    get_absolute_module,
    get_dotted_name,
    parse_python,
    parse_tests,
    resolve_name,
)
from prd2pr.languages.python.test_naming import DEFAULT_NAMING
from prd2pr.memory.index.rows import Row

CODE_TABLES = ("files", "symbols", "dependencies", "test_index")
PLAIN_MODES = ("100644", "100755")
MAX_PARSED_BYTES = 1_000_000  # per file; longer ones are not written by hand
LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript",
    ".ts": "typescript", ".tsx": "typescript", ".go": "go", ".rs": "rust", ".java": "java", ".kt": "kotlin",
    ".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".hpp": "c++", ".cs": "c#", ".rb": "ruby", ".php": "php",
    ".swift": "swift", ".sh": "shell", ".sql": "sql", ".html": "html", ".css": "css", ".md": "markdown",
    ".rst": "restructuredtext", ".json": "json", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml",
}  # fmt: skip


def is_parsed(path: str, mode: str) -> bool:
    """Return whether the file is parsed, so that its content is needed."""
    return mode in PLAIN_MODES and path.endswith(".py")


def make_code_rows(path: str, mode: str, data: bytes | None) -> Iterator[Row]:
    """Yield the table and columns of each row. `data` is None if the content was not read."""
    text = data.decode("utf-8", "replace") if data is not None and len(data) <= MAX_PARSED_BYTES else None
    tree = parse_python(text) if text is not None else None
    yield "files", make_file_columns(path, mode, text)
    if text is None or tree is None:
        return
    module = get_module_name(path)
    yield from (("symbols", columns) for columns in list_symbols(tree.body, module, in_class=False))
    yield from (("dependencies", columns) for columns in list_dependency_rows(path, module, tree))
    yield from (("test_index", columns) for columns in list_test_rows(path, text))


def make_file_columns(path: str, mode: str, text: str | None) -> dict[str, Any]:
    measured = measure(text) if text is not None else {}
    return {
        "mode": mode,
        "kind": classify_path(path).value,
        "language": LANGUAGES.get(PurePosixPath(path).suffix.lower(), "") if mode in PLAIN_MODES else "",
        "module": get_module_name(path) if text is not None else "",
        "lines": measured.get("lines"),
        "functions": measured.get("functions"),
        "complexity": measured.get("complexity_sum"),
    }


def list_symbols(body: list[ast.stmt], prefix: str, *, in_class: bool) -> Iterator[dict[str, Any]]:
    for node in body:
        if isinstance(node, FunctionNode):
            kind = "method" if in_class else "function"
            yield make_symbol(f"{prefix}.{node.name}", kind, node, f"({ast.unparse(node.args)})")
        elif isinstance(node, ast.ClassDef):
            name = f"{prefix}.{node.name}"
            yield make_symbol(name, "class", node, f"({', '.join(map(ast.unparse, node.bases))})")
            yield from list_symbols(node.body, name, in_class=True)


def make_symbol(name: str, kind: str, node: ast.stmt, signature: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "line": node.lineno, "end_line": node.end_lineno, "signature": signature}


def list_dependency_rows(path: str, module: str, tree: ast.Module) -> Iterator[dict[str, Any]]:
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ({"line": node.lineno, "module": alias.name, "name": ""} for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = get_absolute_module(node, package)
            yield from ({"line": node.lineno, "module": base, "name": alias.name} for alias in node.names)


def list_test_rows(path: str, text: str) -> Iterator[dict[str, Any]]:
    module = parse_tests(path, text) if DEFAULT_NAMING.is_module(path) else None
    if module is None:
        return
    imports = collect_imports(module.tree.body)
    for test in module.tests:
        yield {"test": test.id, "line": test.node.lineno, "covers": json.dumps(list_covered_names(test, imports))}


def list_covered_names(test: DeclaredTest, imports: dict[str, str]) -> list[str]:
    """Return the full names of imported objects that the test itself uses."""
    found: set[str] = set()
    for node in ast.walk(test.node):
        name = get_dotted_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        if name.partition(".")[0] in imports:
            found.add(resolve_name(name, imports))
    longest = {name for name in found if not any(other.startswith(f"{name}.") for other in found)}
    return sorted(longest)
