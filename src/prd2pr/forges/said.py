"""What people read on the code host, as Markdown: data of `core/said/`, sentences of `templates/github/`.

Every value goes through `neutral`, `prose`, `code` or `block`: text of others can be read and does nothing. No text is
longer than the host takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from prd2pr.core.picture_parts import PullPicture
from prd2pr.core.pr_text import BODY_LIMIT, block, code, fit, neutral, paragraphs, prose
from prd2pr.core.records import Prd, RunRecord, Story
from prd2pr.core.said.answers import Answer, PlanShown
from prd2pr.core.said.checks import CheckView
from prd2pr.core.said.markers import marked
from prd2pr.core.said.over import HaltedView, OverView
from prd2pr.core.said.plans import budget_text, diff_lines, estimate_text
from prd2pr.core.said.readings import LogLine, VerifyReport
from prd2pr.core.said.status import StatusView
from prd2pr.core.said.tracking import TrackingView
from prd2pr.core.wording import (
    clip,
    count,
    dollars,
    duration,
    first_capital,
    models_text,
    moment,
    named,
    passing,
    plain,
    stopped,
    tokens,
)
from prd2pr.templating import Filters, environment

BLANK_LINES = re.compile(r"\n{3,}")
# Of one value. Where a template asks for less it says so.
LONGEST_CODE, LONGEST_SENTENCE, LONGEST_BLOCK = 300, 1000, 8000
REPORT_LIMIT = 900_000
CUT = "\n\nThe rest is left out for length; the branch holds all of it, under `.orch-state/`.\n"


def log_lines(lines: Sequence[LogLine]) -> str:
    return "\n".join(f"{plain(line.at)}  {clip(plain(line.text), 200)}" for line in lines)


def took(run: RunRecord) -> str:
    try:
        seconds = (datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)).total_seconds()
    except ValueError:
        return ""
    return duration(max(0, seconds))


FILTERS: Filters = {
    "budget_text": budget_text,
    "block": lambda text, language="": block(clip(text, LONGEST_BLOCK), language),
    "clip": clip,
    "code": lambda text: code(clip(text, LONGEST_CODE)),
    "count": count,
    "diff_lines": diff_lines,
    "dollars": dollars,
    "duration": duration,
    "estimate_text": estimate_text,
    "first_capital": first_capital,
    "log_lines": log_lines,
    "models_text": models_text,
    "moment": moment,
    "named": named,
    "neutral": lambda text: neutral(clip(text, LONGEST_SENTENCE)),
    "passing": passing,
    "paragraphs": lambda text: paragraphs(clip(text, LONGEST_BLOCK)),
    "stopped": stopped,
    "prose": lambda text: prose(clip(text, LONGEST_SENTENCE)),
    "tokens": tokens,
    "took": took,
}


def render_answer(answer: Answer, *, marker: str = "", commit_url: str = "") -> str:
    """`marker` stands first, so that the comment is found again; `commit_url` is what stands before a SHA."""
    if isinstance(answer, PlanShown):
        return marked(plan_text(answer, commit_url), marker)
    return marked(within(text_of(answer.template, it=answer, commit_url=commit_url)), marker)


# --- what is shown without being asked for ----------------------------------------------------------------------------


def status_text(view: StatusView, *, marks: Sequence[str]) -> str:
    """`marks`: who it is found by, what it shows, what is checked."""
    return marked(within(text_of("status", it=view)), "\n".join(marks))


def over_text(view: OverView, *, marks: Sequence[str]) -> str:
    return marked(within(text_of("over", it=view)), "\n".join(marks))


def halted_text(view: HaltedView, *, marks: Sequence[str]) -> str:
    return marked(within(text_of("halted", it=view)), "\n".join(marks))


def needed_text(view: StatusView, *, marker: str) -> str:
    """A comment of its own, since an edited one tells nobody: only where a person must act."""
    return marked(within(text_of("needed", it=view)), marker)


def onboarding_text(files: Sequence[str], repository: str) -> str:
    return within(text_of("onboarding", files=files, repository=repository))


def offer_text(files: Sequence[str], repository: str, *, secrets: Sequence[str], app_url: str) -> str:
    """`app_url`: the page of the installation; empty where it is not known."""
    return within(text_of("offer", files=files, repository=repository, secrets=secrets, app_url=app_url))


def check_text(view: CheckView) -> str:
    return within(text_of("check", it=view))


def whole_check_text(picture: PullPicture) -> str:
    return within(text_of("whole_check", it=picture))


def tracking_text(view: TrackingView, *, marker: str) -> str:
    return marked(within(text_of("tracking", it=view)), marker)


def story_issue_text(story: Story, prd: Prd, pull: int | None, *, marker: str) -> str:
    return marked(within(text_of("story_issue", it=story, prd=prd, pull=pull)), marker)


def summary_text(view: StatusView, body: str) -> str:
    """A job's summary: how it ended, then what the pull request says."""
    return f"{text_of('status', it=view)}\n---\n\n{body}"


def report_text(report: VerifyReport, *, commit_url: str = "") -> str:
    """For a file or a job's summary, which take more than a comment does."""
    return within(text_of(report.template, it=report, commit_url=commit_url), REPORT_LIMIT)


# --- making -----------------------------------------------------------------------------------------------------------


def plan_text(shown: PlanShown, commit_url: str) -> str:
    """A long plan loses the criteria first, then the last stories; it says so."""

    def render(left_out: Sequence[str], rows: int) -> str:
        return text_of("plan", it=shown, rows=rows, details="details" not in left_out, commit_url=commit_url)

    return fit(render, ("details",), min(len(shown.plan.stories), 200))


def text_of(template: str, **values: object) -> str:
    made = environment(FILTERS).get_template(f"github/{template}.md.j2").render(values)
    return BLANK_LINES.sub("\n\n", made).strip("\n") + "\n"


def within(text: str, limit: int = BODY_LIMIT) -> str:
    """Cut at a line's end. What was opened before is closed, so that what follows is not swallowed."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(CUT) - 100]
    kept = kept[: max(0, kept.rfind("\n"))]
    closing = "".join(f"\n</{tag}>" for tag in ("pre", "details") if kept.count(f"<{tag}") > kept.count(f"</{tag}>"))
    return f"{kept}{closing}{CUT}"
