"""The text of an issue as whoever labels it has seen it: what Markdown does not show is taken out.

An outsider writes the issue, a person who may label reads it rendered, and a model reads its source. Comments, tags and
their attributes, link definitions, titles, alternative texts, cells that a table does not have, what stands behind the
language of a code block, and characters without a shape would reach the model alone. Code is shown as it is, so it
stays; so does what is folded away, without the tags that fold it. Every line keeps its number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prd2pr.core.wording import DECEIVERS

DRAWN = ("geojson", "stl", "topojson")  # code blocks that are shown as pictures, with nothing of their text
_IN_DIAGRAM = re.compile(r"\s*(?:%%|accTitle|accDescr|click\b)")  # lines of a mermaid diagram that draw nothing
UNSHOWN = ("head", "noscript", "script", "style", "template", "title")  # elements without a shown text
_SHAPELESS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2800\ufe00-\ufe0f]")
# Persian and Indic scripts join letters by these. Elsewhere, or in rows, they only hide something.
_JOINERS = re.compile("(?<![^\\W\\d_a-zA-Z])[\u200c\u200d]|[\u200c\u200d](?![^\\W\\d_a-zA-Z])")
_ATTRIBUTE = r"""\s+[a-zA-Z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?"""
_TAG = re.compile(rf"<(/?)([a-zA-Z][a-zA-Z0-9-]*)((?:{_ATTRIBUTE})*)\s*/?>")
_HIDES = re.compile(r"\s(?:hidden|style|aria-hidden)\b", re.IGNORECASE)
_SPECIAL = (
    (re.compile("<!--"), "-->"),
    (re.compile(r"<\?"), "?>"),
    (re.compile(r"<!\[CDATA\["), "]]>"),
    (re.compile("<![a-zA-Z]"), ">"),
)
_STOP = re.compile(r"\\.|`+|<", re.DOTALL)
_TITLE = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\))"""
_TITLED = re.compile(rf"\]\(\s*(<[^<>\n]*>|\S*)\s+{_TITLE}\s*\)", re.DOTALL)
_SPACED = re.compile(r"\]\(\s*<[^<>\n]*\s[^<>\n]*>")
_PICTURE = re.compile(r"!\[")
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_NO_TEXT = re.compile(r"(?<!!)\[\s*\](?:\([^()\s]*\)|\[[^\[\]]*\])")
_NOTE = re.compile(r"[\s>*+-]*(\[\^[^\[\]\s]+\]):")
_CITED = re.compile(r"\[[^\[\]]+\](?!:)")
_DEFINITION = re.compile(r"[\s>*+\-\d.)]*(\[[^\[\]]+\]):\s*(https?://[^\s<>]+)\s*")
_CELL = re.compile(r"(?:\\.|[^|\\])*\|?", re.DOTALL)


def as_seen(text: str) -> str:
    shown = with_shape(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = shown.split("\n")
    seen = _Seen(shown.lower())
    return "\n".join(part for block in _blocks(shown, lines) for part in seen.read(block))


def with_shape(text: str) -> str:
    """Without characters that nobody sees."""
    return _JOINERS.sub("", _SHAPELESS.sub("", DECEIVERS.sub("", text)))


@dataclass(frozen=True)
class _Block:
    kind: str  # code, html, text, table, other
    lines: tuple[str, ...]
    columns: int = 0
    info: str = ""
    cited: frozenset[str] = frozenset()  # labels of links that stand in the text


def _blocks(text: str, lines: list[str]) -> Iterator[_Block]:
    kinds: list[tuple[str, int, str]] = [("other", -1, "")] * len(lines)  # what a line is of, and where that begins
    columns: dict[int, int] = {}
    table = -1
    for token in MarkdownIt("commonmark").enable("table").disable("inline").parse(text):
        if token.type == "table_open" and token.map:
            table = token.map[0]
        if token.type == "th_open":
            columns[table] = columns.get(table, 0) + 1
        kind = _kind(token)
        if kind and token.map:
            kinds[token.map[0] : token.map[1]] = [(kind, token.map[0], token.info)] * (token.map[1] - token.map[0])
    written = (line for line, (kind, *_) in zip(lines, kinds, strict=True) if kind in ("text", "table"))
    cited = frozenset(_CITED.findall("\n".join(written).casefold()))
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or kinds[end] != kinds[start] or kinds[start][0] in ("other", "table"):
            kind, begun, info = kinds[start]
            yield _Block(kind, tuple(lines[start:end]), columns.get(begun, 0), info, cited)
            start = end


def _kind(token: Token) -> str:
    match token.type:
        case "fence" | "code_block":
            return "code"
        case "html_block":
            return "html"
        case "table_open":
            return "table"
        case "heading_open" | "paragraph_open" | "hr":
            return "text"
    return ""


@dataclass
class _Seen:
    """Reads blocks in order. An element that is not shown may begin in one and end in another."""

    whole: str  # the text, in small letters
    inside: str = ""  # the element that is not shown
    depth: int = 0
    out: list[str] = field(default_factory=list)
    uncited: bool = False  # a footnote was read that nothing leads to: it is not shown
    spans: list[str] = field(default_factory=list)  # of code, each behind a mark that no text can hold

    def read(self, block: _Block) -> list[str]:
        text = "\n".join(block.lines)
        self._follow_notes(block, text)
        if self.uncited:
            return ["" for _ in block.lines]
        match block.kind:
            case "code":
                return ["" for _ in block.lines] if self.inside else _code(block)
            case "html":
                shown = self._scan(text, code=False)
            case "table":
                shown = self._linked(_cells(text, block.columns))
            case "text":
                shown = self._linked(text)
            case _:
                shown = "" if self.inside else _defined(text, block.cited)
        return shown.split("\n")

    def _follow_notes(self, block: _Block, text: str) -> None:
        if block.kind in ("text", "table", "html") or (block.kind == "code" and block.info):
            note = _NOTE.match(text) if block.kind == "text" else None
            self.uncited = note is not None and note[1].casefold() not in block.cited

    def _linked(self, text: str) -> str:
        shown = _links(self._scan(text, code=True))
        return re.sub("\0([0-9]+)\0", lambda found: self.spans[int(found[1])], shown)

    def _scan(self, text: str, *, code: bool) -> str:
        """As CommonMark reads: whichever begins first of an escape, a code span and a tag."""
        self.out, at = [], 0
        closings = _runs(text) if code else {}
        while found := _STOP.search(text, at):
            self._put(text[at : found.start()])
            at = self._one(text, found, closings, code=code)
        self._put(text[at:])
        return "".join(self.out)

    def _one(self, text: str, found: re.Match[str], closings: dict[str, list[int]], *, code: bool) -> int:
        """What begins here; where it ends."""
        mark, start = found[0], found.start()
        if mark == "<":
            return self._tag(text, start, code=code)
        if not code:
            self._put(text[start])  # HTML knows neither escapes nor code
            return start + 1
        behind = closings.get(mark, [])
        while behind and behind[0] < found.end():
            behind.pop(0)
        if not behind:
            self._put(mark)
            return found.end()
        end = behind[0] + len(mark)
        if self.inside:
            return self._gone(text, start, end)
        self.spans.append(text[start:end])
        self._put(f"\0{len(self.spans) - 1}\0")
        return end

    def _tag(self, text: str, start: int, *, code: bool) -> int:
        for opening, closing in _SPECIAL:
            if opening.match(text, start):
                there = text.find(closing, start + 2)
                if there < 0 and code:
                    break  # shown as it is
                return self._gone(text, start, there + len(closing) if there >= 0 else len(text))
        tag = _TAG.match(text, start)
        if tag is None:
            self._put("<")
            return start + 1
        self._element(tag[2].lower(), closes=bool(tag[1]), attributes=tag[3])
        return self._gone(text, start, tag.end())

    def _element(self, name: str, *, closes: bool, attributes: str) -> None:
        if self.inside:
            if name == self.inside:
                self.depth += -1 if closes else 1
                self.inside = self.inside if self.depth else ""
        elif not closes and (name in UNSHOWN or _HIDES.search(attributes)) and f"</{name}" in self.whole:
            self.inside, self.depth = name, 1

    def _put(self, text: str) -> None:
        self.out.append("\n" * text.count("\n") if self.inside else text)

    def _gone(self, text: str, start: int, end: int) -> int:
        self.out.append("\n" * text.count("\n", start, end))
        return end


def _runs(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for run in re.finditer("`+", text):
        found.setdefault(run[0], []).append(run.start())
    return found


def _code(block: _Block) -> list[str]:
    """What is drawn shows none of its source; behind the language, nothing is shown."""
    info = block.info.strip()
    language = info.split()[0] if info else ""
    lines = list(block.lines)
    if language.lower() in DRAWN:
        return ["" for _ in lines]
    if language.lower() == "mermaid":
        return ["" if _IN_DIAGRAM.match(line) else line for line in lines]
    if info != language:
        lines[0] = lines[0][: lines[0].rindex(info)] + language if info in lines[0] else ""
    return lines


def _cells(row: str, columns: int) -> str:
    """A table shows no more cells than its head has."""
    cells = [each for each in _CELL.findall(row) if each]
    first = 1 if re.match(r"[\s>*+-]*\|", row) else 0
    return "".join(cells[: columns + first]) if columns else row


def _links(text: str) -> str:
    """Links without titles, pictures without the text that stands for them."""
    return _NO_TEXT.sub("", _SPACED.sub("](", _TITLED.sub(r"](\1)", _without_alternatives(text))))


def _without_alternatives(text: str) -> str:
    parts, at = [], 0
    while found := _PICTURE.search(text, at):
        depth, end = 1, len(text)
        for bracket in _BRACKET.finditer(text, found.end()):
            depth += {"[": 1, "]": -1}.get(bracket[0], 0)
            if not depth:
                end = bracket.start()
                break
        if depth:
            break
        parts.append(text[at : found.end()] + "\n" * text.count("\n", found.end(), end))
        at = end
    return "".join((*parts, text[at:]))


def _defined(line: str, cited: frozenset[str]) -> str:
    """A definition shows nothing itself: only the address of a link that is there stays. Else marks of empty items."""
    if not line.strip(" \t>*+-=|:.)0123456789"):
        return line
    found = _DEFINITION.fullmatch(line)
    return line if found and found[1].casefold() in cited else ""
