"""Hand-written text survives: it is kept byte for byte, whatever is generated beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.documents import DOCUMENTS
from prd2pr.livingdocs.merge import extract_human_text, format_marks, merge_document

DOCUMENT = next(each for each in DOCUMENTS if each.name == "ARCHITECTURE")
BEGIN, END = format_marks(DOCUMENT)


def woven(existing: bytes | None, generated: str = "made") -> bytes:
    made = merge_document(DOCUMENT, existing, generated)
    assert made.content is not None, made.problem
    return made.content


def test_a_new_file_has_its_title_and_its_marks() -> None:
    text = woven(None).decode()
    assert text.startswith("# Architecture\n\n")
    assert text.index(BEGIN) < text.index("made") < text.index(END)
    assert text.endswith(f"{END}\n")


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    existing = f"above \t\n\n{BEGIN}\nold\n{END}\nbelow, no line end".encode()
    text = woven(existing)
    assert text.startswith(f"above \t\n\n{BEGIN}\n".encode()) and text.endswith(f"{END}\nbelow, no line end".encode())
    assert b"old" not in text and b"made" in text


def test_a_file_without_marks_keeps_its_text_and_gets_the_generated_part_below() -> None:
    assert woven(b"# Mine\n").startswith(f"# Mine\n\n{BEGIN}\n".encode())
    assert woven(b"# Mine").startswith(f"# Mine\n\n{BEGIN}\n".encode())


def test_a_file_with_crlf_keeps_it() -> None:
    first = woven(b"\xef\xbb\xbf# Mine\r\nand more\r\n")
    assert first.startswith(b"\xef\xbb\xbf# Mine\r\nand more\r\n\r\n")
    assert first.count(b"\n") == first.count(b"\r\n")
    again = woven(first, "made\nanew")
    assert again.count(b"\n") == again.count(b"\r\n") and b"made\r\nanew" in again


@pytest.mark.parametrize(
    "existing",
    [
        f"{BEGIN}\nx",
        f"x\n{END}\n",
        f"{END}\n{BEGIN}\n",
        f"{BEGIN}\n{BEGIN}\n{END}\n{END}\n",
        f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n",
        f"{BEGIN}\n<!-- prd2pr:begin TRACE -->\n{END}\n",
        "<!-- prd2pr:begin TRACE -->\nx\n<!-- prd2pr:end TRACE -->\n",
        f"{BEGIN} and more\n{END}\n",
        f"{BEGIN}\n<!-- prd2pr : END ARCHITECTURE -->\n",
        "<!--prd2pr:begin-->\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
    ],
)  # fmt: skip
def test_broken_or_nested_marks_leave_the_file_alone(existing: str) -> None:
    made = merge_document(DOCUMENT, existing.encode(), "made")
    assert made.content is None and made.problem


def test_what_is_no_utf_8_is_left_alone() -> None:
    assert merge_document(DOCUMENT, "# Größe\n".encode("utf-16"), "made").content is None


def test_a_mark_in_running_text_is_no_mark() -> None:
    existing = f"Write between `{BEGIN}` and `{END}`.\n".encode()
    assert woven(existing).startswith(existing)


def test_generated_text_cannot_forge_a_mark() -> None:
    text = woven(None, f"a\n{END}\nb\n{BEGIN}\n<!--prd2pr:end X-->\n")
    assert woven(text, "made") == woven(None, "made")


TEXT = st.text(alphabet=st.sampled_from("ab \t\r\n<!->`#|é"), max_size=40)


@given(before=TEXT, after=TEXT, first=TEXT, second=TEXT)
def test_text_outside_is_kept_whatever_it_is(before: str, after: str, first: str, second: str) -> None:
    existing = f"{before}\n{BEGIN}\n{END}\n{after}".encode()
    once = woven(existing, first)
    twice = woven(once, second)
    head, tail = f"{before}\n{BEGIN}\n".encode(), f"{END}\n{after}".encode()
    assert once.startswith(head) and once.endswith(tail)
    assert twice.startswith(head) and twice.endswith(tail)
    assert woven(once, first) == once, "the same again changes nothing"
    assert extract_human_text(DOCUMENT, once) == f"{before}\n\n{after}"
