"""Examples in docstrings that the project's pytest runs (`--doctest-modules`): GRN204, RFC204.

They stand in the source, so nothing locks them, and they prove no RED. They have to pass as every test does. Whoever
changes what is asked for changes the example with it, in GREEN; in a refactoring nothing changes that is asked for.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator, Mapping

from prd2pr.core.evidence import Fact, RunReport
from prd2pr.core.records import Phase
from prd2pr.core.testfacts_model import FunctionNode, parse

_CODES = {Phase.GREEN: "GRN204", Phase.REFACTOR: "RFC204"}


def changed_examples(
    before: Mapping[str, str], after: Mapping[str, str], base: RunReport, phase: Phase
) -> Iterator[Fact]:
    """`before` and `after`: the source files, path -> text. Only of files whose examples were run before the step."""
    ran = {result.id.partition("::")[0] for result in base.results}
    for path in sorted(ran & before.keys() & after.keys()):
        if phase in _CODES and before[path] != after[path]:
            yield from _changed(path, before[path], after[path], _CODES[phase])


def _changed(path: str, old: str, new: str, code: str) -> Iterator[Fact]:
    later = _documented(new)
    for owner, (_, examples) in _documented(old).items():
        if owner not in later:
            continue  # with the function its example has gone, and the run says so
        line, now = later[owner]
        for source, wanted in examples.items():
            if now.get(source) != wanted:
                what = "has another answer now" if source in now else "has gone"
                said = f"the example `{source.strip()[:60]}` of `{owner or 'the module'}` {what}"
                yield Fact(code=code, path=path, line=line, message=said)


def _documented(text: str) -> dict[str, tuple[int, dict[str, str]]]:
    """Of each docstring's owner where it stands, and what its examples expect."""
    tree = parse(text)
    return dict(_examples([("", tree)])) if tree else {}


def _examples(
    nodes: Iterable[tuple[str, ast.Module | ast.ClassDef | FunctionNode]],
) -> Iterator[tuple[str, tuple[int, dict[str, str]]]]:
    for name, node in nodes:
        told = ast.get_docstring(node) or ""
        try:
            found = doctest.DocTestParser().get_examples(told)
        except ValueError:  # prompts that are not indented alike: pytest will complain
            found = []
        if found:
            yield name, (getattr(node, "lineno", 1), {each.source: each.want for each in found})
        inner = [each for each in node.body if isinstance(each, ast.ClassDef | FunctionNode)]
        yield from _examples((f"{name}.{each.name}".lstrip("."), each) for each in inner)
