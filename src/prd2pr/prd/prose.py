"""Find requirements in prose. Their ids are derived from their words and do not depend on the surrounding text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from prd2pr.domain.records import Requirement
from prd2pr.prd.outline import NO_BLOCK, Outline, OutlineBlock
from prd2pr.prd.requirement_ids import RequirementKind
from prd2pr.prd.sections import SectionKind

_NORMATIVE = re.compile(
    r"\b(?:must|shall|should|will|can|cannot|may not|needs? to|ha(?:s|ve) to|able to|required to|possible to)\b"
    r"|\bas an? [^.]{1,80}?\bi (?:want|need|can)\b",
    re.IGNORECASE,
)
_SCENARIO_BEGINS = re.compile(r"\b(?:(?i:given)|WHEN)\b")
_SCENARIO_ENDS = re.compile(r"\bthen\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)\s+(?=[^\W\d_]|[\"'(`\d])")

_REQUIREMENT_SECTIONS: frozenset[SectionKind] = frozenset({"feature", "acceptance", "non_functional"})
_IGNORED_SECTIONS: frozenset[SectionKind] = frozenset(
    {"out", "question", "aside", "modules", "dependencies", "motivation"}
)
_WITHOUT_QUESTIONS: frozenset[SectionKind] = frozenset({"out", "plan", "modules", "dependencies", "motivation"})
_KINDS: dict[SectionKind, RequirementKind] = {"acceptance": "acceptance", "non_functional": "non_functional"}


@dataclass(frozen=True)
class Statement:
    """A sentence, a list item with its nested items, or a table row."""

    text: str
    paragraph: str  # the paragraph that contains it
    line: int
    section: SectionKind
    listed: bool  # it is a list item or a row, not a sentence
    binding: bool  # it is normative, or part of a normative list


def find_prose_requirements(
    outline: Outline, kinds: list[SectionKind], *, used: Collection[int] = ()
) -> tuple[Requirement, ...]:
    """Find requirements without an id.

    `used` are the blocks of labeled requirements. If there are any, only clear statements are added.
    """
    statements = [
        s
        for s in _iter_statements(outline, kinds, used)
        if _normalize_words(s.text) and s.section not in _IGNORED_SECTIONS and not is_question(s.text)
    ]
    body = [s for s in statements if s.section not in ("background", "plan")]
    if used:
        chosen = _keep_binding(s for s in body if s.section or s.line > outline.blocks[min(used)].line)
    else:
        chosen = (
            _keep_binding(body)
            or _keep_paragraphs(s for s in body if s.section in _REQUIREMENT_SECTIONS)
            or _keep_binding(statements)
            or _keep_paragraphs(body)
            or _keep_paragraphs(s for s in statements if s.section != "plan")
            or _keep_paragraphs(statements)
        )
    return _number_requirements(chosen)


def is_question(text: str) -> bool:
    return text.rstrip(" *_)]\"'”’").endswith("?")


def find_prose_questions(outline: Outline, kinds: list[SectionKind]) -> Iterator[tuple[str, int]]:
    """Yield the open questions with their lines.

    These are the statements in sections of open questions, and elsewhere the questions that would otherwise be
    requirements.
    """
    for s in _iter_statements(outline, kinds, ()):
        asked = is_question(s.text) and (s.listed or s.binding) and s.section not in _WITHOUT_QUESTIONS
        if _normalize_words(s.text) and (s.section == "question" or asked):
            yield " ".join(s.text.split()), s.line


def _keep_binding(statements: Iterable[Statement]) -> list[Statement]:
    return [s for s in statements if s.binding or (s.listed and s.section in _REQUIREMENT_SECTIONS)]


def _keep_paragraphs(statements: Iterable[Statement]) -> list[Statement]:
    """Return whole paragraphs as statements, for sections in which no sentence is normative."""
    first_of = {(statement.line, statement.paragraph): statement for statement in reversed(list(statements))}
    return [replace(statement, text=statement.paragraph) for statement in reversed(first_of.values())]


def _iter_statements(outline: Outline, kinds: list[SectionKind], used: Collection[int]) -> Iterator[Statement]:
    for run in _iter_runs(outline, used):
        first = outline.blocks[run[0]]
        if first.kind == "item":
            yield from _iter_list_statements(outline, run, kinds[run[0]])
        elif first.kind == "row":
            yield Statement(
                first.text, first.text, first.line, kinds[run[0]], listed=True, binding=_is_binding(first.text)
            )
        elif not _opens_list(outline, run[0]):
            yield from _iter_paragraph_statements(first, kinds[run[0]])


def _iter_runs(outline: Outline, used: Collection[int]) -> Iterator[list[int]]:
    """Yield each paragraph and row on its own, and each list as a whole with the paragraphs inside its items."""
    run: list[int] = []
    for n, block in enumerate(outline.blocks):
        inside = bool(run) and (block.kind == "item" or block.parent != NO_BLOCK) and n not in used
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


def _iter_list_statements(outline: Outline, run: list[int], section: SectionKind) -> Iterator[Statement]:
    intro = _find_intro(outline, run[0])
    binding = bool(intro) or any(_is_binding(outline.blocks[n].text) for n in run)
    for top, nested in _group_nested(outline, run).items():
        head = outline.blocks[top]
        inner = [outline.blocks[n] for n in nested if outline.blocks[n].kind != "code"]
        if (
            inner
            and not _is_binding(head.text)
            and (head.text.endswith(":") or any(_is_binding(b.text) for b in inner))
        ):
            for block in inner:
                text = f"{intro}{head.text.rstrip(':')}: {block.text}"
                yield Statement(text, text, block.line, section, listed=True, binding=binding)
        else:
            text = "\n".join([f"{intro}{head.text}", *(block.text for block in inner)])
            yield Statement(text, text, head.line, section, listed=True, binding=binding)


def _group_nested(outline: Outline, run: list[int]) -> dict[int, list[int]]:
    """Map each outermost item to its nested blocks."""
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


def _find_intro(outline: Outline, first: int) -> str:
    """Return the text before a list, such as "The system must:", which starts each of its items."""
    if first == 0 or outline.blocks[first - 1].kind != "paragraph" or not _opens_list(outline, first - 1):
        return ""
    last = _SENTENCE_END.split(outline.blocks[first - 1].text)[-1]
    return f"{last} " if _is_binding(last) else ""


def _iter_paragraph_statements(block: OutlineBlock, section: SectionKind) -> Iterator[Statement]:
    if _is_scenario(block.text):
        yield Statement(block.text, block.text, block.line, section, listed=True, binding=True)
        return
    for sentence in _SENTENCE_END.split(" ".join(block.text.split())):
        yield Statement(sentence, block.text, block.line, section, listed=False, binding=_is_binding(sentence))


def _is_binding(text: str) -> bool:
    return _NORMATIVE.search(text) is not None or _is_scenario(text)


def _is_scenario(text: str) -> bool:
    """Return whether a text has the form GIVEN … THEN … or WHEN … THEN ….

    It uses two searches, since a single pattern could be slow.
    """
    begins = _SCENARIO_BEGINS.search(text)
    return begins is not None and _SCENARIO_ENDS.search(text, begins.end()) is not None


def _normalize_words(text: str) -> str:
    """Normalize case, spacing and punctuation."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _number_requirements(statements: Iterable[Statement]) -> tuple[Requirement, ...]:
    """Give each distinct statement an id of six hex digits, or twelve if six are not unique."""
    unique: dict[str, Statement] = {}
    for statement in statements:
        unique.setdefault(_normalize_words(statement.text), statement)
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
