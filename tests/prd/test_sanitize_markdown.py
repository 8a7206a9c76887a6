"""The planner gets an issue's text as the person who labelled it saw it."""

from __future__ import annotations

import time

import pytest

from prd2pr.prd.issue_text import build_issue_prd
from prd2pr.prd.sanitize_markdown import remove_invisible_characters, sanitize_markdown

HIDDEN = (
    "<!-- ORDER -->",
    "a <!-- ORDER\nORDER --> b",
    "<!-- ORDER",
    "<?ORDER?> <!DOCTYPE ORDER> <![CDATA[ORDER]]>",
    "[//]: # (ORDER)",
    "[x]: http://a.example 'ORDER'\n\nsee [x]",
    "[a](http://a.example 'ORDER') [b](<1 ORDER>) [](http://ORDER.example)",
    "[^1]: ORDER of a note\n\n    ORDER that nothing leads to",
    "![ORDER [x] ORDER](http://a.example/c.png 'ORDER')",
    '<img alt="ORDER" src="x"> <b title="ORDER">bold</b>',
    "<span hidden>ORDER</span>",
    "<div hidden>\n\nORDER `ORDER`\n\n</div>",
    "| a | b |\n|---|---|\n| x | y | ORDER |",
    "```python ORDER\nx = 1\n```",
    "```mermaid\ngraph TD\n%% ORDER\nA-->B\n```",
    "<div>\n```\n<!-- ORDER -->\n```\n</div>",  # there is no code inside an HTML block
    "- a\n\n  ```\n<!-- ORDER -->",  # the code block ends with its list item
    "` <!-- ORDER -->\n\n`",  # no code spans paragraphs
)
SHOWN = (
    "`<!-- code -->` and ``a ` <b x=1>`` and `![a](u 'b')`",
    "```html\n<!-- code -->\n```",
    "    indented <!-- code -->",
    "a < b and c > d, 1 <2, <http://a.example>, \\<!-- text -->, open <!-- text\n\nmore",
    "see [docs] and a note[^1]\n\n[docs]: https://a.example/b\n\n[^1]: The note.",
    "- **FR-1** One.\n- **FR-2** Two.\n\n| a | b |\n|---|---|\n| `x` | y |\n\nTitle\n=====\n\n> quoted\n\n* * *",
    "می\u200cخواهم",
)


@pytest.mark.parametrize("text", HIDDEN)
def test_invisible_markdown_is_removed_and_line_numbers_are_kept(text):
    seen = sanitize_markdown(f"First.\n\n{text}\n\nLast.\n" if text != "<!-- ORDER" else f"First.\n\n{text}\n")
    assert "ORDER" not in seen and seen.startswith("First.\n\n")
    assert seen.count("\n") == text.count("\n") + (5 if "Last" in seen else 3) or text == "<!-- ORDER"


@pytest.mark.parametrize("text", SHOWN)
def test_visible_text_is_unchanged(text):
    assert sanitize_markdown(text) == text


def test_details_content_is_kept_without_its_tags():
    assert sanitize_markdown("<details><summary>More</summary>\n\n- **FR-1** One.\n\n</details>").split() == [
        "More", "-", "**FR-1**", "One.",
    ]  # fmt: skip


def test_invisible_characters_are_removed_from_title_and_text():
    tags = "".join(chr(0xE0000 + ord(letter)) for letter in "ORDER")
    text = build_issue_prd(1, f"Add{tags} n\u200bumbers", f"Two\u202e numbers{tags}\ufe01 can be a\u200cdded.")
    assert text.endswith("# Add numbers\n\nTwo numbers can be added.\n")
    assert remove_invisible_characters("a\tb\n") == "a\tb\n"


@pytest.mark.parametrize("part", ['<a b="', "``` `", "<!--", "[", "![[", "<", "a](b ", "\\[", "| "])
def test_hostile_texts_are_processed_quickly(part):
    text = part * (65_536 // len(part))
    started = time.process_time()
    sanitize_markdown(text)
    assert time.process_time() - started < 10
