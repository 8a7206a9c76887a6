"""Documentation: notes about the libraries that the work will use, refreshed once a week.

The libraries are found in the manifests and the PRD, without a model.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from pydantic import Field

from prd2pr.domain.memory_records import LibraryNote
from prd2pr.domain.records import Prd, Record

MAX_LIBRARIES = 8
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_REQUIREMENT = re.compile(r"^\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,80})(?:\[[^\]]*\])?\s*(?P<version>[^;#]*)")


class LibraryAnswer(Record):
    library: str = Field(max_length=80, description="One of the libraries that are listed.")
    version: str = Field(max_length=60, description="The version that these notes are about.")
    use: str = Field(max_length=1200, description="The calls that this PRD will need, as they are in that version.")
    outdated: tuple[str, ...] = Field(
        default=(), max_length=8, description="Usage that was right in older versions and no longer is."
    )
    source: str = Field(default="", max_length=200, description="Where it is documented; empty if you are not sure.")


class DocumentationAnswer(Record):
    """Notes about libraries, for people who have not used this version."""

    libraries: tuple[LibraryAnswer, ...] = Field(default=(), max_length=MAX_LIBRARIES)


class Library(NamedTuple):
    name: str
    wanted: str  # the versions that the manifest allows; empty for any


def find_libraries(prd: Prd, files: Mapping[str, str]) -> tuple[Library, ...]:
    """Find the libraries that the project declares or the PRD adds, with those named in the PRD first."""
    found: dict[str, Library] = {}
    for line in (*_declared_requirements(files), *prd.dependencies):
        read = _REQUIREMENT.match(line.strip().strip("`"))
        if read and read["name"].lower() != "python":
            found.setdefault(normalize_library_name(read["name"]), Library(read["name"], read["version"].strip(" ()`")))
    words = {normalize_library_name(word) for word in re.findall(r"[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9]", prd.text)}
    ordered = sorted(found.items(), key=lambda each: each[0] not in words)
    return tuple(library for _, library in ordered)[:MAX_LIBRARIES]


def normalize_library_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared_requirements(files: Mapping[str, str]) -> Iterator[str]:
    try:
        project = tomllib.loads(files.get("pyproject.toml", "")).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        project = {}
    dependencies = project.get("dependencies", ()) if isinstance(project, dict) else ()
    yield from (line for line in dependencies if isinstance(line, str)) if isinstance(dependencies, list) else ()
    for path in sorted(files):
        if re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", path):
            yield from (line for line in files[path].splitlines() if line.strip()[:1] not in ("", "#", "-"))


def select_fresh_notes(notes: Iterable[LibraryNote], now: str) -> dict[str, LibraryNote]:
    """Map library names to their newest note that has not expired."""
    valid = (note for note in notes if note.expires_at > now)
    return {normalize_library_name(note.library): note for note in sorted(valid, key=lambda note: note.at)}


def find_undocumented_libraries(wanted: Iterable[Library], known: Mapping[str, LibraryNote]) -> tuple[Library, ...]:
    return tuple(library for library in wanted if normalize_library_name(library.name) not in known)


def keep_requested_libraries(answer: DocumentationAnswer, wanted: Iterable[Library]) -> DocumentationAnswer:
    """Keep each requested library once and drop all others."""
    names = {normalize_library_name(library.name) for library in wanted}
    kept = {
        normalize_library_name(each.library): each
        for each in answer.libraries
        if normalize_library_name(each.library) in names
    }
    return answer.model_copy(update={"libraries": tuple(kept.values())})


def compute_expiry(at: str, days: int) -> str:
    return (datetime.strptime(at, TIME_FORMAT) + timedelta(days=days)).strftime(TIME_FORMAT)


def format_library_note(answer: LibraryAnswer) -> str:
    return "\n".join([answer.use, *(f"Outdated: {each}" for each in answer.outdated)])
