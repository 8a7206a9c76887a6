"""The pull request as people read it: the Markdown body for a forge, and one HTML file for a browser.

Both are made from the same picture, by `templates/pr/`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256

from prd2pr.core.picture_parts import BOARD_PHASES, PullPicture
from prd2pr.core.pr_text import BODY_LIMIT, code, fit, neutral, prose
from prd2pr.core.wording import count, first_capital, moment, spans
from prd2pr.templating import Filters, environment

# What goes first when a body is too long: what can be read elsewhere goes before what a reviewer must see. After these,
# the board is shortened. The outcome, the next command and commits without proof always stay.
LEAVE_OUT = {
    "commits": "the list of commits",
    "trace": "the trace",
    "built": "what was built",
    "cost": "cost by phase",
    "links": "links to commits",
    "docs": "living docs that changed",
    "writes": "refused writes",
    "remarks": "remarks",
    "questions": "assumptions and questions",
    "refusals": "refused attempts",
}


BODY_FILTERS: Filters = {
    "prose": prose,
    "neutral": neutral,
    "code": code,
    "count": count,
    "first_capital": first_capital,
    "left_out_name": LEAVE_OUT.__getitem__,
}
PAGE_FILTERS: Filters = {"spans": spans, "moment": moment, "count": count}


def load_templates() -> None:
    """Compiled now, so that showing takes no time later."""
    environment(BODY_FILTERS).get_template("pr/pr.md.j2")
    for name in ("style.css", "pr.html.j2", "board.html.j2", "evidence.html.j2", "marks.html.j2", "trace.html.j2"):
        environment(PAGE_FILTERS).get_template(f"pr/{name}")


def body(picture: PullPicture, *, commit_url: str = "", closes: int | None = None, limit: int = BODY_LIMIT) -> str:
    """Markdown for GitHub. `commit_url` is what stands before a SHA in a link; without it there are no links.

    `closes`: the issue that asked for it, which is done when this is merged.
    """
    template = environment(BODY_FILTERS).get_template("pr/pr.md.j2")

    def render(left_out: Sequence[str], rows: int) -> str:
        return template.render(pr=picture, left_out=tuple(left_out), rows=rows, commit_url=commit_url, closes=closes)

    return fit(render, tuple(LEAVE_OUT), len(picture.board), limit)


def page(picture: PullPicture) -> str:
    """One self-contained HTML file. Its policy allows exactly one style sheet, by digest, and nothing else."""
    templates = environment(PAGE_FILTERS)
    style = templates.get_template("pr/style.css").render()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    return templates.get_template("pr/pr.html.j2").render(
        pr=picture,
        phases=BOARD_PHASES,
        with_evidence={story.anchor for story in picture.stories},
        style_digest=digest,
    )
