"""`prd2pr status`: where each PRD stands, and the next thing to do."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping

from prd2pr.core.ahead import Due, ahead
from prd2pr.core.breakers.words import told
from prd2pr.core.burndown import burn_down, in_a_line
from prd2pr.core.moderation import evidence
from prd2pr.core.next_step import ended_by_count
from prd2pr.core.records import Story
from prd2pr.core.wording import plain
from prd2pr.entry.ground import open_repository
from prd2pr.entry.under_way import UnderWay, chosen
from prd2pr.flows.accounts import read_cycles
from prd2pr.flows.moderating import alarms_in


def main(options: argparse.Namespace) -> int:
    with open_repository(options.repo) as git:
        found = chosen(git, options.prd)
        facts = [facts_of(each) for each in found]
    if options.json:
        sys.stdout.write(json.dumps({"prds": facts}, indent=2) + "\n")
    elif not facts:
        sys.stdout.write("No PRD is under way. Start one: prd2pr run prds/my-feature.md\n")
    else:
        sys.stdout.write("\n".join(map(shown, facts)))
    return 0


def facts_of(each: UnderWay) -> dict[str, object]:
    stories = each.state.backlog.stories
    each.state.know(read_cycles(each.state, each.state.cycle_ids))
    return {
        "prd": each.prd.id,
        "title": plain(each.prd.title),
        "path": each.prd.path,
        "branch": each.branch,
        "state": each.state.status.state.value,
        "done": sum(story.status == "done" for story in stories),
        "stories": [story_facts(each, story) for story in stories],
        "sprint": sprint_facts(each),
        "alarms": [evidence((alarm,)) for alarm in alarms_in(each.state)],
        "circuits": list(told(each.circuits, each.now)),
        **what_next(each),
    }


def story_facts(each: UnderWay, story: Story) -> dict[str, object]:
    state = each.beside.get(story.id, each.state)
    if state is not each.state:
        story = next((own for own in state.backlog.stories if own.id == story.id), story)
    cycle = state.cycle(story.id) if story.status != "backlog" else None
    return {
        "id": story.id,
        "title": plain(story.title),
        "status": story.status,
        "phase": cycle.state.value if cycle else None,
        "refused": len(cycle.refused) if cycle else 0,
        "branch": state.store.branch or each.branch,
    }


def sprint_facts(each: UnderWay) -> dict[str, object] | None:
    sprint = each.state.sprint(each.state.status.sprint) if each.state.status.sprint else None
    if sprint is None:
        return None
    points = burn_down(sprint, each.state.backlog.stories, each.state.cycle)
    burned = [{"at": point.at, "left": point.left} for point in points]
    return {"id": sprint.id, "status": sprint.status, "burn_down": burned, "told": in_a_line(points)}


def what_next(each: UnderWay) -> dict[str, object]:
    view = each.view
    following = ended_by_count(view)
    outcome = "ready" if following.outcome == "stopped" and isinstance(ahead(view), Due) else following.outcome
    return {"outcome": outcome, "why": following.reason, "next": following.next}


def row_of(story: Mapping[str, object], branch: str) -> str:
    apart = f"  (on {story['branch']})" if story["branch"] != branch else ""
    return f"  {story['id']:<16} {story['status']:<12} {story['phase'] or '':<11} {story['title']}{apart}\n"


def shown(facts: dict[str, object]) -> str:
    stories = facts["stories"]
    open_ones = facts["circuits"]
    assert isinstance(stories, list)
    assert isinstance(open_ones, list)
    rows = "".join(row_of(story, str(facts["branch"])) for story in stories)
    circuits = "".join(f"  open: {plain(circuit)}\n" for circuit in open_ones if circuit != facts["why"])
    alarms = facts["alarms"]
    assert isinstance(alarms, list)
    seen = "".join(f"  seen: {plain(alarm)}\n" for alarm in alarms)
    sprint = facts["sprint"]
    burned = f"sprint {sprint['id']}: {sprint['told']}\n" if isinstance(sprint, dict) and sprint["told"] else ""
    following = f"Next: {facts['next']}\n" if facts["next"] else ""
    return (
        f"{facts['title']}  ({facts['path']}, branch {facts['branch']})\n"
        f"{facts['done']} of {len(stories)} stories integrated, state {facts['state']}\n{rows}"
        f"{burned}{seen}{circuits}{facts['why']}\n{following}"
    )
