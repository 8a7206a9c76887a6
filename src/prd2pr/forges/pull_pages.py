"""The pull request as people read it: the Markdown body for a forge, and one HTML file for a browser.

Both are made from the same picture, by `templates/pr/`.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256

from prd2pr.core.picture_parts import BOARD_PHASES, PullPicture
from prd2pr.core.pr_text import BODY_LIMIT, code, fit, neutral, prose
from prd2pr.core.wording import moment, spans
from prd2pr.templating import environment

# What goes first when a body is too long: what can be read elsewhere goes before what a reviewer must see. After these,
# the board is shortened. The outcome, the next command and commits without proof always stay.
LEAVE_OUT = {
    "commits": "the list of commits",
    "trace": "the trace",
    "built": "what was built",
    "cost": "cost by phase",
    "links": "links to commits",
    "writes": "refused writes",
    "questions": "assumptions and questions",
    "refusals": "refused attempts",
}


def body(picture: PullPicture, *, commit_url: str = "", limit: int = BODY_LIMIT) -> str:
    """Markdown for GitHub. `commit_url` is what stands before a SHA in a link; without it there are no links."""
    filters = {"prose": prose, "neutral": neutral, "code": code, "left_out_name": LEAVE_OUT.__getitem__}
    template = environment(filters).get_template("pr/pr.md.j2")

    def render(left_out: Sequence[str], rows: int) -> str:
        return template.render(pr=picture, left_out=tuple(left_out), rows=rows, commit_url=commit_url)

    return fit(render, tuple(LEAVE_OUT), len(picture.board), limit)


def page(picture: PullPicture) -> str:
    """One self-contained HTML file. Its policy allows exactly one style sheet, by digest, and nothing else."""
    templates = environment({"spans": spans, "moment": moment})
    style = templates.get_template("pr/style.css").render()
    digest = base64.b64encode(sha256(style.encode()).digest()).decode()
    return templates.get_template("pr/pr.html.j2").render(
        pr=picture,
        phases=BOARD_PHASES,
        with_evidence={story.anchor for story in picture.stories},
        style_digest=digest,
    )
