"""A changed PRD: what stays of the plan, what is planned anew, and what a person is asked.

Work that was begun is never thrown away: a story that is done or under way stays as it is, byte for byte, and what the
PRD says differently now becomes a story that follows it. Ids never vanish and are never used again. `plan_change` says
what a change means, `replanned` makes the new backlog from the planner's answer, `wrong_with` says what a backlog on a
branch has that no such answer could have made of it; the flow uses the first two, verify the first and the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from prd2pr.core.advance import happened, settled
from prd2pr.core.backlog_ids import last_number
from prd2pr.core.graph import working_order
from prd2pr.core.plan import (
    PlanDraft,
    PlanProblem,
    StoryDraft,
    asks_about_uncovered,
    canonical,
    check_plan,
    draft_of,
    story_of,
)
from prd2pr.core.prd_change import RequirementChange, compare
from prd2pr.core.put_back import GONE, asks_about_gone, begins, with_put_back
from prd2pr.core.records import SETTLED, Backlog, Epic, Prd, Requirement, Status, Story
from prd2pr.core.requirement_ids import by_key, key_of, mentions
from prd2pr.core.said.plans import PlanDiff, planned_story


@dataclass(frozen=True)
class PlanChange:
    requirements: RequirementChange
    kept: tuple[Story, ...] = ()  # as they will be: only ids of requirements that were renumbered differ
    outdated: tuple[Story, ...] = ()  # of `kept`: begun, for a requirement that says something else now
    open_again: tuple[Story, ...] = ()  # nobody has begun them, and they are planned anew under their ids
    unwanted: tuple[Story, ...] = ()  # nobody has begun them, and all that they were for is gone from the PRD
    asked: tuple[str, ...] = ()
    wanted_again: tuple[str, ...] = ()  # of `kept`: what they were for was gone, and is back as it was
    wish: bool = False  # the PRD is as it was: what is new was asked for by a command

    @property
    def needs_planner(self) -> bool:
        return bool(self.requirements.fresh or self.open_again)


def plan_change(
    before: Prd,
    backlog: Backlog,
    after: Prd,
    begun: frozenset[str],
    earlier: Mapping[str, Requirement] = MappingProxyType({}),
) -> PlanChange:
    """`begun`: ids of stories that have steps, whatever became of them. `earlier`: by key, what requirements said last
    that are in `after` and not in `before`."""
    change, wanted_again = with_put_back(compare(before, after), backlog, begun, earlier)
    outdated, removed = change.outdated(), {key_of(each.id) for each in change.removed}
    kept, old, again, unwanted = [], [], [], []
    for story in backlog.stories:
        named = {key_of(name) for name in story.requirements}
        if story.id in begun or story.status in SETTLED or not named & outdated:
            kept.append(repointed(story, change))
            old += [story] if named & outdated else []
        elif named <= removed:
            unwanted.append(story)
        else:
            again.append(story)
    return PlanChange(
        requirements=change,
        kept=tuple(kept),
        outdated=tuple(old),
        open_again=tuple(again),
        unwanted=tuple(unwanted),
        wanted_again=tuple(name for name in wanted_again if name in {story.id for story in kept}),
        asked=tuple(questions(change.removed, [*old, *unwanted], {story.id for story in unwanted})),
    )


def repointed(story: Story, change: RequirementChange) -> Story:
    """Where requirements were renumbered, the story names them as the PRD does now."""
    moved = dict(change.renamed)
    names = tuple(dict.fromkeys(moved.get(key_of(name), name) for name in story.requirements))
    return story if names == story.requirements else story.model_copy(update={"requirements": names})


def questions(removed: Iterable[Requirement], stories: list[Story], unwanted: set[str]) -> Iterator[str]:
    for requirement in removed:
        key = key_of(requirement.id)
        there = [story for story in stories if key in map(key_of, story.requirements)]
        built = [story.id for story in there if story.id not in unwanted and story.status != "skipped"]
        waiting = [story.id for story in there if story.id in unwanted]
        gone = f"{requirement.id} ({begins(requirement)}) {GONE}"
        if built:
            yield f"{gone} {', '.join(built)} was begun for it and stays: should what it built be taken out?"
        if waiting:
            yield f"{gone} Nobody has begun {', '.join(waiting)}: approving the plan drops it."


# --- the planner's answer ---------------------------------------------------------------------------------------------


def check_answer(prd: Prd, backlog: Backlog, change: PlanChange, answer: PlanDraft) -> tuple[PlanProblem, ...]:
    """The rules for plans, asked of the whole; and stories for nothing but what changed."""
    whole = draft_of(remaining(prd, backlog, change))
    stories = tuple(with_epic(story, backlog) for story in answer.stories)
    joined = PlanDraft(
        epics=(*whole.epics, *answer.epics),
        stories=(*whole.stories, *stories),
        questions=whole.questions,
        assumptions=(*whole.assumptions, *answer.assumptions),
        not_covered=whole.not_covered,
    )
    return (*check_plan(prd, joined), *not_asked_for(change, answer))


def remaining(prd: Prd, backlog: Backlog, change: PlanChange) -> Backlog:
    """What the plan still says about the new PRD: nothing of what changed, and no id that is gone."""
    to_cover, known = change.requirements.to_cover(), by_key(each.id for each in prd.requirements)

    def valid(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if key_of(name) in known and key_of(name) not in to_cover)

    stories = (*change.kept, *change.unwanted)
    return backlog.model_copy(
        update={
            "epics": tuple(
                each.model_copy(update={"requirements": valid(each.requirements)}) for each in backlog.epics
            ),
            "stories": tuple(each.model_copy(update={"requirements": valid(each.requirements)}) for each in stories),
            "assumptions": assumptions_left(backlog, change),
            "not_covered": valid(backlog.not_covered),
        }
    )


def assumptions_left(backlog: Backlog, change: PlanChange) -> tuple[str, ...]:
    """An assumption about what changed no longer covers it."""
    outdated = change.requirements.outdated()
    return tuple(each for each in backlog.assumptions if not outdated.intersection(map(key_of, mentions(each))))


def questions_left(prd: Prd, backlog: Backlog, not_covered: tuple[str, ...]) -> tuple[str, ...]:
    """What is planned now, or gone from the PRD, need not be asked about as not covered any more; what the PRD has,
    not as gone."""
    settled = set(backlog.not_covered) - set(not_covered)
    return tuple(
        each
        for each in backlog.questions
        if not asks_about_gone(each, prd) and not any(asks_about_uncovered(each, name) for name in settled)
    )


def with_epic(story: StoryDraft, backlog: Backlog) -> StoryDraft:
    """A story of a plan without further groups belongs where the one stood that it replaces, else to the first epic."""
    if story.epic or not backlog.epics:
        return story
    before = next((each.epic for each in backlog.stories if each.id == story.key), backlog.epics[0].id)
    return story.model_copy(update={"epic": before})


def not_asked_for(change: PlanChange, answer: PlanDraft) -> Iterator[PlanProblem]:
    again = {story.id for story in change.open_again}
    wanted = change.requirements.to_cover() | {key_of(n) for each in change.open_again for n in each.requirements}
    for story in answer.stories:
        named = {key_of(name) for name in (*story.requirements, *(n for c in story.criteria for n in c.requirements))}
        if story.key not in again and not named & wanted:
            yield PlanProblem("PLN114", "it is for no requirement that changed", story.key)


def replanned(prd: Prd, backlog: Backlog, change: PlanChange, answer: PlanDraft | None, *, drop: bool) -> Backlog:
    """The new backlog. `drop`: whoever changed the PRD has approved that unwanted stories go; else they are asked."""
    made = new_stories(prd, backlog, change, answer) if answer else {}
    planned = {story.id for story in made.values()}
    given_up = [each for each in change.open_again if each.id not in planned]
    skipped = [
        each.model_copy(update={"status": "skipped"}) for each in (*given_up, *(change.unwanted if drop else ()))
    ]
    stories = {story.id: story for story in (*change.kept, *change.unwanted, *skipped, *made.values())}
    not_covered = remaining(prd, backlog, change).not_covered
    left = questions_left(prd, backlog, not_covered)
    before = (name for name in backlog.dropping if name not in change.wanted_again)
    waiting = (*before, *(() if drop else (story.id for story in change.unwanted)))
    return Backlog(
        epics=epics_after(prd, backlog, answer, made.values()),
        stories=in_working_order(backlog, stories),
        questions=tuple(dict.fromkeys((*left, *change.asked, *(answer.questions if answer else ())))),
        assumptions=(*assumptions_left(backlog, change), *(answer.assumptions if answer else ())),
        dropping=tuple(dict.fromkeys(name for name in waiting if stories[name].status not in SETTLED)),
        not_covered=not_covered,
    )


def new_stories(prd: Prd, backlog: Backlog, change: PlanChange, answer: PlanDraft) -> dict[str, Story]:
    """By the answer's keys. A story that is planned anew keeps its id and its place in a sprint."""
    before = {story.id: story for story in backlog.stories}
    again = {story.id for story in change.open_again}
    drafts = {story.key: with_epic(story, backlog) for story in answer.stories}
    rank = {key: (story.priority, n) for n, (key, story) in enumerate(drafts.items())}
    order = working_order({key: story.depends_on for key, story in drafts.items()}, rank)
    ids = {**{name: name for name in before}, **{key: key for key in drafts if key in again}}
    for key in order:
        if key not in again:
            ids[key] = f"{prd.id}-{last_number(prd.id, ids.values()) + 1}"
    epics = epic_ids(prd, backlog, answer)
    made = {key: story_of(prd, drafts[key], ids, epics) for key in order}
    kept_status = {key: before[key].status for key in made if key in again}
    return {
        key: story.model_copy(update={"status": kept_status[key]}) if key in kept_status else story
        for key, story in made.items()
    }


def epic_ids(prd: Prd, backlog: Backlog, answer: PlanDraft) -> dict[str, str]:
    there = [epic.id for epic in backlog.epics]
    last = last_number(prd.id, (name.replace(f"{prd.id}-e", f"{prd.id}-", 1) for name in there))
    fresh = {epic.key: f"{prd.id}-e{last + n}" for n, epic in enumerate(answer.epics, start=1)}
    return {**{name: name for name in there}, **fresh}


def epics_after(prd: Prd, backlog: Backlog, answer: PlanDraft | None, made: Iterable[Story]) -> tuple[Epic, ...]:
    """Each with the requirements of the PRD as it is now, those of its new stories included."""
    known = by_key(each.id for each in prd.requirements)
    ids = epic_ids(prd, backlog, answer) if answer else {}
    fresh = tuple(
        Epic(id=ids[epic.key], title=epic.title, description=epic.description, requirements=epic.requirements)
        for epic in (answer.epics if answer else ())
    )
    served: dict[str, list[str]] = {}
    for story in made:
        served.setdefault(story.epic, []).extend(story.requirements)

    def with_requirements(epic: Epic) -> Epic:
        names = (*(name for name in epic.requirements if key_of(name) in known), *served.get(epic.id, ()))
        return epic.model_copy(update={"requirements": canonical(prd, names)})

    return tuple(with_requirements(epic) for epic in (*backlog.epics, *fresh))


def in_working_order(backlog: Backlog, stories: dict[str, Story]) -> tuple[Story, ...]:
    """What was begun or settled stands first, as it stood; new ones by priority after what they depend on."""
    place = {story.id: n for n, story in enumerate(backlog.stories)}
    rank = {
        name: (0 if story.status not in ("backlog", "sprint") else story.priority, place.get(name, len(place) + n))
        for n, (name, story) in enumerate(stories.items())
    }
    order = working_order({name: story.depends_on for name, story in stories.items()}, rank)
    return tuple(stories[name] for name in order)


# --- what a plan on a branch may be -----------------------------------------------------------------------------------


def wrong_with(prd: Prd, before: Backlog, change: PlanChange, after: Backlog) -> Iterator[str]:
    """Why `after` cannot be what this change made of `before`; nothing where it can."""
    there = {story.id: story for story in after.stories}
    for story in change.kept:
        if there.get(story.id) != story:
            yield f"{story.id} is not as it was, and nothing in the PRD changed it"
    for story in change.unwanted:
        if there.get(story.id) not in (story, story.model_copy(update={"status": "skipped"})):
            yield f"{story.id} is for what is gone from the PRD: it waits for a person or is skipped, unchanged"
    for story in change.open_again:
        if story.id not in there or there[story.id].status not in (story.status, "skipped"):
            yield f"{story.id} is planned anew, and that is all that can become of it"
    yield from wrong_new_ones(prd, before, after)
    yield from wrong_whole(prd, before, change, after)


def wrong_new_ones(prd: Prd, before: Backlog, after: Backlog) -> Iterator[str]:
    old = {story.id for story in before.stories}
    last = last_number(prd.id, old)
    for story in after.stories:
        if story.id not in old and (story.status != "backlog" or last_number(prd.id, [story.id]) <= last):
            yield f"{story.id} is new, and a new story has a new number and begins in the backlog"


def wrong_whole(prd: Prd, before: Backlog, change: PlanChange, after: Backlog) -> Iterator[str]:
    kept = {story.id for story in (*change.kept, *change.unwanted)}
    settled = [story for story in after.stories if story.id not in kept and story.status == "skipped"]
    stories = (*remaining(prd, before, change).stories, *(s for s in after.stories if s.id not in kept))
    whole = after.model_copy(update={"stories": tuple(story for story in stories if story not in settled)})
    names = {story.id for story in settled}
    draft = draft_of(whole.model_copy(update={"stories": tuple(without(story, names) for story in whole.stories)}))
    for problem in check_plan(prd, draft):
        yield f"{problem.code}: {problem.message}"
    missing = set(change.asked) - set(after.questions)
    if missing:
        yield f"the question is missing: {min(missing)}"
    unwanted = {*before.dropping, *(story.id for story in change.unwanted)} - set(change.wanted_again)
    waiting = {s.id for s in after.stories if s.id in unwanted}
    if set(after.dropping) != {s.id for s in after.stories if s.id in waiting and s.status not in SETTLED}:
        yield "what waits to be dropped is not what the PRD no longer asks for"
    stale = [question for question in after.questions if asks_about_gone(question, prd)]
    if stale:
        yield f"the PRD has what is asked about as gone: {min(stale)}"


def without(story: Story, names: set[str]) -> Story:
    return story.model_copy(update={"depends_on": tuple(name for name in story.depends_on if name not in names)})


def status_after(status: Status, backlog: Backlog, *, at: str) -> Status:
    """There may be stories again after a review, or none left. What was approved and ordered is not touched."""
    if any(story.status not in SETTLED for story in backlog.stories):
        return happened(status, "the PRD changed", at=at)
    return settled(status, backlog, at=at)


# --- what people see, and decide --------------------------------------------------------------------------------------


def plan_diff(before: Backlog, after: Backlog, asked: tuple[str, ...] = ()) -> PlanDiff:
    old = {story.id: story for story in before.stories}

    def dropped(story: Story) -> bool:
        skipped_now = story.status == "skipped" and story.id in old and old[story.id].status != "skipped"
        return skipped_now or story.id in after.dropping

    shown = {story.id: planned_story(story) for story in after.stories}
    gone = [story for story in after.stories if dropped(story)]
    there = [story for story in after.stories if story.status != "skipped" and story not in gone]
    return PlanDiff(
        kept=tuple(shown[story.id] for story in there if old.get(story.id) == story),
        new=tuple(shown[story.id] for story in there if story.id not in old),
        changed=tuple(shown[story.id] for story in there if story.id in old and old[story.id] != story),
        dropped=tuple(shown[story.id] for story in gone),
        asked=asked,
    )


def dropped_by_approval(backlog: Backlog, named: tuple[str, ...]) -> Backlog:
    """Approving the whole plan drops what waits for it; a story that is named in an approval is wanted after all."""
    if not backlog.dropping:
        return backlog
    going = () if named else backlog.dropping
    stories = tuple(s.model_copy(update={"status": "skipped"}) if s.id in going else s for s in backlog.stories)
    left = tuple(name for name in backlog.dropping if name not in (*going, *named))
    return backlog.model_copy(update={"stories": stories, "dropping": left})
