"""GRN204 and RFC204: changed examples in docstrings that the project's pytest runs (`--doctest-modules`).

The examples are part of the source, so they are not locked and do not count as RED tests, but they must pass like any
test. GREEN may change an example together with the documented behavior; a refactoring may not.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator, Mapping

from prd2pr.domain.evidence import Fact, RunReport
from prd2pr.domain.records import Phase
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.languages.python.test_model.module import FunctionNode, parse_python

FINDINGS: tuple[FindingKind, ...] = (
    define_warning(
        "GRN204",
        "an example in the documentation was changed",
        "The project's pytest runs the examples in docstrings. They are part of the source and are not locked. If "
        "the story changes the documented behavior, its example changes too. Otherwise the example may have been "
        "adapted to what the code does now.",
        bad='    """\n    >>> earn(10)\n    7\n    """   # was: 1',
        good='    """\n    >>> earn(10)\n    1\n    """',
        remedy="explain the new documented result in the story, or restore the example.",
    ),
    define_error(
        "RFC204",
        "an example in the documentation was changed",
        "The project's pytest runs the examples in docstrings, so they are tests. A refactoring does not change them.",
        bad='    """\n    >>> redeem(137, 47)\n    91\n    """   # was: 90',
        good='    """\n    >>> redeem(137, 47)\n    90\n    """',
        remedy="restore the example; if a function is removed, its examples are removed with it.",
    ),
)


_CODES = {Phase.GREEN: "GRN204", Phase.REFACTOR: "RFC204"}


def check_doctests(
    before: Mapping[str, str], after: Mapping[str, str], base: RunReport, phase: Phase
) -> Iterator[Fact]:
    """Report changed examples in files whose examples ran before. `before` and `after` map source files to contents."""
    ran = {result.id.partition("::")[0] for result in base.results}
    for path in sorted(ran & before.keys() & after.keys()):
        if phase in _CODES and before[path] != after[path]:
            yield from _check_changed_examples(path, before[path], after[path], _CODES[phase])


def _check_changed_examples(path: str, old: str, new: str, code: str) -> Iterator[Fact]:
    later = _collect_examples(new)
    for owner, (_, examples) in _collect_examples(old).items():
        if owner not in later:
            continue  # removed together with its function, which the run reports
        line, now = later[owner]
        for source, expected in examples.items():
            if now.get(source) != expected:
                what = "now has a different expected result" if source in now else "was removed"
                message = f"the example `{source.strip()[:60]}` of `{owner or 'the module'}` {what}"
                yield Fact(code=code, path=path, line=line, message=message)


def _collect_examples(text: str) -> dict[str, tuple[int, dict[str, str]]]:
    """Map the owner of each docstring to its line and the expected results of its examples."""
    tree = parse_python(text)
    return dict(_walk_examples([("", tree)])) if tree else {}


def _walk_examples(
    nodes: Iterable[tuple[str, ast.Module | ast.ClassDef | FunctionNode]],
) -> Iterator[tuple[str, tuple[int, dict[str, str]]]]:
    for name, node in nodes:
        docstring = ast.get_docstring(node) or ""
        try:
            examples = doctest.DocTestParser().get_examples(docstring)
        except ValueError:  # inconsistent indentation, which pytest reports
            examples = []
        if examples:
            yield name, (getattr(node, "lineno", 1), {each.source: each.want for each in examples})
        inner = [each for each in node.body if isinstance(each, ast.ClassDef | FunctionNode)]
        yield from _walk_examples((f"{name}.{each.name}".lstrip("."), each) for each in inner)
