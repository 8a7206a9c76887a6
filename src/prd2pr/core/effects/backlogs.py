"""Decisions about what the backlog holds, and the end of a sprint."""

from __future__ import annotations

from prd2pr.core.advance import settled
from prd2pr.core.approval import rebound
from prd2pr.core.cycle_machine import OPEN
from prd2pr.core.decision import Decision
from prd2pr.core.effects.lessons import lesson_of
from prd2pr.core.effects.records import Effect, Left, Objection, through_the_machine, unknown_stories
from prd2pr.core.effects.sprints import ended
from prd2pr.core.found import Found
from prd2pr.core.graph import working_order
from prd2pr.core.memory.records import Lesson
from prd2pr.core.plan import check_plan, draft_of
from prd2pr.core.project_machine import PROJECT_COMMANDS
from prd2pr.core.records import (
    SETTLED,
    Backlog,
    Cycle,
    CycleState,
    ProjectState,
    Spend,
    Sprint,
    SprintMetrics,
    Status,
    Story,
)
from prd2pr.core.retrospective import retrospective


@through_the_machine
def add_epic(found: Found, decision: Decision, status: Status) -> Effect:
    """`/epic` and `/request_changes`: a role has made stories of the text, and the rules for plans were kept."""
    backlog = with_added(found, decision)
    if isinstance(backlog, Objection):
        return backlog
    closes = found.status.state is ProjectState.SPRINT_REVIEW
    return Left(
        bound_again(found, status, backlog), backlog, sprint=ended(found.sprint, decision.at) if closes else None
    )


@through_the_machine
def add_story(found: Found, decision: Decision, status: Status) -> Effect:
    """As a person worded it: its text is its criterion, and nobody was asked to plan it."""
    backlog = with_added(found, decision)
    if isinstance(backlog, Objection):
        return backlog
    return Left(bound_again(found, status, backlog), backlog)


def with_added(found: Found, decision: Decision) -> Backlog | Objection:
    """New stories stand at the end, and nobody has worked on them."""
    known = {story.id for story in found.backlog.stories}
    if not decision.added:
        return Objection("it holds no story")
    if any(story.id in known or story.status != "backlog" for story in decision.added):
        return Objection("a story that is added is a new one")
    backlog = found.backlog.model_copy(
        update={
            "epics": (*found.backlog.epics, *decision.epics),
            "stories": (*found.backlog.stories, *decision.added),
            "questions": tuple(dict.fromkeys((*found.backlog.questions, *decision.questions))),
            "assumptions": tuple(dict.fromkeys((*found.backlog.assumptions, *decision.assumptions))),
        }
    )
    mine = {story.id for story in decision.added}
    problems = [each for each in check_plan(found.prd, draft_of(backlog)) if not each.story or each.story in mine]
    broken = [each for each in problems if each.code != "PLN106"]  # what is not covered was not covered before
    return Objection(f"{broken[0].code}: {broken[0].message}") if broken else backlog


@through_the_machine
def prioritize(found: Found, decision: Decision, status: Status) -> Effect:
    """The order changes among what is not settled; a dependency still comes first."""
    unknown = unknown_stories(found, decision.stories)
    if unknown:
        return unknown
    if decision.number is None or not 1 <= decision.number <= 5:
        return Objection(
            "a priority is a number from 1 to 5, and 1 is first", f"/backlog prioritize {decision.story} 1"
        )
    changed = tuple(
        story.model_copy(update={"priority": decision.number}) if story.id == decision.story else story
        for story in found.backlog.stories
    )
    return Left(status, in_order(found.backlog.model_copy(update={"stories": changed})))


def in_order(backlog: Backlog) -> Backlog:
    stories = {story.id: story for story in backlog.stories}
    rank = {
        story.id: (0, n) if story.status in (*SETTLED, "in_progress") else (story.priority, n)
        for n, story in enumerate(backlog.stories)
    }
    order = working_order({name: story.depends_on for name, story in stories.items()}, rank)
    return backlog.model_copy(update={"stories": tuple(stories[name] for name in order)})


@through_the_machine
def remove(found: Found, decision: Decision, status: Status) -> Effect:
    """Only what nobody works on, and nothing else needs."""
    story = found.story(decision.story)
    if story is None:
        return unknown_stories(found, decision.stories) or Objection("name a story", "/tdd overview")
    cycle = found.cycle(story.id)
    if story.status not in ("backlog", "sprint") or (cycle and cycle.steps):
        return stays(found, story, cycle)
    needed_by = [each.id for each in found.backlog.stories if story.id in each.depends_on]
    if needed_by:
        return Objection(f"{', '.join(needed_by)} depends on {story.id}")
    backlog = found.backlog.model_copy(
        update={"stories": tuple(each for each in found.backlog.stories if each.id != story.id)}
    )
    if not backlog.stories:
        return Objection(f"{story.id} is the only story, and a plan without one is none", '/backlog add_story "…"')
    sprint = without_story(found.sprint, story.id)
    after = settled(bound_again(found, status, backlog), backlog, at=decision.at)
    return Left(after, backlog, sprint=sprint, gone=(story.id,) if cycle else ())


def stays(found: Found, story: Story, cycle: Cycle | None) -> Objection:
    """What was begun is not made undone by forgetting it: it can be given up, on record."""
    if story.status in SETTLED:
        return Objection(f"{story.id} is {story.status}, and stays on record")
    if cycle is not None and cycle.state is CycleState.ABORTED:
        can_skip = found.status.state in PROJECT_COMMANDS["skip_task"].allowed
        return Objection(
            f"{story.id} was given up, and that stays on record: it can be left out",
            f"/skip_task {story.id}" if can_skip else "",
        )
    open_cycle = cycle is not None and cycle.state in OPEN
    how = ": it can only be given up" if open_cycle else ""
    return Objection(
        f"somebody has worked on {story.id}, so it cannot be removed{how}",
        f"/tdd abort {story.id}" if open_cycle else "",
    )


def without_story(sprint: Sprint | None, story: str) -> Sprint | None:
    if sprint is None or story not in sprint.stories:
        return None
    return sprint.model_copy(update={"stories": tuple(each for each in sprint.stories if each != story)})


def bound_again(found: Found, status: Status, backlog: Backlog) -> Status:
    return status.model_copy(update={"approvals": rebound(status.approvals, found.prd, found.backlog, backlog)})


# --- the end of a sprint ----------------------------------------------------------------------------------------------


@through_the_machine
def feedback(found: Found, decision: Decision, status: Status) -> Effect:
    """What is said becomes the sprint's retrospective, and a lesson for later sprints and other PRDs."""
    sprint = ended(found.sprint, decision.at)
    learnt: tuple[Lesson, ...] = ()
    if sprint is not None:
        said = retrospective(decision.text, by=decision.by, at=decision.at)
        sprint = sprint.model_copy(update={"retrospective": said, "metrics": metrics(found, sprint)})
        learnt = (lesson_of(found, sprint, said, decision),)
    status = status.model_copy(update={"order": "", "order_story": ""})
    return Left(status, found.backlog, sprint=sprint, learnt=learnt)


def metrics(found: Found, sprint: Sprint) -> SprintMetrics:
    statuses = [story.status for story in found.backlog.stories if story.id in sprint.stories]
    cycles = [cycle for name in sprint.stories if (cycle := found.cycle(name)) is not None]
    steps = [step for cycle in cycles for step in cycle.steps]
    return SprintMetrics(
        done=statuses.count("done"),
        skipped=statuses.count("skipped"),
        steps=len(steps),
        attempts=sum(step.attempts for step in steps),
        refused=sum(len(cycle.refused) for cycle in cycles),
        seconds=round(sum(step.seconds for step in steps), 3),
        spend=sum((step.spend for step in steps), Spend()),
    )
