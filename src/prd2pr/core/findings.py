"""Every finding in one table: the gates, `prd2pr explain`, the docs page and comments are all made from it."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.findings_green import GREEN_FINDINGS
from prd2pr.core.findings_kind import FindingKind
from prd2pr.core.findings_later import LATER_FINDINGS
from prd2pr.core.findings_red import RED_FINDINGS
from prd2pr.core.findings_run import RUN_FINDINGS

__all__ = ["FINDINGS", "UNSWITCHABLE", "FindingKind", "explain", "findings_page"]

_AREAS = {
    "RED": "RED: tests only, and they fail for the right reason",
    "GRN": "GREEN: source only, and the very same tests pass",
    "RFC": "REFACTOR: behaviour held, code better",
    "INT": "INTEGRATED: the tests are at home and the whole suite passes",
    "RUN": "The test run itself",
    "VER": "`prd2pr verify`: is the branch what it claims to be?",
}


def _table(kinds: Iterable[FindingKind]) -> dict[str, FindingKind]:
    table: dict[str, FindingKind] = {}
    for kind in kinds:
        if kind.code in table:
            raise ValueError(f"two findings are called {kind.code}")
        table[kind.code] = kind
    return table


FINDINGS: dict[str, FindingKind] = _table((*RED_FINDINGS, *GREEN_FINDINGS, *LATER_FINDINGS, *RUN_FINDINGS))
UNSWITCHABLE: frozenset[str] = frozenset(code for code, kind in FINDINGS.items() if kind.unswitchable)


def explain(code: str) -> str:
    """For the terminal. Raises KeyError for a code that is not in the table."""
    kind = FINDINGS[code]
    parts = [
        f"{kind.code}  {kind.title}",
        weight(kind).capitalize() + ".",
        kind.explanation,
        "Example:\n" + "\n".join(f"    {line}" for line in kind.example.splitlines()),
        f"What to do: {kind.hint}",
    ]
    return "\n\n".join(parts) + "\n"


def weight(kind: FindingKind) -> str:
    effect = "refuses the step" if kind.severity == "error" else "is shown and kept, and refuses nothing"
    rule = "no setting can switch it off" if kind.unswitchable else "`gates.severity` in .prd2pr.yml can change it"
    return f"{kind.severity}: {effect}; {rule}" + ("; not checked in this version" if kind.reserved else "")


def findings_page() -> str:
    """docs/reference/findings.md"""
    lines = [
        "# Findings",
        "",
        "What a gate, a test run or `prd2pr verify` can object to. `prd2pr explain CODE` shows one of them.",
        "An error refuses the step; a warning is shown and kept.",
    ]
    for prefix, title in _AREAS.items():
        kinds = [kind for kind in FINDINGS.values() if kind.code.startswith(prefix)]
        lines += ["", f"## {title}", "", "| code | | severity |", "|---|---|---|"]
        lines += [f"| [{kind.code}](#{kind.code.lower()}) | {kind.title} | {_short_weight(kind)} |" for kind in kinds]
        for kind in kinds:
            lines += ["", *_section(kind)]
    return "\n".join(lines) + "\n"


def _short_weight(kind: FindingKind) -> str:
    return f"{kind.severity}{', always' if kind.unswitchable else ''}{', not checked yet' if kind.reserved else ''}"


def _section(kind: FindingKind) -> list[str]:
    return [
        f"### {kind.code}",
        "",
        f"**{kind.title}.** {weight(kind).capitalize()}.",
        "",
        kind.explanation,
        "",
        "```",
        *kind.example.splitlines(),
        "```",
        "",
        f"*What to do:* {kind.hint}",
    ]
