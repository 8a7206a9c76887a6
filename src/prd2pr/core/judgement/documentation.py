"""Documentation: what is to be known about the libraries that the work will use. Looked up once a week, not each time.

Which libraries these are is read from the manifests and the PRD by code.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import Field

from prd2pr.core.memory.records import LibraryNote
from prd2pr.core.records import Prd, Record

MOST_LIBRARIES = 8
MOMENT = "%Y-%m-%dT%H:%M:%SZ"
_REQUIREMENT = re.compile(r"^\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,80})(?:\[[^\]]*\])?\s*(?P<version>[^;#]*)")


class LibraryAnswer(Record):
    library: str = Field(max_length=80, description="One of the libraries that are listed.")
    version: str = Field(max_length=60, description="The version that these notes are about.")
    use: str = Field(max_length=1200, description="The calls that this PRD will need, as they are in that version.")
    outdated: tuple[str, ...] = Field(
        default=(), max_length=8, description="Ways that were right in older versions and are not now."
    )
    source: str = Field(default="", max_length=200, description="Where it is documented; empty if you are not sure.")


class DocumentationAnswer(Record):
    """Notes about libraries, for people who have not used this version."""

    libraries: tuple[LibraryAnswer, ...] = Field(default=(), max_length=MOST_LIBRARIES)


class Library(NamedTuple):
    name: str
    wanted: str  # the versions that the manifest allows; empty: it does not say


def libraries(prd: Prd, files: Mapping[str, str]) -> tuple[Library, ...]:
    """What the project declares and what the PRD wants added: first those that the PRD names."""
    found: dict[str, Library] = {}
    for line in (*_declared(files), *prd.dependencies):
        read = _REQUIREMENT.match(line.strip().strip("`"))
        if read and read["name"].lower() != "python":
            found.setdefault(canonical(read["name"]), Library(read["name"], read["version"].strip(" ()`")))
    words = {canonical(word) for word in re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]", prd.text)}
    ordered = sorted(found.items(), key=lambda each: each[0] not in words)
    return tuple(library for _, library in ordered)[:MOST_LIBRARIES]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared(files: Mapping[str, str]) -> Iterator[str]:
    try:
        project = tomllib.loads(files.get("pyproject.toml", "")).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        project = {}
    dependencies = project.get("dependencies", ()) if isinstance(project, dict) else ()
    yield from (line for line in dependencies if isinstance(line, str)) if isinstance(dependencies, list) else ()
    for path in sorted(files):
        if re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", path):
            yield from (line for line in files[path].splitlines() if line.strip()[:1] not in ("", "#", "-"))


def fresh(notes: Iterable[LibraryNote], now: str) -> dict[str, LibraryNote]:
    """By the library's name: what is still believed, the newest of several."""
    believed = (note for note in notes if note.expires_at > now)
    return {canonical(note.library): note for note in sorted(believed, key=lambda note: note.at)}


def missing(wanted: Iterable[Library], known: Mapping[str, LibraryNote]) -> tuple[Library, ...]:
    return tuple(library for library in wanted if canonical(library.name) not in known)


def asked_for(answer: DocumentationAnswer, wanted: Iterable[Library]) -> DocumentationAnswer:
    """Each library once, and none that nobody asked about."""
    names = {canonical(library.name) for library in wanted}
    kept = {canonical(each.library): each for each in answer.libraries if canonical(each.library) in names}
    return answer.model_copy(update={"libraries": tuple(kept.values())})


def expiry(at: str, days: int) -> str:
    return (datetime.strptime(at, MOMENT) + timedelta(days=days)).strftime(MOMENT)


def content(answer: LibraryAnswer) -> str:
    return "\n".join([answer.use, *(f"Outdated: {each}" for each in answer.outdated)])
