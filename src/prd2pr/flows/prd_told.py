"""What people are told of a PRD's run: what the branch shows, while it is at work and at its end, and how it ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prd2pr.core.commit_message import read_step
from prd2pr.core.decide import Rest
from prd2pr.core.outcome import Ended, Ending, ended
from prd2pr.core.records import Phase
from prd2pr.core.said.markers import is_proved_in, status_marker, tracking_marker
from prd2pr.core.said.status import Refuted
from prd2pr.errors import Prd2prError, Stopped, TrackerMissing
from prd2pr.flows.base_merges import held_merges
from prd2pr.flows.drive import head_of
from prd2pr.flows.show import Shown, show, show_cancelled, step_summary
from prd2pr.flows.show_proof import LOOK, refuted

if TYPE_CHECKING:
    from prd2pr.flows.prd_run import PrdRun

NOT_THERE = 0


def tell(run: PrdRun, rest: Rest | None, problem: Prd2prError | None = None) -> None:
    """What people see, derived from the branch. Before there is a plan there is nothing to show."""
    host, session = run.host, run.session
    head = host.git.branch_head(session.branch)
    if head is None:
        return
    run.links = show(host.hub, shown(run, rest, problem))
    run.opened = run.opened or (run.pull is None and run.links.pull is not None)
    run.pull = run.links.pull or run.pull
    listen(run)


def tell_cancelled(run: PrdRun, problem: Stopped) -> None:
    """Before anything else: the runner kills within seconds."""
    try:
        if run.host.git.branch_head(run.session.branch) is not None:
            show_cancelled(run.host.hub, shown(run, None, problem), run.links.tracking)
    except Prd2prError as another:
        run.host.progress.say("note", text=f"this could not be told there: {another.what}")


def shown(run: PrdRun, rest: Rest | None, problem: Prd2prError | None = None) -> Shown:
    return Shown(
        run.session,
        rest,
        problem,
        run.host.commit_url,
        run.host.run_url,
        lambda head: proved_again(run, head),
        told=run.told,
        unasked=not (run.asked or run.steps or run.changed),
        held=lambda head: held_now(run, head),
    )


def proved_again(run: PrdRun, head: str) -> Refuted | None:
    """Once for each head in a run: it takes every test of the branch."""
    if head not in run.proofs:
        run.proofs[head] = refuted(run.session, head)
    return run.proofs[head]


def held_now(run: PrdRun, head: str) -> frozenset[str]:
    if head not in run.held:
        run.held[head] = held_merges(run.session, head)
    return run.held[head]


def proved_as_it_is(run: PrdRun) -> bool:
    """Shown by a run that proved all claims of this very head on this very base, and nobody has asked for more since.

    Nothing is claimed anew by it, so nothing has to be proved anew.
    """
    if run.pull is None or run.asked or run.questioned or run.steps or run.changed:
        return False
    found = run.host.hub.comment_marked(run.pull.number, status_marker(run.session.prd.id))
    return found is not None and is_proved_in(found.body, head_of(run.session), run.session.base_commit)


def summarise(run: PrdRun, rest: Rest) -> None:
    if run.host.git.branch_head(run.session.branch) is not None:
        run.host.summarise(step_summary(shown(run, rest), run.links, run.host.hub))


def ending_of(run: PrdRun, rest: Rest) -> Ending:
    session = run.session
    how, reason, ahead = how_it_ended(run, rest)
    head = session.git.branch_head(session.branch)
    step = read_step(session.git.commit_info(head).trailers) if head else None
    if step is not None and (step.phase is Phase.NOTE or not run.steps):
        step = None  # a decision is no phase, and may be about no story; nor is what an earlier run has done
    spend = session.log.spend
    return Ending(
        how,
        reason,
        ahead,
        prd=session.prd.id,
        branch=session.branch,
        pull=run.pull.url if run.pull else "",
        story=step.story if step and step.phase is not Phase.PLAN else "",
        phase=step.phase.value if step else "",
        steps=run.steps,
        usd=spend.usd,
        tokens=spend.tokens,
        wave=run.wave if run.host.hands_on == "to jobs" else None,
        news=run.asked or how != "blocked" or not run.blocked_before,
    )


def how_it_ended(run: PrdRun, rest: Rest) -> tuple[Ended, str, str]:
    """In a word, with the reason and what is next. A run that was asked for something and did nothing of it is not
    called a success."""
    how, refused = ended(rest), run.refused or run.inbox.refused
    head = run.session.git.branch_head(run.session.branch)
    false = run.proofs.get(head) if head else None
    unseen = [note for note in run.links.notes if note.code != TrackerMissing.code]
    if unseen:  # the work is pushed, and people do not see all of it
        note = unseen[0]
        return "error", f"{note.command} could not be shown: {note.what}", note.remedy
    if false is not None:
        return "blocked", false.sentence(), LOOK.command
    if run.failed is not None:
        return "error", run.failed.what, run.failed.remedy
    if refused and not run.steps and not run.changed:
        return "refused", refused, rest.next
    if not run.asked and not run.steps and not run.opened:
        old = how in ("waiting", "done", "budget") or (how == "blocked" and run.blocked_before)
        how = "nothing-to-do" if old else how
    return how, rest.reason, rest.next


def listen(run: PrdRun) -> None:
    """To every place where somebody may command this PRD."""
    if run.tracking is None and run.session.issue is None and run.session.config.tracker.kind != "none":
        run.tracking = NOT_THERE
        with suppress(TrackerMissing):  # told where it was to be shown
            there = run.links.tracking or run.host.hub.issue_marked(tracking_marker(run.session.prd.id))
            run.tracking = there.number if there else NOT_THERE
    elif run.links.tracking is not None:
        run.tracking = run.links.tracking.number
    spoken = run.inbox.spoken
    run.inbox.orders.pull = run.pull.number if run.pull else None
    run.inbox.listen_to(
        run.pull.number if run.pull else None,
        run.session.issue,
        run.tracking or None,
        spoken.number if spoken else None,
    )
