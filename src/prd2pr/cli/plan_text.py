"""A plan as text, for `plan` and for the question whether to build it."""

from __future__ import annotations

from prd2pr.domain.questions import format_questions
from prd2pr.domain.records import Backlog
from prd2pr.domain.wording import clean_line


def format_backlog_text(backlog: Backlog) -> str:
    lines = []
    for story in backlog.stories:
        after = f"  after {', '.join(story.depends_on)}" if story.depends_on else ""
        kind = f"{story.kind}, verify only" if story.verify_only else story.kind
        lines.append(f"{story.id}  {clean_line(story.title)}  [{kind}, {', '.join(story.requirements)}]{after}")
        lines += [
            f"    {criterion.id.rpartition('.')[2]}  {clean_line(criterion.text)}" for criterion in story.criteria
        ]
    lines += [f"question {clean_line(question)}" for question in format_questions(backlog)]
    lines += [f"assumption: {clean_line(assumption)}" for assumption in backlog.assumptions]
    return "\n".join(lines) + "\n"
