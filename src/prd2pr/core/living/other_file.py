"""What a file in another language says of itself, by simple rules over its lines.

Only what such a rule can tell honestly: names that are declared public at the start of a line, imports of neighbours,
settings that are read, routes that are written out. Branches are counted by their words, over the whole file: where a
function ends, only a parser can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from prd2pr.core.living.languages import language_of
from prd2pr.core.living.python_file import python_file
from prd2pr.core.living.source_file import EnvRead, Route, SourceFile, Symbol

LONGEST_LINE = 400  # what is longer was written by a machine
MOST_SYMBOLS = 200
_BRANCH = re.compile(
    r"\b(?:if|elif|elsif|unless|for|foreach|while|until|case|when|catch|rescue|guard)\b|&&|\|\||\?\?|\s\?\s"
)
_QUOTED = re.compile(r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `[^`]*` """, re.VERBOSE)
_DASHED = frozenset({"SQL", "Lua"})
_HASHED = frozenset({"Ruby", "Elixir", "Perl", "R", "Shell", "PHP"})


class Rules(NamedTuple):
    """Patterns over one line. A symbol has the groups `name` and, for its kind, the name of the pattern."""

    symbols: tuple[tuple[str, re.Pattern[str]], ...] = ()
    imports: tuple[re.Pattern[str], ...] = ()
    env: tuple[re.Pattern[str], ...] = ()
    routes: tuple[re.Pattern[str], ...] = ()
    tests: re.Pattern[str] | None = None


class Written(NamedTuple):
    """The patterns of a language as text: only those of languages that occur are compiled."""

    symbols: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    tests: str = ""


@cache
def rules_for(language: str) -> Rules:
    written = RULES.get(language, Written())
    return Rules(
        tuple((kind, re.compile(pattern)) for kind, pattern in written.symbols),
        tuple(map(re.compile, written.imports)),
        tuple(map(re.compile, written.env)),
        tuple(map(re.compile, written.routes)),
        re.compile(written.tests) if written.tests else None,
    )


def _rules(
    *symbols: tuple[str, str],
    imports: tuple[str, ...] = (),
    env: tuple[str, ...] = (),
    routes: tuple[str, ...] = (),
    tests: str = "",
) -> Written:
    return Written(symbols, imports, env, routes, tests)


_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_VERBS = "get|post|put|patch|delete|all"
_SCRIPT = _rules(
    ("function", rf"^export\s+(?:default\s+)?(?:async\s+)?function\s*\*?\s+{_NAME}"),
    ("class", rf"^export\s+(?:default\s+)?(?:abstract\s+)?class\s+{_NAME}"),
    ("type", rf"^export\s+(?:declare\s+)?(?:interface|type|enum)\s+{_NAME}"),
    ("value", rf"^export\s+(?:const|let|var)\s+{_NAME}"),
    ("value", rf"^(?:module\.)?exports\.{_NAME}\s*="),
    imports=(r"""(?:\bfrom\s*|\brequire\(\s*|\bimport\(\s*|^import\s+)['"](?P<path>\.{1,2}/[^'"]+)['"]""",),
    env=(r"\bprocess\.env\.(?P<name>[A-Z][A-Z0-9_]*)", r"""\bprocess\.env\[['"](?P<name>[A-Za-z_]\w*)['"]\]"""),
    routes=(rf"""\b(?:app|router|server|fastify|api)\.(?P<method>{_VERBS})\(\s*['"`](?P<path>/[^'"`]*)['"`]""",),
    tests=r"^\s*(?:test|it)(?:\.\w+)?\(",
)
RULES: dict[str, Written] = {
    "JavaScript": _SCRIPT,
    "TypeScript": _SCRIPT,
    "Go": _rules(
        ("function", r"^func\s+(?P<name>[A-Z]\w*)\s*[\[(]"),
        ("type", r"^type\s+(?P<name>[A-Z]\w*)\s"),
        ("value", r"^(?:var|const)\s+(?P<name>[A-Z]\w*)\b"),
        imports=(r"""^\s*(?:import\s+)?(?:[\w.]+\s+)?"(?P<path>[\w.-]+(?:/[\w.~-]+)+)"\s*$""",),
        env=(r"""\bos\.(?:Getenv|LookupEnv)\("(?P<name>\w+)"\)""",),
        routes=(
            r"""\.(?:HandleFunc|Handle)\("(?:(?P<method>[A-Z]+) )?(?P<path>/[^"]*)\"""",
            r"""\.(?P<method>GET|POST|PUT|PATCH|DELETE)\("(?P<path>/[^"]*)\"""",
        ),
        tests=r"^func\s+Test\w+\(",
    ),
    "Rust": _rules(
        ("function", r"^pub(?:\([^)]*\))?\s+(?:async\s+|const\s+|unsafe\s+)*fn\s+(?P<name>\w+)"),
        ("type", r"^pub(?:\([^)]*\))?\s+(?:struct|enum|trait|type|union)\s+(?P<name>\w+)"),
        ("value", r"^pub(?:\([^)]*\))?\s+(?:const|static)\s+(?P<name>\w+)"),
        env=(r"""\benv::var(?:_os)?\("(?P<name>\w+)"\)""",),
        tests=r"^\s*#\[(?:tokio::)?test\]",
    ),
    "Java": _rules(
        ("class", r"^public\s+(?:(?:abstract|final|sealed)\s+)*(?:class|record)\s+(?P<name>\w+)"),
        ("type", r"^public\s+(?:interface|enum|@interface)\s+(?P<name>\w+)"),
        env=(r"""\bSystem\.getenv\("(?P<name>\w+)"\)""",),
        tests=r"^\s*@Test\b",
    ),
    "Kotlin": _rules(
        ("class", r"^(?:data\s+|sealed\s+|open\s+)?class\s+(?P<name>\w+)"),
        ("function", r"^(?:suspend\s+)?fun\s+(?P<name>\w+)"),
        tests=r"^\s*@Test\b",
    ),
    "Ruby": _rules(
        ("class", r"^\s*class\s+(?P<name>[A-Z]\w*)"),
        ("type", r"^\s*module\s+(?P<name>[A-Z]\w*)"),
        ("function", r"^def\s+(?:self\.)?(?P<name>\w+[?!]?)"),
        env=(r"""\bENV(?:\.fetch\(|\[)['"](?P<name>\w+)['"]""",),
    ),
    "PHP": _rules(
        ("class", r"^(?:abstract\s+|final\s+)?class\s+(?P<name>\w+)"),
        ("type", r"^(?:interface|trait|enum)\s+(?P<name>\w+)"),
        ("function", r"^function\s+(?P<name>\w+)"),
        env=(r"""\bgetenv\(['"](?P<name>\w+)['"]\)""",),
    ),
    "C#": _rules(
        ("class", r"^\s*public\s+(?:(?:static|sealed|abstract|partial)\s+)*(?:class|record)\s+(?P<name>\w+)"),
        ("type", r"^\s*public\s+(?:interface|enum|struct)\s+(?P<name>\w+)"),
    ),
    "Shell": _rules(("function", r"^(?:function\s+)?(?P<name>[A-Za-z_]\w*)\s*\(\)\s*\{?")),
}


def source_file(path: str, text: str) -> SourceFile | None:
    """None for what is no source."""
    language = language_of(path)
    if not language:
        return None
    if path.endswith((".py", ".pyi")):
        return python_file(text)
    lines = text.splitlines()
    rules = rules_for(language)
    short = [(number, line) for number, line in enumerate(lines, 1) if len(line) <= LONGEST_LINE]
    return SourceFile(
        language=language,
        lines=len(lines),
        symbols=tuple(_symbols(short, rules))[:MOST_SYMBOLS],
        imports=tuple(sorted({found["path"] for _, line in short for found in _all(rules.imports, line)})),
        env=tuple(
            EnvRead(found["name"], number, required=False) for number, line in short for found in _all(rules.env, line)
        ),
        routes=tuple(
            Route((found["method"] or "any").upper().replace("ANY", "any").replace("ALL", "any"), found["path"], "", at)
            for at, line in short
            for found in _all(rules.routes, line)
        ),
        tests=sum(bool(rules.tests.search(line)) for _, line in short) if rules.tests else 0,
        branches=sum(len(_BRANCH.findall(_without_words(line, language))) for _, line in short),
    )


def _without_words(line: str, language: str) -> str:
    """Without quoted text and comments, as far as one line shows them."""
    bare = _QUOTED.sub("", line)
    if bare.lstrip().startswith(("//", "/*", "*")):
        return ""
    mark = "--" if language in _DASHED else "#" if language in _HASHED else "//"
    return bare.partition(mark)[0]


def _symbols(lines: list[tuple[int, str]], rules: Rules) -> Iterator[Symbol]:
    met: set[str] = set()
    for number, line in lines:
        for kind, pattern in rules.symbols:
            found = pattern.match(line)
            if found and found["name"] not in met:
                met.add(found["name"])
                yield Symbol(found["name"], kind, number)


def _all(patterns: Iterable[re.Pattern[str]], line: str) -> Iterator[re.Match[str]]:
    for pattern in patterns:
        yield from pattern.finditer(line)
