from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prd2pr.domain.wording import (
    capitalize_first,
    clean_line,
    clip,
    count,
    end_sentence,
    escape_invisible,
    extract_error_line,
    format_cost,
    format_duration,
    format_models,
    format_ordinal,
    format_pass_count,
    format_time,
    format_token_count,
    format_tokens,
    split_code_spans,
)
from prd2pr.views.diff import MAX_LINES, parse_patch


@given(st.text())
def test_plain_text_is_one_harmless_line(text: str) -> None:
    cleaned = clean_line(text)
    assert "\n" not in cleaned
    assert "\x1b" not in cleaned
    assert clean_line(cleaned) == cleaned
    cleaned.encode()


def test_control_sequences_and_bidi_characters_are_removed() -> None:
    assert clean_line("\x1b[31mred\x1b[0m \x1b]0;title\x07a\u202eb\r\nc\udce9") == "red ab c\ufffd"


def test_visible_spells_out_invisible_characters() -> None:
    assert escape_invisible("a\u202eb\x00\tc") == "a\\u{202e}b\\u{0}    c"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.04, "0.1 s"), (11.4, "11 s"), (119.4, "119 s"), (840, "14 min"), (7500, "2 h 5 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0"), (999, "999"), (1200, "1.2k"), (9960, "10k"), (62_000, "62k"), (999_600, "1.0M")]
)
def test_tokens(number: int, words: str) -> None:
    assert format_tokens(number) == words


def test_money_names_its_denominator() -> None:
    assert format_cost(0.84, 5) == "$0.84 of $5.00"
    assert format_cost(0.84) == "$0.84, no budget set"
    assert format_cost(0.004, 5) == "$0.0040 of $5.00"
    assert format_cost(0.84, unlimited=False) == "$0.84"
    assert format_cost(None) == "no price known"
    assert format_cost(None, 5) == "no price known, budget $5.00"


def test_small_helpers() -> None:
    assert [format_ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 102)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd",
    ]  # fmt: skip
    assert count(1, "story") == "1 story"
    assert count(2, "story") == "2 stories"
    assert [format_pass_count(n, n, "test") for n in (0, 1, 2)] == [
        "0 of 0 tests pass",
        "1 of 1 test passes",
        "2 of 2 tests pass",
    ]
    assert [format_token_count(1), format_token_count(1200), format_token_count(1, 5000)] == [
        "1 token",
        "1.2k tokens",
        "1 of 5.0k tokens",
    ]
    assert [format_models(()), format_models(("a",)), format_models(("a", "b"))] == ["", "model a", "models a, b"]
    assert [end_sentence("done"), end_sentence("done."), end_sentence("done?")] == ["done.", "done.", "done?"]
    assert clip("abcdef", 4) == "abc…"
    assert format_time("2026-11-16T09:02:30Z") == "2026-11-16 09:02 UTC"
    assert format_time("yesterday") == "yesterday"


def test_spans() -> None:
    assert [(part.text, part.code) for part in split_code_spans("a `b` c")] == [
        ("a ", False),
        ("b", True),
        (" c", False),
    ]
    assert [(part.text, part.code) for part in split_code_spans("a `b` c `d")] == [
        ("a ", False),
        ("b", True),
        (" c `d", False),
    ]


PATCH = """\
diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ def f():
 same
--- a dashed line that was removed
+++ a line of pluses that was added
\\ No newline at end of file
diff --git a/.orch-state/x.json b/.orch-state/x.json
--- a/.orch-state/x.json
+++ b/.orch-state/x.json
@@ -1 +1 @@
-1
+2
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/pic.png b/pic.png
new file mode 100644
Binary files /dev/null and b/pic.png differ
"""


def test_patch_is_split_without_state_files() -> None:
    first, gone, picture = parse_patch(PATCH)
    assert (first.path, first.added, first.removed) == ("src/a.py", 1, 1)
    assert [line.kind for line in first.lines] == ["hunk", "context", "removed", "added", "note"]
    assert (gone.path, gone.added, gone.removed) == ("gone.py", 0, 1)
    assert picture.path == "pic.png"
    assert [line.text for line in picture.lines] == [
        "new file mode 100644",
        "Binary files /dev/null and b/pic.png differ",
    ]


def test_long_file_is_truncated_with_a_note() -> None:
    body = "".join(f"+line {n}\n" for n in range(MAX_LINES + 50))
    (diff,) = parse_patch(f"diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n{body}")
    assert diff.added == MAX_LINES + 50
    assert len(diff.lines) == MAX_LINES
    assert diff.hidden == 51


def test_hidden_characters_in_a_diff_are_spelt_out() -> None:
    (diff,) = parse_patch("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n+if admin\u202e: \x1b[8m\n")
    assert diff.lines[-1].text == "+if admin\\u{202e}: \\u{1b}[8m"


def test_empty_patch_has_no_files() -> None:
    assert parse_patch("") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the plan waits", "The plan waits"),
        ("done.", "Done."),
        ("no, it waits", "No, it waits"),
        ("prds/calc.md was deleted", "prds/calc.md was deleted"),
        ("calc.md was deleted", "calc.md was deleted"),
        ("calc-1: out of attempts", "calc-1: out of attempts"),
        ("prd2pr is not installed", "prd2pr is not installed"),
        ("`calc-1` waits", "`calc-1` waits"),
        ("", ""),
    ],
)
def test_only_words_are_capitalised(text: str, said: str) -> None:
    assert capitalize_first(text) == said


NPM = (
    """npm warn old lockfile
npm error code EUSAGE
npm error
npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.
npm error
npm error Missing: left-pad@1.3.0 from lock file
npm error
npm error Clean install a project
"""
    + "npm error usage\n" * 100
)


def test_error_excerpt_starts_at_the_first_error() -> None:
    assert extract_error_line(NPM, 160).startswith("code EUSAGE `npm ci` can only install packages when")
    assert "Missing: left-pad@1.3.0 from lock file" in extract_error_line(NPM, 200)
    maven = "[INFO] Scanning\n[ERROR] Plugin x could not be resolved\n[ERROR]\n[ERROR] [Help 1] http://x\n"
    assert extract_error_line(maven, 40) == "Plugin x could not be resolved [Help 1]…"
    yarn = "building\nUnknown Syntax Error: no such option\nusage\n"
    assert extract_error_line(yarn, 80) == "Unknown Syntax Error: no such option usage"
    assert extract_error_line("one\ntwo words\n", 5) == "words"
    assert not extract_error_line("", 5)
