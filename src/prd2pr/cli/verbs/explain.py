"""`prd2pr explain CODE`: explain a finding or an error."""

from __future__ import annotations

import argparse
import difflib
import json
import sys

from prd2pr.error_table import ERRORS_BY_CODE, explain_error
from prd2pr.errors import UsageProblem
from prd2pr.planning.problems import PLAN_PROBLEMS
from prd2pr.verification.findings import FINDINGS, explain_finding


def main(options: argparse.Namespace) -> int:
    code = options.code.strip().upper()
    text = find_explanation(code)
    if text is None:
        raise make_unknown_code_error(code)
    sys.stdout.write(json.dumps({"code": code, "text": text}) + "\n" if options.json else text)
    return 0


def find_explanation(code: str) -> str | None:
    if code in FINDINGS:
        return explain_finding(code)
    if code in ERRORS_BY_CODE:
        return explain_error(ERRORS_BY_CODE[code])
    if code in PLAN_PROBLEMS:
        problem = PLAN_PROBLEMS[code]
        return f"{code}  {problem.title}\n\n{problem.explanation}\n"
    return None


def make_unknown_code_error(code: str) -> UsageProblem:
    known = [*FINDINGS, *ERRORS_BY_CODE, *PLAN_PROBLEMS]
    near = difflib.get_close_matches(code, known, n=3, cutoff=0.6)
    remedy = f"did you mean {', '.join(near)}?" if near else "see docs/reference/findings.md for all codes"
    return UsageProblem(f"unknown finding or error {code!r}", remedy=remedy)
