"""`prd2pr status`: show the progress of each PRD and the next step."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from prd2pr.cli.active_prds import ActivePrd, select_prds
from prd2pr.cli.context import open_repository
from prd2pr.domain.breaker_text import describe_open_circuits
from prd2pr.domain.machines.next_action import PhaseAction, find_next_action
from prd2pr.domain.moderation import describe_alarms
from prd2pr.domain.records import Story
from prd2pr.domain.wording import clean_line, format_state
from prd2pr.state.story_records import read_cycles
from prd2pr.views.burndown import compute_burndown, format_burndown
from prd2pr.views.pull_request.next_step import stop_after_step_limit
from prd2pr.workflow.moderation import find_branch_alarms

STATUS_TEXTS = {"backlog": "waiting", "sprint": "waiting", "in_progress": "in progress", "done": "integrated"}
PHASE_TEXTS = {
    "DESIGN": "design",
    "TEST_RED": "red",
    "CODE_GREEN": "green",
    "REFACTOR": "refactor",
    "ABORTED": "aborted",
}


def main(options: argparse.Namespace) -> int:
    with open_repository(options.repo) as git:
        found = select_prds(git, options.prd)
        facts = [build_prd_facts(each) for each in found]
    if options.json:
        sys.stdout.write(json.dumps({"prds": facts}, indent=2) + "\n")
    elif not facts:
        sys.stdout.write("No PRD is in progress. To start one: prd2pr run prds/my-feature.md\n")
    else:
        sys.stdout.write("\n".join(map(format_prd_status_text, facts)))
    return 0


def build_prd_facts(each: ActivePrd) -> dict[str, object]:
    stories = each.state.backlog.stories
    each.state.add_cycles(read_cycles(each.state, each.state.cycle_ids))
    return {
        "prd": each.prd.id,
        "title": clean_line(each.prd.title),
        "path": each.prd.path,
        "branch": each.branch,
        "state": each.state.status.state.value,
        "done": sum(story.status == "done" for story in stories),
        "stories": [build_story_progress(each, story) for story in stories],
        "sprint": build_sprint_status(each),
        "alarms": [describe_alarms((alarm,)) for alarm in find_branch_alarms(each.state)],
        "circuits": list(describe_open_circuits(each.circuits, each.now)),
        **build_next_action_facts(each),
    }


def build_story_progress(each: ActivePrd, story: Story) -> dict[str, object]:
    branch = each.story_branches.get(story.id, each.branch)
    state = each.state if branch == each.branch else each.state.store.load(branch)
    if branch != each.branch:
        story = next((own for own in state.backlog.stories if own.id == story.id), story)
    cycle = state.cycle(story.id) if story.status != "backlog" else None
    return {
        "id": story.id,
        "title": clean_line(story.title),
        "status": story.status,
        "phase": cycle.state.value if cycle else None,
        "refused": len(cycle.refused) if cycle else 0,
        "branch": branch,
    }


def build_sprint_status(each: ActivePrd) -> dict[str, object] | None:
    sprint = each.state.sprint(each.state.status.sprint) if each.state.status.sprint else None
    if sprint is None:
        return None
    points = compute_burndown(sprint, each.state.backlog.stories, each.state.cycle)
    burned = [{"at": point.at, "left": point.left} for point in points]
    return {"id": sprint.id, "status": sprint.status, "burn_down": burned, "told": format_burndown(points)}


def build_next_action_facts(each: ActivePrd) -> dict[str, object]:
    context = each.action_context
    next_step = stop_after_step_limit(context)
    outcome = (
        "ready"
        if next_step.outcome == "stopped" and isinstance(find_next_action(context), PhaseAction)
        else next_step.outcome
    )
    return {"outcome": outcome, "why": next_step.reason, "next": next_step.next}


def build_story_progress_row(story: Mapping[str, object], branch: str) -> str:
    location = f"  (on {story['branch']})" if story["branch"] != branch else ""
    return f"  {story['id']:<16} {format_story_progress_text(story):<22} {story['title']}{location}\n"


def format_story_progress_text(story: Mapping[str, object]) -> str:
    """Return `integrated`, `waiting`, `skipped`, or the status with the next phase, such as `in progress, green`."""
    status = STATUS_TEXTS.get(str(story["status"]), str(story["status"]))
    phase = PHASE_TEXTS.get(str(story["phase"]), "")
    return f"{status}, {phase}" if phase and status in ("in progress", "blocked") else status


def format_prd_status_text(facts: dict[str, object]) -> str:
    stories = facts["stories"]
    breakers = facts["circuits"]
    assert isinstance(stories, list)
    assert isinstance(breakers, list)
    rows = "".join(build_story_progress_row(story, str(facts["branch"])) for story in stories)
    breaker_lines = "".join(f"  breaker: {clean_line(circuit)}\n" for circuit in breakers if circuit != facts["why"])
    alarms = facts["alarms"]
    assert isinstance(alarms, list)
    alarm_lines = "".join(f"  warning: {clean_line(alarm)}\n" for alarm in alarms)
    sprint = facts["sprint"]
    sprint_line = f"sprint {sprint['id']}: {sprint['told']}\n" if isinstance(sprint, dict) and sprint["told"] else ""
    next_line = f"Next: {facts['next']}\n" if facts["next"] else ""
    return (
        f"{facts['title']}  ({facts['path']}, branch {facts['branch']})\n"
        f"{facts['done']} of {len(stories)} stories integrated; {format_state(str(facts['state']))}\n{rows}"
        f"{sprint_line}{alarm_lines}{breaker_lines}{facts['why']}\n{next_line}"
    )
