"""`prd2pr gate`: judge any two commits."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from prd2pr.core.records import Phase
from prd2pr.entry.ground import read_config
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.wiring import gate_policy, gathering_of
from prd2pr.errors import CannotJudge, SetupProblem, StateProblem
from prd2pr.flows.judge import gate_json, judge
from prd2pr.repo.git import Git


def main(options: argparse.Namespace) -> int:
    """Whatever keeps it from judging is not a refusal."""
    try:
        return judged(options)
    except (SetupProblem, StateProblem) as problem:
        raise CannotJudge(problem.what, where=problem.where, remedy=problem.remedy) from problem


def judged(options: argparse.Namespace) -> int:
    with Git.open(Path(options.repo)) as git:
        base, head = git.rev(options.base), git.rev(options.head)
        # The base's policy: what the head changes of its own rules is not in force.
        config = read_config(git, base)
        gathering = gathering_of(git, config, base, cached=True)
        evidence, verdict = judge(gathering, gate_policy(config), Phase(options.phase), base, head, options.story)
    if options.json:
        sys.stdout.write(json.dumps(gate_json(evidence, verdict), indent=2) + "\n")
    else:
        with Terminal(sys.stdout) as terminal:
            terminal.verdict(evidence, verdict)
    return 0 if verdict.accepted else 1
