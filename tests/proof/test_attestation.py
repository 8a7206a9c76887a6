"""Attestation statements: their content, and that a statement about another subject is not accepted."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from prd2pr.domain.evidence import Evidence, RunSummary, TestResult
from prd2pr.domain.records import Phase
from prd2pr.proof.attestation import AttestedStep, build_statement, check_statement
from prd2pr.proof.statement_files import check_statement_files
from prd2pr.verification.commit_check import CommitCheck

SHA, TREE = "a" * 40, "b" * 40


def run(**counts: int) -> RunSummary:
    story = (TestResult(id="tests/t.py::test_a", outcome="passed" if not counts.get("failed") else "failed"),)
    numbers = {"collected": 3, "passed": 3, "failed": 0, "errors": 0, "skipped": 0, **counts}
    return RunSummary(
        **numbers, seconds=1, exit_status=1, sandbox="none", honest=True, story=story, ids_digest="c" * 64
    )


def step(phase: Phase = Phase.GREEN, **counts: int) -> AttestedStep:
    evidence = Evidence(
        phase=phase, prd="p", story="p-1", step=3, made_by="1.0", head_tree=TREE, base_tree="d" * 40,
        head_run=run(**counts),
    )  # fmt: skip
    return AttestedStep(SHA, "p/p-1/3", "e.json", f"sha256:{'e' * 64}", evidence, "f" * 40)


CHECKED = [CommitCheck(SHA, "green(p-1): x", "p/p-1/3", "green", "accepted")]


def codes(statement: object, checked: list[CommitCheck] = CHECKED) -> set[str]:
    return {finding.code for finding in check_statement(statement, "a.json", [step()], checked)}


def test_statement_is_an_in_toto_test_result():
    made = build_statement(step(), url="https://example.org/run/1")
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert made["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    digests = [subject["digest"] for subject in made["subject"]]
    assert digests == [{"gitCommit": SHA}, {"gitTree": TREE}, {"sha256": "e" * 64}]
    predicate = made["predicate"]
    assert set(predicate) == {"result", "configuration", "url", "passedTests", "warnedTests", "failedTests"}
    assert (predicate["result"], predicate["passedTests"], predicate["failedTests"]) == (
        "PASSED", ["tests/t.py::test_a"], [],
    )  # fmt: skip
    # A descriptor has a location or a digest.
    assert all({"uri", "digest"} & set(each) for each in predicate["configuration"])


def test_red_is_attested_as_a_failed_run():
    predicate = build_statement(step(Phase.RED, passed=2, failed=1))["predicate"]
    assert predicate["result"] == "FAILED"
    assert predicate["failedTests"] == ["tests/t.py::test_a"]


def test_pre_existing_failure_in_green_is_a_warning():
    assert build_statement(step(Phase.GREEN, passed=2, failed=1))["predicate"]["result"] == "WARNED"


def test_own_statement_with_a_url_is_accepted():
    assert codes(json.loads(json.dumps(build_statement(step(), url="https://example.org/1")))) == set()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_different_digest_is_refused(place: int):
    made = copy.deepcopy(build_statement(step()))
    (algorithm,) = made["subject"][place]["digest"]
    made["subject"][place]["digest"][algorithm] = "0" * 40
    assert "VER201" in codes(made)


def test_missing_or_duplicate_subject_is_detected():
    made = build_statement(step())
    assert "VER201" in codes({**made, "subject": made["subject"][:2]})
    double = {"name": "code", "digest": {"gitTree": "0" * 40}}
    assert "VER201" in codes({**made, "subject": [*made["subject"], double]})


@pytest.mark.parametrize(
    "lie",
    [{"result": "WARNED"}, {"passedTests": []}, {"failedTests": ["x"]}, {"configuration": []}, {"warnedTests": ["x"]}],
)
def test_different_result_is_refused(lie: dict[str, object]):
    made = build_statement(step())
    assert codes({**made, "predicate": {**made["predicate"], **lie}}) == {"VER202"}


def test_unproved_step_cannot_be_attested():
    assert codes(build_statement(step()), [CommitCheck(SHA, "x")]) == {"VER202"}


@pytest.mark.parametrize("odd", [None, [], "x", {}, {"_type": "https://in-toto.io/Statement/v0.1"}])
def test_invalid_statement_is_reported(odd: object):
    assert codes(odd) == {"VER203"}
    assert codes({**build_statement(step()), "predicateType": "https://slsa.dev/provenance/v1"}) == {"VER203"}
    assert codes({**build_statement(step()), "subject": "x"}) == {"VER201"}


WORKFLOW = "https://github.com/octo/calc/.github/workflows/prd2pr-verify.yml@refs/pull/5/merge"


def make_bundle(statement: dict[str, Any] | None = None) -> dict[str, Any]:
    """A bundle as Sigstore makes it: a statement signed by a key whose certificate names the workflow."""
    key, name, now = ec.generate_private_key(ec.SECP256R1()), x509.Name([]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(minutes=10))
        .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(WORKFLOW)]), critical=True)
        .sign(key, SHA256())
    )
    payload, kind = json.dumps(statement or build_statement(step())).encode(), b"application/vnd.in-toto+json"
    signature = key.sign(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload), ec.ECDSA(SHA256()))
    return {
        "verificationMaterial": {"certificate": {"rawBytes": encode(certificate.public_bytes(Encoding.DER))}},
        "dsseEnvelope": {
            "payload": encode(payload), "payloadType": kind.decode(), "signatures": [{"sig": encode(signature)}],
        },
    }  # fmt: skip


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_signature_is_checked_with_the_key_of_its_certificate(tmp_path: Path) -> None:
    file = tmp_path / "bundle.json"
    file.write_text(json.dumps(make_bundle()), encoding="utf-8")
    found = check_statement_files(file, [step()], CHECKED)
    assert (found.findings, found.signers) == ((), (WORKFLOW,))
    assert found.as_json()["not_checked"], "the authority of the certificate needs the network"


def make_github_bundle(files: dict[str, bytes]) -> dict[str, Any]:
    """A bundle in the form v0.3 that `actions/attest` writes: a single certificate without its chain, the entry of the
    transparency log, and one statement about all files.
    """
    subjects = [{"name": name, "digest": {"sha256": hashlib.sha256(data).hexdigest()}} for name, data in files.items()]
    bundle = make_bundle({**build_statement(step()), "subject": subjects})
    entry = {
        "logIndex": "153218467", "logId": {"keyId": "wNI9atQGlz+VWfO6LRygH4QUfY/8W4RFwiT5i5WRgB0="},
        "kindVersion": {"kind": "dsse", "version": "0.0.1"}, "integratedTime": "1763596800",
        "inclusionPromise": {"signedEntryTimestamp": encode(b"a signature of the log")},
        "inclusionProof": {"logIndex": "1", "rootHash": encode(bytes(32)), "treeSize": "2", "hashes": []},
        "canonicalizedBody": encode(b"{}"),
    }  # fmt: skip
    material = {**bundle["verificationMaterial"], "tlogEntries": [entry], "timestampVerificationData": {}}
    return {**bundle, "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": material}


def test_a_bundle_as_github_makes_it_signs_the_files_next_to_it(tmp_path: Path) -> None:
    """Also with two bundles in one file, one per line, as `actions/attest` appends them."""
    files = {"p-p-1-3-green.intoto.json": json.dumps(build_statement(step())).encode()}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    line = json.dumps(make_github_bundle(files)) + "\n"
    (tmp_path / "attestation.json").write_text(line * 2, encoding="utf-8")
    found = check_statement_files(tmp_path, [step()], CHECKED)
    assert (found.findings, found.files, found.signed, found.signers) == ((), 2, 2, (WORKFLOW,))
    assert found.as_json()["not_checked"] == [
        "the authority that issued the certificate", "its validity at the time of signing", "the transparency log"
    ]  # fmt: skip
    (tmp_path / "p-p-1-3-green.intoto.json").write_bytes(b" " + next(iter(files.values())))
    assert [each.code for each in check_statement_files(tmp_path, [step()], CHECKED).findings] == ["VER201"] * 2


@pytest.mark.parametrize("broken", ["signature", "payload", "certificate", "type", "missing"])
def test_changed_bundle_is_refused(tmp_path: Path, broken: str) -> None:
    bundle, other = make_bundle(), make_bundle()
    if broken == "signature":
        bundle["dsseEnvelope"]["signatures"] = other["dsseEnvelope"]["signatures"]
    elif broken == "payload":
        edited = base64.b64decode(bundle["dsseEnvelope"]["payload"]).replace(b"PASSED", b"FAILED")
        bundle["dsseEnvelope"]["payload"] = encode(edited)
    elif broken == "certificate":
        bundle["verificationMaterial"] = other["verificationMaterial"]
    elif broken == "type":
        bundle["dsseEnvelope"]["payloadType"] = "text/plain"
    else:
        bundle["dsseEnvelope"]["signatures"] = []
    file = tmp_path / "bundle.json"
    file.write_text(json.dumps(bundle), encoding="utf-8")
    found = check_statement_files(file, [step()], CHECKED)
    assert "VER204" in {each.code for each in found.findings}
    assert found.signers == ()
