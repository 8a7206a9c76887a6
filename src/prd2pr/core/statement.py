"""A proved step as an in-toto Statement with the test-result predicate, for whoever works with attestations.

The subject is the commit, its code tree and its evidence file. `result` tells how the tests ended, not what the gate
made of it: RED is a run that FAILED, as it should. Passed tests are named where they are the story's, else counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from prd2pr.core.checked import Checked
from prd2pr.core.evidence import Evidence, Finding, RunSummary
from prd2pr.core.records import Phase

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
COMPARED = ("result", "configuration", "passedTests", "warnedTests", "failedTests")

Statement = dict[str, Any]


@dataclass(frozen=True)
class Attestable:
    """A step with a gate, and what its commit holds."""

    commit: str
    step: str  # loyalty/loyalty-1/3
    evidence_path: str
    evidence_digest: str  # sha256:…
    evidence: Evidence
    config_blob: str = ""  # of .prd2pr.yml where the branch left its base

    @property
    def file_name(self) -> str:
        return f"{self.step.replace('/', '-')}-{self.evidence.phase.value}.intoto.json"


@dataclass(frozen=True)
class Statements:
    """What was found of statements that somebody has left beside the branch."""

    files: int
    signed: int  # bundles: their content is looked at, their signatures are not
    findings: tuple[Finding, ...] = ()

    def as_json(self) -> dict[str, object]:
        return {
            "files": self.files,
            "signed": self.signed,
            "signatures": "not checked",
            "findings": [finding.model_dump() for finding in self.findings],
        }


def statement_of(step: Attestable, *, url: str = "") -> Statement:
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects_of(step),
        "predicateType": TEST_RESULT,
        "predicate": predicate_of(step) | ({"url": url} if url else {}),
    }


def subjects_of(step: Attestable) -> list[dict[str, Any]]:
    return [
        {"name": step.step, "digest": {"gitCommit": step.commit}},
        {"name": "code", "digest": {"gitTree": step.evidence.head_tree}},
        {"name": step.evidence_path, "digest": {"sha256": step.evidence_digest.removeprefix("sha256:")}},
    ]


def predicate_of(step: Attestable) -> dict[str, Any]:
    run = step.evidence.head_run
    results = (*run.story, *run.others_not_passed) if run else ()
    failed = sorted(result.id for result in results if result.outcome in ("failed", "error"))
    return {
        "result": result_of(step.evidence.phase, run),
        "configuration": configuration_of(step, run),
        "passedTests": sorted(result.id for result in results if result.outcome == "passed"),
        "warnedTests": [],
        "failedTests": failed,
    }


def result_of(phase: Phase, run: RunSummary | None) -> str:
    if run is None or not (run.failed or run.errors):
        return "PASSED"
    # Past RED the gate lets only those fail that failed before the story.
    return "FAILED" if phase is Phase.RED else "WARNED"


def configuration_of(step: Attestable, run: RunSummary | None) -> list[dict[str, Any]]:
    evidence = step.evidence
    counts = {"collected": run.collected, "passed": run.passed, "idsDigest": run.ids_digest} if run else {}
    gate = {
        "name": f"{evidence.phase.value} gate",
        "uri": f"pkg:pypi/prd2pr@{evidence.made_by}",
        "annotations": {"verdict": "accepted", "baseTree": evidence.base_tree, **counts},
    }
    config = [{"name": ".prd2pr.yml", "digest": {"gitBlob": step.config_blob}}] if step.config_blob else []
    return [gate, *config]


def summary_predicate(steps: Sequence[Attestable]) -> dict[str, Any]:
    """What is signed about the statement files as a whole: which steps were proved again, by what."""
    return {
        "result": "PASSED",
        "configuration": [{"name": "prd2pr verify", "uri": f"pkg:pypi/prd2pr@{steps[-1].evidence.made_by}"}],
        "passedTests": [step.step for step in steps],
        "warnedTests": [],
        "failedTests": [],
    }


# --- looking at statements that somebody has made ---------------------------------------------------------------------


def statement_findings(
    statement: object, name: str, steps: Sequence[Attestable], checked: Sequence[Checked]
) -> Iterator[Finding]:
    """What is wrong with a statement; `name` is its file's."""
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT_TYPE:
        yield wrong("VER203", "this is no in-toto Statement v1", name)
        return
    if statement.get("predicateType") != TEST_RESULT or not isinstance(statement.get("predicate"), dict):
        yield wrong("VER203", f"its predicate is not {TEST_RESULT}", name)
        return
    digests = digests_of(statement)
    step = next((each for each in steps if each.commit == digests.get("gitCommit")), None)
    if step is None:
        about = str(digests.get("gitCommit", "none"))[:10]
        yield wrong("VER201", f"it is about commit {about}, which is no step with a gate here", name)
        return
    if digests != digests_of({"subject": subjects_of(step)}):
        yield wrong("VER201", f"its digests are not those of {step.step} in commit {step.commit[:10]}", name)
    expected, predicate = predicate_of(step), statement["predicate"]
    for field in COMPARED:
        if predicate.get(field) != expected[field]:
            yield wrong("VER202", f"its `{field}` is not what the evidence of {step.step} says", name)
    if not any(each.commit == step.commit and each.proved for each in checked):
        yield wrong("VER202", f"it attests {step.step}, which is not proved", name)


def digests_of(statement: dict[str, Any]) -> dict[str, str]:
    """Algorithm → digest, over all subjects; one that is named twice with two digests is told by neither."""
    found: dict[str, str] = {}
    subjects = statement.get("subject")
    for subject in subjects if isinstance(subjects, list) else []:
        digest = subject.get("digest") if isinstance(subject, dict) else None
        for algorithm, value in (digest if isinstance(digest, dict) else {}).items():
            found[str(algorithm)] = str(value) if found.get(str(algorithm), str(value)) == str(value) else ""
    return found


def wrong(code: str, message: str, path: str) -> Finding:
    return Finding(code=code, severity="error", message=message, path=path)
