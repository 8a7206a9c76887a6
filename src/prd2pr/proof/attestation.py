"""A proved step as an in-toto Statement with the test-result predicate.

The subject is the commit, its code tree and its evidence file. `result` is the outcome of the tests, not the verdict of
the gate, so a correct RED has the result FAILED. Passed tests of the story are listed by name; others are only counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prd2pr.domain.evidence import Evidence, Finding, RunSummary
from prd2pr.domain.records import Phase
from prd2pr.proof.merged import MergeCheck
from prd2pr.verification.commit_check import CommitCheck

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
# They need keys that change: GitHub's, or those of Sigstore.
UNCHECKED = ("the authority that issued the certificate", "its validity at the time of signing", "the transparency log")
COMPARED_FIELDS = ("result", "configuration", "passedTests", "warnedTests", "failedTests")

StatementJson = dict[str, Any]


@dataclass(frozen=True)
class AttestedStep:
    """A gated step and the records in its commit."""

    commit: str
    step: str  # for example loyalty/loyalty-1/3
    evidence_path: str
    evidence_digest: str  # in the form sha256:…
    evidence: Evidence
    config_blob: str = ""  # blob of .prd2pr.yml at the start of the branch

    @property
    def file_name(self) -> str:
        return f"{self.step.replace('/', '-')}-{self.evidence.phase.value}.intoto.json"


@dataclass(frozen=True)
class StatementCheck:
    """The result of checking statement files."""

    files: int
    signed: int  # number of bundles
    findings: tuple[Finding, ...] = ()
    signers: tuple[str, ...] = ()  # who signed, according to the certificates of the signatures that were checked

    def as_json(self) -> dict[str, object]:
        return {
            "files": self.files,
            "signed": self.signed,
            "signers": list(self.signers),
            "not_checked": list(UNCHECKED) if self.signed else [],
            "findings": [finding.model_dump() for finding in self.findings],
        }


def build_statement(step: AttestedStep, *, url: str = "") -> StatementJson:
    return {
        "_type": STATEMENT_TYPE,
        "subject": build_subjects(step),
        "predicateType": TEST_RESULT,
        "predicate": build_predicate(step) | ({"url": url} if url else {}),
    }


def build_subjects(step: AttestedStep) -> list[dict[str, Any]]:
    return [
        {"name": step.step, "digest": {"gitCommit": step.commit}},
        {"name": "code", "digest": {"gitTree": step.evidence.head_tree}},
        {"name": step.evidence_path, "digest": {"sha256": step.evidence_digest.removeprefix("sha256:")}},
    ]


def build_predicate(step: AttestedStep) -> dict[str, Any]:
    run = step.evidence.head_run
    results = (*run.story, *run.others_not_passed) if run else ()
    failed = sorted(result.id for result in results if result.outcome in ("failed", "error"))
    return {
        "result": summarize_result(step.evidence.phase, run),
        "configuration": build_configuration(step, run),
        "passedTests": sorted(result.id for result in results if result.outcome == "passed"),
        "warnedTests": [],
        "failedTests": failed,
    }


def summarize_result(phase: Phase, run: RunSummary | None) -> str:
    if run is None or not (run.failed or run.errors):
        return "PASSED"
    # After RED, the gate allows only failures that existed before the story.
    return "FAILED" if phase is Phase.RED else "WARNED"


def build_configuration(step: AttestedStep, run: RunSummary | None) -> list[dict[str, Any]]:
    evidence = step.evidence
    counts = {"collected": run.collected, "passed": run.passed, "idsDigest": run.ids_digest} if run else {}
    gate = {
        "name": f"{evidence.phase.value} gate",
        "uri": f"pkg:pypi/prd2pr@{evidence.made_by}",
        "annotations": {"verdict": "accepted", "baseTree": evidence.base_tree, **counts},
    }
    config = [{"name": ".prd2pr.yml", "digest": {"gitBlob": step.config_blob}}] if step.config_blob else []
    return [gate, *config]


def build_summary_predicate(steps: Sequence[AttestedStep]) -> dict[str, Any]:
    """Build the predicate that is signed for all statement files together.

    It lists the steps that were proved again.
    """
    return {
        "result": "PASSED",
        "configuration": [{"name": "prd2pr verify", "uri": f"pkg:pypi/prd2pr@{steps[-1].evidence.made_by}"}],
        "passedTests": [step.step for step in steps],
        "warnedTests": [],
        "failedTests": [],
    }


def build_merge_statement(merge: MergeCheck, steps: Sequence[AttestedStep], *, url: str = "") -> StatementJson:
    """Build the statement about the merged tree: it contains exactly what the steps of the branch proved."""
    merged = merge.merged
    facts = {"method": merged.method, "provedHead": merged.head, "onto": merged.onto, "suiteRun": merge.base_moved}
    tool = {"name": "prd2pr verify", "uri": f"pkg:pypi/prd2pr@{steps[-1].evidence.made_by}", "annotations": facts}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": "merge", "digest": {"gitCommit": merged.commit}},
            {"name": "code", "digest": {"gitTree": merge.code_tree}},
        ],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "PASSED",
            "configuration": [tool],
            "passedTests": [step.step for step in steps],
            "warnedTests": [],
            "failedTests": [],
        }
        | ({"url": url} if url else {}),
    }


# --- checking existing statements -------------------------------------------------------------------------------------


def check_statement(
    statement: object,
    name: str,
    steps: Sequence[AttestedStep],
    checked: Sequence[CommitCheck],
    merge: MergeCheck | None = None,
) -> Iterator[Finding]:
    """Check a statement against the verified steps. `name` is its file name."""
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        yield make_statement_error("VER203", "not an in-toto Statement v1", name)
        return
    if statement.get("predicateType") != TEST_RESULT or not isinstance(statement.get("predicate"), dict):
        yield make_statement_error("VER203", f"the predicate is not {TEST_RESULT}", name)
        return
    digests = collect_digests(statement)
    if merge is not None and digests.get("gitCommit") == merge.merged.commit:
        yield from check_merge_statement(statement, name, steps, merge)
        return
    step = next((each for each in steps if each.commit == digests.get("gitCommit")), None)
    if step is None:
        about = str(digests.get("gitCommit", "none"))[:10]
        yield make_statement_error(
            "VER201", f"it is about commit {about}, which is not a gated step of this branch", name
        )
        return
    if digests != collect_digests({"subject": build_subjects(step)}):
        yield make_statement_error(
            "VER201", f"its digests differ from those of {step.step} in commit {step.commit[:10]}", name
        )
    expected, predicate = build_predicate(step), statement["predicate"]
    for field in COMPARED_FIELDS:
        if predicate.get(field) != expected[field]:
            yield make_statement_error("VER202", f"its `{field}` differs from the evidence of {step.step}", name)
    if not any(each.commit == step.commit and each.proved for each in checked):
        yield make_statement_error("VER202", f"it attests {step.step}, which is not proved", name)


def check_merge_statement(
    statement: StatementJson, name: str, steps: Sequence[AttestedStep], merge: MergeCheck
) -> Iterator[Finding]:
    expected, predicate = build_merge_statement(merge, steps), statement["predicate"]
    if collect_digests(statement) != collect_digests(expected):
        what = f"its digests differ from those of the merge {merge.merged.commit[:10]}"
        yield make_statement_error("VER201", what, name)
    for field in COMPARED_FIELDS:
        if predicate.get(field) != expected["predicate"][field]:
            yield make_statement_error("VER202", f"its `{field}` differs from the proof of the merge", name)


def collect_digests(statement: dict[str, Any]) -> dict[str, str]:
    """Return the digests of all subjects by algorithm. Empty if an algorithm has two different digests."""
    found: dict[str, str] = {}
    subjects = statement.get("subject")
    for subject in subjects if isinstance(subjects, list) else []:
        digest = subject.get("digest") if isinstance(subject, dict) else None
        for algorithm, value in (digest if isinstance(digest, dict) else {}).items():
            found[str(algorithm)] = str(value) if found.get(str(algorithm), str(value)) == str(value) else ""
    return found


def make_statement_error(code: str, message: str, path: str) -> Finding:
    return Finding(code=code, severity="error", message=message, path=path)
