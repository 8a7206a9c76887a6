from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.errors import InputInvalid
from prd2pr.prd.strict_yaml import LoadedDocument, load_yaml


def refusal(text: str, **limits: int) -> InputInvalid:
    with pytest.raises(InputInvalid) as caught:
        load_yaml(text, "file.yml", **limits)
    assert caught.value.remedy, "a refusal says what to do"
    return caught.value


def test_plain_data_with_the_line_of_every_key() -> None:
    loaded = load_yaml("a: 1\nb:\n  - x\n  - {c: 2.5}\n", "file.yml")
    assert loaded.data == {"a": 1, "b": ["x", {"c": 2.5}]}
    assert loaded.lines[("b", 1, "c")] == 4
    assert loaded.find_line(("b", 1, "unknown")) == 4
    assert loaded.find_line(("nowhere",)) == 1


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("off", "off"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("2026-01-01", "2026-01-01"),
        ("010", "010"),
        ("1:30", "1:30"),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("~", None),
        ("", None),
        ("9" * 40, "9" * 40),
        ("'4'", "4"),
        ("<<", "<<"),
    ],
)
def test_scalars_keep_their_plain_meaning(written: str, meant: object) -> None:
    assert load_yaml(f"key: {written}", "file.yml").data == {"key": meant}


def test_keys_are_strings() -> None:
    assert load_yaml("1: a\ntrue: b", "file.yml").data == {"1": "a", "true": "b"}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_empty_document_is_none(text: str) -> None:
    assert load_yaml(text, "file.yml").data is None


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("a: 1\nb: &x 2", "anchors", 2),
        ("a: 1\nb: *x", "anchors", 2),
        ("a: !!python/object:os.system x", "tag", 1),
        ("a: !local x", "tag", 1),
        ("a: ! x", "tag", 1),
        ("a: 1\nb: 2\na: 3", "duplicate key `a`", 3),
        ("x:\n  a: 1\n  a: 1", "duplicate key `a`", 3),
        ("a: 1\n---\nb: 2", "second YAML document", 2),
        ("? [a]\n: b", "key must be plain text", 1),
        ("a: b: c", "not valid YAML", 1),
        ("a: [1,", "not valid YAML", 1),
        ("ok: 1\na\x07b: 2", "U+0007", 2),
        ('a: "\\uD800"', "surrogate", 1),
        ('a: "\\UFFFFFFFF"', "not valid YAML", 1),
        ("%YAML " + "9" * 5000 + ".1\n---\na: 1", "not valid YAML", 1),
    ],
)
def test_refusal_names_the_line(text: str, words: str, line: int) -> None:
    error = refusal(text)
    assert words in error.what
    assert error.where == f"file.yml:{line}"


def test_lines_count_from_the_start_of_the_text() -> None:
    assert load_yaml("a: 1", "prd.md", first_line=2).lines[("a",)] == 2
    with pytest.raises(InputInvalid) as caught:
        load_yaml("a: 1\na: 2", "prd.md", first_line=2)
    assert caught.value.where == "prd.md:3"
    assert "line 2" in caught.value.remedy


def test_depth_is_bounded() -> None:
    assert load_yaml("[" * 5 + "]" * 5, "file.yml", max_depth=5).data == [[[[[]]]]]
    assert "deeper than 5" in refusal("[" * 6 + "]" * 6, max_depth=5).what
    assert "deeper than" in refusal("[" * 100_000).what
    assert "deeper than" in refusal("- " * 100_000).what


def test_size_is_bounded() -> None:
    assert "larger than 1 KiB" in refusal("a: " + "ü" * 600, max_bytes=1024).what
    assert load_yaml("a: " + "u" * 600, "file.yml", max_bytes=1024).data


@given(st.text(alphabet=st.sampled_from("ab:-?[]{}&*!|>'\"#%@`,\n \t\\0x1.~=<\ud800\x85\ufeff"), max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        outcome: LoadedDocument | InputInvalid = load_yaml(text, "file.yml")
    except InputInvalid as error:
        outcome = error
    assert isinstance(outcome, LoadedDocument) or outcome.where.startswith("file.yml")
