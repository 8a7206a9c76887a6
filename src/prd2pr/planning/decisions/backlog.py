"""Decisions about the backlog's stories and about the end of a sprint."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.dependency_graph import sort_by_dependencies
from prd2pr.domain.machines.approval import carry_over_approvals, is_chosen_sprint_done
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.phase_transitions import finish_if_settled, record_event
from prd2pr.domain.machines.project_machine import PROJECT_COMMANDS
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.machines.story_machine import OPEN
from prd2pr.domain.memory_records import Lesson
from prd2pr.domain.questions import (
    add_answer_note,
    apply_answer,
    confirms_plan,
    names_requirement,
    number_questions,
)
from prd2pr.domain.records import (
    SETTLED,
    AnsweredQuestion,
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
from prd2pr.planning.decisions.records import (
    DecisionEffect,
    DecisionOutcome,
    Objection,
    object_to_unknown_stories,
    record_decision,
    record_project_event,
    with_project_transition,
)
from prd2pr.planning.decisions.retrospective import build_sprint_lesson, parse_retrospective
from prd2pr.planning.decisions.sprints import complete_sprint
from prd2pr.planning.plan import backlog_to_draft, check_plan


@with_project_transition
def add_epic(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/epic` and `/request_changes`: add the stories that a role planned from the text."""
    backlog = append_new_stories(found, decision)
    if isinstance(backlog, Objection):
        return backlog
    closes = found.status.state is ProjectState.SPRINT_REVIEW
    return DecisionOutcome(
        rebind_approvals(found, status, backlog),
        backlog,
        sprint=complete_sprint(found.sprint, decision.at) if closes else None,
    )


@with_project_transition
def add_story(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/backlog add_story`: add a story with the person's text as its criterion, without a planner."""
    backlog = append_new_stories(found, decision)
    if isinstance(backlog, Objection):
        return backlog
    return DecisionOutcome(rebind_approvals(found, status, backlog), backlog)


def append_new_stories(found: BranchRecords, decision: Decision) -> Backlog | Objection:
    """Append the decision's new stories to the backlog, or return an objection."""
    known = {story.id for story in found.backlog.stories}
    if not decision.added:
        return Objection("it adds no story")
    if any(story.id in known or story.status != "backlog" for story in decision.added):
        return Objection("only new stories can be added")
    backlog = found.backlog.model_copy(
        update={
            "epics": (*found.backlog.epics, *decision.epics),
            "stories": (*found.backlog.stories, *decision.added),
            "questions": tuple(dict.fromkeys((*found.backlog.questions, *decision.questions))),
            "assumptions": tuple(dict.fromkeys((*found.backlog.assumptions, *decision.assumptions))),
        }
    )
    mine = {story.id for story in decision.added}
    problems = [
        each for each in check_plan(found.prd, backlog_to_draft(backlog)) if not each.story or each.story in mine
    ]
    broken = [each for each in problems if each.code != "PLN106"]  # requirements that were not covered so far
    return Objection(f"{broken[0].code}: {broken[0].message}") if broken else backlog


@with_project_transition
def prioritize_story(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/backlog prioritize`: reorder stories that are not settled, keeping dependencies first."""
    unknown = object_to_unknown_stories(found, decision.stories)
    if unknown:
        return unknown
    if decision.number is None or not 1 <= decision.number <= 5:
        return Objection("a priority is a number from 1 (first) to 5", f"/backlog prioritize {decision.story} 1")
    changed = tuple(
        story.model_copy(update={"priority": decision.number}) if story.id == decision.story else story
        for story in found.backlog.stories
    )
    return DecisionOutcome(status, sort_backlog(found.backlog.model_copy(update={"stories": changed})))


def sort_backlog(backlog: Backlog) -> Backlog:
    stories = {story.id: story for story in backlog.stories}
    rank = {
        story.id: (0, n) if story.status in (*SETTLED, "in_progress") else (story.priority, n)
        for n, story in enumerate(backlog.stories)
    }
    order = sort_by_dependencies({name: story.depends_on for name, story in stories.items()}, rank)
    return backlog.model_copy(update={"stories": tuple(stories[name] for name in order)})


@with_project_transition
def remove_story(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/backlog remove` to a story that is not started and that no other story depends on."""
    story = found.find_story(decision.story)
    if story is None:
        return object_to_unknown_stories(found, decision.stories) or Objection("name a story", "/tdd overview")
    cycle = found.cycle(story.id)
    if story.status not in ("backlog", "sprint") or (cycle and cycle.steps):
        return object_to_removal(found, story, cycle)
    needed_by = [each.id for each in found.backlog.stories if story.id in each.depends_on]
    if needed_by:
        return Objection(f"{', '.join(needed_by)} depends on {story.id}")
    backlog = found.backlog.model_copy(
        update={"stories": tuple(each for each in found.backlog.stories if each.id != story.id)}
    )
    if not backlog.stories:
        return Objection(f"{story.id} is the only story; a plan needs at least one", '/backlog add_story "…"')
    sprint = remove_from_sprint(found.sprint, story.id)
    after = finish_if_settled(rebind_approvals(found, status, backlog), backlog, at=decision.at)
    return DecisionOutcome(after, backlog, sprint=sprint, dropped_cycles=(story.id,) if cycle else ())


def object_to_removal(found: BranchRecords, story: Story, cycle: Cycle | None) -> Objection:
    """Explain why a started story cannot be removed, and suggest another command."""
    if story.status in SETTLED:
        return Objection(f"{story.id} is {story.status} and stays on record")
    if cycle is not None and cycle.state is CycleState.ABORTED:
        can_skip = found.status.state in PROJECT_COMMANDS["skip_task"].allowed
        return Objection(
            f"{story.id} was aborted and stays on record; it can be skipped",
            f"/skip_task {story.id}" if can_skip else "",
        )
    open_cycle = cycle is not None and cycle.state in OPEN
    how = "; it can only be aborted" if open_cycle else ""
    return Objection(
        f"{story.id} is already started and cannot be removed{how}",
        f"/tdd abort {story.id}" if open_cycle else "",
    )


def remove_from_sprint(sprint: Sprint | None, story: str) -> Sprint | None:
    if sprint is None or story not in sprint.stories:
        return None
    return sprint.model_copy(update={"stories": tuple(each for each in sprint.stories if each != story)})


def rebind_approvals(found: BranchRecords, status: Status, backlog: Backlog) -> Status:
    return status.model_copy(
        update={"approvals": carry_over_approvals(status.approvals, found.prd, found.backlog, backlog)}
    )


# --- questions --------------------------------------------------------------------------------------------------------


def answer_question(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply `/tdd answer`: stories get the answer. Plan again what no story builds yet."""
    backlog, number = found.backlog, decision.number
    open_questions = number_questions(backlog)
    if number is None or number not in open_questions:
        there = ", ".join(f"Q{each}" for each in open_questions)
        return Objection(f"Q{number} is not an open question{f'; there are {there}' if there else ''}")
    text = decision.text.strip()
    if not text:
        return Objection("the answer is empty")
    question = open_questions[number]
    answered = AnsweredQuestion(
        number=number,
        question=question,
        answer=text,
        by=decision.by,
        at=decision.at,
        decided=list_named_requirements(found, question) if decision.applies else (),
    )
    begun = {story.id for story in backlog.stories if has_story_steps(found, story)}

    def add_answer(story: Story) -> Story:
        if story.status in SETTLED:
            return story
        if decision.applies and story.id not in begun:
            return apply_answer(story, answered)
        description = add_answer_note(story.description, story.requirements, answered)
        return story.model_copy(update={"description": description})

    reopened = list_reopened_requirements(found, question) if decision.replans else ()
    if decision.applies:
        settled = {name for story in backlog.stories if not story.verify_only for name in story.requirements}
        if confirms_plan(answered):
            settled |= {each.id for each in backlog.classified if each.status != "contradictory"}
        reopened = tuple(name for name in reopened if name not in settled)
    after = backlog.model_copy(
        update={
            "reopened": tuple(dict.fromkeys((*backlog.reopened, *reopened))),
            "questions": tuple(each for each in backlog.questions if each != question),
            "answers": (*backlog.answers, answered),
            "classified": tuple(
                each
                for each in backlog.classified
                if each.status != "contradictory" or not names_requirement(question, each.id)
            ),
            "stories": tuple(map(add_answer, backlog.stories)),
        }
    )
    status = record_decision(found.status, decision, found.status.state, found.status.state)
    return DecisionOutcome(rebind_approvals(found, status, after), after)


def list_reopened_requirements(found: BranchRecords, question: str) -> tuple[str, ...]:
    """List the requirements that the question names, except those with a started story."""
    begun = {name for story in found.backlog.stories if has_story_steps(found, story) for name in story.requirements}
    return tuple(name for name in list_named_requirements(found, question) if name not in begun)


def list_named_requirements(found: BranchRecords, question: str) -> tuple[str, ...]:
    return tuple(each.id for each in found.prd.requirements if names_requirement(question, each.id))


def has_story_steps(found: BranchRecords, story: Story) -> bool:
    cycle = found.cycle(story.id)
    return story.status in (*SETTLED, "in_progress") or bool(cycle and cycle.steps)


# --- the end of a sprint ----------------------------------------------------------------------------------------------


def review_sprint(found: BranchRecords, decision: Decision) -> DecisionEffect:
    """Apply the event that all stories chosen for the sprint are settled while other stories are open."""
    sprint = found.sprint
    if sprint is None or not is_chosen_sprint_done(sprint, found.backlog):
        return Objection("the sprint has open stories")
    status = record_project_event(found.status, decision)
    if isinstance(status, CommandRefusal):
        return status
    sprint = sprint.model_copy(update={"metrics": compute_sprint_metrics(found, sprint)})
    return DecisionOutcome(status.model_copy(update={"order": "", "order_story": ""}), found.backlog, sprint=sprint)


@with_project_transition
def record_feedback(found: BranchRecords, decision: Decision, status: Status) -> DecisionEffect:
    """Apply `/feedback`: record the sprint's retrospective, and a lesson for later sprints and other PRDs."""
    sprint = complete_sprint(found.sprint, decision.at)
    lessons: tuple[Lesson, ...] = ()
    if sprint is not None:
        parsed = parse_retrospective(decision.text, by=decision.by, at=decision.at)
        sprint = sprint.model_copy(update={"retrospective": parsed, "metrics": compute_sprint_metrics(found, sprint)})
        lessons = (build_sprint_lesson(found, sprint, parsed, decision),)
    status = status.model_copy(update={"order": "", "order_story": ""})
    if found.sprint and found.sprint.chosen and any(each.status not in SETTLED for each in found.backlog.stories):
        status = record_event(status, "stories left", at=decision.at)
    return DecisionOutcome(status, found.backlog, sprint=sprint, lessons=lessons)


def compute_sprint_metrics(found: BranchRecords, sprint: Sprint) -> SprintMetrics:
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
