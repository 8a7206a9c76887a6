"""Write in-toto statements for the proved steps of a branch, and check existing ones.

Digests and results are checked, and whether the key of the bundle's certificate made the signature. Only with a network
can the certificate itself be checked: `gh attestation verify` checks its authority and the transparency log.
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
from prd2pr.domain.wording import clip, escape_invisible
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
MAX_SIGNER = 300  # characters
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
    files, signed, findings, signers = 0, 0, list[Finding](), dict[str, None]()
    for path in paths:
        if path.name == PREDICATE:
            continue
        files += 1
        for value in read_json_values(path):
            envelope = decode_envelope(value) if value is not None else None
            signed += envelope is not None
            if envelope is not None:
                signer = find_signer(value)
                if signer is None:
                    findings.append(make_statement_error("VER204", "the signature does not fit", path.name))
                elif signer:
                    signers[signer] = None
            if envelope is not None and "gitCommit" not in collect_digests(envelope):
                findings += check_signed_files(envelope, path)
            else:
                findings += check_statement(envelope or value, path.name, steps, checked, merge)
    return StatementCheck(files, signed, tuple(findings), tuple(signers))


def read_json_values(path: Path) -> Iterator[Any]:
    """Yield the JSON values of a file. Invalid JSON yields None.

    `actions/attest` appends one bundle per line to a file that ends in `.json`.
    """
    if path.stat().st_size > LARGEST_STATEMENT:
        yield None
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    whole = _parse_json(text)
    if whole is not None or not text.lstrip().startswith("{"):
        yield whole
        return
    yield from (_parse_json(line) for line in text.splitlines() if line.strip())


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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


def find_signer(bundle: dict[str, Any]) -> str | None:
    """Return the name in the bundle's certificate if its key made the signature, and None if it did not.

    The name is empty for an envelope without a certificate, whose signature cannot be checked.
    """
    # late, because it takes a while and few need it
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256

    material, envelope = bundle.get("verificationMaterial"), bundle.get("dsseEnvelope", bundle)
    if not isinstance(material, dict):
        return ""
    try:
        chain = material.get("x509CertificateChain", {}).get("certificates", ())
        raw = (material.get("certificate") or chain[0])["rawBytes"]
        certificate = x509.load_der_x509_certificate(base64.b64decode(raw))
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        payload, kind = base64.b64decode(envelope["payload"]), str(envelope["payloadType"]).encode()
        signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
        key = certificate.public_key()
        if not isinstance(key, ec.EllipticCurvePublicKey):
            return None
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed, ec.ECDSA(SHA256()))
    except (InvalidSignature, ValueError, LookupError, TypeError, AttributeError, x509.ExtensionNotFound):
        return None
    return clip(escape_invisible(str(next(iter(names)).value)), MAX_SIGNER)


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
