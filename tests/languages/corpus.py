"""Cheats and honest cycles in languages other than Python; JavaScript and TypeScript share one source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prd2pr.domain.records import Phase
from prd2pr.domain.stack import Stack
from prd2pr.languages.project.detection import detect_project_stacks

CORPUS = Path(__file__).with_name("corpus")
VITEST = "4.1.0"
JEST = "30.5.0"
Files = dict[str, str | None]


@dataclass(frozen=True)
class Dialect:
    """The test syntax of a runner."""

    runner: str
    values: dict[str, str]
    equal: str
    throws: str
    throws_exactly: str
    corpus: str = ""  # the directory with its texts
    tool: str = "node"  # required to run it

    def said(self, text: str) -> str:
        for sign, value in self.values.items():
            text = text.replace(sign, value)
        return "\n".join(map(self._line, text.split("\n")))

    def _line(self, line: str) -> str:
        if found := re.fullmatch(r"(\s*)eq (.+) => (.+)", line):
            return found[1] + self.equal.format(found[2], found[3])
        if found := re.fullmatch(r"(\s*)throws (.+) => (.+)", line):
            return found[1] + self.throws_exactly.format(found[2], found[3])
        if found := re.fullmatch(r"(\s*)throws (.+)", line):
            return found[1] + self.throws.format(found[2])
        return line


def _package(script: str, **more: object) -> str:
    return json.dumps({"name": "shop", "version": "1.0.0", "type": "module", "scripts": {"test": script}, **more})


NODE = Dialect(
    "node:test",
    {
        "{js}": ".js",
        "{from}": ".js",
        "{package}": _package("node --test"),
        "{tests}": 'import { beforeEach, describe, it, test } from "node:test";\n'
        'import assert from "node:assert/strict";',
    },
    "assert.equal({}, {});",
    "assert.throws(() => {});",
    "assert.throws(() => {}, {});",
)
IN_VITEST = Dialect(
    "vitest",
    {
        "{js}": ".ts",
        "{from}": "",
        "{package}": _package("vitest run", devDependencies={"vitest": VITEST}),
        "{tests}": 'import { beforeEach, describe, expect, it, test } from "vitest";',
        "{snapshot}": "// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html",
        "{number}": ": number",
    },
    "expect({}).toBe({});",
    "expect(() => {}).toThrow();",
    "expect(() => {}).toThrow({});",
)
IN_JEST = Dialect(
    "jest",
    {
        "{js}": ".js",
        "{from}": ".js",
        "{package}": _package(
            "node --experimental-vm-modules node_modules/jest/bin/jest.js", devDependencies={"jest": JEST}
        ),
        "{tests}": "// jest brings along what tests are written with",
        "{snapshot}": "// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing",
        "{number}": "",
    },
    IN_VITEST.equal,
    IN_VITEST.throws,
    IN_VITEST.throws_exactly,
)
GO = Dialect("go test", {}, "", "", "", "go", "go")
RUST = Dialect("cargo test", {}, "", "", "", "rust", "cargo")
DIALECTS = {dialect.runner: dialect for dialect in (NODE, IN_VITEST, IN_JEST, GO, RUST)}


@dataclass(frozen=True)
class OtherCheat:
    runner: str
    number: int
    name: str
    project: str
    phase: Phase
    codes: tuple[str, ...]
    files: Files

    @property
    def id(self) -> str:
        return f"{self.runner} {self.number}-{self.name}"


@dataclass(frozen=True)
class OtherCycle:
    runner: str
    name: str
    steps: dict[str, Files] = field(default_factory=dict)  # base, red, green, refactor

    @property
    def id(self) -> str:
        return f"{self.runner} {self.name}"


def sections(name: str, dialect: Dialect) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The sections' titles, each with its files as heading and text."""
    for part in (CORPUS / dialect.corpus / name).read_text(encoding="utf-8").split("\n==== ")[1:]:
        title, _, body = part.partition("\n")
        files = [each.partition("\n") for each in f"\n{body}".split("\n---- ")[1:]]
        yield title.strip(), [(head.strip(), f"{text.rstrip()}\n") for head, _, text in files]


def _file(head: str, text: str, dialect: Dialect) -> tuple[str, str | None]:
    path, _, order = dialect.said(head).partition(" ")
    return path, None if order == "!delete" else dialect.said(text)


def projects(dialect: Dialect) -> dict[str, Files]:
    """Each project with all files of its parents."""
    found: dict[str, Files] = {}
    for title, files in sections("projects.txt", dialect):
        name, _, parent = (part.strip() for part in title.partition("<"))
        found[name] = {**found.get(parent, {}), **dict(_file(*file, dialect) for file in files)}
    return found


def cheats() -> Iterator[OtherCheat]:
    for runner, dialect in DIALECTS.items():
        for title, files in sections("cheats.txt", dialect):
            head, project, phase, codes, *only = (part.strip() for part in title.split("|"))
            number, _, name = head.partition(" ")
            if not only or runner in only[0].split(", "):
                made = dict(_file(*file, dialect) for file in files)
                yield OtherCheat(runner, int(number), name, project, Phase(phase), tuple(codes.split()), made)


def cycles() -> Iterator[OtherCycle]:
    for runner, dialect in DIALECTS.items():
        for title, files in sections("honest.txt", dialect):
            name, _, only = (part.strip() for part in title.partition("|"))
            if not only or runner in only.split(", "):
                steps: dict[str, Files] = {"base": dict(projects(dialect)["shop"])}
                for head, text in files:
                    step, _, path = head.partition(" ")
                    made, content = _file(path, text, dialect)
                    steps.setdefault(step, {})[made] = content
                yield OtherCycle(runner, name, steps)


def stack_of_project(dialect: Dialect) -> Stack:
    files = projects(dialect)["shop"]
    (stack,) = detect_project_stacks(files, {path: text for path, text in files.items() if text is not None})
    return stack
