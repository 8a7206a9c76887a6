"""Changesets as plain text, and real repositories to judge them in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prd2pr.cli.context import find_stacks, make_runner
from prd2pr.config import Config
from prd2pr.config import TestRun as RunSettings
from prd2pr.domain.changeset import ChangesetEvidence, ChangesetVerdict
from prd2pr.state.git import Git
from prd2pr.verification.changeset.judgment import judge_changeset
from prd2pr.verification.changeset.observation import observe_changeset
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.run_cache import CachedRunner
from prd2pr.verification.verdict import GatePolicy

CORPUS = Path(__file__).with_name("corpus")
Files = Mapping[str, "str | None"]  # None deletes a file


@dataclass(frozen=True)
class ChangesetCase:
    name: str
    project: str
    kind: str
    codes: frozenset[str]
    refactoring: bool
    files: Files  # the changed files, as they are at head


def read_cases(name: str) -> list[ChangesetCase]:
    """Return the cases of `honest` or `cheats`."""
    return [_make_case(title, body) for title, body in _split(CORPUS / f"{name}.txt")]


@cache
def read_projects() -> Mapping[str, dict[str, str]]:
    return {title: _read_project(body) for title, body in _split(CORPUS / "projects.txt")}


def judge_case(
    case: ChangesetCase, git: Git, kept_runs: Path | None = None
) -> tuple[tuple[ChangesetEvidence, ...], ChangesetVerdict]:
    base = _commit(git, git.empty_tree, read_projects()[case.project], [])
    head = _commit(git, git.tree(base), case.files, [base])
    config = Config(test=RunSettings(python=sys.executable))
    stacks = find_stacks(git, config, base)
    runner = CachedRunner(make_runner(git, config, stacks, base, many=True), kept_runs)
    context = GatherContext(git, runner, stacks=stacks)
    evidence = observe_changeset(context, base, head, refactoring="--refactoring" if case.refactoring else "")
    return evidence, judge_changeset(evidence, GatePolicy())


def _commit(git: Git, tree: str, files: Files, parents: list[str]) -> str:
    updates = {path: None if text is None else text.encode() for path, text in files.items()}
    return git.commit(git.edit_tree(tree, updates), parents, "A step", at="2026-01-01T00:00:00Z")


def _split(path: Path) -> list[tuple[str, str]]:
    parts = path.read_text(encoding="utf-8").split("\n==== ")[1:]
    return [(title.strip(), body) for title, _, body in (part.partition("\n") for part in parts)]


def _list_files(body: str) -> list[tuple[str, str, str]]:
    parts = f"\n{body}".split("\n---- ")[1:]
    heads = ((part.partition("\n")[0].split(), part.partition("\n")[2]) for part in parts)
    return [(words[0], words[1] if len(words) > 1 else "", f"{text.rstrip()}\n".lstrip("\n")) for words, text in heads]


def _read_project(body: str) -> dict[str, str]:
    return {path: text for path, _, text in _list_files(body)}


def _make_case(title: str, body: str) -> ChangesetCase:
    name, project, kind, codes, options = [*(part.strip() for part in title.split("|")), ""][:5]
    base = read_projects()[project]
    files = {
        path: None if verb == "!delete" else _edit(base[path], text) if verb == "!edit" else text
        for path, verb, text in _list_files(body)
    }
    return ChangesetCase(name, project, kind, frozenset(codes.split()), options == "refactoring", files)


def _edit(text: str, edits: str) -> str:
    """Replace each block of lines with `- ` by the lines with `+ ` that follow it."""
    old: list[str] = []
    new: list[str] = []
    for line in [*edits.splitlines(), "- "]:
        if line[:1] == "-" and new:
            text = _replace("\n".join(old), "\n".join(new), text)
            old, new = [], []
        (old if line[:1] == "-" else new).append(line[2:])
    return text if old == [""] else _replace("\n".join(old), "", text)


def _replace(old: str, new: str, text: str) -> str:
    if text.count(old) != 1:
        raise ValueError(f"{text.count(old)} places match:\n{old}")
    return text.replace(old, new)
