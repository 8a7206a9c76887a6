"""Render the data of `github/messages` to Markdown with the templates in `templates/github/`.

Templates pass every value through `neutral`, `prose`, `code` or `block`, so that untrusted text is displayed but has no
effect. No text exceeds GitHub's limit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from prd2pr.domain.records import Prd, RunRecord, Story
from prd2pr.domain.wording import (
    capitalize_first,
    clean_line,
    clip,
    count,
    end_sentence,
    format_dollars,
    format_duration,
    format_models,
    format_pass_count,
    format_state,
    format_time,
    format_tokens,
    inflect_noun,
)
from prd2pr.github.messages.checks import CheckView
from prd2pr.github.messages.closed_pull_text import ClosedView, HaltedView
from prd2pr.github.messages.markers import add_marker
from prd2pr.github.messages.query_replies import LogLine, VerifyReport
from prd2pr.github.messages.replies import CommandReply, PlanReply
from prd2pr.github.messages.status import StatusView
from prd2pr.github.messages.tracking import TrackingView
from prd2pr.templating import Filters, get_environment
from prd2pr.views.models import StoryView
from prd2pr.views.plan import format_budget, format_plan_diff, format_plan_estimate
from prd2pr.views.pull_request.models import PullRequestView
from prd2pr.views.untrusted_text import (
    BODY_LIMIT,
    escape_line,
    escape_paragraphs,
    escape_prose,
    fit_to_limit,
    format_code_block,
    format_code_span,
    format_image,
)

BLANK_LINES = re.compile(r"\n{3,}")
# Maximum lengths of one value. A template may set lower ones.
MAX_CODE_LENGTH, MAX_SENTENCE_LENGTH, MAX_BLOCK_LENGTH = 300, 1000, 8000
REPORT_LIMIT = 900_000
CUT_NOTE = "\n\nThe rest was cut for length; the branch contains all of it under `.orch-state/`.\n"


def format_log_lines(lines: Sequence[LogLine]) -> str:
    return "\n".join(f"{clean_line(line.at)}  {clip(clean_line(line.text), 200)}" for line in lines)


def format_run_time(run: RunRecord) -> str:
    try:
        seconds = (datetime.fromisoformat(run.ended_at) - datetime.fromisoformat(run.started_at)).total_seconds()
    except ValueError:
        return ""
    return format_duration(max(0, seconds))


FILTERS: Filters = {
    "budget_text": format_budget,
    "block": lambda text, language="": format_code_block(clip(text, MAX_BLOCK_LENGTH), language),
    "clip": clip,
    "code": lambda text: format_code_span(clip(text, MAX_CODE_LENGTH)),
    "count": count,
    "diff_lines": format_plan_diff,
    "dollars": format_dollars,
    "duration": format_duration,
    "estimate_text": format_plan_estimate,
    "first_capital": capitalize_first,
    "image": format_image,
    "log_lines": format_log_lines,
    "models_text": format_models,
    "moment": format_time,
    "named": inflect_noun,
    "neutral": lambda text: escape_line(clip(text, MAX_SENTENCE_LENGTH)),
    "passing": format_pass_count,
    "paragraphs": lambda text: escape_paragraphs(clip(text, MAX_BLOCK_LENGTH)),
    "state_text": format_state,
    "stopped": end_sentence,
    "prose": lambda text: escape_prose(clip(text, MAX_SENTENCE_LENGTH)),
    "tokens": format_tokens,
    "zip": lambda names, cells: list(zip(names, cells, strict=True)),
    "took": format_run_time,
}


def render_reply(answer: CommandReply, *, marker: str = "", commit_url: str = "") -> str:
    """Render a reply. Later runs find the comment by `marker`; `commit_url` is the URL prefix of a commit."""
    if isinstance(answer, PlanReply):
        return add_marker(render_plan(answer, commit_url), marker)
    return add_marker(cut_to_limit(render_message(answer.template, it=answer, commit_url=commit_url)), marker)


# --- published texts --------------------------------------------------------------------------------------------------


def render_status_text(view: StatusView, *, marks: Sequence[str]) -> str:
    """Render the status comment. Later runs find it, and read what it shows, by `marks`."""
    return add_marker(cut_to_limit(render_message("status", it=view)), "\n".join(marks))


def render_closed_text(view: ClosedView, *, marks: Sequence[str]) -> str:
    return add_marker(cut_to_limit(render_message("closed", it=view)), "\n".join(marks))


def render_halted_text(view: HaltedView, *, marks: Sequence[str]) -> str:
    return add_marker(cut_to_limit(render_message("halted", it=view)), "\n".join(marks))


def render_action_needed_text(view: StatusView, *, marker: str) -> str:
    """Render the comment that asks a person to act.

    It is a new comment, because nobody is notified when a comment is edited.
    """
    return add_marker(cut_to_limit(render_message("action_needed", it=view)), marker)


def render_onboarding_text(files: Sequence[str], repository: str) -> str:
    return cut_to_limit(render_message("onboarding", files=files, repository=repository))


def render_offer_text(files: Sequence[str], repository: str, *, secrets: Sequence[str], app_url: str) -> str:
    """Render the text of the setup pull request. `app_url` is the page of the installation, or empty if unknown."""
    return cut_to_limit(render_message("offer", files=files, repository=repository, secrets=secrets, app_url=app_url))


def check_text(view: CheckView) -> str:
    return cut_to_limit(render_message("check", it=view))


def render_whole_check_text(pull_view: PullRequestView) -> str:
    return cut_to_limit(render_message("whole_check", it=pull_view))


def render_tracking_text(view: TrackingView, *, marker: str) -> str:
    return add_marker(cut_to_limit(render_message("tracking", it=view)), marker)


def render_story_issue_text(story: Story, prd: Prd, pull: int | None, *, marker: str) -> str:
    return add_marker(cut_to_limit(render_message("story_issue", it=story, prd=prd, pull=pull)), marker)


def render_story_evidence_text(story: StoryView, pull: int, commit_url: str, *, marker: str) -> str:
    text = render_message("story_evidence", it=story, pull=pull, commit_url=commit_url)
    return add_marker(cut_to_limit(text), marker)


def render_summary_text(view: StatusView, body: str) -> str:
    """Render the job summary: the outcome, followed by the text of the pull request."""
    return f"{render_message('status', it=view)}\n---\n\n{body}"


def report_text(report: VerifyReport, *, commit_url: str = "") -> str:
    """Render the report for a file or a job summary, which may be longer than a comment."""
    return cut_to_limit(render_message(report.template, it=report, commit_url=commit_url), REPORT_LIMIT)


# --- rendering --------------------------------------------------------------------------------------------------------


def render_plan(shown: PlanReply, commit_url: str) -> str:
    """Render the plan. If it is too long, the criteria are left out first, then the last stories, with a note."""

    def render(left_out: Sequence[str], rows: int) -> str:
        return render_message("plan", it=shown, rows=rows, details="details" not in left_out, commit_url=commit_url)

    return fit_to_limit(render, ("details",), min(len(shown.plan.stories), 200))


def render_message(template: str, **values: object) -> str:
    made = get_environment(FILTERS).get_template(f"github/{template}.md.j2").render(values)
    return BLANK_LINES.sub("\n\n", made).strip("\n") + "\n"


def cut_to_limit(text: str, limit: int = BODY_LIMIT) -> str:
    """Cut the text at the end of a line and close open tags, so that they do not affect the text after it."""
    if len(text) <= limit:
        return text
    kept = text[: limit - len(CUT_NOTE) - 100]
    kept = kept[: max(0, kept.rfind("\n"))]
    closing = "".join(f"\n</{tag}>" for tag in ("pre", "details") if kept.count(f"<{tag}") > kept.count(f"</{tag}>"))
    return f"{kept}{closing}{CUT_NOTE}"
