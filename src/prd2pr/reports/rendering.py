"""Render the pull request as a Markdown body for GitHub and as one HTML file for a browser.

The templates in `templates/pr/` render both from the same view model.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256

from prd2pr.domain.wording import capitalize_first, clip, count, format_time, split_code_spans
from prd2pr.templating import Filters, get_environment
from prd2pr.views.models import BOARD_PHASES
from prd2pr.views.pull_request.models import PullRequestView
from prd2pr.views.untrusted_text import (
    BODY_LIMIT,
    escape_line,
    escape_prose,
    fit_to_limit,
    format_code_span,
    format_image,
)

# Sections to leave out if a body is too long, in this order: those that can be read elsewhere come first. After that,
# the board is shortened. The outcome, the next command and commits without proof are never left out.
OPTIONAL_PARTS = {
    "commits": "the list of commits",
    "trace": "the trace",
    "built": "what was built",
    "cost": "cost by phase",
    "links": "links to commits",
    "pages": "screenshots",
    "docs": "living docs that changed",
    "writes": "refused writes",
    "remarks": "remarks",
    "questions": "assumptions and questions",
    "refusals": "refused attempts",
}


BODY_FILTERS: Filters = {
    "prose": escape_prose,
    "neutral": escape_line,
    "code": format_code_span,
    "clip": clip,
    "count": count,
    "image": format_image,
    "first_capital": capitalize_first,
    "left_out_name": OPTIONAL_PARTS.__getitem__,
}
PAGE_FILTERS: Filters = {"spans": split_code_spans, "moment": format_time, "count": count}


def compile_pr_templates() -> None:
    """Compile the templates ahead of time, so that the first rendering is fast."""
    get_environment(BODY_FILTERS).get_template("pr/pr.md.j2")
    for name in ("style.css", "pr.html.j2", "board.html.j2", "evidence.html.j2", "marks.html.j2", "trace.html.j2"):
        get_environment(PAGE_FILTERS).get_template(f"pr/{name}")


def render_body(
    pull_view: PullRequestView,
    *,
    commit_url: str = "",
    closes: int | None = None,
    limit: int = BODY_LIMIT,
    attested: bool = False,
) -> str:
    """Render the Markdown body for GitHub.

    `commit_url` is the URL prefix of a commit; without it, commits are not linked. `closes` is the issue that the pull
    request closes. `attested` links to the repository's attestations.
    """
    attestations = f"{commit_url.removesuffix('commit/')}attestations" if attested and commit_url else ""
    template = get_environment(BODY_FILTERS).get_template("pr/pr.md.j2")

    def render(left_out: Sequence[str], rows: int) -> str:
        return template.render(
            pr=pull_view,
            left_out=tuple(left_out),
            rows=rows,
            commit_url=commit_url,
            closes=closes,
            attestations=attestations,
        )

    return fit_to_limit(render, tuple(OPTIONAL_PARTS), len(pull_view.board), limit)


def render_page(pull_view: PullRequestView) -> str:
    """Render one self-contained HTML file.

    Its content security policy allows only the included style sheet, by digest.
    """
    templates = get_environment(PAGE_FILTERS)
    style = templates.get_template("pr/style.css").render()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    return templates.get_template("pr/pr.html.j2").render(
        pr=pull_view,
        phases=BOARD_PHASES,
        with_evidence={story.anchor for story in pull_view.stories},
        style_digest=digest,
    )
