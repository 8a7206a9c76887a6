"""Write in-toto statements for the proved steps of a branch, and check existing ones.

Digests and results are checked. Signatures are reported as not checked; use `gh attestation verify` for them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from prd2pr.config import CONFIG_PATH
from prd2pr.domain.evidence import Finding, Proof
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.errors import StateProblem
from prd2pr.proof.attestation import (
    AttestedStep,
    StatementCheck,
    build_merge_statement,
    build_statement,
    build_summary_predicate,
    check_statement,
    collect_digests,
    make_statement_error,
)
from prd2pr.proof.merged import MergeCheck
from prd2pr.state.codec import decode_document
from prd2pr.state.commit_message import read_step
from prd2pr.state.git import Git
from prd2pr.state.store import StateStore
from prd2pr.verification.commit_check import CommitCheck

STATEMENTS = "prd2pr-statements"  # directory at the root, never committed
PREDICATE = "predicate.json"
LARGEST_STATEMENT = 20_000_000  # bytes


def list_attested_steps(git: Git, start: str, checked: Sequence[CommitCheck]) -> list[AttestedStep]:
    """Return the gated steps whose evidence can be read."""
    blobs = [entry.blob for entry in git.entries(start) if entry.path == CONFIG_PATH]
    found = (_load_attested_step(git, each, blobs[0] if blobs else "") for each in checked if each.phase in GATED)
    return [step for step in found if step is not None]


def _load_attested_step(git: Git, checked: CommitCheck, config_blob: str) -> AttestedStep | None:
    step = read_step(git.commit_info(checked.commit).trailers)
    if step is None:
        return None
    try:
        state = StateStore(git, step.prd).load(checked.commit)
        path = state.paths.evidence(step.story, step.n, step.phase)
        data = state.read_evidence(step.story, step.n, step.phase)
        proof = decode_document(Proof, data, path) if data is not None else None
    except StateProblem:
        return None
    if proof is None:
        return None
    return AttestedStep(checked.commit, checked.step, path, step.evidence, proof.evidence, config_blob)


def write_statements(
    directory: Path,
    steps: Sequence[AttestedStep],
    checked: Sequence[CommitCheck],
    url: str,
    merge: MergeCheck | None = None,
) -> int:
    """Write one file per proved step and one for the merge, and the predicate to sign for all. Return their number."""
    proved = {each.commit for each in checked if each.proved}
    written = [step for step in steps if step.commit in proved]
    directory.mkdir(parents=True, exist_ok=True)
    for step in written:
        (directory / step.file_name).write_text(_dump_json(build_statement(step, url=url)), encoding="utf-8")
    if written:
        (directory / PREDICATE).write_text(_dump_json(build_summary_predicate(written)), encoding="utf-8")
    if merge is not None and written:
        text = _dump_json(build_merge_statement(merge, written, url=url))
        (directory / f"merge-{merge.merged.commit[:10]}.intoto.json").write_text(text, encoding="utf-8")
    return len(written) + (merge is not None)


def _dump_json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def check_statement_files(
    place: Path, steps: Sequence[AttestedStep], checked: Sequence[CommitCheck], merge: MergeCheck | None = None
) -> StatementCheck:
    """Check the statements and bundles in `place`, which is a file or a directory. `merge` is the proved merge."""
    paths = sorted(path for path in place.rglob("*.json*") if path.is_file()) if place.is_dir() else [place]
    files, signed, findings = 0, 0, list[Finding]()
    for path in paths:
        if path.name == PREDICATE:
            continue
        files += 1
        for value in read_json_values(path):
            envelope = decode_envelope(value) if value is not None else None
            signed += envelope is not None
            if envelope is not None and "gitCommit" not in collect_digests(envelope):
                findings += check_signed_files(envelope, path)
            else:
                findings += check_statement(envelope or value, path.name, steps, checked, merge)
    return StatementCheck(files, signed, tuple(findings))


def read_json_values(path: Path) -> Iterator[Any]:
    """Yield the JSON values of a file, one per line for `.jsonl`. Invalid JSON yields None."""
    if path.stat().st_size > LARGEST_STATEMENT:
        yield None
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        if part.strip():
            try:
                yield json.loads(part)
            except (ValueError, RecursionError):
                yield None


def decode_envelope(bundle: object) -> dict[str, Any] | None:
    """Return the statement in a sigstore bundle or a bare DSSE envelope, or None for anything else."""
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


def check_signed_files(statement: dict[str, Any], bundle: Path) -> Iterator[Finding]:
    """Check that the statement files next to a bundle are the files that it signs."""
    subjects = statement.get("subject")
    named = [each for each in subjects if isinstance(each, dict)] if isinstance(subjects, list) else []
    if not named:
        yield make_statement_error("VER203", "the bundle has no subject", bundle.name)
    for subject in named:
        name = str(subject.get("name", ""))
        path = bundle.parent / Path(name).name
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        if digest != collect_digests({"subject": [subject]}).get("sha256"):
            yield make_statement_error("VER201", f"{name} differs from the signed file", bundle.name)
