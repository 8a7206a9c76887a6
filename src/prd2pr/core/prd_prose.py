"""Requirements in plain prose: their ids are made from their own words, so they stay when the text around changes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from prd2pr.core.prd_outline import NOBODY, Block, Outline
from prd2pr.core.prd_sections import SectionKind
from prd2pr.core.records import Requirement
from prd2pr.core.requirement_ids import RequirementKind

_NORMATIVE = re.compile(
    r"\b(?:must|shall|should|will|can|cannot|may not|needs? to|ha(?:s|ve) to|able to|required to|possible to)\b"
    r"|\bas an? [^.]{1,80}?\bi (?:want|need|can)\b",
    re.IGNORECASE,
)
_SCENARIO_BEGINS = re.compile(r"\b(?:(?i:given)|WHEN)\b")
_SCENARIO_ENDS = re.compile(r"\bthen\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)\s+(?=[^\W\d_]|[\"'(`\d])")

_WANTED: frozenset[SectionKind] = frozenset({"feature", "acceptance", "non_functional"})
_ELSEWHERE: frozenset[SectionKind] = frozenset({"out", "aside", "modules", "dependencies"})
_KINDS: dict[SectionKind, RequirementKind] = {"acceptance": "acceptance", "non_functional": "non_functional"}


@dataclass(frozen=True)
class Statement:
    """A sentence, a bullet with what is nested in it, or a row."""

    text: str
    paragraph: str  # all of what it is a sentence of
    line: int
    section: SectionKind
    listed: bool  # a bullet or a row rather than a sentence
    binding: bool  # it says what must be, or stands in a list that does


def prose_requirements(
    outline: Outline, kinds: list[SectionKind], *, used: Collection[int] = ()
) -> tuple[Requirement, ...]:
    """`used`: blocks that belong to requirements with an id; if there are any, only what is clearly meant is added."""
    statements = [s for s in _statements(outline, kinds, used) if _words(s.text) and s.section not in _ELSEWHERE]
    body = [s for s in statements if s.section not in ("background", "plan")]
    if used:
        chosen = _clear(s for s in body if s.section or s.line > outline.blocks[min(used)].line)
    else:
        chosen = (
            _clear(body)
            or _whole(s for s in body if s.section in _WANTED)
            or _clear(statements)
            or _whole(body)
            or _whole(s for s in statements if s.section != "plan")
            or _whole(statements)
        )
    return _numbered(chosen)


def _clear(statements: Iterable[Statement]) -> list[Statement]:
    return [s for s in statements if s.binding or (s.listed and s.section in _WANTED)]


def _whole(statements: Iterable[Statement]) -> list[Statement]:
    """Where no sentence says more than another, the paragraph is the statement."""
    first_of = {(statement.line, statement.paragraph): statement for statement in reversed(list(statements))}
    return [replace(statement, text=statement.paragraph) for statement in reversed(first_of.values())]


def _statements(outline: Outline, kinds: list[SectionKind], used: Collection[int]) -> Iterator[Statement]:
    for run in _runs(outline, used):
        first = outline.blocks[run[0]]
        if first.kind == "item":
            yield from _from_list(outline, run, kinds[run[0]])
        elif first.kind == "row":
            yield Statement(first.text, first.text, first.line, kinds[run[0]], listed=True, binding=_binds(first.text))
        elif not _opens_list(outline, run[0]):
            yield from _from_paragraph(first, kinds[run[0]])


def _runs(outline: Outline, used: Collection[int]) -> Iterator[list[int]]:
    """Each paragraph and row alone, each list whole (with the paragraphs inside its items)."""
    run: list[int] = []
    for n, block in enumerate(outline.blocks):
        inside = bool(run) and (block.kind == "item" or block.parent != NOBODY) and n not in used
        if run and not inside:
            yield run
            run = []
        if inside:
            run.append(n)
        elif n in used or block.kind in ("heading", "code"):
            continue
        elif block.kind == "item":
            run = [n]
        else:
            yield [n]
    if run:
        yield run


def _from_list(outline: Outline, run: list[int], section: SectionKind) -> Iterator[Statement]:
    intro = _intro(outline, run[0])
    binding = bool(intro) or any(_binds(outline.blocks[n].text) for n in run)
    for top, nested in _groups(outline, run).items():
        head = outline.blocks[top]
        inner = [outline.blocks[n] for n in nested if outline.blocks[n].kind != "code"]
        if inner and not _binds(head.text) and (head.text.endswith(":") or any(_binds(b.text) for b in inner)):
            for block in inner:
                text = f"{intro}{head.text.rstrip(':')}: {block.text}"
                yield Statement(text, text, block.line, section, listed=True, binding=binding)
        else:
            text = "\n".join([f"{intro}{head.text}", *(block.text for block in inner)])
            yield Statement(text, text, head.line, section, listed=True, binding=binding)


def _groups(outline: Outline, run: list[int]) -> dict[int, list[int]]:
    """Outermost item → all that is nested in it."""
    top_of: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for n in run:
        top = top_of.get(outline.blocks[n].parent)
        top_of[n] = n if top is None else top
        if top is None:
            groups[n] = []
        else:
            groups[top].append(n)
    return groups


def _opens_list(outline: Outline, n: int) -> bool:
    following = outline.blocks[n + 1] if n + 1 < len(outline.blocks) else None
    return outline.blocks[n].text.endswith(":") and following is not None and following.kind in ("item", "row")


def _intro(outline: Outline, first: int) -> str:
    """ "The system must:" before a list is the beginning of each of its items."""
    if first == 0 or outline.blocks[first - 1].kind != "paragraph" or not _opens_list(outline, first - 1):
        return ""
    last = _SENTENCE_END.split(outline.blocks[first - 1].text)[-1]
    return f"{last} " if _binds(last) else ""


def _from_paragraph(block: Block, section: SectionKind) -> Iterator[Statement]:
    if _is_scenario(block.text):
        yield Statement(block.text, block.text, block.line, section, listed=True, binding=True)
        return
    for sentence in _SENTENCE_END.split(" ".join(block.text.split())):
        yield Statement(sentence, block.text, block.line, section, listed=False, binding=_binds(sentence))


def _binds(text: str) -> bool:
    return _NORMATIVE.search(text) is not None or _is_scenario(text)


def _is_scenario(text: str) -> bool:
    """GIVEN … THEN …, or WHEN … THEN …; in two searches, so that no text makes it slow."""
    begins = _SCENARIO_BEGINS.search(text)
    return begins is not None and _SCENARIO_ENDS.search(text, begins.end()) is not None


def _words(text: str) -> str:
    """What a statement says, apart from case, spacing and punctuation."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _numbered(statements: Iterable[Statement]) -> tuple[Requirement, ...]:
    """Said twice is said once. Six hex digits; twelve where six would not tell two statements apart."""
    unique: dict[str, Statement] = {}
    for statement in statements:
        unique.setdefault(_words(statement.text), statement)
    digests = {words: hashlib.sha256(words.encode()).hexdigest() for words in unique}
    shared = Counter(digest[:6] for digest in digests.values())
    return tuple(
        Requirement(
            id=f"R-{digests[words][: 6 if shared[digests[words][:6]] == 1 else 12]}",
            text=statement.text,
            kind=_KINDS.get(statement.section, "functional"),
            line=statement.line,
        )
        for words, statement in unique.items()
    )
