"""`prd2pr plan`: the stories of a PRD, with estimate and cost. Writes nothing."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.agents.roles import ESTIMATOR
from prd2pr.core.estimate import Estimate, estimate
from prd2pr.core.records import Backlog
from prd2pr.core.role_costs import RoleRow, cost_lines, cost_table, role_costs, roles_json
from prd2pr.core.wording import dollars, plain, tokens
from prd2pr.entry.terminal import Terminal
from prd2pr.entry.wiring import open_session
from prd2pr.flows.consulting import last_kept
from prd2pr.flows.pipeline.whole_plan import whole_plan
from prd2pr.flows.planning import planning_way
from prd2pr.flows.session import Session


def main(options: argparse.Namespace) -> int:
    with Terminal(sys.stderr if options.json else sys.stdout) as progress:
        session = open_session(options, progress)
        with session.git:
            backlog = whole_plan(session, session.base_commit, trying=False)
        guess = estimate_of(session, backlog)
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
    sys.stdout.write(costs_text(guess))
    sys.stdout.write(f"Nothing was written. To go on: prd2pr run {session.prd.path}\n")
    return 0


def estimate_of(session: Session, backlog: Backlog) -> Estimate:
    config = session.config
    kept = last_kept(session, session.base_commit, session.prd.id, ESTIMATOR.name)
    learnt = kept.verdict if kept else ""
    return estimate(backlog, config.prices, session.crew, profile=config.profile, fused=config.fused, learnt=learnt)


def costs_text(guess: Estimate) -> str:
    """What each role will probably take until all is built."""
    rows = [
        RoleRow(
            each.role,
            each.calls,
            f"{tokens(each.tokens_low)}–{tokens(each.tokens_high)}",
            "" if each.usd_low is None else dollars(each.usd_low),
        )
        for each in guess.roles
    ]
    return "".join(f"{line}\n" for line in ("will probably take, by role", *cost_table(rows)) if rows)


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
        "roles": roles_json(role_costs(session.log.lines)),
    }
