"""`prd2pr plan`: the stories of a PRD, with estimate and cost. Writes nothing."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.core.estimate import Estimate, estimate
from prd2pr.core.records import Backlog
from prd2pr.core.role_costs import cost_lines, role_costs
from prd2pr.core.wording import plain
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.wiring import open_session
from prd2pr.flows.planning import make_plan, planning_way
from prd2pr.flows.session import Session


def main(options: argparse.Namespace) -> int:
    with Terminal(sys.stderr if options.json else sys.stdout) as progress:
        session = open_session(options, progress)
        with session.git:
            backlog = make_plan(session, session.base_commit, session.git.code_tree(session.base_commit))
        guess = estimate(backlog, session.config.prices, session.crew)
        if options.json:
            sys.stdout.write(json.dumps(as_json(session, backlog, guess), indent=2) + "\n")
            return 0
        progress.say(
            "plan",
            stories=len(backlog.stories),
            criteria=sum(len(story.criteria) for story in backlog.stories),
            questions=len(backlog.questions),
            estimate=guess,
            models=guess.models,
        )
    sys.stdout.write(shown(backlog))
    sys.stdout.write(paid(session))
    sys.stdout.write(f"Nothing was written. To go on: prd2pr run {session.prd.path}\n")
    return 0


def shown(backlog: Backlog) -> str:
    lines = []
    for story in backlog.stories:
        after = f"  after {', '.join(story.depends_on)}" if story.depends_on else ""
        kind = f"{story.kind}, verify only" if story.verify_only else story.kind
        lines.append(f"{story.id}  {plain(story.title)}  [{kind}, {', '.join(story.requirements)}]{after}")
        lines += [f"    {criterion.id.rpartition('.')[2]}  {plain(criterion.text)}" for criterion in story.criteria]
    lines += [f"question: {plain(question)}" for question in backlog.questions]
    lines += [f"assumption: {plain(assumption)}" for assumption in backlog.assumptions]
    return "\n".join(lines) + "\n"


def paid(session: Session) -> str:
    """Which way it was planned, and what each role took for it."""
    costs = cost_lines(role_costs(session.log.lines))
    return "".join(f"{line}\n" for line in (f"planned in {planning_way(session)}", *(f"    {each}" for each in costs)))


def as_json(session: Session, backlog: Backlog, guess: Estimate) -> dict[str, object]:
    return {
        "prd": session.prd.id,
        "title": session.prd.title,
        "requirements": [requirement.id for requirement in session.prd.requirements],
        **backlog.model_dump(mode="json", exclude={"schema_version"}),
        "estimate": guess.model_dump(mode="json"),
        "spend": session.log.spend.model_dump(),
        "way": str(planning_way(session)),
        "roles": {each.role: {**each.spend.model_dump(), "kept": each.kept} for each in role_costs(session.log.lines)},
    }
