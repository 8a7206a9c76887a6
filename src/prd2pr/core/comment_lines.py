"""The lines of a comment that are plain text of a paragraph, as Markdown sees it.

Not in it: quotes (with their lazy continuation), lists, headings, tables, code of every kind, HTML and its comments,
links; nor what stands between tags of such in HTML, as in `<blockquote>` or `<details>`. Blocks are markdown-it's;
inside a paragraph its inline rules run with our own at the line's end, which notes where a line of plain text begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

LONGEST_COMMENT = 65_536  # GitHub's own limit; what is longer does not come from there
# Inline rules are not linear on hostile text. Where code, a link or HTML may span lines, only the first line of a long
# paragraph is read (nothing can open before it), and so of all paragraphs after this many characters of such ones.
LONGEST_PARAGRAPH = 4_096
MOST_INLINE = 16_384

_SPANNING = re.compile(r"[`<\[]")
_NEWLINE = re.compile(r"\n")
# Between these, text is a quote, code, an item or folded away; an unclosed one reaches to the comment's end.
_HIDING = re.compile(
    r"a|blockquote|caption|center|code|d[dlt]|del|details|div|h[1-6]|ins|kbd|li|ol|pre|q|s|samp|span|strike|su[bp]"
    r"|summary|table|tbody|t[dhrt]|tfoot|thead|ul|var"
)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)(?![\w-])[^<>]*>", re.IGNORECASE)
_INLINE = ("text", "newline", "escape", "backticks", "link", "autolink", "html_inline")


def text_lines(body: str) -> Iterator[str]:
    if len(body) > LONGEST_COMMENT:
        return
    parser = _parser()
    env: dict[str, Any] = {}  # link definitions of the whole comment
    tags = _Open()
    left = MOST_INLINE
    for opening, inline in pairwise(parser.parse(body, env)):
        if opening.type == "html_block" and opening.level == 0:
            tags.follow(opening.content.rpartition("-->")[2])
        if opening.type == "paragraph_open" and opening.level == 0:
            for start in _starts(parser, inline.content, env, min(left, LONGEST_PARAGRAPH), tags):
                yield _line(inline.content, start)
            left -= len(inline.content) if _SPANNING.search(inline.content) else 0


class _Open:
    """Tags that are open where the comment is read."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def follow(self, html: str) -> None:
        for found in _TAG.finditer(html):
            name = found[2].lower()
            if _HIDING.fullmatch(name):
                self._open[name] = max(0, self._open[name] + (-1 if found[1] else 1))

    def __bool__(self) -> bool:
        return any(self._open.values())


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.inline.ruler.enableOnly(list(_INLINE))
    parser.inline.ruler.at("newline", _end_of_line)
    parser.inline.ruler.at("escape", _escaped)
    return parser


def _starts(parser: MarkdownIt, text: str, env: dict[str, Any], longest: int, tags: _Open) -> list[int]:
    """Where the paragraph's lines of plain text begin."""
    starts = [] if tags else [0]
    if not _SPANNING.search(text):
        starts += [] if tags else [found.end() for found in _NEWLINE.finditer(text)]
    elif len(text) <= longest:
        state = StateInline(text, parser, {**env, "starts": starts, "tags": tags, "followed": 0}, [])
        parser.inline.tokenize(state)
        _follow(state)
    else:
        tags.follow(text)
    return starts


def _follow(state: StateInline) -> None:
    """The tags that were met since it was asked last."""
    for token in state.tokens[state.env["followed"] :]:
        if token.type == "html_inline":
            state.env["tags"].follow(token.content)
    state.env["followed"] = len(state.tokens)


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    line = text[start:] if end < 0 else text[start:end].removesuffix("\\")  # a hard break
    return line.strip(" \t")


def _end_of_line(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "\n":
        return False
    state.pos += 1
    if not silent:
        _follow(state)
    if not silent and state.linkLevel == 0 and not state.env["tags"]:
        state.env["starts"].append(state.pos)
    return True


def _escaped(state: StateInline, silent: bool) -> bool:  # noqa: ARG001 - the form that markdown-it calls
    """A backslash hides the character after it, but not the end of its line."""
    if state.src[state.pos] != "\\":
        return False
    hides = state.src[state.pos + 1 : state.pos + 2] not in {"", "\n"}
    state.pos += 2 if hides else 1
    return True
