"""Every finding in one table: the gates, `prd2pr explain`, the docs page and comments are all made from it."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.core.findings_green import GREEN_FINDINGS
from prd2pr.core.findings_kind import FindingKind, is_python
from prd2pr.core.findings_later import LATER_FINDINGS
from prd2pr.core.findings_red import RED_FINDINGS
from prd2pr.core.findings_run import RUN_FINDINGS

__all__ = ["FINDINGS", "UNSWITCHABLE", "FindingKind", "explain", "finding_pages", "findings_page"]

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
        "Not like this:\n" + _indented(kind.bad),
        "Like this:\n" + _indented(kind.good),
        f"What to do: {kind.hint}",
    ]
    return "\n\n".join(parts) + "\n"


def _indented(example: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in example.splitlines())


def weight(kind: FindingKind) -> str:
    effect = "refuses the step" if kind.severity == "error" else "is shown and kept, and refuses nothing"
    rule = "no setting can switch it off" if kind.unswitchable else "`gates.severity` in .prd2pr.yml can change it"
    return f"{kind.severity}: {effect}; {rule}" + ("; not checked in this version" if kind.reserved else "")


def findings_page() -> str:
    """docs/reference/findings.md: every finding in a line, by area; its own page says the rest."""
    lines = [
        "# Findings",
        "",
        "What a gate, a test run or `prd2pr verify` can object to. `prd2pr explain CODE` shows one of them.",
        "An error refuses the step; a warning is shown and kept.",
    ]
    for prefix, title in _AREAS.items():
        kinds = [kind for kind in FINDINGS.values() if kind.code.startswith(prefix)]
        lines += ["", f"## {title}", "", "| code | | severity |", "|---|---|---|"]
        lines += [
            f"| [{kind.code}](../findings/{kind.code}.md) | {kind.title} | {_short_weight(kind)} |" for kind in kinds
        ]
    return "\n".join(lines) + "\n"


def _short_weight(kind: FindingKind) -> str:
    return f"{kind.severity}{', always' if kind.unswitchable else ''}{', not checked yet' if kind.reserved else ''}"


def finding_pages() -> dict[str, str]:
    """docs/findings/RED104.md …: code → page."""
    return {code: _page(kind) for code, kind in FINDINGS.items()}


def _page(kind: FindingKind) -> str:
    lines = [
        f"# {kind.code}: {kind.title}",
        "",
        f"{weight(kind).capitalize()}.",
        "",
        kind.explanation,
        "",
        "**Not like this**",
        "",
        *_fenced(kind.bad),
        "",
        "**Like this**",
        "",
        *_fenced(kind.good),
        "",
        f"**What to do:** {kind.hint}",
        "",
        f"{_AREAS[kind.code[:3]]} · [all findings](../reference/findings.md) · [what is proved](../what-is-proved.md)",
    ]
    return "\n".join(lines) + "\n"


def _fenced(example: str) -> list[str]:
    return [f"```{'python' if is_python(example) else 'text'}", *example.splitlines(), "```"]
