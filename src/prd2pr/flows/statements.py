"""Statements about the steps of a branch: written after they were proved, and looked at where somebody has left some.

What is looked at is all that can be known here: digests and results. Who signed a bundle only the log of signatures can
say; that is `gh attestation verify`, and is told as not checked.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prd2pr.config import CONFIG_PATH
from prd2pr.core.checked import Checked
from prd2pr.core.codec import decode
from prd2pr.core.commit_message import read_step
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Finding, Proof
from prd2pr.core.statement import (
    Attestable,
    Statements,
    digests_of,
    statement_findings,
    statement_of,
    summary_predicate,
    wrong,
)
from prd2pr.errors import StateProblem
from prd2pr.repo.git import Git
from prd2pr.repo.store import StateStore

STATEMENTS = "prd2pr-statements"  # beside .orch-state, never committed
PREDICATE = "predicate.json"
LARGEST = 20_000_000  # bytes of a file that somebody has left there


def attestable(git: Git, start: str, checked: Sequence[Checked]) -> list[Attestable]:
    """The steps with a gate whose evidence is the one that the commit names."""
    blobs = [entry.blob for entry in git.entries(start) if entry.path == CONFIG_PATH]
    found = (_attestable(git, each, blobs[0] if blobs else "") for each in checked if each.phase in GATED)
    return [step for step in found if step is not None]


def _attestable(git: Git, checked: Checked, config_blob: str) -> Attestable | None:
    step = read_step(git.commit_info(checked.commit).trailers)
    if step is None:
        return None
    try:
        state = StateStore(git, step.prd).load(checked.commit)
        path = state.paths.evidence(step.story, step.n, step.phase)
        data = state.bytes_at(path)
        proof = decode(Proof, data, path) if data is not None else None
    except StateProblem:
        return None
    if proof is None:
        return None
    return Attestable(checked.commit, checked.step, path, step.evidence, proof.evidence, config_blob)


def write_statements(directory: Path, steps: Sequence[Attestable], checked: Sequence[Checked], url: str) -> int:
    """One file for each step that is proved, and the predicate that is signed over all of them."""
    proved = {each.commit for each in checked if each.proved}
    told = [step for step in steps if step.commit in proved]
    directory.mkdir(parents=True, exist_ok=True)
    for step in told:
        (directory / step.file_name).write_text(_json(statement_of(step, url=url)), encoding="utf-8")
    if told:
        (directory / PREDICATE).write_text(_json(summary_predicate(told)), encoding="utf-8")
    return len(told)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def look_at_statements(place: Path, steps: Sequence[Attestable], checked: Sequence[Checked]) -> Statements:
    """`place` is a file or a directory of statements and bundles."""
    paths = sorted(path for path in place.rglob("*.json*") if path.is_file()) if place.is_dir() else [place]
    files, signed, findings = 0, 0, list[Finding]()
    for path in paths:
        if path.name == PREDICATE:
            continue
        files += 1
        for told in contents(path):
            envelope = payload_of(told) if told is not None else None
            signed += envelope is not None
            if envelope is not None and "gitCommit" not in digests_of(envelope):
                findings += file_findings(envelope, path)
            else:
                findings += statement_findings(envelope or told, path.name, steps, checked)
    return Statements(files, signed, tuple(findings))


def contents(path: Path) -> Iterator[Any]:
    """The JSON values of a file, one or one a line; None for what is none."""
    if path.stat().st_size > LARGEST:
        yield None
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        if part.strip():
            try:
                yield json.loads(part)
            except (ValueError, RecursionError):
                yield None


def payload_of(bundle: object) -> dict[str, Any] | None:
    """The statement in a sigstore bundle or a bare DSSE envelope; None where it is neither."""
    if not isinstance(bundle, dict):
        return None
    envelope = bundle.get("dsseEnvelope", bundle)
    if not isinstance(envelope, dict) or not isinstance(envelope.get("payload"), str):
        return None
    try:
        found = json.loads(base64.b64decode(envelope["payload"], validate=True))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def file_findings(statement: dict[str, Any], bundle: Path) -> Iterator[Finding]:
    """A bundle over statement files: those beside it must be the ones that were signed."""
    subjects = statement.get("subject")
    named = [each for each in subjects if isinstance(each, dict)] if isinstance(subjects, list) else []
    if not named:
        yield wrong("VER203", "the bundle names nothing that it was made for", bundle.name)
    for subject in named:
        name = str(subject.get("name", ""))
        path = bundle.parent / Path(name).name
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        if digest != digests_of({"subject": [subject]}).get("sha256"):
            yield wrong("VER201", f"{name} is not the file that was signed", bundle.name)
