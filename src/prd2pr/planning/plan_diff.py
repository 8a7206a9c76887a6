"""Apply a changed PRD to a plan: which stories are kept, which are planned again, and what a person must decide.

Started work is never discarded: a story that is done or in progress stays unchanged, and changes in the PRD become a
follow-up story. Ids are never removed or reused. `compute_plan_change` computes what a change means,
`build_replanned_backlog` builds the new backlog from the planner's answer, and `find_replan_violations` checks a
backlog on a branch. The workflow uses the first two, and `verify` the first and the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from prd2pr.domain.backlog_ids import find_last_number
from prd2pr.domain.dependency_graph import sort_by_dependencies
from prd2pr.domain.machines.phase_transitions import finish_if_settled, record_event
from prd2pr.domain.questions import names_requirement
from prd2pr.domain.records import (
    SETTLED,
    AnsweredQuestion,
    Backlog,
    ClassifiedRequirement,
    Epic,
    Prd,
    Requirement,
    Status,
    Story,
)
from prd2pr.planning.classification import build_class_questions
from prd2pr.planning.plan import (
    PlanDraft,
    PlanProblem,
    StoryDraft,
    backlog_to_draft,
    build_story,
    check_plan,
    is_uncovered_question,
    normalize_classified,
    normalize_requirement_ids,
)
from prd2pr.prd.diff import ChangedRequirement, RequirementChange, diff_requirements
from prd2pr.prd.requirement_ids import find_mentioned_ids, get_requirement_key, index_by_key
from prd2pr.prd.restored_requirements import REMOVED_SENTENCE, apply_restored, get_first_line, is_obsolete_question
from prd2pr.views.plan import PlanDiff


@dataclass(frozen=True)
class PlanChange:
    requirements: RequirementChange
    kept: tuple[Story, ...] = ()  # with the new ids of renumbered requirements
    outdated: tuple[Story, ...] = ()  # those of `kept` that were started for a requirement that has changed
    open_again: tuple[Story, ...] = ()  # stories not started, planned again under the same ids
    unwanted: tuple[Story, ...] = ()  # stories not started whose requirements were all removed
    asked: tuple[str, ...] = ()
    wanted_again: tuple[str, ...] = ()  # those of `kept` whose requirement was removed and restored
    wish: bool = False  # the PRD is unchanged; a command requested something new
    answered: tuple[AnsweredQuestion, ...] = ()  # the answers because of which requirements are planned again

    @property
    def needs_planner(self) -> bool:
        return bool(self.requirements.new_requirements or self.open_again)


def compute_plan_change(
    before: Prd,
    backlog: Backlog,
    after: Prd,
    started: frozenset[str],
    earlier: Mapping[str, Requirement] = MappingProxyType({}),
) -> PlanChange:
    """Compute the effects of a changed PRD on the plan.

    `started` are the ids of stories that have steps. `earlier` has, by key, the last version of requirements that are
    in `after` but not in `before`.
    """
    change, wanted_again = apply_restored(diff_requirements(before, after), backlog, started, earlier)
    change = reopen_requirements(change, backlog)
    outdated, removed = change.list_outdated_keys(), {get_requirement_key(each.id) for each in change.removed}
    kept, old, again, unwanted = [], [], [], []
    for story in backlog.stories:
        named = {get_requirement_key(name) for name in story.requirements}
        if story.id in started or story.status in SETTLED or not named & outdated:
            kept.append(update_requirement_ids(story, change))
            old += [story] if named & outdated else []
        elif named <= removed:
            unwanted.append(story)
        elif verifies_existing_code(story) and (rest := drop_requirements(story, outdated)).criteria:
            kept.append(update_requirement_ids(rest, change))
        else:
            again.append(story)
    return PlanChange(
        requirements=change,
        kept=tuple(kept),
        outdated=tuple(old),
        open_again=tuple(again),
        unwanted=tuple(unwanted),
        answered=tuple(
            each for each in backlog.answers if any(names_requirement(each.question, name) for name in backlog.reopened)
        ),
        wanted_again=tuple(name for name in wanted_again if name in {story.id for story in kept}),
        asked=tuple(build_removal_questions(change.removed, [*old, *unwanted], {story.id for story in unwanted})),
    )


def reopen_requirements(change: RequirementChange, backlog: Backlog) -> RequirementChange:
    """Treat requirements as changed if a person answered a question about them, or if they contradict a changed one."""
    outdated = change.list_outdated_keys()
    again = {get_requirement_key(name) for name in backlog.reopened} - outdated | {
        key
        for each in backlog.classified
        if each.status == "contradictory"
        and (key := get_requirement_key(each.id)) not in outdated
        and outdated.intersection(map(get_requirement_key, find_mentioned_ids(each.note)))
    }
    reopened = [each for each in change.same if get_requirement_key(each.id) in again]
    return replace(
        change,
        same=tuple(each for each in change.same if each not in reopened),
        changed=(*change.changed, *(ChangedRequirement(each, each) for each in reopened)),
    )


def verifies_existing_code(story: Story) -> bool:
    """Return whether a story verifies code that existed before the plan."""
    return story.verify_only and not story.depends_on


def drop_requirements(story: Story, keys: frozenset[str]) -> Story:
    """Return the story without these requirements and the criteria that come from them."""
    criteria = tuple(each for each in story.criteria if keys.isdisjoint(map(get_requirement_key, each.requirements)))
    names = tuple(name for name in story.requirements if get_requirement_key(name) not in keys)
    return story.model_copy(update={"criteria": criteria, "requirements": names})


def update_requirement_ids(story: Story, change: RequirementChange) -> Story:
    """Update the ids of renumbered requirements in a story."""
    moved = dict(change.renamed)
    return update_story_ids(story, lambda names: (moved.get(get_requirement_key(name), name) for name in names))


def update_story_ids(story: Story, update: Callable[[tuple[str, ...]], Iterable[str]]) -> Story:
    """Apply `update` to the requirements of a story and of its criteria."""
    criteria = tuple(
        each.model_copy(update={"requirements": names})
        if (names := tuple(dict.fromkeys(update(each.requirements)))) != each.requirements
        else each
        for each in story.criteria
    )
    names = tuple(dict.fromkeys(update(story.requirements)))
    if names == story.requirements and criteria == story.criteria:
        return story
    return story.model_copy(update={"requirements": names, "criteria": criteria})


def build_removal_questions(removed: Iterable[Requirement], stories: list[Story], unwanted: set[str]) -> Iterator[str]:
    """Yield a question for each story of a removed requirement.

    Do not reword these texts: branches store them, and `verify` compares them.
    """
    for requirement in removed:
        key = get_requirement_key(requirement.id)
        there = [story for story in stories if key in map(get_requirement_key, story.requirements)]
        built = [story.id for story in there if story.id not in unwanted and story.status != "skipped"]
        waiting = [story.id for story in there if story.id in unwanted]
        gone = f"{requirement.id} ({get_first_line(requirement)}) {REMOVED_SENTENCE}"
        if built:
            yield f"{gone} {', '.join(built)} was begun for it and stays: should what it built be taken out?"
        if waiting:
            yield f"{gone} Nobody has begun {', '.join(waiting)}: approving the plan drops it."


# --- the planner's answer ---------------------------------------------------------------------------------------------


def check_replan_answer(prd: Prd, backlog: Backlog, change: PlanChange, answer: PlanDraft) -> tuple[PlanProblem, ...]:
    """Check the planning rules for the merged plan, and that new stories cover only changed requirements."""
    whole = backlog_to_draft(keep_unchanged_plan(prd, backlog, change))
    stories = tuple(assign_epic(story, backlog) for story in answer.stories)
    joined = PlanDraft(
        epics=(*whole.epics, *answer.epics),
        stories=(*whole.stories, *stories),
        questions=(*whole.questions, *answer.questions),
        assumptions=(*whole.assumptions, *answer.assumptions),
        not_covered=(*whole.not_covered, *answer.not_covered),
        classified=(*whole.classified, *answer.classified),
    )
    return (*check_plan(prd, joined), *find_unrequested_stories(change, answer))


def keep_unchanged_plan(prd: Prd, backlog: Backlog, change: PlanChange) -> Backlog:
    """Return the part of the plan that is still valid, without changed requirements and removed ids."""
    to_cover, known = change.requirements.list_keys_to_cover(), index_by_key(each.id for each in prd.requirements)

    def valid(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            name for name in names if get_requirement_key(name) in known and get_requirement_key(name) not in to_cover
        )

    stories = (*change.kept, *change.unwanted)
    return backlog.model_copy(
        update={
            "epics": tuple(
                each.model_copy(update={"requirements": valid(each.requirements)}) for each in backlog.epics
            ),
            "stories": tuple(update_story_ids(each, valid) for each in stories),
            "assumptions": keep_valid_assumptions(backlog, change),
            "not_covered": valid(backlog.not_covered),
            "classified": keep_valid_classification(prd, backlog, change),
        }
    )


def keep_valid_classification(prd: Prd, backlog: Backlog, change: PlanChange) -> tuple[ClassifiedRequirement, ...]:
    known = index_by_key(each.id for each in prd.requirements)
    moved = dict(change.requirements.renamed)
    decided = change.requirements.list_outdated_keys() | change.requirements.list_keys_to_cover()
    named = ((each, get_requirement_key(each.id)) for each in backlog.classified)
    return tuple(
        each.model_copy(update={"id": moved.get(key, known.get(key, each.id))})
        for each, key in named
        if key not in decided and (key in known or key in moved)
    )


def keep_valid_assumptions(backlog: Backlog, change: PlanChange) -> tuple[str, ...]:
    """Keep assumptions that name no changed requirement."""
    outdated = change.requirements.list_outdated_keys()
    return tuple(
        each
        for each in backlog.assumptions
        if not outdated.intersection(map(get_requirement_key, find_mentioned_ids(each)))
    )


def keep_open_questions(prd: Prd, backlog: Backlog, kept: Backlog) -> tuple[str, ...]:
    """Drop questions about requirements that are planned now and about removed ones that are back.

    `kept` is the part of the plan that is still valid.
    """
    settled = set(backlog.not_covered) - set(kept.not_covered)
    answered = {*build_class_questions(prd, backlog.classified)} - {*build_class_questions(prd, kept.classified)}
    return tuple(
        each
        for each in backlog.questions
        if each not in answered
        and not is_obsolete_question(each, prd)
        and not any(is_uncovered_question(each, name) for name in settled)
    )


def assign_epic(story: StoryDraft, backlog: Backlog) -> StoryDraft:
    """Assign the epic of the replaced story to a story without an epic, or else the first epic."""
    if story.epic or not backlog.epics:
        return story
    before = next((each.epic for each in backlog.stories if each.id == story.key), backlog.epics[0].id)
    return story.model_copy(update={"epic": before})


def find_unrequested_stories(change: PlanChange, answer: PlanDraft) -> Iterator[PlanProblem]:
    again = {story.id for story in change.open_again}
    wanted = change.requirements.list_keys_to_cover() | {
        get_requirement_key(n) for each in change.open_again for n in each.requirements
    }
    for story in answer.stories:
        named = {
            get_requirement_key(name)
            for name in (*story.requirements, *(n for c in story.criteria for n in c.requirements))
        }
        if story.key not in again and not named & wanted:
            yield PlanProblem("PLN114", "it serves no changed requirement", story.key)


def build_replanned_backlog(
    prd: Prd, backlog: Backlog, change: PlanChange, answer: PlanDraft | None, *, drop: bool
) -> Backlog:
    """Build the new backlog. With `drop`, the author of the change has approved dropping unwanted stories."""
    made = build_new_stories(prd, backlog, change, answer) if answer else {}
    planned = {story.id for story in made.values()}
    given_up = [each for each in change.open_again if each.id not in planned]
    skipped = [
        each.model_copy(update={"status": "skipped"}) for each in (*given_up, *(change.unwanted if drop else ()))
    ]
    stories = {story.id: story for story in (*change.kept, *change.unwanted, *skipped, *made.values())}
    unchanged = keep_unchanged_plan(prd, backlog, change)
    left = keep_open_questions(prd, backlog, unchanged)
    asked = answer.questions if answer else ()
    before = (name for name in backlog.dropping if name not in change.wanted_again)
    waiting = (*before, *(() if drop else (story.id for story in change.unwanted)))
    return Backlog(
        epics=build_epics_after_replan(prd, backlog, answer, made.values()),
        stories=sort_into_working_order(backlog, stories),
        questions=tuple(dict.fromkeys((*left, *change.asked, *asked))),
        assumptions=(*keep_valid_assumptions(backlog, change), *(answer.assumptions if answer else ())),
        dropping=tuple(dict.fromkeys(name for name in waiting if stories[name].status not in SETTLED)),
        not_covered=(*unchanged.not_covered, *normalize_requirement_ids(prd, answer.not_covered if answer else ())),
        answers=backlog.answers,
        classified=(*unchanged.classified, *(normalize_classified(prd, answer.classified) if answer else ())),
    )


def build_new_stories(prd: Prd, backlog: Backlog, change: PlanChange, answer: PlanDraft) -> dict[str, Story]:
    """Build the planned stories by the answer's keys. A story that is planned again keeps its id and status."""
    before = {story.id: story for story in backlog.stories}
    again = {story.id for story in change.open_again}
    drafts = {story.key: assign_epic(story, backlog) for story in answer.stories}
    rank = {key: (story.priority, n) for n, (key, story) in enumerate(drafts.items())}
    order = sort_by_dependencies({key: story.depends_on for key, story in drafts.items()}, rank)
    ids = {**{name: name for name in before}, **{key: key for key in drafts if key in again}}
    for key in order:
        if key not in again:
            ids[key] = f"{prd.id}-{find_last_number(prd.id, ids.values()) + 1}"
    epics = assign_epic_ids(prd, backlog, answer)
    made = {key: build_story(prd, drafts[key], ids, epics) for key in order}
    kept_status = {key: before[key].status for key in made if key in again}
    return {
        key: story.model_copy(update={"status": kept_status[key]}) if key in kept_status else story
        for key, story in made.items()
    }


def assign_epic_ids(prd: Prd, backlog: Backlog, answer: PlanDraft) -> dict[str, str]:
    there = [epic.id for epic in backlog.epics]
    last = find_last_number(prd.id, (name.replace(f"{prd.id}-e", f"{prd.id}-", 1) for name in there))
    fresh = {epic.key: f"{prd.id}-e{last + n}" for n, epic in enumerate(answer.epics, start=1)}
    return {**{name: name for name in there}, **fresh}


def build_epics_after_replan(
    prd: Prd, backlog: Backlog, answer: PlanDraft | None, made: Iterable[Story]
) -> tuple[Epic, ...]:
    """Build the epics with the PRD's current requirements, including those of new stories."""
    known = index_by_key(each.id for each in prd.requirements)
    ids = assign_epic_ids(prd, backlog, answer) if answer else {}
    fresh = tuple(
        Epic(id=ids[epic.key], title=epic.title, description=epic.description, requirements=epic.requirements)
        for epic in (answer.epics if answer else ())
    )
    served: dict[str, list[str]] = {}
    for story in made:
        served.setdefault(story.epic, []).extend(story.requirements)

    def with_requirements(epic: Epic) -> Epic:
        names = (*(name for name in epic.requirements if get_requirement_key(name) in known), *served.get(epic.id, ()))
        return epic.model_copy(update={"requirements": normalize_requirement_ids(prd, names)})

    return tuple(with_requirements(epic) for epic in (*backlog.epics, *fresh))


def sort_into_working_order(backlog: Backlog, stories: dict[str, Story]) -> tuple[Story, ...]:
    """Return started and settled stories in their old order, then new ones by dependencies and priority."""
    place = {story.id: n for n, story in enumerate(backlog.stories)}
    rank = {
        name: (0 if story.status not in ("backlog", "sprint") else story.priority, place.get(name, len(place) + n))
        for n, (name, story) in enumerate(stories.items())
    }
    order = sort_by_dependencies({name: story.depends_on for name, story in stories.items()}, rank)
    return tuple(stories[name] for name in order)


# --- checks of a plan on a branch -------------------------------------------------------------------------------------


def find_replan_violations(prd: Prd, before: Backlog, change: PlanChange, after: Backlog) -> Iterator[str]:
    """Yield the reasons why `after` is not a valid result of this change to `before`."""
    there = {story.id: story for story in after.stories}
    for story in change.kept:
        if there.get(story.id) != story:
            yield f"{story.id} differs, but nothing in the PRD changed it"
    for story in change.unwanted:
        if there.get(story.id) not in (story, story.model_copy(update={"status": "skipped"})):
            yield f"{story.id} serves a removed requirement: it may only wait for a person or be skipped, unchanged"
    for story in change.open_again:
        if story.id not in there or there[story.id].status not in (story.status, "skipped"):
            yield f"{story.id} is planned again: it may only keep its status or be skipped"
    yield from find_invalid_new_stories(prd, before, after)
    yield from find_invalid_plan(prd, before, change, after)


def find_invalid_new_stories(prd: Prd, before: Backlog, after: Backlog) -> Iterator[str]:
    old = {story.id for story in before.stories}
    last = find_last_number(prd.id, old)
    for story in after.stories:
        if story.id not in old and (story.status != "backlog" or find_last_number(prd.id, [story.id]) <= last):
            yield f"{story.id} is new: a new story needs a new number and the status backlog"


def find_invalid_plan(prd: Prd, before: Backlog, change: PlanChange, after: Backlog) -> Iterator[str]:
    kept = {story.id for story in (*change.kept, *change.unwanted)}
    settled = [story for story in after.stories if story.id not in kept and story.status == "skipped"]
    stories = (*keep_unchanged_plan(prd, before, change).stories, *(s for s in after.stories if s.id not in kept))
    whole = after.model_copy(update={"stories": tuple(story for story in stories if story not in settled)})
    names = {story.id for story in settled}
    draft = backlog_to_draft(
        whole.model_copy(update={"stories": tuple(drop_dependencies(story, names) for story in whole.stories)})
    )
    for problem in check_plan(prd, draft):
        yield f"{problem.code}: {problem.message}"
    missing = set(change.asked) - set(after.questions)
    if missing:
        yield f"a question is missing: {min(missing)}"
    unwanted = {*before.dropping, *(story.id for story in change.unwanted)} - set(change.wanted_again)
    waiting = {s.id for s in after.stories if s.id in unwanted}
    if set(after.dropping) != {s.id for s in after.stories if s.id in waiting and s.status not in SETTLED}:
        yield "the stories to be dropped are not those whose requirements were removed"
    stale = [question for question in after.questions if is_obsolete_question(question, prd)]
    if stale:
        yield f"a question is about a removed requirement that the PRD has: {min(stale)}"


def drop_dependencies(story: Story, names: set[str]) -> Story:
    return story.model_copy(update={"depends_on": tuple(name for name in story.depends_on if name not in names)})


def compute_status_after_replan(status: Status, backlog: Backlog, *, at: str) -> Status:
    """Return the project's status after replanning: stories may be open again, or all may be settled."""
    if any(story.status not in SETTLED for story in backlog.stories):
        return record_event(status, "the PRD changed", at=at)
    return finish_if_settled(status, backlog, at=at)


# --- what people see and decide ---------------------------------------------------------------------------------------


def diff_plans(before: Backlog, after: Backlog, asked: tuple[str, ...] = ()) -> PlanDiff:
    old = {story.id: story for story in before.stories}

    def dropped(story: Story) -> bool:
        skipped_now = story.status == "skipped" and story.id in old and old[story.id].status != "skipped"
        return skipped_now or story.id in after.dropping

    gone = [story for story in after.stories if dropped(story)]
    there = [story for story in after.stories if story.status != "skipped" and story not in gone]
    return PlanDiff(
        kept=tuple(story for story in there if old.get(story.id) == story),
        new=tuple(story for story in there if story.id not in old),
        changed=tuple(story for story in there if story.id in old and old[story.id] != story),
        dropped=tuple(gone),
        asked=asked,
    )


def drop_approved_removals(backlog: Backlog, named: tuple[str, ...]) -> Backlog:
    """Skip the stories that are about to be dropped once the whole plan is approved.

    Stories that the approval names are kept.
    """
    if not backlog.dropping:
        return backlog
    going = () if named else backlog.dropping
    stories = tuple(s.model_copy(update={"status": "skipped"}) if s.id in going else s for s in backlog.stories)
    left = tuple(name for name in backlog.dropping if name not in (*going, *named))
    return backlog.model_copy(update={"stories": stories, "dropping": left})
