"""`prd2pr gate`: judge any two commits."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from prd2pr.cli.context import read_config
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import make_gate_policy, make_gathering
from prd2pr.domain.records import Phase
from prd2pr.errors import CannotJudge, SetupProblem, StateProblem
from prd2pr.proof.judge import NOT_JUDGED, build_gate_report, judge_commits
from prd2pr.state.git import Git


def main(options: argparse.Namespace) -> int:
    """Run the gate. A problem that prevents a judgment raises CannotJudge instead of counting as a refusal."""
    try:
        return run_gate(options)
    except (CannotJudge, SetupProblem, StateProblem) as problem:
        if options.json:
            report = {
                "verdict": NOT_JUDGED,
                "phase": options.phase,
                "findings": [],
                "run": None,
                "problem": problem.what,
            }
            sys.stdout.write(json.dumps(report, indent=2) + "\n")
        if isinstance(problem, CannotJudge):
            raise
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem


def run_gate(options: argparse.Namespace) -> int:
    with Git.open(Path(options.repo)) as git:
        base, head = git.rev(options.base), git.rev(options.head)
        # Read from the base, so that the judged commit cannot change its own rules.
        config = read_config(git, base)
        gathering = make_gathering(git, config, base, cached=True)
        evidence, verdict = judge_commits(
            gathering, make_gate_policy(config), Phase(options.phase), base, head, options.story
        )
    if options.json:
        sys.stdout.write(json.dumps(build_gate_report(evidence, verdict), indent=2) + "\n")
    else:
        with Terminal(sys.stdout) as terminal:
            terminal.verdict(evidence, verdict)
    return 0 if verdict.accepted else 2 if verdict.undecided else 1
