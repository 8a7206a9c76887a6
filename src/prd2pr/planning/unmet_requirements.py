"""Build a separate story for requirements that the plan classified as met but whose tests fail."""

from __future__ import annotations

from collections.abc import Iterable

from prd2pr.domain.evidence import Evidence
from prd2pr.domain.records import Backlog, Criterion, Prd, Story
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.wording import clip
from prd2pr.planning.plan_diff import verifies_existing_code
from prd2pr.prd.requirement_ids import get_requirement_key

NOT_PASSED = ("failed", "error")
TITLE = "Build what was taken for implemented: "


def find_unmet_criteria(story: Story, evidence: Evidence) -> tuple[str, ...]:
    """Return the criteria whose tests do not pass, for a story that verifies existing code."""
    run = evidence.head_run
    if not verifies_existing_code(story) or run is None or not run.honest:
        return ()
    failing = {strip_test_parameters(result.id) for result in run.story if result.outcome in NOT_PASSED}
    by_criterion = {each.criterion: [*map(strip_test_parameters, each.tests)] for each in evidence.coverage or ()}
    return tuple(each.id for each in story.criteria if failing.intersection(by_criterion.get(each.id, ())))


def build_unmet_story(verified: Story, name: str, unmet: Iterable[str]) -> Story:
    """Build a story for the criteria that a verify-only story found to be unmet."""
    wanted = frozenset(unmet)
    moved = [each for each in verified.criteria if each.id in wanted]
    served = tuple(dict.fromkeys(each for criterion in moved for each in criterion.requirements))
    return Story(
        id=name,
        epic=verified.epic,
        title=clip(f"{TITLE}{', '.join(served) or moved[0].text}", 100),
        description=f"Tests of {verified.id} showed that the existing code does not do this.",
        criteria=tuple(each.model_copy(update={"id": f"{name}.c{n}"}) for n, each in enumerate(moved, start=1)),
        priority=1,
        requirements=served,
        complexity=verified.complexity,
        estimate_minutes=2 * len(moved),
    )


def move_unmet_criteria(prd: Prd, backlog: Backlog, verified: Story, added: Story) -> Backlog | None:
    """Return the backlog with criteria moved from the verifying story to the added one, or None if they differ."""
    wanted = [_criterion_key(each) for each in added.criteria]
    moved = tuple(each.id for each in verified.criteria if _criterion_key(each) in wanted)
    if not moved or len(moved) != len(wanted) or build_unmet_story(verified, added.id, moved) != added:
        return None
    criteria = tuple(each for each in verified.criteria if each.id not in moved)
    gone = {get_requirement_key(name) for name in added.requirements}
    gone |= {get_requirement_key(each.parent) for each in prd.requirements if get_requirement_key(each.id) in gone}
    left = verified.model_copy(
        update={
            "criteria": criteria,
            "requirements": tuple(name for name in verified.requirements if get_requirement_key(name) not in gone),
            "status": verified.status if criteria else "skipped",
        }
    )
    return backlog.model_copy(
        update={
            "stories": tuple(left if story.id == left.id else story for story in backlog.stories),
            "classified": tuple(each for each in backlog.classified if get_requirement_key(each.id) not in gone),
        }
    )


def move_after(backlog: Backlog, name: str, other: str) -> Backlog:
    """Move a story directly behind another one."""
    mine = next(story for story in backlog.stories if story.id == name)
    others = [story for story in backlog.stories if story.id != name]
    place = next(n for n, story in enumerate(others, start=1) if story.id == other)
    return backlog.model_copy(update={"stories": (*others[:place], mine, *others[place:])})


def _criterion_key(criterion: Criterion) -> tuple[str, str, tuple[str, ...]]:
    return criterion.text, criterion.example, criterion.requirements
