"""What the AST of a source file says that GREEN and REFACTOR must know: a subject that plays to its tests.

Only what is new counts: a sighting that the old text held as well is the project's own affair.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from prd2pr.core.evidence import Fact
from prd2pr.core.paths import SCRIPT_DIRECTORIES
from prd2pr.core.records import Phase
from prd2pr.core.sourcefacts_equality import equality_sightings
from prd2pr.core.sourcefacts_helpers import helper_sightings
from prd2pr.core.sourcefacts_literals import literal_sightings
from prd2pr.core.sourcefacts_refactor import refactor_sightings
from prd2pr.core.sourcefacts_subject import (
    Sighting,
    SourceModule,
    counter_sightings,
    exit_sightings,
    frame_sightings,
    getattr_sightings,
    import_sightings,
    patch_sightings,
    swallow_sightings,
)
from prd2pr.core.sourcefacts_surroundings import surrounding_sightings
from prd2pr.core.sourcefacts_tables import table_sightings
from prd2pr.core.sourcefacts_tests import reading_sightings, runner_sightings
from prd2pr.core.testfacts_model import FactContext, dotted, imports_of, is_too_deep, parse

__all__ = ["source_facts"]

_RULES: tuple[Callable[[SourceModule], Iterator[Sighting]], ...] = (
    runner_sightings,
    frame_sightings,
    exit_sightings,
    import_sightings,
    equality_sightings,
    getattr_sightings,
    patch_sightings,
    swallow_sightings,
    counter_sightings,
    reading_sightings,
    surrounding_sightings,
)
# Lines that no test can reach, whatever it does.
_UNREACHABLE = ("__name__", "TYPE_CHECKING", "NotImplementedError", "@overload", "@abstractmethod")


def source_facts(
    path: str, old: str | None, new: str, context: FactContext, phase: Phase = Phase.GREEN
) -> tuple[Fact, ...]:
    """Facts about one changed source file; `old` is None for a new one. REFACTOR asks a few things more."""
    if is_too_deep(new) and not is_too_deep(old or ""):
        return (Fact(code="GRN412", path=path, message="is nested too deeply to be read"),)
    before = Counter((sighting.code, sighting.key) for sighting in _sightings(old or ""))
    found: list[Sighting] = []
    for sighting in _sightings(new, program=_is_program(path, context)):
        if before[sighting.code, sighting.key]:
            before[sighting.code, sighting.key] -= 1
        else:
            found.append(sighting)
    found.extend(helper_sightings(old or "", new, context.test_sources))
    if phase is Phase.REFACTOR:
        found.extend(refactor_sightings(old or "", new, path, context.sources, context.previous))
    else:
        found.extend(literal_sightings(old or "", new, context.test_sources))
        found.extend(table_sightings(old or "", new, context.test_sources, context.naming))
    facts = (Fact(code=each.code, path=path, line=each.line, message=each.message) for each in found)
    return tuple(sorted(facts, key=lambda fact: (fact.line, fact.code)))


def _is_program(path: str, context: FactContext) -> bool:
    """A file that is started and never imported: `scripts/count.py`, `shop/__main__.py`. It may end as programs do."""
    name, parts = PurePosixPath(path).stem, PurePosixPath(path).parts
    if name != "__main__" and parts[0] not in SCRIPT_DIRECTORIES:
        return False
    texts = [*context.test_sources.values(), *(text for other, text in context.sources.items() if other != path)]
    trees = [tree for text in texts if name in text and (tree := parse(text)) is not None]
    words = {word for tree in trees for full in _imported(tree) for word in full.split(".")}
    loaded = any(word in text for text in texts for word in ("spec_from_file_location", "import_module", "__import__"))
    return len(parts) > 1 and name not in words and not loaded


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.name for alias in node.names)
            yield (node.module or "") if isinstance(node, ast.ImportFrom) else ""


def _sightings(source: str, *, program: bool = False) -> list[Sighting]:
    tree = parse(source)
    if tree is None:
        return []
    module = SourceModule(tree, imports_of(tree.body))
    rules = [rule for rule in _RULES if not (program and rule is import_sightings)]
    return [*(sighting for rule in rules for sighting in rule(module)), *_uncovered(source, tree)]


def _uncovered(source: str, tree: ast.Module) -> Iterator[Sighting]:
    """Comments that take lines out of the coverage count."""
    elsewhere = _of_other_machines(tree)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        words = token.string.replace(" ", "").lower()
        if token.type == tokenize.COMMENT and ("pragma:nocover" in words or "pragma:nobranch" in words):
            code = token.line[: token.start[1]].rstrip()  # what the comment itself says is no excuse
            if any(sign in code for sign in _UNREACHABLE) or code.endswith("...") or token.start[0] in elsewhere:
                continue
            yield Sighting("GRN408", words, token.start[0], "takes code out of the coverage count: `pragma: no cover`")


def _of_other_machines(tree: ast.Module) -> set[int]:
    """Lines that run on another Python or another system only: no one machine's tests cover both sides."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _asks_machine(node.test):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            caught = {dotted(x) for x in ast.walk(node.type)}
            if caught & {"ImportError", "ModuleNotFoundError"}:
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _asks_machine(test: ast.expr) -> bool:
    """`sys.version_info < (3, 11)`, and nothing beside it."""
    attributes = [x for x in ast.walk(test) if isinstance(x, ast.Attribute)]
    names = {x.id for x in ast.walk(test) if isinstance(x, ast.Name)}
    asked = {dotted(x) for x in attributes}
    return bool(asked & {"sys.version_info", "sys.platform", "os.name"}) and names <= {"sys", "os"}
