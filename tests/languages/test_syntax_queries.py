"""Every query compiles with the installed grammars, and every capture, predicate and message in it is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import prd2pr.languages
from prd2pr.languages.golang.files import SYNTAX as GO
from prd2pr.languages.javascript.grammar import SYNTAX as JAVASCRIPT
from prd2pr.languages.rust.files import SYNTAX as RUST
from prd2pr.languages.syntax.queries import Syntax, list_predicates, load_query
from prd2pr.verification.findings import FINDINGS

LANGUAGES = Path(prd2pr.languages.__file__).parent
GRAMMARS = {GO: ("go",), RUST: ("rust",), JAVASCRIPT: ("javascript", "typescript", "tsx")}
FILES = [(syntax, path) for syntax in GRAMMARS for path in sorted((LANGUAGES / syntax.package).glob("*.scm"))]
# `not-any-of?` is not among them: tree-sitter 0.26 accepts it and ignores it.
BUILT_IN = {"eq?", "not-eq?", "match?", "not-match?", "any-of?", "set!"}
CODE = re.compile(r"[A-Z]{3}\d{3}")
ROLE = re.compile(
    r"""(?:find|find_nodes|_resolve_sources)\([^()]*?"([a-z.]+)"|match(?:\.text\(|\.nodes\.get\(|\.nodes\[|\[)"([a-z.]+)"|each\["([a-z]+\.[a-z.]+)"\]"""
)


def read_roles() -> set[str]:
    """List the captures that the code asks for."""
    sources = (path for name in ("syntax", "golang", "rust", "javascript") for path in (LANGUAGES / name).glob("*.py"))
    return {name for path in sources for found in ROLE.findall(path.read_text()) for name in found if name}


def list_captures(text: str) -> set[str]:
    return set(re.findall(r"@([\w.]+)", text))


def split_patterns(path: Path) -> list[str]:
    """Split a query at the patterns of the top level, which begin in the first column."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith(";")]
    return [each for each in re.split(r"\n(?=[(\[])", "\n".join(lines).strip()) if each.strip()]


def test_every_language_has_queries() -> None:
    assert {(syntax.package, path.stem) for syntax, path in FILES} == {
        (package, name)
        for package in ("golang", "rust", "javascript")
        for name in ("roles", "source", "test_files", "tests")
    }


@pytest.mark.parametrize(("syntax", "path"), FILES, ids=lambda each: getattr(each, "package", None) or each.stem)
def test_a_query_compiles_with_every_grammar(syntax: Syntax, path: Path) -> None:
    for grammar in GRAMMARS[syntax]:
        assert load_query(syntax.package, path.stem, grammar).pattern_count == len(split_patterns(path))


@pytest.mark.parametrize(("syntax", "path"), FILES, ids=lambda each: getattr(each, "package", None) or each.stem)
def test_every_predicate_is_known(syntax: Syntax, path: Path) -> None:
    own = {*list_predicates(), *syntax.predicates}
    used = set(re.findall(r"\(#([\w-]+[?!])", path.read_text()))
    assert used - BUILT_IN - own - {f"not-{name}" for name in own} == set()


@pytest.mark.parametrize(
    ("syntax", "path"),
    [each for each in FILES if each[1].stem != "roles"],
    ids=lambda each: getattr(each, "package", None) or each.stem,
)
def test_every_pattern_of_a_rule_names_a_finding_and_its_message(syntax: Syntax, path: Path) -> None:
    for pattern in split_patterns(path):
        captures = list_captures(pattern)
        codes = {name for name in captures if CODE.fullmatch(name)}
        assert len(codes) == 1, pattern
        assert codes <= set(FINDINGS), pattern
        assert captures - codes <= set(re.findall(r"\(#[^()]*?@(\w+)", pattern)) | set(re.findall(r"\{(\w+)", pattern))
        (message,) = re.findall(r'\(#set! message "([^"]+)"\)', pattern)
        assert set(re.findall(r"\{(\w+)", message)) <= captures, pattern


def test_every_role_is_used_and_every_used_role_exists() -> None:
    captured = {path: list_captures(path.read_text()) for _, path in FILES if path.stem == "roles"}
    helpers = {name for path in captured for name in re.findall(r"\(#[^()]*?@([\w.]+)", path.read_text())}
    templates = {name for path in captured for name in re.findall(r'with "[^"]*\{(\w+)\}', path.read_text())}
    everything = set().union(*captured.values())
    assert everything - helpers - templates - read_roles() == set()
    assert read_roles() & {"literal", "mutant", "branch", "binding.value"} == {
        "literal",
        "mutant",
        "branch",
        "binding.value",
    }
    assert read_roles() - everything == set()


def test_queries_are_packaged(request: pytest.FixtureRequest) -> None:
    from hatchling.builders.wheel import WheelBuilder

    builder = WheelBuilder(str(request.config.rootpath))
    packaged = {each.distribution_path for each in builder.recurse_included_files()}
    needed = {f"prd2pr/{path.relative_to(LANGUAGES.parent).as_posix()}" for _, path in FILES}
    needed |= {
        f"prd2pr/languages/{name}"
        for name in ("golang/other_value.go", "rust/other_value.rs", "javascript/other_value.js")
    }
    assert needed - packaged == set()
