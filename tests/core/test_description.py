"""Our part of a description is found again, whatever stands around it."""

from __future__ import annotations

import pytest

from prd2pr.core.said.description import described, taken

OURS = "**Points** · from `prds/points.md`\n\nCheck it yourself: `prd2pr verify main..prd2pr/points`"


@pytest.mark.parametrize(
    "theirs",
    ["", "Above.\n\n{}", "{}\n\nBelow.", "Above.\r\n\r\n{}\r\n\r\nBelow.", "{}\n\nBelow.\n\n<!-- mine -->"],
)
def test_only_our_part_changes(theirs):
    there = theirs.format(described("", OURS))
    once = described(there, "**New**")
    assert "**New**" in once and "**Points**" not in once
    assert once.replace("**New**", OURS).replace("\r\n", "\n") == there.replace("\r\n", "\n") or not theirs
    assert described(once, "**New**") == once
    assert len(once) == taken(there) + len("**New**")


def test_a_description_that_a_person_wrote_instead_stands_above_ours():
    text = described("All mine now.", OURS)
    assert text.startswith("All mine now.") and text.count("**Points**") == 1
    assert described(text, OURS) == text


def test_one_of_before_there_were_marks_is_replaced():
    assert described(f"Old\n\n{OURS}", OURS) == described("", OURS)
