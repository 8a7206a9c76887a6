from __future__ import annotations

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from prd2pr.domain.records import Phase
from prd2pr.verification.findings import (
    FINDINGS,
    UNSWITCHABLE,
    explain_finding,
    render_finding_pages,
    render_findings_page,
)

SOURCE = Path(__file__).parents[2] / "src" / "prd2pr"
CODE = re.compile(r"(?:RED|GRN|RFC|INT|CHK|RUN|VER)\d{3}")


def codes_in(path: Path) -> tuple[set[str], set[str]]:
    """The finding codes that a module defines, and those that it only mentions."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    entries = [call.args[0] for call in calls if call.func.id.startswith("define_") and call.args]  # type: ignore[attr-defined]
    known = {id(node) for node in entries}
    others = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in known]
    defined = {str(node.value) for node in entries if isinstance(node, ast.Constant)}
    return defined, {node.value for node in others if isinstance(node.value, str) and CODE.fullmatch(node.value)}


@cache
def codes_by_module() -> dict[Path, tuple[set[str], set[str]]]:
    return {path: codes_in(path) for path in SOURCE.rglob("*.py")}


def emitted_codes() -> set[str]:
    return {code for _, named in codes_by_module().values() for code in named}


@cache
def pages() -> tuple[dict[str, str], str]:
    """The page of each finding, and the page that lists them."""
    return render_finding_pages(), render_findings_page()


def test_every_code_in_the_source_is_in_the_table() -> None:
    defined = [code for codes, _ in codes_by_module().values() for code in codes if CODE.fullmatch(code)]
    assert sorted(emitted_codes() - set(FINDINGS)) == []
    assert sorted(defined) == sorted(FINDINGS)


def test_every_finding_is_reported_by_some_rule() -> None:
    reserved = {code for code, kind in FINDINGS.items() if kind.reserved}
    assert reserved == set()
    assert sorted(set(FINDINGS) - emitted_codes() - reserved) == []


def test_a_finding_is_defined_next_to_the_rule_that_reports_it() -> None:
    """Findings about runs and about `verify` have tables of their own."""
    named_in: dict[Path, set[str]] = {}
    for path, (_, named) in codes_by_module().items():
        named_in.setdefault(path.parent, set()).update(named)
    for path, (defined, _) in codes_by_module().items():
        if path.parent != SOURCE / "verification" / "findings":
            assert sorted(defined - named_in[path.parent]) == [], path.name


def test_the_table_is_sorted_by_area_and_code() -> None:
    codes = list(FINDINGS)
    assert list(dict.fromkeys(code[:3] for code in codes)) == ["RED", "GRN", "RFC", "INT", "CHK", "RUN", "VER"]
    assert all(one < other for one, other in pairwise(codes) if one[:3] == other[:3])


@pytest.mark.parametrize("code", sorted(FINDINGS))
def test_a_finding_has_an_explanation_examples_and_a_hint(code: str) -> None:
    kind = FINDINGS[code]
    assert kind.code == code
    assert len(kind.explanation) > 20
    assert kind.explanation.endswith((".", "?"))
    assert kind.bad != kind.good
    assert all(text.strip() for text in (kind.bad, kind.good))
    assert kind.remedy.endswith((".", '"', "….")) or kind.remedy.endswith('"""')
    text = explain_finding(code)
    assert text.startswith(f"{code}  {kind.title}\n")
    assert kind.remedy in text
    page_by_code, list_page = pages()
    for part in (kind.explanation, kind.bad, kind.good, kind.remedy):
        assert part in page_by_code[code]
    assert f"[{code}](../findings/{code}.md)" in list_page


def test_findings_essential_to_a_proof_cannot_be_disabled() -> None:
    red = ("RED101", "RED104", "RED201", "RED302", "RED306", "RED501", "RED503")
    green = ("GRN101", "GRN201", "GRN202", "GRN302", "GRN303", "GRN304")
    assert {*red, *green, "RUN101", "RUN102", "VER101"} <= UNSWITCHABLE
    assert not {"RED401", "GRN402", "GRN401", "RFC404"} & UNSWITCHABLE
    assert all(FINDINGS[code].severity == "error" for code in UNSWITCHABLE)


def test_agreed_meanings() -> None:
    assert FINDINGS["RED104"].title == "new test passes before any implementation"
    assert FINDINGS["GRN402"].severity == "warning"
    assert FINDINGS["GRN301"].severity == "error"
    assert FINDINGS["RED104"].phase is Phase.RED
    assert FINDINGS["RUN101"].phase is None


def test_an_unknown_code_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        explain_finding("RED999")
