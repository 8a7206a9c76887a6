"""Hand-written text is kept byte for byte, whatever is generated next to it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.documents import DOCUMENTS
from prd2pr.livingdocs.merge import extract_human_text, format_marks, merge_document

DOCUMENT = next(each for each in DOCUMENTS if each.name == "ARCHITECTURE")
BEGIN, END = format_marks(DOCUMENT)


def merge_text(existing: bytes | None, generated: str = "made") -> bytes:
    made = merge_document(DOCUMENT, existing, generated)
    assert made.content is not None, made.problem
    return made.content


def test_new_file_has_title_and_markers() -> None:
    text = merge_text(None).decode()
    assert text.startswith("# Architecture\n\n")
    assert text.index(BEGIN) < text.index("made") < text.index(END)
    assert text.endswith(f"{END}\n")


def test_only_text_between_markers_is_replaced() -> None:
    existing = f"above \t\n\n{BEGIN}\nold\n{END}\nbelow, no line end".encode()
    text = merge_text(existing)
    assert text.startswith(f"above \t\n\n{BEGIN}\n".encode()) and text.endswith(f"{END}\nbelow, no line end".encode())
    assert b"old" not in text and b"made" in text


def test_file_without_markers_gets_the_generated_part_appended() -> None:
    assert merge_text(b"# Mine\n").startswith(f"# Mine\n\n{BEGIN}\n".encode())
    assert merge_text(b"# Mine").startswith(f"# Mine\n\n{BEGIN}\n".encode())


def test_a_file_with_crlf_keeps_it() -> None:
    first = merge_text(b"\xef\xbb\xbf# Mine\r\nand more\r\n")
    assert first.startswith(b"\xef\xbb\xbf# Mine\r\nand more\r\n\r\n")
    assert first.count(b"\n") == first.count(b"\r\n")
    again = merge_text(first, "made\nanew")
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
def test_broken_or_nested_markers_leave_the_file_unchanged(existing: str) -> None:
    made = merge_document(DOCUMENT, existing.encode(), "made")
    assert made.content is None and made.problem


def test_non_utf8_file_is_left_unchanged() -> None:
    assert merge_document(DOCUMENT, "# Größe\n".encode("utf-16"), "made").content is None


def test_marker_in_running_text_is_ignored() -> None:
    existing = f"Write between `{BEGIN}` and `{END}`.\n".encode()
    assert merge_text(existing).startswith(existing)


def test_generated_text_cannot_forge_a_marker() -> None:
    text = merge_text(None, f"a\n{END}\nb\n{BEGIN}\n<!--prd2pr:end X-->\n")
    assert merge_text(text, "made") == merge_text(None, "made")


TEXT = st.text(alphabet=st.sampled_from("ab \t\r\n<!->`#|é"), max_size=40)


@given(before=TEXT, after=TEXT, first=TEXT, second=TEXT)
def test_any_text_outside_the_markers_is_kept(before: str, after: str, first: str, second: str) -> None:
    existing = f"{before}\n{BEGIN}\n{END}\n{after}".encode()
    once = merge_text(existing, first)
    twice = merge_text(once, second)
    head, tail = f"{before}\n{BEGIN}\n".encode(), f"{END}\n{after}".encode()
    assert once.startswith(head) and once.endswith(tail)
    assert twice.startswith(head) and twice.endswith(tail)
    assert merge_text(once, first) == once, "the same again changes nothing"
    assert extract_human_text(DOCUMENT, once) == f"{before}\n\n{after}"
