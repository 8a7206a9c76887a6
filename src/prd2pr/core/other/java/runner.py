"""surefire: Maven or Gradle by the project's own command, which builds the tests, runs them and writes JUnit XML.

Where test files cannot be built, nothing is run at all. So a program of ours runs the command, leaves out the files
that the compiler names, and runs it again: each test that was left out fails by the compiler's own words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from prd2pr.core.other.any_runner import BETWEEN, no_canary, read_junit
from prd2pr.core.other.java.build_errors import classify, thrown_by
from prd2pr.core.other.java.declared import classes_of, package_of
from prd2pr.core.other.runner import Broken, Ended, Ground, Program, RunnerKind, Said, Seen
from prd2pr.core.other.told import lines_of


def programs(ground: Ground, files: tuple[str, ...]) -> tuple[Program, ...]:
    """One for all: a build tool takes no files."""
    order = {
        "command": [*ground.stack.command, *ground.arguments],
        "results": ground.stack.results,
        "files": sorted(map(ground.stack.local, ground.texts)),
    }
    return (
        Program(
            argv=(ground.python, "-I", "-S", "-B", f"{ground.ours}/build_tests.py"),
            files=files,
            parameters={"order": json.dumps(order)},
        ),
    )


def read(said: Said, ground: Ground) -> Seen:
    facts, problems = lines_of(said)
    broken = tuple(each for fact in facts if fact.get("event") == "broken" for each in _broken(fact, ground))
    ended = next((fact for fact in facts if fact.get("event") == "end"), None)
    if ended is None:
        return Seen(broken=broken, problems=problems)
    texts = [str(text) for text in ended["texts"]]
    lost = {each.path for each in broken}
    if not texts and lost == set(ground.texts):
        return Seen(broken=broken, problems=problems)  # nothing was left that could be run
    told = Said(Program(()), BETWEEN.join(texts), "", printed=str(ended["output"]), status=int(ended["status"]))
    seen = read_junit(told, ground)
    found = tuple(_placed(each, ground) for each in seen.ended)
    asked = set(said.program.files)
    return replace(
        seen,
        ended=tuple(each for each in found if each.path in asked or each.path not in ground.texts),
        broken=broken,
        finished=frozenset() if seen.problems and not seen.ended else frozenset(asked - lost),
        problems=(*problems, *seen.problems),
    )


def _broken(fact: dict[str, Any], ground: Ground) -> Iterator[Broken]:
    for local in fact["files"]:
        path = ground.stack.placed(str(local))
        for thrown in thrown_by(str(fact["output"]), path, ground.texts.get(path, "")):
            yield Broken(path, thrown)


def _placed(ended: Ended, ground: Ground) -> Ended:
    """A class need not be called like its file, which says whose story it is. Gradle puts `()` behind names."""
    titles = tuple(title.removesuffix("()") for title in ended.titles)
    if ended.path in ground.texts:
        return replace(ended, titles=titles)
    package, _, name = ended.path.replace("/", ".").rpartition(".")
    name = name.partition("$")[0]
    found = [path for path, text in ground.texts.items() if package_of(text) == package and name in classes_of(text)]
    return replace(ended, path=found[0] if found else ended.path, titles=titles)


SUREFIRE = RunnerKind("surefire", "", (), programs, read, no_canary, classify, status_with_failures=None, home="native")
