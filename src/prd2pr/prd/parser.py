"""Parse a PRD file to a `Prd`: Markdown with front matter, YAML or JSON, with or without requirement ids.

`decode_prd` converts bytes to text and checks encoding, line ends and size. `parse_prd` converts the text to a `Prd`
with its sections, labeled requirements, requirements in prose and planned cycles.

Every error is a `PrdInvalid` with file, line and remedy.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from frontmatter import parse as split_front_matter
from frontmatter.default_handlers import BaseHandler

from prd2pr.domain.records import Prd, Requirement
from prd2pr.errors import InputInvalid, PrdInvalid
from prd2pr.prd import strict_json, strict_yaml
from prd2pr.prd.implementation_plan import parse_planned_cycles
from prd2pr.prd.labelled_requirements import LabelledRequirements, find_labelled_requirements
from prd2pr.prd.markdown import read_markdown
from prd2pr.prd.outline import Outline
from prd2pr.prd.prose import find_prose_questions, find_prose_requirements
from prd2pr.prd.requirement_ids import index_by_key
from prd2pr.prd.sections import SectionKind, classify_sections, join_interface_sections, list_section_entries
from prd2pr.prd.strict_yaml import LoadedDocument
from prd2pr.prd.structured_formats import read_structured
from prd2pr.prd.validation_messages import format_value

MAX_PRD_BYTES = 512 * 1024
MAX_PRD_LINES = 20_000
MAX_REQUIREMENTS = 500
MAX_SUMMARY = 500
MAX_TITLE = 200
ID_PATTERN = re.compile(r"^[a-z0-9][a-z0-9-]{0,47}$")

_SPLIT = "Split it into several PRDs; each becomes a separate pull request."
_EXAMPLE = "Write at least one sentence that says what must be true, such as `- FR-1: A visitor can sign up by e-mail.`"


# --- bytes → text -----------------------------------------------------------------------------------------------------


def decode_prd(data: bytes, path: str) -> str:
    """Return the text with `\\n` line ends and without a byte order mark."""
    _refuse_odd_name(path)
    _refuse_too_long(len(data), data.count(b"\n"), path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PrdInvalid("the PRD is not UTF-8 text", where=f"{path}:{line}", remedy="Save it as UTF-8.") from None
    return _normalize_text(text, path)


def _refuse_odd_name(path: str) -> None:
    """Refuse a file name that is not UTF-8, since records, commits and branches contain it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = path.encode("utf-8", "backslashreplace").decode()
        raise PrdInvalid(
            "the name of this PRD is not UTF-8 text", where=shown, remedy="Give the file another name."
        ) from None


def _refuse_too_long(size: int, lines: int, path: str) -> None:
    if size > MAX_PRD_BYTES or lines > MAX_PRD_LINES:
        raise PrdInvalid(
            f"the PRD has {size / 1024:.0f} KiB and {lines} lines; the limits are {MAX_PRD_BYTES // 1024} KiB and "
            f"{MAX_PRD_LINES} lines",
            where=path,
            remedy=_SPLIT,
        )


def _normalize_text(text: str, path: str) -> str:
    clean = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    odd = re.search("[\x00\ud800-\udfff]", clean)
    if odd:
        line = clean.count("\n", 0, odd.start()) + 1
        raise PrdInvalid(
            "the PRD is not a text file: it contains a NUL or a lone surrogate",
            where=f"{path}:{line}",
            remedy="Save the file as UTF-8 text.",
        )
    return clean


# --- text → Prd -------------------------------------------------------------------------------------------------------


def parse_prd(text: str, path: str, *, blob: str = "") -> Prd:
    text = _normalize_text(text, path)
    if not text.strip():
        raise PrdInvalid("the PRD is empty", where=path, remedy=_EXAMPLE)
    _refuse_too_long(len(text.encode()), text.count("\n"), path)
    outline, loaded = _read_outline(text, path)
    kinds = classify_sections(outline)
    labelled = find_labelled_requirements(outline, kinds, path)
    requirements = _find_requirements(outline, kinds, labelled, path)
    names = {requirement.id for requirement in requirements}
    cycles = parse_planned_cycles(outline, kinds, index_by_key([*names, *labelled.known.values()]), path)
    return Prd(
        id=_find_prd_id(loaded, path),
        title=_find_title(loaded.data, outline, path),
        path=path,
        blob=blob,
        summary=_find_summary(loaded.data, outline, kinds),
        requirements=requirements,
        cycles=tuple(
            each.model_copy(update={"requirements": tuple(name for name in each.requirements if name in names)})
            for each in cycles
        ),
        modules=list_section_entries(outline, kinds, "modules"),
        dependencies=list_section_entries(outline, kinds, "dependencies"),
        text=text,
    )


def _read_outline(text: str, path: str) -> tuple[Outline, LoadedDocument]:
    outline = Outline()
    try:
        return outline, _select_reader(path)(text, path, outline)
    except InputInvalid as error:
        raise PrdInvalid(error.what, where=error.where, remedy=error.remedy) from None


@dataclass(frozen=True)
class UnplannedItems:
    """The content of a PRD besides its requirements: open questions, and requirements that are out of scope."""

    questions: tuple[Requirement, ...] = ()  # without an id if the PRD gives none
    excluded: tuple[Requirement, ...] = ()


def find_unplanned_items(prd: Prd) -> UnplannedItems:
    """Find the open questions and the excluded requirements in the text of a parsed PRD."""
    try:
        outline, _ = _read_outline(prd.text, prd.path)
        kinds = classify_sections(outline)
        labelled = find_labelled_requirements(outline, kinds, prd.path)
    except PrdInvalid:  # a PRD that was parsed by an older version
        return UnplannedItems()
    lines = {each.line for each in (*labelled.open, *labelled.requirements, *labelled.excluded)}
    prose = (
        Requirement(id="", text=text, line=line)
        for text, line in find_prose_questions(outline, kinds)
        if line not in lines
    )
    return UnplannedItems(tuple(sorted((*labelled.open, *prose), key=lambda each: each.line)), labelled.excluded)


def find_interface_text(prd: Prd) -> str:
    """Return the text of the PRD's sections about interfaces, or an empty string."""
    try:
        return join_interface_sections(_read_outline(prd.text, prd.path)[0])
    except PrdInvalid:  # a PRD that was parsed by an older version
        return ""


def _find_requirements(
    outline: Outline, kinds: list[SectionKind], labelled: LabelledRequirements, path: str
) -> tuple[Requirement, ...]:
    prose = find_prose_requirements(outline, kinds, used=labelled.used)
    found = tuple(sorted((*labelled.requirements, *prose), key=lambda requirement: requirement.line))
    if not found:
        only_headings = all(block.kind == "heading" for block in outline.blocks)
        what = "the PRD has headings but no text below them" if only_headings else "the PRD has no requirements"
        if labelled.open or any(find_prose_questions(outline, kinds)):
            what = "the PRD has open questions but no requirements"
        raise PrdInvalid(what, where=path, remedy=_EXAMPLE)
    if len(found) > MAX_REQUIREMENTS:
        raise PrdInvalid(
            f"the PRD has {len(found)} requirements; the limit is {MAX_REQUIREMENTS}",
            where=f"{path}:{found[MAX_REQUIREMENTS].line}",
            remedy=_SPLIT,
        )
    return found


# --- formats ----------------------------------------------------------------------------------------------------------

Metadata = dict[str, Any]
DocumentReader = Callable[[str, str, Outline], LoadedDocument]  # fills the outline and returns the top-level keys


def _select_reader(path: str) -> DocumentReader:
    suffix = path.lower().rpartition("/")[2].rpartition(".")[2]
    reader = _READERS.get(suffix)
    if reader is None:
        raise PrdInvalid(
            "unsupported file type for a PRD",
            where=path,
            remedy=f"Use one of: {', '.join(f'.{known}' for known in _READERS)}.",
        )
    return reader


def _read_markdown(text: str, path: str, outline: Outline) -> LoadedDocument:
    handler = _FrontMatter(path)
    if not handler.detect(text):
        read_markdown(text, outline)
        return LoadedDocument({}, {})
    metadata, _ = split_front_matter(text, handler=handler)
    read_markdown(handler.body, outline, first_line=handler.body_line)
    return LoadedDocument(metadata, handler.lines)


def _read_yaml(text: str, path: str, outline: Outline) -> LoadedDocument:
    return _read_loaded(strict_yaml.load_yaml(text, path), path, outline)


def _read_json(text: str, path: str, outline: Outline) -> LoadedDocument:
    return _read_loaded(strict_json.load_json(text, path), path, outline)


def _read_loaded(loaded: LoadedDocument, path: str, outline: Outline) -> LoadedDocument:
    if not isinstance(loaded.data, dict):
        raise PrdInvalid(
            "the PRD is not a mapping",
            where=path,
            remedy="Begin with `title:` and `requirements:`; prose belongs in a .md file.",
        )
    read_structured(loaded, outline)
    return loaded


_READERS: dict[str, DocumentReader] = {
    "md": _read_markdown,
    "markdown": _read_markdown,
    "yml": _read_yaml,
    "yaml": _read_yaml,
    "json": _read_json,
}


_BOUNDARY = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)


class _FrontMatter(BaseHandler):
    """Strict YAML between two `---` lines. Records where the body begins."""

    FM_BOUNDARY = _BOUNDARY
    START_DELIMITER = END_DELIMITER = "---"

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self.body = ""
        self.body_line = 1
        self.lines: Mapping[strict_yaml.KeyPath, int] = {}

    def split(self, text: str) -> tuple[str, str]:
        parts = _BOUNDARY.split(text, maxsplit=2)
        if len(parts) < 3:
            raise PrdInvalid(
                "the front matter is not closed",
                where=f"{self.path}:1",
                remedy="Close it with a line `---`, or remove the `---` on the first line.",
            )
        _, front, self.body = parts
        self.body_line = front.count("\n") + 1
        return front, self.body

    def load(self, fm: str) -> Metadata:
        loaded = strict_yaml.load_yaml(fm, self.path)
        data, self.lines = loaded.data, loaded.lines
        if data is not None and not isinstance(data, dict):
            raise PrdInvalid(
                "the front matter is not a list of `key: value` lines",
                where=f"{self.path}:1",
                remedy="Write `id:` and `title:` between the two `---` lines, or remove these lines.",
            )
        return data or {}


# --- id, title, summary -----------------------------------------------------------------------------------------------


def _find_prd_id(loaded: LoadedDocument, path: str) -> str:
    given = loaded.data.get("id")
    if given is not None:
        if isinstance(given, str | int) and not isinstance(given, bool) and ID_PATTERN.match(str(given).lower()):
            return str(given).lower()  # a tracker's id, such as FEED-231
        suggestion = slugify(str(given)) if isinstance(given, str | int) and not isinstance(given, bool) else ""
        raise PrdInvalid(
            f"{format_value(given)} is not a valid id: it becomes part of a branch name",
            where=f"{path}:{loaded.find_line(('id',))}",
            remedy="Use at most 48 lower-case letters, digits and hyphens"
            + (f": `id: {suggestion}`." if suggestion else "."),
        )
    found = slugify(_get_stem(path))
    if not found:
        raise PrdInvalid(
            "no id can be derived from the file's name", where=path, remedy="Rename the file, or set `id:` at its top."
        )
    return found


def slugify(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:48].strip("-")


def _get_stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _find_title(metadata: Metadata, outline: Outline, path: str) -> str:
    heading = next((block.text for block in outline.blocks if block.kind == "heading"), "")
    given = metadata.get("title")
    structured = not path.lower().endswith(("md", "markdown"))
    candidates = (given if isinstance(given, str) else "", "" if structured else heading, _get_stem(path), path)
    return next(" ".join(text.split())[:MAX_TITLE] for text in candidates if text.strip())


def _find_summary(metadata: Metadata, outline: Outline, kinds: list[SectionKind]) -> str:
    given = metadata.get("summary")
    paragraphs = [
        (not kind, block.text)
        for block, kind in zip(outline.blocks, kinds, strict=True)
        if block.kind == "paragraph" and kind in ("", "background", "motivation")
    ]
    first = min(paragraphs, key=lambda found: found[0])[1] if paragraphs else ""
    return " ".join((given if isinstance(given, str) else first).split())[:MAX_SUMMARY]
