"""The limits that keep the source easy to navigate. `pytest tests/architecture -s` prints the table."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from shape import Module, Shape, is_protocol, own_fields, read_shape

MAX_MODULES = 25  # in one package
MAX_MODULE_LINES = 560
MAX_FUNCTION_LINES = 90
SMALL_MODULE = 60  # lines: with one importer, it belongs into that importer
MAX_CONTEXT_FIELDS = 12
MAX_PROTOCOL_METHODS = 8
MAX_PARAMETERS = 12  # of a public function
MAX_STORY_TYPES = 14
MAX_REPEATED_LINES = 10

PURE_PACKAGES = ("domain/", "prd/", "views/", "verification/gates/", "languages/python/rules/")
EFFECTS = {"http", "os", "random", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "time", "urllib"}
# Calculation with paths and quoting of URLs have no effect.
HARMLESS_IMPORTS = {
    "os.path", "pathlib.PurePath", "pathlib.PurePosixPath", "pathlib.PureWindowsPath", "posixpath", "urllib.parse"
}  # fmt: skip
CLOCK_CALL = re.compile(r"(^|\.)(datetime\.(now|utcnow|today)|date\.today)$")

# Packages whose classes hold collaborators. Elsewhere classes are records, view models or results.
CONTEXT_PACKAGES = ("agents/", "cli/", "github/", "proof/", "reports/", "server/", "verification/gather/", "workflow/")
# Pure data in those packages: a row, a reply or a result, with no collaborator among its fields.
DATA_CLASSES: dict[str, str] = {
    "agents/roles.py:Role": "a row of the table of roles",
    "github/outcome.py:PrdOutcome": "the result of a run, as the job's outputs",
    "server/orders/store.py:OrderRecord": "a row of the database",
}

# Small modules with one importer that stay on their own, with the reason.
STANDALONE: dict[str, str] = {
    "agents/models/replay.py": "one module per model adapter",
    "agents/outputs/briefing.py": "the text for the planner is made from the roles' outputs, not by the workflow",
    "cli/main.py": "the entry point imports nothing heavy",
    "cli/verbs/run.py": "it loads the rest of the program while the first test run is in progress",
    "github/commands/undo.py": "one module per command family",
    "github/local_orders.py": "executing commands is not part of the command line",
    "languages/golang/canary.py": "the same role as in the sibling languages",
    "languages/golang/failures.py": "the same role as in the sibling languages",
    "languages/golang/manifest.py": "the same role as in the sibling languages",
    "languages/javascript/manifest.py": "the same role as in the sibling languages",
    "languages/rust/canary.py": "the same role as in the sibling languages",
    "prd/issue_text.py": "pure; its importer reads events",
    "server/work/dead_letters.py": "the server's queries stay in the server; the command line only prints them",
    "views/board/labels.py": "pure; its importer renders templates",
    "views/board/workers.py": "pure, one module per part of the board; its importer reads the repository",
}

# The private vocabulary of earlier versions; see the glossary in docs/architecture.md.
OLD_WORDS = re.compile(
    r"(^|_)(told|bite|biting|doorstep|nursery|ground|stirring|bringing|begun|obey|beside|beforehand|mended|crossed|twins|"
    r"deeds|slips|strays|sameness|crew|hired|unheeded|hearing|seeing|spares|whose|sole|stand_in|standing_in)(_|$)"
)


# Method → the modules that may call it. Everyone else uses a BranchWriter, which moves by compare-and-swap.
BRANCH_WRITES = {
    "update_branch": {"cli/wiring.py", "state/git.py"},
    "set_branch": {
        "github/branch_writer.py",
        "server/projection/mirrors.py",
        "state/git.py",
    },
    "delete_branch": {"state/git.py", "workflow/parallel/merge_queue.py", "workflow/planning/spikes.py"},
    "push": {"github/branch_writer.py"},
    "push_ref": {"github/jobs/wave_scheduler.py", "github/prd_run.py"},
}


@pytest.fixture(scope="module")
def shape() -> Shape:
    return read_shape()


def test_the_table(shape: Shape, capsys: pytest.CaptureFixture[str]) -> None:
    """Print the figures; every row has its own test below."""
    modules, functions = shape.modules, shape.function_lengths()
    package, most = shape.modules_per_package.most_common(1)[0]
    longest = max(modules, key=lambda module: module.lines)
    fields, field_owner = max((count, where) for where, count in count_context_fields(shape).items())
    methods, protocol = max((count, where) for where, count in count_protocol_methods(shape).items())
    parameters, function = shape.parameter_counts()[0]
    rows = [
        ("files", str(len(modules)), ""),
        ("lines", f"{sum(module.lines for module in modules):,}", ""),
        ("packages", str(len(shape.modules_per_package)), ""),
        ("most modules in a package", f"{most}  {package}", str(MAX_MODULES)),
        ("public names defined twice", str(len(shape.repeated_names)), "0"),
        ("small modules with one importer", str(len(small_modules(shape))), "0"),
        ("types that describe a story", str(len(list_story_types(shape))), str(MAX_STORY_TYPES)),
        ("repeated runs of lines", str(len(shape.repeated_runs(MAX_REPEATED_LINES + 1))), "0"),
        ("import cycles", str(len(shape.import_cycles)), "0"),
        ("longest module", f"{longest.lines}  {longest.path}", str(MAX_MODULE_LINES)),
        ("longest function", f"{functions[0][0]}  {functions[0][1]}", str(MAX_FUNCTION_LINES)),
        ("median function", str(functions[len(functions) // 2][0]), ""),
        ("most fields in a context", f"{fields}  {field_owner}", str(MAX_CONTEXT_FIELDS)),
        ("most methods in a Protocol", f"{methods}  {protocol}", str(MAX_PROTOCOL_METHODS)),
        ("most parameters of a function", f"{parameters}  {function}", str(MAX_PARAMETERS)),
    ]
    with capsys.disabled():
        print(f"\n{'':34}{'found':68}limit")
        for name, found, limit in rows:
            print(f"{name:34}{found:68}{limit}")
    assert len(modules) > 100, "the source was not found"


def test_no_package_has_too_many_modules(shape: Shape) -> None:
    assert {name: count for name, count in shape.modules_per_package.items() if count > MAX_MODULES} == {}


def test_every_package_says_what_it_is_for(shape: Shape) -> None:
    packages = [module for module in shape.modules if module.is_package]
    assert [module.path for module in packages if len(ast.get_docstring(module.tree) or "") < 40] == []


def test_every_module_has_a_docstring(shape: Shape) -> None:
    assert [module.path for module in shape.modules if not ast.get_docstring(module.tree)] == []


def test_a_public_name_is_defined_once(shape: Shape) -> None:
    assert shape.repeated_names == {}


def test_repeated_names_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class One: ...\nTwo = int | str\nItem = TypeVar('Item')\nTHREE = 3\n_Four = int")
    (tmp_path / "b.py").write_text("One = dict[str, int]\nTwo = str\nItem = TypeVar('Item')\nTHREE = 3\n_Four = int")
    assert read_shape(tmp_path).repeated_names == {"One": ("a.py", "b.py"), "Two": ("a.py", "b.py")}


def test_no_run_of_lines_is_repeated(shape: Shape) -> None:
    """Lines are compared without indentation, in the same module too. Imports, brackets and blank lines count like any
    other: a long list of names that two modules import is avoided by importing their module."""
    assert shape.repeated_runs(MAX_REPEATED_LINES + 1) == []


def test_repeated_runs_of_lines_are_found(tmp_path: Path) -> None:
    lines = [f"value_{number} = {number}" for number in range(MAX_REPEATED_LINES + 1)]
    (tmp_path / "a.py").write_text("\n".join(["import os", *lines]))
    (tmp_path / "b.py").write_text("def f():\n    " + "\n    ".join(lines))
    (tmp_path / "c.py").write_text("\n".join(lines[1:]))
    assert read_shape(tmp_path).repeated_runs(MAX_REPEATED_LINES + 1) == ["a.py:2 = b.py:2"]


def test_small_modules_are_part_of_their_importer(shape: Shape) -> None:
    assert sorted(small_modules(shape)) == []


def test_few_types_describe_a_story(shape: Shape) -> None:
    found = list_story_types(shape)
    assert {"domain/records.py:Story", "views/models.py:StoryCard"} <= set(found), "the rule finds no story"
    assert len(found) <= MAX_STORY_TYPES, found


def test_no_modules_import_each_other(shape: Shape) -> None:
    assert len(shape.import_graph["prd2pr.workflow.run"]) > 10, "its imports were not found"
    assert shape.import_cycles == []


def test_only_the_branch_writers_move_branches(shape: Shape) -> None:
    callers: dict[str, set[str]] = {name: set() for name in BRANCH_WRITES}
    for module in shape.modules:
        for node in module.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in callers:
                callers[node.func.attr].add(module.path)
    assert callers == BRANCH_WRITES


def test_packages_say_truly_what_they_may_import(shape: Shape) -> None:
    """`May import ...` in a top-level package names the other top-level packages that it imports: all, and no others.

    The modules beside the packages (`errors`, `config`, `templating` ...) are not named.
    """
    modules = shape.modules
    packages = {each.package: each for each in modules if each.is_package and each.package.count("/") == 0}
    del packages["."]
    stated = {name: read_stated_imports(ast.get_docstring(each.tree) or "") for name, each in packages.items()}
    found: dict[str, set[str]] = {name: set() for name in packages}
    for module in modules:
        own = module.path.partition("/")[0]
        if own in packages:
            names = {name.split(".")[1] for name in module.imports if name.startswith("prd2pr.")}
            found[own] |= (names & packages.keys()) - {own}
    assert stated == found


def read_stated_imports(docstring: str) -> set[str] | None:
    """Read the packages from the sentence; None: there is no such sentence."""
    sentence = re.search(r"^May import (no other package|[^.]+)\.", docstring, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", sentence[1])) if sentence else None


def test_import_cycles_are_found(tmp_path: Path) -> None:
    """Real cycles only: through modules, or through a package that an import also runs."""
    sources = {
        "a/__init__.py": "from prd2pr.b import name",
        "a/part.py": "",
        "b.py": "import json\nimport prd2pr.a.part",
        "c.py": "try:\n    from prd2pr import d\nexcept ImportError:\n    pass",
        "d.py": "from prd2pr.e import name",
        "e.py": "class E:\n    from prd2pr.c import name",
        "f.py": "from prd2pr import d, g\nfrom prd2pr.package import one",
        "g.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from prd2pr import f",
        "h.py": "from prd2pr import i",
        "i.py": "def load():\n    from prd2pr import h",
        "package/__init__.py": "from prd2pr.package import one",
        "package/one.py": "from prd2pr.package.two import name",
        "package/two.py": "",
    }
    for path, text in sources.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert read_shape(tmp_path).import_cycles == [("prd2pr.a", "prd2pr.b"), ("prd2pr.c", "prd2pr.d", "prd2pr.e")]


def test_every_exception_is_still_needed(shape: Shape) -> None:
    small = {module.path for module in shape.modules if is_small_with_one_importer(shape, module)}
    large = {
        f"{module.path}:{node.name}"
        for module, node in shape.classes()
        if len(shape.fields(module, node)) > MAX_CONTEXT_FIELDS
    }
    assert set(STANDALONE) - small == set()
    assert set(DATA_CLASSES) - large == set()


def test_modules_and_functions_are_not_too_long(shape: Shape) -> None:
    assert [module.path for module in shape.modules if module.lines > MAX_MODULE_LINES] == []
    assert [where for lines, where in shape.function_lengths() if lines > MAX_FUNCTION_LINES] == []


def test_contexts_are_split_by_concern(shape: Shape) -> None:
    found = count_context_fields(shape)
    assert {where: count for where, count in found.items() if count > MAX_CONTEXT_FIELDS} == {}


def test_protocols_are_narrow(shape: Shape) -> None:
    found = count_protocol_methods(shape)
    assert {where: count for where, count in found.items() if count > MAX_PROTOCOL_METHODS} == {}


def test_functions_have_few_parameters(shape: Shape) -> None:
    assert [found for found in shape.parameter_counts() if found[0] > MAX_PARAMETERS] == []


def test_fields_and_methods_are_counted_with_inherited_ones(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "class A:\n    kind: ClassVar[str]\n    a: int\n    def run(self): ...\n"
        "class B(A):\n    def __init__(self):\n        self.b, self.c = 1, 2\n        self.b.x = 3\n"
    )
    (tmp_path / "two.py").write_text(
        "from prd2pr import one\nfrom prd2pr.one import B as Base\n"
        "class A(Base[int]):\n    d: int\n    def stop(self): ...\n"
        "class C(one.A): ...\n"
    )
    shape = read_shape(tmp_path)
    places = shape.class_places
    assert shape.fields(*places["prd2pr.two.A"]) == {"a", "b", "c", "d"}
    assert shape.methods(*places["prd2pr.two.A"]) == {"__init__", "run", "stop"}
    assert shape.fields(*places["prd2pr.two.C"]) == {"a"}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pathlib", {"pathlib"}),
        ("from pathlib import Path, PurePosixPath", {"pathlib.Path"}),
        ("from pathlib import PurePosixPath", set()),
        ("import os", {"os"}),
        ("from os import environ", {"os.environ"}),
        ("import os.path", set()),
        ("from os.path import normpath", set()),
        ("from urllib.parse import quote", set()),
        ("import sqlite3, random", {"sqlite3", "random"}),
        ("import datetime\ndatetime.datetime.now()", {"datetime.datetime.now"}),
        ("from datetime import date\ndate.today()", {"date.today"}),
        ("open('a')", {"open"}),
    ],
)
def test_effects_are_found(source: str, found: set[str]) -> None:
    assert effects_in(Module("domain/one.py", source, ast.parse(source))) == found


def test_pure_packages_have_no_effects(shape: Shape) -> None:
    pure = [module for module in shape.modules if module.path.startswith(PURE_PACKAGES)]
    assert {module.path: sorted(effects_in(module)) for module in pure if effects_in(module)} == {}


def test_names_come_from_the_field(shape: Shape) -> None:
    modules = [
        module.path for module in shape.modules if OLD_WORDS.search(module.path.rpartition("/")[2].removesuffix(".py"))
    ]
    names = [
        f"{module.path}:{node.name}"
        for module in shape.modules
        for node in module.definitions
        if OLD_WORDS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node.name).lower())
    ]
    assert modules + names == []


def count_context_fields(shape: Shape) -> dict[str, int]:
    """Count the fields of dataclasses, named tuples and plain classes that may hold collaborators."""
    return {
        where: len(shape.fields(module, node))
        for module, node in shape.classes()
        if module.path.startswith(CONTEXT_PACKAGES)
        and not shape.is_data(module, node)
        and (where := f"{module.path}:{node.name}") not in DATA_CLASSES
    }


def count_protocol_methods(shape: Shape) -> dict[str, int]:
    return {
        f"{module.path}:{node.name}": len(shape.methods(module, node))
        for module, node in shape.classes()
        if is_protocol(node)
    }


def is_small_with_one_importer(shape: Shape, module: Module) -> bool:
    return not module.is_package and module.lines < SMALL_MODULE and len(shape.importers[module.name]) == 1


def small_modules(shape: Shape) -> list[str]:
    return [
        f"{module.path} ({module.lines}) -> {', '.join(shape.importers[module.name])}"
        for module in shape.modules
        if is_small_with_one_importer(shape, module) and module.path not in STANDALONE
    ]


def effects_in(module: Module) -> set[str]:
    imported = {name for name in list_imported_names(module) if is_effect(name)}
    called = {ast.unparse(node.func) for node in module.nodes if isinstance(node, ast.Call)}
    return imported | {name for name in called if name == "open" or CLOCK_CALL.search(name)}


def list_imported_names(module: Module) -> Iterator[str]:
    """List what is imported; for `from a import b` only `a.b`, which may be harmless where `a` is not."""
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_effect(name: str) -> bool:
    harmless = any(name == each or name.startswith(f"{each}.") for each in HARMLESS_IMPORTS)
    return name.partition(".")[0] in {*EFFECTS, "pathlib"} and not harmless


STORY_FIELDS = {"attempts", "complexity", "criteria", "kind", "outcome", "story"}


def list_story_types(shape: Shape) -> list[str]:
    """List the classes that repeat a story's id and its title or criteria as fields of their own.

    A class that extends another, or has a story as a field, is not one; neither are PRDs, which have a path or stories.
    """
    found = []
    for module, node in shape.classes():
        fields = own_fields(node)
        named = bool(fields & {"id", "key", "story"}) and not fields & {"path", "stories"}
        if named and ("criteria" in fields or ("title" in fields and fields & STORY_FIELDS)):
            found.append(f"{module.path}:{node.name}")
    return sorted(found)
