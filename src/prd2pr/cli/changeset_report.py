"""The verdict of `prd2pr check` for machines and for GitHub: SARIF, annotations, the job's summary and its outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from prd2pr import __version__
from prd2pr.build_info import PROJECT_URL
from prd2pr.cli.actions_job import ActionsJob, read_pull_sha, write_workflow_command
from prd2pr.domain.changeset import ChangesetEvidence, ChangesetVerdict
from prd2pr.domain.evidence import Finding
from prd2pr.domain.wording import clean_line, count
from prd2pr.verification.findings import FINDINGS

COMMENT_MARK = "<!-- prd2pr check -->"
REFACTORING_LABEL = "refactoring"
MAX_ANNOTATIONS = 9  # GitHub shows at most ten errors and ten warnings per step
_MAX_ROWS = 40
_PAGES = f"{PROJECT_URL}/blob/main/docs/findings"


def build_sarif(verdict: ChangesetVerdict) -> dict[str, Any]:
    """Return the findings as a SARIF 2.1.0 log, for code scanning."""
    codes = sorted({each.code for each in verdict.findings})
    driver = {
        "name": "prd2pr check",
        "version": __version__,
        "informationUri": PROJECT_URL,
        "rules": [_build_rule(code) for code in codes],
    }
    results = [_build_result(each, codes) for each in verdict.findings]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "utf16CodeUnits"}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _build_rule(code: str) -> dict[str, Any]:
    kind = FINDINGS[code]
    return {
        "id": code,
        "name": code,
        "shortDescription": {"text": kind.title},
        "fullDescription": {"text": kind.explanation},
        "help": {"text": f"{kind.explanation}\n\nWhat to do: {kind.remedy}"},
        "helpUri": f"{_PAGES}/{code}.md",
        "defaultConfiguration": {"level": kind.severity},
    }


def _build_result(finding: Finding, codes: Sequence[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": _format_message(finding)},
        # The line may move with the next push, so it is not part of the finding's identity.
        "partialFingerprints": {"finding/v1": f"{finding.code}:{finding.path}:{finding.test}:{finding.message}"[:200]},
    }
    if finding.path:
        place = {"artifactLocation": {"uri": finding.path}, "region": {"startLine": max(1, finding.line)}}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _format_message(finding: Finding) -> str:
    test = finding.test.partition("::")[2]
    return clean_line(f"{test}: {finding.message}" if test else finding.message)


def write_sarif(path: Path, verdict: ChangesetVerdict) -> None:
    path.write_text(json.dumps(build_sarif(verdict), indent=2) + "\n", encoding="utf-8")


def render_changeset_comment(verdict: ChangesetVerdict, evidence: Sequence[ChangesetEvidence]) -> str:
    """Render the verdict as Markdown, for the job's summary and the comment."""
    word = "Accepted" if verdict.accepted else "Refused"
    lines = [COMMENT_MARK, f"**{word}:** {_escape(verdict.headline)}", ""]
    if verdict.findings:
        lines += ["| | code | where | |", "|---|---|---|---|"]
        lines += [_format_row(each) for each in verdict.findings[:_MAX_ROWS]]
        if len(verdict.findings) > _MAX_ROWS:
            lines.append(f"| | | | {len(verdict.findings) - _MAX_ROWS} more |")
        lines.append("")
    tests = [test for each in evidence for test in (each.red_tests or each.fixed_tests)]
    if tests:
        lines += [f"<details><summary>{count(len(tests), 'test')} that need the new source</summary>", ""]
        lines += [f"- `{_escape(test)}`" for test in tests[:_MAX_ROWS]]
        lines += ["", "</details>", ""]
    lines.append("Repeat it: `prd2pr check`. Explain a finding: `prd2pr explain CODE`.")
    return "\n".join(lines) + "\n"


def _format_row(finding: Finding) -> str:
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    return f"| {finding.severity} | {finding.code} | `{_escape(where)}` | {_escape(_format_message(finding))} |"


def _escape(text: str) -> str:
    """Escape a text, so that it cannot end the table's cell, start HTML or mention somebody."""
    plain = clean_line(text).replace("|", "\\|").replace("<", "&lt;")
    return plain.replace("@", "@\u200b")


# --- a job of GitHub Actions ------------------------------------------------------------------------------------------


def report_to_job(job: ActionsJob, verdict: ChangesetVerdict, evidence: Sequence[ChangesetEvidence]) -> None:
    """Write annotations, the job's summary, its outputs and the text of the comment."""
    for severity in ("error", "warning"):
        chosen = [each for each in verdict.findings if each.severity == severity]
        for each in chosen[:MAX_ANNOTATIONS]:
            where = f"{each.path}:{each.line}" if each.path and each.line else each.path
            write_workflow_command(severity, f"{each.code} {_format_message(each)}", where)
    text = render_changeset_comment(verdict, evidence)
    place = Path(job.env.get("RUNNER_TEMP") or ".")
    comment, sarif = place / "prd2pr-check.md", place / "prd2pr-check.sarif"
    comment.write_text(text, encoding="utf-8")
    write_sarif(sarif, verdict)
    job.write_summary(text)
    job.write_outputs(
        {
            "verdict": "accepted" if verdict.accepted else "refused",
            "kind": verdict.kind.value,
            "comment": str(comment),
            "sarif": str(sarif),
        }
    )
    write_workflow_command("notice" if verdict.accepted else "error", verdict.headline)


def read_pull_request(job: ActionsJob) -> tuple[str, str, bool] | None:
    """Return the base and head commits of the event's pull request, and whether its label claims a refactoring."""
    payload = job.read_payload()
    pull = payload.get("pull_request") if isinstance(payload, dict) else None
    if not isinstance(pull, dict):
        return None
    base, head = (read_pull_sha(pull, side) for side in ("base", "head"))
    return base, head, REFACTORING_LABEL in set(_list_labels(pull.get("labels")))


def _list_labels(labels: object) -> Iterable[str]:
    for each in labels if isinstance(labels, list) else ():
        if isinstance(each, dict):
            yield str(each.get("name", "")).lower()
