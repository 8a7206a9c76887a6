"""Remove hidden Markdown from the text of an issue, so that a model reads only what a person has seen.

An outsider writes the issue, a maintainer reads it rendered and labels it, and a model reads its source. Comments, tags
and their attributes, link definitions, titles, alternative texts, extra table cells, text after the language of a code
block, and invisible characters would reach only the model. Code and collapsed text are visible, so they are kept, but
without tags. Line numbers do not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prd2pr.domain.wording import INVISIBLE_CHARACTERS

DRAWN_LANGUAGES = ("geojson", "stl", "topojson")  # code blocks that are rendered as images
_IN_DIAGRAM = re.compile(r"\s*(?:%%|accTitle|accDescr|click\b)")  # lines of a Mermaid diagram that draw nothing
HIDDEN_ELEMENTS = ("head", "noscript", "script", "style", "template", "title")  # elements whose text is not rendered
_SHAPELESS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2800\ufe00-\ufe0f]")
# Persian and Indic scripts need these between letters. Elsewhere they only serve to hide text.
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


def sanitize_markdown(text: str) -> str:
    shown = remove_invisible_characters(text.replace("\r\n", "\n").replace("\r", "\n"))
    lines = shown.split("\n")
    seen = _Sanitizer(shown.lower())
    return "\n".join(part for block in _iter_blocks(shown, lines) for part in seen.read(block))


def remove_invisible_characters(text: str) -> str:
    return _JOINERS.sub("", _SHAPELESS.sub("", INVISIBLE_CHARACTERS.sub("", text)))


@dataclass(frozen=True)
class _Block:
    kind: str  # code, html, text, table, other
    lines: tuple[str, ...]
    columns: int = 0
    info: str = ""
    cited: frozenset[str] = frozenset()  # labels of the links in the text


def _iter_blocks(text: str, lines: list[str]) -> Iterator[_Block]:
    kinds: list[tuple[str, int, str]] = [("other", -1, "")] * len(
        lines
    )  # kind, first line and info string of each line's block
    columns: dict[int, int] = {}
    table = -1
    for token in MarkdownIt("commonmark").enable("table").disable("inline").parse(text):
        if token.type == "table_open" and token.map:
            table = token.map[0]
        if token.type == "th_open":
            columns[table] = columns.get(table, 0) + 1
        kind = _classify_token(token)
        if kind and token.map:
            kinds[token.map[0] : token.map[1]] = [(kind, token.map[0], token.info)] * (token.map[1] - token.map[0])
    written = (line for line, (kind, *_) in zip(lines, kinds, strict=True) if kind in ("text", "table"))
    cited = frozenset(_CITED.findall("\n".join(written).casefold()))
    start = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or kinds[end] != kinds[start] or kinds[start][0] in ("other", "table"):
            kind, first, info = kinds[start]
            yield _Block(kind, tuple(lines[start:end]), columns.get(first, 0), info, cited)
            start = end


def _classify_token(token: Token) -> str:
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
class _Sanitizer:
    """Processes blocks in order, since a hidden element may begin in one block and end in another."""

    whole: str  # the text in lower case
    inside: str = ""  # the current hidden element
    depth: int = 0
    out: list[str] = field(default_factory=list)
    uncited: bool = False  # inside a footnote without a reference, which is not rendered
    spans: list[str] = field(default_factory=list)  # code spans, each replaced by a placeholder

    def read(self, block: _Block) -> list[str]:
        text = "\n".join(block.lines)
        self._update_footnote(block, text)
        if self.uncited:
            return ["" for _ in block.lines]
        match block.kind:
            case "code":
                return ["" for _ in block.lines] if self.inside else _sanitize_code(block)
            case "html":
                shown = self._scan(text, code=False)
            case "table":
                shown = self._sanitize_inline(_cut_cells(text, block.columns))
            case "text":
                shown = self._sanitize_inline(text)
            case _:
                shown = "" if self.inside else _sanitize_definition(text, block.cited)
        return shown.split("\n")

    def _update_footnote(self, block: _Block, text: str) -> None:
        if block.kind in ("text", "table", "html") or (block.kind == "code" and block.info):
            note = _NOTE.match(text) if block.kind == "text" else None
            self.uncited = note is not None and note[1].casefold() not in block.cited

    def _sanitize_inline(self, text: str) -> str:
        shown = _strip_link_titles(self._scan(text, code=True))
        return re.sub("\0([0-9]+)\0", lambda found: self.spans[int(found[1])], shown)

    def _scan(self, text: str, *, code: bool) -> str:
        """Process escapes, code spans and tags in order of occurrence, as CommonMark does."""
        self.out, at = [], 0
        closings = _find_backtick_runs(text) if code else {}
        while found := _STOP.search(text, at):
            self._put(text[at : found.start()])
            at = self._take_token(text, found, closings, code=code)
        self._put(text[at:])
        return "".join(self.out)

    def _take_token(self, text: str, found: re.Match[str], closings: dict[str, list[int]], *, code: bool) -> int:
        """Process the token at a match and return where it ends."""
        mark, start = found[0], found.start()
        if mark == "<":
            return self._take_tag(text, start, code=code)
        if not code:
            self._put(text[start])  # HTML has neither escapes nor code spans
            return start + 1
        behind = closings.get(mark, [])
        while behind and behind[0] < found.end():
            behind.pop(0)
        if not behind:
            self._put(mark)
            return found.end()
        end = behind[0] + len(mark)
        if self.inside:
            return self._skip(text, start, end)
        self.spans.append(text[start:end])
        self._put(f"\0{len(self.spans) - 1}\0")
        return end

    def _take_tag(self, text: str, start: int, *, code: bool) -> int:
        for opening, closing in _SPECIAL:
            if opening.match(text, start):
                there = text.find(closing, start + 2)
                if there < 0 and code:
                    break  # rendered as text
                return self._skip(text, start, there + len(closing) if there >= 0 else len(text))
        tag = _TAG.match(text, start)
        if tag is None:
            self._put("<")
            return start + 1
        self._track_element(tag[2].lower(), closes=bool(tag[1]), attributes=tag[3])
        return self._skip(text, start, tag.end())

    def _track_element(self, name: str, *, closes: bool, attributes: str) -> None:
        if self.inside:
            if name == self.inside:
                self.depth += -1 if closes else 1
                self.inside = self.inside if self.depth else ""
        elif not closes and (name in HIDDEN_ELEMENTS or _HIDES.search(attributes)) and f"</{name}" in self.whole:
            self.inside, self.depth = name, 1

    def _put(self, text: str) -> None:
        self.out.append("\n" * text.count("\n") if self.inside else text)

    def _skip(self, text: str, start: int, end: int) -> int:
        self.out.append("\n" * text.count("\n", start, end))
        return end


def _find_backtick_runs(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for run in re.finditer("`+", text):
        found.setdefault(run[0], []).append(run.start())
    return found


def _sanitize_code(block: _Block) -> list[str]:
    """Remove all text after the language of a code block, and the source of blocks that are rendered as images."""
    info = block.info.strip()
    language = info.split()[0] if info else ""
    lines = list(block.lines)
    if language.lower() in DRAWN_LANGUAGES:
        return ["" for _ in lines]
    if language.lower() == "mermaid":
        return ["" if _IN_DIAGRAM.match(line) else line for line in lines]
    if info != language:
        lines[0] = lines[0][: lines[0].rindex(info)] + language if info in lines[0] else ""
    return lines


def _cut_cells(row: str, columns: int) -> str:
    """Cut a row to the number of columns in the table's header."""
    cells = [each for each in _CELL.findall(row) if each]
    first = 1 if re.match(r"[\s>*+-]*\|", row) else 0
    return "".join(cells[: columns + first]) if columns else row


def _strip_link_titles(text: str) -> str:
    """Remove the titles of links and the alternative texts of images."""
    return _NO_TEXT.sub("", _SPACED.sub("](", _TITLED.sub(r"](\1)", _strip_alternative_texts(text))))


def _strip_alternative_texts(text: str) -> str:
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


def _sanitize_definition(line: str, cited: frozenset[str]) -> str:
    """Remove a link definition unless it is used, and any title. A line without letters is returned unchanged."""
    if not line.strip(" \t>*+-=|:.)0123456789"):
        return line
    found = _DEFINITION.fullmatch(line)
    return line if found and found[1].casefold() in cited else ""
