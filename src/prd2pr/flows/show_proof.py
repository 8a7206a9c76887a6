"""The whole branch proved again before it is called done: whoever may push could have made its steps elsewhere."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.checked import Checked
from prd2pr.core.picture_parts import CommitRow, Figure, NextStep, PullPicture
from prd2pr.core.said.status import NotProved, Refuted
from prd2pr.core.wording import named
from prd2pr.flows.memory import keeping
from prd2pr.flows.obey.proving import forgetful
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.session import Session
from prd2pr.flows.start import start_of
from prd2pr.flows.verify import Verifier

PUT_BACK = NextStep(
    "Nothing is built on steps that were rewritten. Push the branch as it was before, or take them back; a merge of "
    "the base keeps proofs, a rebase does not. For all that was found, comment",
    "/tdd verify",
)
LOOK = NextStep(
    "Look at the commits that are not proved and take them back. For all that was found, comment", "/tdd verify"
)


def refuted(session: Session, head: str) -> Refuted | None:
    """None: every step is what it claims to be. What this run has made it has also judged, in this very process."""
    base = start_of(session.git, head).commit
    steps = [commit.sha for commit in session.git.log_all(f"{base}..{head}") if step_of(commit) is not None]
    if session.log.made.issuperset(steps):
        return None
    gathering = replace(session.gathering, runner=forgetful(session.runner))
    days = keeping(session.config.retention)
    checked = Verifier(session.git, gathering, session.policy, lambda _: None, keeping=days).verify(base, head)
    # A commit for which nobody claims a proof is told apart, and hides nothing: only a claim can be false.
    if all(each.proved or each.unproven for each in checked):
        return None
    bad = tuple(NotProved(each.commit, each.subject, codes(each)) for each in checked if not each.proved)
    return Refuted(len(checked) - len(bad), len(checked), bad)


def codes(checked: Checked) -> tuple[str, ...]:
    return tuple(sorted({finding.code for finding in checked.findings if finding.severity == "error"}))


def as_refuted(picture: PullPicture, found: Refuted) -> PullPicture:
    """The same picture, which calls nothing proved that is not."""
    wrong = {each.sha: each for each in found.commits}
    rows = tuple(not_proved(row, wrong[row.sha]) if row.sha in wrong else row for row in picture.commits)
    what = f"{named(found.of, 'step')} as proved" if found.by_records else f"{named(found.of, 'commit')} proved"
    figure = Figure(f"{found.proved} of {found.of}", what, strong=True)
    return replace(
        picture,
        state="not proved",
        tone="unproven",
        figures=(figure, *picture.figures[1:]),
        next=PUT_BACK if found.by_records else LOOK,
        commits=rows,
        unproven=tuple(row for row in rows if row.tone == "unproven"),
    )


def not_proved(row: CommitRow, found: NotProved) -> CommitRow:
    return replace(row, proof=f"not proved: {', '.join(found.codes)}", tone="unproven")
