"""New stories: planned by a role from an epic or requested changes, or taken from a person's text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from prd2pr.domain.backlog_ids import find_next_number
from prd2pr.domain.records import Backlog, Criterion, Epic, Prd, Requirement, Story
from prd2pr.domain.wording import clip
from prd2pr.planning.plan import EpicDraft, PlanDraft, PlanLimits
from prd2pr.planning.plan_diff import PlanChange, build_epics_after_replan, build_new_stories
from prd2pr.prd.diff import RequirementChange
from prd2pr.state.commit_message import to_one_line
from prd2pr.workflow.planning.planner import PlannerQuestion, make_valid_draft
from prd2pr.workflow.session import Session

MAX_TITLE = PlanLimits().title_length
WISH_ID = "ASKED"  # id of the request, given to the planner as a requirement


@dataclass(frozen=True)
class Additions:
    """The epics and stories that a request adds to the backlog."""

    epics: tuple[Epic, ...]
    stories: tuple[Story, ...]
    questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


def plan_epic(session: Session, head: str, backlog: Backlog, text: str) -> Additions:
    """Plan only this text, as an addition to the existing plan. New stories may depend on existing ones."""
    prd = session.prd
    wanted = Requirement(id=WISH_ID, text=text)
    asked = prd.model_copy(update={"requirements": (wanted,)})
    change = PlanChange(RequirementChange(added=(wanted,)), kept=backlog.stories, wish=True)
    draft = make_valid_draft(
        replace(session, prd=asked.model_copy(update={"id": f"{prd.id}-e{find_next_epic_number(prd, backlog)}"})),
        PlannerQuestion(head, session.git.code_tree(head), asked, backlog, change),
    )
    return adopt_draft(asked, backlog, change, group_in_epic(draft, text))


def group_in_epic(draft: PlanDraft, text: str) -> PlanDraft:
    """Put all stories into one epic, unless the planner grouped them itself."""
    if draft.epics:
        return draft
    epic = EpicDraft(key="asked", title=clip(to_one_line(text), MAX_TITLE), description=text)
    stories = tuple(story.model_copy(update={"epic": epic.key}) for story in draft.stories)
    return draft.model_copy(update={"epics": (epic,), "stories": stories})


def adopt_draft(asked: Prd, backlog: Backlog, change: PlanChange, draft: PlanDraft) -> Additions:
    """Assign ids to the new stories, in the sequence of the PRD's stories.

    The stories belong to the request, not to a requirement of the PRD.
    """
    known = {epic.id for epic in backlog.epics}
    stories = build_new_stories(asked, backlog, change, draft).values()
    epics = build_epics_after_replan(asked, backlog, draft, ())
    wish = change.requirements.added[0].text
    return Additions(
        epics=tuple(epic.model_copy(update={"requirements": ()}) for epic in epics if epic.id not in known),
        stories=tuple(
            story.model_copy(update={"requirements": (), "description": append_wish(story, wish)}) for story in stories
        ),
        questions=draft.questions,
        assumptions=draft.assumptions,
    )


def append_wish(story: Story, wish: str) -> str:
    return f"{story.description}\n\nAsked for: {wish}".strip()


def parse_story_text(prd: Prd, backlog: Backlog, text: str) -> Story:
    """Build a story from a person's text: the text is the criterion, and its beginning the title."""
    name = f"{prd.id}-{find_next_number(prd.id, backlog)}"
    return Story(
        priority=3,
        estimate_minutes=10,
        complexity=3,
        id=name,
        epic=backlog.epics[-1].id if backlog.epics else "",
        title=clip(to_one_line(text), MAX_TITLE),
        description=text,
        criteria=(Criterion(id=f"{name}.c1", text=to_one_line(text)),),
    )


def find_next_epic_number(prd: Prd, backlog: Backlog) -> int:
    pattern = re.compile(rf"{re.escape(prd.id)}-e(\d+)")
    return max((int(found[1]) for epic in backlog.epics if (found := pattern.fullmatch(epic.id))), default=0) + 1
