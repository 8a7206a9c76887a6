"""`prd2pr plan`: preview the stories of a PRD with an estimate of time and cost. Only the planner's answer is kept."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.agents.roles import ESTIMATOR
from prd2pr.cli.plan_text import format_backlog_text
from prd2pr.cli.terminal import Terminal
from prd2pr.cli.wiring import open_session
from prd2pr.domain.costs.estimate import Estimate, estimate_backlog
from prd2pr.domain.costs.role_costs import (
    RoleRow,
    dump_role_costs,
    format_cost_lines,
    format_cost_table,
    sum_role_costs,
)
from prd2pr.domain.records import Backlog
from prd2pr.domain.wording import format_dollars, format_tokens
from prd2pr.planning.parts import describe_planning_calls
from prd2pr.workflow.planning.first_plan import make_first_plan
from prd2pr.workflow.planning.planner import forget_plan
from prd2pr.workflow.roles.consultation import find_kept_record
from prd2pr.workflow.session import Session


def main(options: argparse.Namespace) -> int:
    with Terminal(sys.stderr if options.json else sys.stdout) as progress:
        session = open_session(options, progress)
        with session.git:
            if options.again:
                forget_plan(session)
            backlog = make_first_plan(session, session.target.base_commit, trying=False)
        estimated = estimate_session(session, backlog)
        if options.json:
            sys.stdout.write(json.dumps(plan_json(session, backlog, estimated), indent=2) + "\n")
            return 0
        progress.say(
            "plan",
            stories=len(backlog.stories),
            criteria=sum(len(story.criteria) for story in backlog.stories),
            questions=len(backlog.questions),
            estimate=estimated,
            models=estimated.models,
        )
    sys.stdout.write(format_backlog_text(backlog))
    sys.stdout.write(format_planning_costs_text(session))
    sys.stdout.write(format_role_costs_text(estimated))
    sys.stdout.write(f"Nothing was committed. To implement this plan: prd2pr run {session.prd.path}\n")
    return 0


def estimate_session(session: Session, backlog: Backlog) -> Estimate:
    config = session.config
    kept = find_kept_record(session, session.target.base_commit, session.prd.id, ESTIMATOR.name)
    learnt = kept.verdict if kept else ""
    return estimate_backlog(
        backlog,
        config.prices,
        session.services.models,
        profile=config.profile,
        fused=config.fused,
        converses=config.converses,
        learnt=learnt,
    )


def format_role_costs_text(estimated: Estimate) -> str:
    rows = [
        RoleRow(
            each.role,
            each.calls,
            f"{format_tokens(each.tokens_low)}–{format_tokens(each.tokens_high)}",
            "" if each.usd_low is None else format_dollars(each.usd_low),
        )
        for each in estimated.roles
    ]
    return "".join(f"{line}\n" for line in ("estimated cost by role", *format_cost_table(rows)) if rows)


def format_planning_costs_text(session: Session) -> str:
    """Return how the plan was made, and the cost of each role."""
    costs = (f"    {each}" for each in format_cost_lines(sum_role_costs(session.log.lines)))
    return "".join(f"{line}\n" for line in (f"planned in {describe_planning_calls(session.prd)}", *costs))


def plan_json(session: Session, backlog: Backlog, estimated: Estimate) -> dict[str, object]:
    return {
        "prd": session.prd.id,
        "title": session.prd.title,
        "requirements": [requirement.id for requirement in session.prd.requirements],
        **backlog.model_dump(mode="json", exclude={"schema_version"}),
        "estimate": estimated.model_dump(mode="json"),
        "spend": session.log.spend.model_dump(),
        "way": describe_planning_calls(session.prd),
        "roles": dump_role_costs(sum_role_costs(session.log.lines)),
    }
