"""`prd2pr evidence STEP`: print the recorded evidence of a step, even if it is only in the branch's history."""

from __future__ import annotations

import argparse
import re
import sys

from prd2pr.cli.active_prds import ActivePrd, select_prds
from prd2pr.cli.context import open_repository
from prd2pr.domain.evidence import Proof
from prd2pr.domain.records import Phase
from prd2pr.errors import UsageProblem
from prd2pr.state.codec import decode_document, encode_lines, encode_pretty
from prd2pr.state.commit_message import compute_evidence_digest
from prd2pr.state.evidence_files import summarize_step
from prd2pr.state.layout import PLAN_STORY

STEP_NUMBER = re.compile(r"[0-9]{1,9}")
EXAMPLE = "prd2pr evidence loyalty-1/3, or with the PRD's id: prd2pr evidence loyalty/loyalty-1/3"


def main(options: argparse.Namespace) -> int:
    prd, story, number = parse_step(options.step)
    with open_repository(options.repo) as git:
        found = [
            evidence
            for each in select_prds(git, prd, else_in_head=True)
            if (evidence := find_evidence(each, story, number))
        ]
    if len(found) != 1:
        what = "no branch has" if not found else "more than one branch has"
        raise UsageProblem(f"{what} the step {options.step}", where="STEP", remedy=EXAMPLE)
    ((proof, digest),) = found
    sys.stdout.buffer.write(encode_pretty(proof) if options.json else encode_lines(summarize_step(proof, digest)))
    return 0


def parse_step(text: str) -> tuple[str | None, str, int]:
    """Return the PRD if it is given, the story and the number of a step such as loyalty/loyalty-1/3."""
    *prd, story, number = ["", *text.split("/")]
    prd = [part for part in prd if part]
    if len(prd) > 1 or not story or not STEP_NUMBER.fullmatch(number):
        raise UsageProblem(f"{text!r} is not a step", where="STEP", remedy=EXAMPLE)
    return (prd[0] if prd else None), story, int(number)


def find_evidence(each: ActivePrd, story: str, number: int) -> tuple[Proof, str] | None:
    """Return the evidence of a step and its digest."""
    if story == PLAN_STORY:
        return find_plan_evidence(each, number)
    known = {planned.id for planned in each.state.backlog.stories}
    cycle = each.state.cycle(story) if story in known else None
    step = next((step for step in cycle.steps if step.n == number), None) if cycle else None
    proof = each.state.proof(story, number, step.phase) if step else None
    return (proof, step.evidence) if step and proof else None


def find_plan_evidence(each: ActivePrd, number: int) -> tuple[Proof, str] | None:
    for phase in (Phase.PLAN, Phase.NOTE):
        data = each.state.read_evidence(PLAN_STORY, number, phase)
        if data is not None:
            return decode_document(
                Proof, data, each.state.paths.evidence(PLAN_STORY, number, phase)
            ), compute_evidence_digest(data)
    return None
