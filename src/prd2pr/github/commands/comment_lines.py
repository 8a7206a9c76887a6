"""Extract the lines of a comment that Markdown treats as plain paragraph text.

Excluded are quotes (with lazy continuation), lists, headings, tables, code, HTML with its comments, links, and text
between HTML tags such as `<blockquote>` or `<details>`. markdown-it finds the blocks. Within a paragraph, its inline
rules run with our own newline rule, which records where a plain line starts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

MAX_COMMENT_LENGTH = 65_536  # GitHub's limit
# Inline rules take more than linear time on hostile text. If code, a link or HTML may span lines in a long paragraph,
# only its first line is read, because no markup can be open there. The second limit is for all such paragraphs.
MAX_PARAGRAPH_LENGTH = 4_096
MAX_INLINE_LENGTH = 16_384

_SPANNING_MARKUP = re.compile(r"[`<\[]")
_NEWLINE = re.compile(r"\n")
# Text between these tags is a quote, code, an item or collapsed. An unclosed tag extends to the end of the comment.
_HIDING_TAGS = re.compile(
    r"a|blockquote|caption|center|code|d[dlt]|del|details|div|h[1-6]|ins|kbd|li|ol|pre|q|s|samp|span|strike|su[bp]"
    r"|summary|table|tbody|t[dhrt]|tfoot|thead|ul|var"
)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)(?![\w-])[^<>]*>", re.IGNORECASE)
_INLINE_RULES = ("text", "newline", "escape", "backticks", "link", "autolink", "html_inline")


def extract_plain_text_lines(body: str) -> Iterator[str]:
    if len(body) > MAX_COMMENT_LENGTH:
        return
    parser = _build_parser()
    env: dict[str, Any] = {}  # link definitions of the whole comment
    tags = _OpenTags()
    left = MAX_INLINE_LENGTH
    for opening, inline in pairwise(parser.parse(body, env)):
        if opening.type == "html_block" and opening.level == 0:
            tags.follow(opening.content.rpartition("-->")[2])
        if opening.type == "paragraph_open" and opening.level == 0:
            for start in _find_line_starts(parser, inline.content, env, min(left, MAX_PARAGRAPH_LENGTH), tags):
                yield _line_at(inline.content, start)
            left -= len(inline.content) if _SPANNING_MARKUP.search(inline.content) else 0


class _OpenTags:
    """The HTML tags that are open at the current position."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    def follow(self, html: str) -> None:
        for found in _TAG.finditer(html):
            name = found[2].lower()
            if _HIDING_TAGS.fullmatch(name):
                self._open[name] = max(0, self._open[name] + (-1 if found[1] else 1))

    def __bool__(self) -> bool:
        return any(self._open.values())


def _build_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    parser.inline.ruler.enableOnly(list(_INLINE_RULES))
    parser.inline.ruler.at("newline", _newline_rule)
    parser.inline.ruler.at("escape", _escape_rule)
    return parser


def _find_line_starts(parser: MarkdownIt, text: str, env: dict[str, Any], longest: int, tags: _OpenTags) -> list[int]:
    """Return the offsets at which the plain lines of a paragraph start."""
    starts = [] if tags else [0]
    if not _SPANNING_MARKUP.search(text):
        starts += [] if tags else [found.end() for found in _NEWLINE.finditer(text)]
    elif len(text) <= longest:
        state = StateInline(text, parser, {**env, "starts": starts, "tags": tags, "followed": 0}, [])
        parser.inline.tokenize(state)
        _track_tags(state)
    else:
        tags.follow(text)
    return starts


def _track_tags(state: StateInline) -> None:
    """Count the tags that were parsed since the last call."""
    for token in state.tokens[state.env["followed"] :]:
        if token.type == "html_inline":
            state.env["tags"].follow(token.content)
    state.env["followed"] = len(state.tokens)


def _line_at(text: str, start: int) -> str:
    end = text.find("\n", start)
    line = text[start:] if end < 0 else text[start:end].removesuffix("\\")  # a trailing backslash is a hard line break
    return line.strip(" \t")


def _newline_rule(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "\n":
        return False
    state.pos += 1
    if not silent:
        _track_tags(state)
    if not silent and state.linkLevel == 0 and not state.env["tags"]:
        state.env["starts"].append(state.pos)
    return True


def _escape_rule(state: StateInline, silent: bool) -> bool:  # noqa: ARG001 - the form that markdown-it calls
    """Skip an escaped character, but not the end of the line."""
    if state.src[state.pos] != "\\":
        return False
    hides = state.src[state.pos + 1 : state.pos + 2] not in {"", "\n"}
    state.pos += 2 if hides else 1
    return True
