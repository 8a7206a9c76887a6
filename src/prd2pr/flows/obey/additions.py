"""New stories: those that a role makes of an epic or of requested changes, and one that a person words alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from prd2pr.core.backlog_ids import next_number
from prd2pr.core.commit_message import one_line
from prd2pr.core.plan import EpicDraft, PlanDraft, PlanLimits
from prd2pr.core.prd_change import RequirementChange
from prd2pr.core.records import Backlog, Criterion, Epic, Prd, Requirement, Story
from prd2pr.core.replan import PlanChange, check_answer, epics_after, new_stories
from prd2pr.core.wording import clip
from prd2pr.flows.planning import Question, valid_draft
from prd2pr.flows.session import Session

LONGEST_TITLE = PlanLimits().title_length
WISH = "ASKED"  # the id that the planner is given for it


@dataclass(frozen=True)
class Additions:
    """What a wish adds to the backlog."""

    epics: tuple[Epic, ...]
    stories: tuple[Story, ...]
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def planned_epic(session: Session, head: str, backlog: Backlog, text: str) -> Additions:
    """The planner is asked about this text alone, beside the plan that stands: new stories may build on it."""
    prd = session.prd
    wanted = Requirement(id=WISH, text=text)
    asked = prd.model_copy(update={"requirements": (wanted,)})
    change = PlanChange(RequirementChange(added=(wanted,)), kept=backlog.stories, wish=True)
    draft = valid_draft(
        replace(session, prd=asked.model_copy(update={"id": f"{prd.id}-e{next_epic(prd, backlog)}"})),
        Question(head, session.git.code_tree(head), change),
        lambda draft: check_answer(asked, backlog, change, grouped(draft, text)),
    )
    return adopted(asked, backlog, change, grouped(draft, text))


def grouped(draft: PlanDraft, text: str) -> PlanDraft:
    """One epic for all of it where the planner made no finer groups."""
    if draft.epics:
        return draft
    epic = EpicDraft(key="asked", title=clip(one_line(text), LONGEST_TITLE), description=text)
    stories = tuple(story.model_copy(update={"epic": epic.key}) for story in draft.stories)
    return draft.model_copy(update={"epics": (epic,), "stories": stories})


def adopted(asked: Prd, backlog: Backlog, change: PlanChange, draft: PlanDraft) -> Additions:
    """Under the PRD's own numbers. What they fulfil is the wish, which each of them tells, and nothing of the PRD."""
    known = {epic.id for epic in backlog.epics}
    stories = new_stories(asked, backlog, change, draft).values()
    epics = epics_after(asked, backlog, draft, ())
    wish = change.requirements.added[0].text
    return Additions(
        epics=tuple(epic.model_copy(update={"requirements": ()}) for epic in epics if epic.id not in known),
        stories=tuple(
            story.model_copy(update={"requirements": (), "description": with_wish(story, wish)}) for story in stories
        ),
        questions=draft.questions,
        assumptions=draft.assumptions,
    )


def with_wish(story: Story, wish: str) -> str:
    return f"{story.description}\n\nAsked for: {wish}".strip()


def worded_story(prd: Prd, backlog: Backlog, text: str) -> Story:
    """As a person wrote it: the whole text is the criterion, its beginning the title."""
    name = f"{prd.id}-{next_number(prd.id, backlog)}"
    return Story(
        priority=3,
        estimate_minutes=10,
        complexity=3,
        id=name,
        epic=backlog.epics[-1].id if backlog.epics else "",
        title=clip(one_line(text), LONGEST_TITLE),
        description=text,
        criteria=(Criterion(id=f"{name}.c1", text=one_line(text)),),
    )


def next_epic(prd: Prd, backlog: Backlog) -> int:
    pattern = re.compile(rf"{re.escape(prd.id)}-e(\d+)")
    return max((int(found[1]) for epic in backlog.epics if (found := pattern.fullmatch(epic.id))), default=0) + 1
