"""Our part of a description is found again, whatever surrounds it."""

from __future__ import annotations

import pytest

from prd2pr.github.publish.publisher import count_foreign_characters, merge_description

OURS = "**Points** · from `prds/points.md`\n\nCheck it yourself: `prd2pr verify main..prd2pr/points`"


@pytest.mark.parametrize(
    "theirs",
    ["", "Above.\n\n{}", "{}\n\nBelow.", "Above.\r\n\r\n{}\r\n\r\nBelow.", "{}\n\nBelow.\n\n<!-- mine -->"],
)
def test_only_our_part_changes(theirs):
    there = theirs.format(merge_description("", OURS))
    once = merge_description(there, "**New**")
    assert "**New**" in once and "**Points**" not in once
    assert once.replace("**New**", OURS).replace("\r\n", "\n") == there.replace("\r\n", "\n") or not theirs
    assert merge_description(once, "**New**") == once
    assert len(once) == count_foreign_characters(there) + len("**New**")


def test_a_description_replaced_by_a_person_stays_above_ours():
    text = merge_description("All mine now.", OURS)
    assert text.startswith("All mine now.") and text.count("**Points**") == 1
    assert merge_description(text, OURS) == text


def test_an_old_description_without_markers_is_replaced():
    assert merge_description(f"Old\n\n{OURS}", OURS) == merge_description("", OURS)
