"""`prd2pr explain CODE`."""

from __future__ import annotations

import argparse
import difflib
import json
import sys

from prd2pr.core.error_kinds import BY_CODE, explain_error
from prd2pr.core.findings import FINDINGS, explain
from prd2pr.core.plan_problems import PLAN_PROBLEMS
from prd2pr.errors import UsageProblem


def main(options: argparse.Namespace) -> int:
    code = options.code.strip().upper()
    text = explanation(code)
    if text is None:
        raise unknown(code)
    sys.stdout.write(json.dumps({"code": code, "text": text}) + "\n" if options.json else text)
    return 0


def explanation(code: str) -> str | None:
    if code in FINDINGS:
        return explain(code)
    if code in BY_CODE:
        return explain_error(BY_CODE[code])
    if code in PLAN_PROBLEMS:
        problem = PLAN_PROBLEMS[code]
        return f"{code}  {problem.title}\n\n{problem.explanation}\n"
    return None


def unknown(code: str) -> UsageProblem:
    known = [*FINDINGS, *BY_CODE, *PLAN_PROBLEMS]
    near = difflib.get_close_matches(code, known, n=3, cutoff=0.6)
    hint = f"did you mean {', '.join(near)}?" if near else "docs/reference/findings.md lists all"
    return UsageProblem(f"there is no finding or error {code!r}", remedy=hint)
