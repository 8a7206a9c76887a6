"""Untrusted text is readable in our Markdown but inert."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from prd2pr.domain.wording import clean_line, escape_invisible
from prd2pr.views.untrusted_text import escape_line, escape_prose, fit_to_limit, format_code_span

MARKDOWN = MarkdownIt("gfm-like", {"linkify": False, "html": True})
# What GitHub interprets in rendered text, outside code.
ACTIVE = re.compile(r"(?<!\w)@\w|#\d|\bgh-\d|https?://|\bwww\.", re.IGNORECASE)
NASTY = [
    "@octocat see owner/repo@main", "fixes #12 and GH-7", "https://evil.example/x.png", "www.evil.example",
    "![x](https://evil.example/a.png)", "[click](javascript:alert(1))", "<img src=x onerror=alert(1)>", "<!-- hidden",
    "</details></td>", "a | b | c", "``` `` `", "one\n\n# two\n- three", "- item", "1. item", "1) item", "# head",
    "=== x", "+ plus", "> quote", "~~gone~~ **bold** _it_", "&lt;b&gt; &amp; &#64;me", "$x^2$", "\\@me \\#1", "a\tb",
    "\x1b[31mred\x1b[0m", "\u202edesrever", "zero\u200bwidth @\u200bme", "<https://evil.example>", "[ref]: https://evil.example",
    "*" * 300,
]  # fmt: skip


class Shown(HTMLParser):
    """The text that a reader sees, and the tags around it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.outside_code, self.tags, self.depth = "", "", [], 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.depth += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.text += data
        self.outside_code += "" if self.depth else data


def shown(markdown: str) -> Shown:
    return Shown(MARKDOWN.render(markdown))


@pytest.mark.parametrize("text", NASTY)
def test_neutral_text_is_shown_and_inert(text: str) -> None:
    seen = shown(f"{escape_line(text)}")
    assert set(seen.tags) <= {"p"}
    assert seen.text.replace("\u200b", "").strip() == clean_line(text)
    assert not ACTIVE.search(seen.outside_code)


@pytest.mark.parametrize("text", NASTY)
def test_table_stays_intact(text: str) -> None:
    seen = shown(f"| a | b |\n|---|---|\n| {escape_prose(text)} | {format_code_span(text)} |\n")
    assert seen.tags.count("td") == 2
    assert not ACTIVE.search(seen.outside_code)


@pytest.mark.parametrize("text", NASTY)
def test_code_is_shown_verbatim(text: str) -> None:
    seen = shown(f"x {format_code_span(text)} y")
    assert set(seen.tags) <= {"p", "code"}
    assert seen.text.replace("\u200b", "").split() == ["x", *escape_invisible(text).replace("\u200b", "").split(), "y"]


@given(st.text(max_size=200))
def test_any_text_is_harmless(text: str) -> None:
    seen = shown(f"- {escape_prose(text)}")
    assert set(seen.tags) <= {"ul", "li", "p", "code"}
    assert seen.tags.count("li") == 1
    assert not ACTIVE.search(seen.outside_code)


def test_prose_keeps_code_in_backticks() -> None:
    assert escape_prose("line 14 `== 90` became `>= 0`.") == "line 14 `== 90` became `>= 0`."


def test_a_lone_backtick_is_a_character() -> None:
    assert escape_prose("it is `x") == "it is \\`x"


def test_fit_omits_in_order_and_then_shortens() -> None:
    sizes = {"commits": 50, "trace": 30}

    def render(left_out: object, rows: int) -> str:
        kept = [name for name in sizes if name not in tuple(left_out)]  # type: ignore[arg-type]
        return "x" * (sum(sizes[name] for name in kept) + rows * 10)

    assert len(fit_to_limit(render, ("commits", "trace"), 5, limit=130)) == 130
    assert len(fit_to_limit(render, ("commits", "trace"), 5, limit=129)) == 80
    assert len(fit_to_limit(render, ("commits", "trace"), 5, limit=79)) == 50
    assert len(fit_to_limit(render, ("commits", "trace"), 5, limit=49)) == 40


def test_fit_reports_failure() -> None:
    with pytest.raises(ValueError, match="more than 5"):
        fit_to_limit(lambda left_out, rows: "x" * 6, ("a",), 3, limit=5)
