"""The table of all findings.

Each finding is defined in the module that reports it: in the Python rules, in the gates or, for test runs and `prd2pr
verify`, in the modules of this package. Verdicts, `prd2pr explain`, the documentation and comments use this table. May
import `languages` and `verification.gates`.
"""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.domain.results.finding_kind import FindingKind, is_python_example
from prd2pr.languages.python import stub_trials
from prd2pr.languages.python.rules.source_code import (
    data_files,
    doctests,
    equality,
    lookup_tables,
    run_tampering,
    smuggled_features,
    source_file,
    test_detection,
)
from prd2pr.languages.python.rules.test_code import (
    assertions,
    contradictions,
    existing_helpers,
    marks,
    mocks,
    nondeterminism,
    oracle,
    runner_hooks,
    swallowed_failures,
    test_file,
    vacuous,
    weak_assertions,
)
from prd2pr.verification.findings import (
    runs,
    verify,
)
from prd2pr.verification.gates import (
    changed_tests,
    changeset,
    dead_code,
    differential,
    failure_reason,
    green,
    hidden_examples,
    integrated,
    mutation,
    red,
    refactor,
    stability,
)

__all__ = ["FINDINGS", "UNSWITCHABLE", "FindingKind", "explain_finding", "render_finding_pages", "render_findings_page"]

_AREAS = {
    "RED": "RED: tests only, and they fail for the right reason",
    "GRN": "GREEN: source only, and the same tests pass",
    "RFC": "REFACTOR: same behavior, better code",
    "INT": "INTEGRATED: the tests are at their permanent location and the whole suite passes",
    "CHK": "`prd2pr check`: a pull request of any form",
    "RUN": "The test run",
    "VER": "`prd2pr verify`: does the branch contain what it claims?",
}


def _build_table(kinds: Iterable[FindingKind]) -> dict[str, FindingKind]:
    """Index the findings by code, ordered by area and code."""
    areas = list(_AREAS)
    table: dict[str, FindingKind] = {}
    for kind in sorted(kinds, key=lambda kind: (areas.index(kind.code[:3]), kind.code)):
        if kind.code in table:
            raise ValueError(f"finding {kind.code} is defined twice")
        table[kind.code] = kind
    return table


FINDINGS: dict[str, FindingKind] = _build_table(
    (
        *stub_trials.FINDINGS,
        *data_files.FINDINGS,
        *doctests.FINDINGS,
        *equality.FINDINGS,
        *lookup_tables.FINDINGS,
        *run_tampering.FINDINGS,
        *smuggled_features.FINDINGS,
        *source_file.FINDINGS,
        *test_detection.FINDINGS,
        *assertions.FINDINGS,
        *contradictions.FINDINGS,
        *existing_helpers.FINDINGS,
        *marks.FINDINGS,
        *mocks.FINDINGS,
        *nondeterminism.FINDINGS,
        *oracle.FINDINGS,
        *runner_hooks.FINDINGS,
        *swallowed_failures.FINDINGS,
        *test_file.FINDINGS,
        *vacuous.FINDINGS,
        *weak_assertions.FINDINGS,
        *runs.FINDINGS,
        *verify.FINDINGS,
        *changed_tests.FINDINGS,
        *changeset.FINDINGS,
        *dead_code.FINDINGS,
        *differential.FINDINGS,
        *failure_reason.FINDINGS,
        *green.FINDINGS,
        *hidden_examples.FINDINGS,
        *integrated.FINDINGS,
        *mutation.FINDINGS,
        *red.FINDINGS,
        *refactor.FINDINGS,
        *stability.FINDINGS,
    )
)
UNSWITCHABLE: frozenset[str] = frozenset(code for code, kind in FINDINGS.items() if kind.unswitchable)


def explain_finding(code: str) -> str:
    """Return the explanation of a finding for the terminal. Raise KeyError if the code is unknown."""
    kind = FINDINGS[code]
    parts = [
        f"{kind.code}  {kind.title}",
        describe_severity(kind).capitalize() + ".",
        kind.explanation,
        "Bad:\n" + _indent(kind.bad),
        "Good:\n" + _indent(kind.good),
        f"What to do: {kind.remedy}",
    ]
    return "\n\n".join(parts) + "\n"


def _indent(example: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in example.splitlines())


def describe_severity(kind: FindingKind) -> str:
    """Describe the effect of a finding and whether its severity can be configured."""
    effect = "refuses the step" if kind.severity == "error" else "is shown and recorded, but does not refuse the step"
    rule = "cannot be disabled" if kind.unswitchable else "configurable with `gates.severity` in .prd2pr.yml"
    return f"{kind.severity}: {effect}; {rule}" + ("; not checked in this version" if kind.reserved else "")


def render_findings_page() -> str:
    """Render docs/reference/findings.md, which lists the findings by area and links to the page of each."""
    lines = [
        "# Findings",
        "",
        "Everything that a gate, a test run or `prd2pr verify` can report. `prd2pr explain CODE` explains one finding.",
        "An error refuses the step; a warning is shown and recorded.",
    ]
    for prefix, title in _AREAS.items():
        kinds = [kind for kind in FINDINGS.values() if kind.code.startswith(prefix)]
        lines += ["", f"## {title}", "", "| code | | severity |", "|---|---|---|"]
        lines += [
            f"| [{kind.code}](../findings/{kind.code}.md) | {kind.title} | {_format_severity(kind)} |" for kind in kinds
        ]
    return "\n".join(lines) + "\n"


def _format_severity(kind: FindingKind) -> str:
    return f"{kind.severity}{', always' if kind.unswitchable else ''}{', not checked yet' if kind.reserved else ''}"


def render_finding_pages() -> dict[str, str]:
    """Render the page of each finding, such as docs/findings/RED104.md, and return the pages by code."""
    return {code: _render_page(kind) for code, kind in FINDINGS.items()}


def _render_page(kind: FindingKind) -> str:
    lines = [
        f"# {kind.code}: {kind.title}",
        "",
        f"{describe_severity(kind).capitalize()}.",
        "",
        kind.explanation,
        "",
        "**Bad**",
        "",
        *_fence_example(kind.bad),
        "",
        "**Good**",
        "",
        *_fence_example(kind.good),
        "",
        f"**What to do:** {kind.remedy}",
        "",
        f"{_AREAS[kind.code[:3]]} · [all findings](../reference/findings.md) · [what is proved](../what-is-proved.md)",
    ]
    return "\n".join(lines) + "\n"


def _fence_example(example: str) -> list[str]:
    return [f"```{'python' if is_python_example(example) else 'text'}", *example.splitlines(), "```"]
