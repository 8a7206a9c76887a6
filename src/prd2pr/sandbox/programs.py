"""Find the files of the programs that a process in the sandbox may start: the programs, links and interpreters."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from prd2pr.sandbox.jail.plan import ProgramRules
from prd2pr.sandbox.visible_files import follow_links

_SYSTEM_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MAX_FIRST_LINE = 256


def find_program_rules(names: Iterable[str], search: str, created: Iterable[Path] = ()) -> ProgramRules:
    """Return the rules for programs with these names or absolute paths; those that this machine lacks are left out.

    A script's interpreter may be started too. Below `created`, everything may be started.
    """
    directories = [*search.split(os.pathsep), *_SYSTEM_SEARCH.split(":")]
    return ProgramRules(
        files=list(dict.fromkeys(_list_files(names, search))),
        directories=list(dict.fromkeys(_resolve(Path(each)) for each in directories if Path(each).is_absolute())),
        created=[str(each) for each in created],
    )


def is_listed(program: str, rules: ProgramRules) -> bool:
    """Return whether the program, an absolute path, may be started."""
    path = _resolve_parent(Path(program))
    return path in rules["files"] or any(Path(path).is_relative_to(each) for each in rules["created"])


def _list_files(names: Iterable[str], search: str) -> Iterator[str]:
    pending, seen = list(names), set[str]()
    while pending:
        name = pending.pop()
        program = name if Path(name).is_absolute() else shutil.which(name, path=search)
        if name in seen or program is None or not Path(program).is_file():
            continue
        seen.add(name)
        for path in follow_links(Path(program)):
            yield _resolve_parent(path)
        pending += _list_interpreters(program)


def _list_interpreters(program: str) -> list[str]:
    """Return the programs that a script's first line names, as in `#!/usr/bin/env python3`."""
    with Path(program).open("rb") as file:
        first = file.readline(_MAX_FIRST_LINE)
    if not first.startswith(b"#!"):
        return []
    words = first[2:].decode("utf-8", "replace").split()
    if words and Path(words[0]).name == "env":
        return [words[0], *[word for word in words[1:] if not word.startswith("-") and "=" not in word][:1]]
    return words[:1]


def _resolve(directory: Path) -> str:
    return str(directory.resolve())


def _resolve_parent(path: Path) -> str:
    """Return the path with the links in its directory resolved. If the path itself is a link, it is kept."""
    return str(path.parent.resolve() / path.name)
