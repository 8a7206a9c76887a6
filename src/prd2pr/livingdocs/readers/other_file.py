"""Read source files of languages other than Python with line patterns.

Only facts that such patterns show reliably are read: public names declared at the start of a line, relative imports,
environment variables and literal routes. Branches are counted by keyword for the whole file, since finding functions
would need a parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from prd2pr.livingdocs.readers.languages import detect_file_language
from prd2pr.livingdocs.readers.python_file import read_python_file
from prd2pr.livingdocs.readers.source_file import EnvRead, HttpRoute, SourceFile, SourceSymbol

MAX_LINE = 400  # longer lines are assumed to be generated
MAX_SYMBOLS = 200
_BRANCH = re.compile(
    r"\b(?:if|elif|elsif|unless|for|foreach|while|until|case|when|catch|rescue|guard)\b|&&|\|\||\?\?|\s\?\s"
)
_QUOTED = re.compile(r""" "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `[^`]*` """, re.VERBOSE)
_DASH_COMMENTS = frozenset({"SQL", "Lua"})
_HASH_COMMENTS = frozenset({"Ruby", "Elixir", "Perl", "R", "Shell", "PHP"})


class LinePatterns(NamedTuple):
    """Compiled patterns for one line. A symbol pattern has a group `name` and is listed with its kind."""

    symbols: tuple[tuple[str, re.Pattern[str]], ...] = ()
    imports: tuple[re.Pattern[str], ...] = ()
    env: tuple[re.Pattern[str], ...] = ()
    routes: tuple[re.Pattern[str], ...] = ()
    tests: re.Pattern[str] | None = None


class PatternTexts(NamedTuple):
    """The patterns of a language as text, compiled only if the language occurs."""

    symbols: tuple[tuple[str, str], ...] = ()
    imports: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    tests: str = ""


@cache
def compile_patterns(language: str) -> LinePatterns:
    written = PATTERN_TEXTS.get(language, PatternTexts())
    return LinePatterns(
        tuple((kind, re.compile(pattern)) for kind, pattern in written.symbols),
        tuple(map(re.compile, written.imports)),
        tuple(map(re.compile, written.env)),
        tuple(map(re.compile, written.routes)),
        re.compile(written.tests) if written.tests else None,
    )


def _patterns(
    *symbols: tuple[str, str],
    imports: tuple[str, ...] = (),
    env: tuple[str, ...] = (),
    routes: tuple[str, ...] = (),
    tests: str = "",
) -> PatternTexts:
    return PatternTexts(symbols, imports, env, routes, tests)


_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_VERBS = "get|post|put|patch|delete|all"
_SCRIPT = _patterns(
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
PATTERN_TEXTS: dict[str, PatternTexts] = {
    "JavaScript": _SCRIPT,
    "TypeScript": _SCRIPT,
    "Go": _patterns(
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
    "Rust": _patterns(
        ("function", r"^pub(?:\([^)]*\))?\s+(?:async\s+|const\s+|unsafe\s+)*fn\s+(?P<name>\w+)"),
        ("type", r"^pub(?:\([^)]*\))?\s+(?:struct|enum|trait|type|union)\s+(?P<name>\w+)"),
        ("value", r"^pub(?:\([^)]*\))?\s+(?:const|static)\s+(?P<name>\w+)"),
        env=(r"""\benv::var(?:_os)?\("(?P<name>\w+)"\)""",),
        tests=r"^\s*#\[(?:tokio::)?test\]",
    ),
    "Java": _patterns(
        ("class", r"^public\s+(?:(?:abstract|final|sealed)\s+)*(?:class|record)\s+(?P<name>\w+)"),
        ("type", r"^public\s+(?:interface|enum|@interface)\s+(?P<name>\w+)"),
        env=(r"""\bSystem\.getenv\("(?P<name>\w+)"\)""",),
        tests=r"^\s*@Test\b",
    ),
    "Kotlin": _patterns(
        ("class", r"^(?:data\s+|sealed\s+|open\s+)?class\s+(?P<name>\w+)"),
        ("function", r"^(?:suspend\s+)?fun\s+(?P<name>\w+)"),
        tests=r"^\s*@Test\b",
    ),
    "Ruby": _patterns(
        ("class", r"^\s*class\s+(?P<name>[A-Z]\w*)"),
        ("type", r"^\s*module\s+(?P<name>[A-Z]\w*)"),
        ("function", r"^def\s+(?:self\.)?(?P<name>\w+[?!]?)"),
        env=(r"""\bENV(?:\.fetch\(|\[)['"](?P<name>\w+)['"]""",),
    ),
    "PHP": _patterns(
        ("class", r"^(?:abstract\s+|final\s+)?class\s+(?P<name>\w+)"),
        ("type", r"^(?:interface|trait|enum)\s+(?P<name>\w+)"),
        ("function", r"^function\s+(?P<name>\w+)"),
        env=(r"""\bgetenv\(['"](?P<name>\w+)['"]\)""",),
    ),
    "C#": _patterns(
        ("class", r"^\s*public\s+(?:(?:static|sealed|abstract|partial)\s+)*(?:class|record)\s+(?P<name>\w+)"),
        ("type", r"^\s*public\s+(?:interface|enum|struct)\s+(?P<name>\w+)"),
    ),
    "Shell": _patterns(("function", r"^(?:function\s+)?(?P<name>[A-Za-z_]\w*)\s*\(\)\s*\{?")),
}


def read_source_file(path: str, text: str) -> SourceFile | None:
    """Read the facts of a source file in any language. Return None if it is not a source file."""
    language = detect_file_language(path)
    if not language:
        return None
    if path.endswith((".py", ".pyi")):
        return read_python_file(text)
    lines = text.splitlines()
    rules = compile_patterns(language)
    short = [(number, line) for number, line in enumerate(lines, 1) if len(line) <= MAX_LINE]
    return SourceFile(
        language=language,
        lines=len(lines),
        symbols=tuple(_find_symbols(short, rules))[:MAX_SYMBOLS],
        imports=tuple(sorted({found["path"] for _, line in short for found in _find_all(rules.imports, line)})),
        env=tuple(
            EnvRead(found["name"], number, required=False)
            for number, line in short
            for found in _find_all(rules.env, line)
        ),
        routes=tuple(
            HttpRoute(
                (found["method"] or "any").upper().replace("ANY", "any").replace("ALL", "any"), found["path"], "", at
            )
            for at, line in short
            for found in _find_all(rules.routes, line)
        ),
        tests=sum(bool(rules.tests.search(line)) for _, line in short) if rules.tests else 0,
        branches=sum(len(_BRANCH.findall(_strip_text(line, language))) for _, line in short),
    )


def _strip_text(line: str, language: str) -> str:
    """Remove quoted text and comments, as far as they can be recognized in a single line."""
    bare = _QUOTED.sub("", line)
    if bare.lstrip().startswith(("//", "/*", "*")):
        return ""
    mark = "--" if language in _DASH_COMMENTS else "#" if language in _HASH_COMMENTS else "//"
    return bare.partition(mark)[0]


def _find_symbols(lines: list[tuple[int, str]], rules: LinePatterns) -> Iterator[SourceSymbol]:
    met: set[str] = set()
    for number, line in lines:
        for kind, pattern in rules.symbols:
            found = pattern.match(line)
            if found and found["name"] not in met:
                met.add(found["name"])
                yield SourceSymbol(found["name"], kind, number)


def _find_all(patterns: Iterable[re.Pattern[str]], line: str) -> Iterator[re.Match[str]]:
    for pattern in patterns:
        yield from pattern.finditer(line)
