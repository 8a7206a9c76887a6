from __future__ import annotations

import re
from pathlib import Path

import pytest

from prd2pr.core.findings import FINDINGS, UNSWITCHABLE, explain, finding_pages, findings_page
from prd2pr.core.records import Phase

SOURCE = Path(__file__).parents[2] / "src" / "prd2pr"
USED = {
    code
    for path in SOURCE.rglob("*.py")
    for code in re.findall(r'"((?:RED|GRN|RFC|INT|RUN|VER)\d{3})"', path.read_text())
}
TABLES = set(SOURCE.glob("core/findings_*.py"))
EMITTED = {
    code
    for path in SOURCE.rglob("*.py")
    if path not in TABLES
    for code in re.findall(r'"((?:RED|GRN|RFC|INT|RUN|VER)\d{3})"', path.read_text())
}


def test_every_code_that_the_program_names_is_in_the_table() -> None:
    assert sorted(USED - set(FINDINGS)) == []


def test_every_row_of_the_table_is_found_by_some_rule() -> None:
    reserved = {code for code, kind in FINDINGS.items() if kind.reserved}
    assert reserved == set()
    assert sorted(set(FINDINGS) - EMITTED - reserved) == []


@pytest.mark.parametrize("code", sorted(FINDINGS))
def test_a_row_says_what_it_is_shows_an_example_and_the_way_out(code: str) -> None:
    kind = FINDINGS[code]
    assert kind.code == code
    assert len(kind.explanation) > 20
    assert kind.explanation.endswith((".", "?"))
    assert kind.bad != kind.good
    assert all(text.strip() for text in (kind.bad, kind.good))
    assert kind.hint.endswith((".", '"', "….")) or kind.hint.endswith('"""')
    text = explain(code)
    assert text.startswith(f"{code}  {kind.title}\n")
    assert kind.hint in text
    for part in (kind.explanation, kind.bad, kind.good, kind.hint):
        assert part in finding_pages()[code]
    assert f"[{code}](../findings/{code}.md)" in findings_page()


def test_what_a_proof_rests_on_cannot_be_switched_off() -> None:
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
        explain("RED999")
