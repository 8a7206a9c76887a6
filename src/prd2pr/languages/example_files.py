"""Write hidden examples to a test file, one test each so that an example can be dropped, and check them before use."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent, indent

from prd2pr.domain.stack import Stack, is_python_stack
from prd2pr.domain.wording import clip
from prd2pr.languages.conventions import Conventions, get_conventions
from prd2pr.languages.python.rules.test_code.contradictions import check_conflicting_tests

_INLINE_CODE = re.compile(r"`([^`\n]{3,200})`")
NO_ASSERTION = "it asserts nothing"


@dataclass(frozen=True)
class HiddenExample:
    """One example of a story. Its number stays the same when others are dropped."""

    number: int
    criterion: str
    lines: str

    @property
    def name(self) -> str:
        return f"e{self.number}"

    @property
    def slug(self) -> str:
        return self.criterion.rpartition(".")[2].replace("-", "_")


def supports_example_files(stack: Stack) -> bool:
    return bool(get_conventions(stack).held_out_test)


def name_example_file(stack: Stack, story: str) -> str:
    conventions = get_conventions(stack)
    plain = conventions.test_file(story).replace("_<topic>", "").replace("-<topic>", "")
    return f"{stack.test_directory(story)}{conventions.held_out_file(plain)}"


def write_example_file(stack: Stack, imports: str, examples: Sequence[HiddenExample]) -> str:
    conventions = get_conventions(stack)
    tests = [_write_test(conventions, each) for each in examples]
    if not is_python_stack(stack):
        return "\n".join([f"{_add_runner_imports(conventions, imports.strip())}\n", *tests])
    used = _select_imports(imports, "\n".join(tests))
    return "\n\n".join([*([f"{used}\n"] if used else []), *tests])


def find_number(stack: Stack, test: str) -> int:
    """Return the number of the example that a test id names, or 0."""
    pattern = r"_example_(\d+)\b" if is_python_stack(stack) else r": example (\d+), which"
    found = re.search(pattern, test)
    return int(found[1]) if found else 0


def _write_test(conventions: Conventions, example: HiddenExample) -> str:
    lines = indent(dedent(example.lines).strip("\n"), "    " if "def " in conventions.held_out_test else "  ")
    values = {"id": example.criterion, "criterion": example.slug, "number": str(example.number), "lines": lines}
    return re.sub(r"\{(id|criterion|number|lines)\}", lambda found: values[found[1]], conventions.held_out_test)


def _add_runner_imports(conventions: Conventions, imports: str) -> str:
    """Add the JavaScript imports of `test` and the assertions, which every file needs, if they are missing."""
    needed = re.findall(r"""^(import .* from "(?!\.)(.+)";)$""", conventions.example, re.MULTILINE)
    missing = [line for line, name in needed if not re.search(rf"""["']{re.escape(name)}["']""", imports)]
    return "\n".join([*missing, imports])


def _select_imports(imports: str, tests: str) -> str:
    """Return the imports, constants and helper functions that the tests use, and pytest's import if it is missing."""
    try:
        body = ast.parse(dedent(imports)).body
        used = _list_names(ast.parse(tests))
    except (SyntaxError, ValueError):
        return imports.strip()
    definitions = [each for each in body if not isinstance(each, ast.Import | ast.ImportFrom)]
    for _ in definitions:
        used |= {name for each in definitions if _get_defined_name(each) in used for name in _list_names(each)}
    kept = []
    for each in body:
        if isinstance(each, ast.Import | ast.ImportFrom):
            names = [alias for alias in each.names if (alias.asname or alias.name).partition(".")[0] in used]
            if names:
                each.names = names
                kept.append(ast.unparse(each))
    if "pytest" in used and "import pytest" not in kept:
        kept.insert(0, "import pytest")
    needed = [each for each in definitions if _get_defined_name(each) in used]
    constants = [ast.unparse(each) for each in needed if isinstance(each, ast.Assign)]
    functions = [ast.unparse(each) for each in needed if isinstance(each, ast.FunctionDef)]
    return "\n\n\n".join(filter(None, ("\n".join(kept), "\n".join(constants), *functions)))


def _get_defined_name(statement: ast.stmt) -> str:
    """Return the name of a helper function or of a constant, or an empty string for any other statement."""
    match statement:
        case ast.FunctionDef(name=name, decorator_list=[]) | ast.Assign(targets=[ast.Name(id=name)]):
            return "" if name.lower().startswith(("test", "pytest", "__")) else name
    return ""


def _list_names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


# --- checks -----------------------------------------------------------------------------------------------------------


def find_invalid_examples(
    stack: Stack, path: str, imports: str, examples: Sequence[HiddenExample], given: Iterable[str]
) -> dict[int, str]:
    """Return the examples that cannot be used, by number, with the reason.

    `given` are texts of the PRD and its criteria, whose examples no hidden example may contradict. Examples in
    languages other than Python are checked by running them.
    """
    if not is_python_stack(stack):
        return {each.number: "it is empty" for each in examples if not each.lines.strip()}
    if problem := _find_import_problem(imports):
        return dict.fromkeys((each.number for each in examples), problem)
    invalid = {each.number: problem for each in examples if (problem := _find_python_problem(stack, each))}
    sound = [each for each in examples if each.number not in invalid]
    return invalid | _find_contradictions(stack, path, imports, sound, given)


def _find_import_problem(imports: str) -> str:
    try:
        body = ast.parse(dedent(imports)).body
    except (SyntaxError, ValueError):
        return "its imports are not valid Python"
    for each in body:
        if not isinstance(each, ast.Import | ast.ImportFrom) and not _get_defined_name(each):
            return f"its imports contain more than imports, constants and functions: `{clip(ast.unparse(each), 60)}`"
    return ""


def _find_python_problem(stack: Stack, example: HiddenExample) -> str:
    try:
        tree = ast.parse(_write_test(get_conventions(stack), example))
    except (SyntaxError, ValueError, RecursionError):
        return "it is not valid Python"
    if len(tree.body) != 1:
        return "it is more than the lines of one test"
    asserts = any(isinstance(node, ast.Assert) for node in ast.walk(tree))
    return "" if asserts or "raises" in example.lines else NO_ASSERTION


def _find_contradictions(
    stack: Stack, path: str, imports: str, examples: Sequence[HiddenExample], given: Iterable[str]
) -> dict[int, str]:
    """Return, by number, the examples that contradict the PRD's examples or one another about a call's result."""
    text = write_example_file(stack, imports, examples)
    required = "\n\n\n".join(
        f"def test_required_{number}():\n    assert {each}" for number, each in enumerate(_list_equations(given), 1)
    )
    beside = path.replace("_held_out", "_required")
    files = {path: text, beside: f"{imports}\n\n\n{required}\n"}
    modules, found = _list_project_modules(imports), dict[int, str]()
    for each in examples:
        test = f"{path}::test_{each.slug}_example_{each.number}"
        for fact in check_conflicting_tests(files, [test], modules):
            found[each.number] = f"it contradicts another example: {fact.message}"
    return found


def _list_project_modules(imports: str) -> frozenset[str]:
    body = ast.parse(dedent(imports)).body
    sources = [each.module or "" for each in body if isinstance(each, ast.ImportFrom)]
    sources += [name.name for each in body if isinstance(each, ast.Import) for name in each.names]
    return frozenset({each.partition(".")[0] for each in sources} - sys.stdlib_module_names - {"pytest", ""})


def _list_equations(texts: Iterable[str]) -> Iterator[str]:
    """Yield the comparisons with `==` among the examples of criteria and the inline code of a text."""
    candidates = (part for text in texts for part in (text, *_INLINE_CODE.findall(text)))
    for each in dict.fromkeys(part.strip() for part in candidates):
        try:
            parsed = ast.parse(each, mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            continue
        if isinstance(parsed, ast.Compare) and [type(op) for op in parsed.ops] == [ast.Eq]:
            yield ast.unparse(parsed)
