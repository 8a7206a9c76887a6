"""Checks before any work: was the pull request closed or merged, or the branch deleted, force-pushed or edited?

The result of a failed check is reported once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from prd2pr.domain.forge import Issue, Pull
from prd2pr.domain.records import Status
from prd2pr.github.branch_writer import SyncedBranch, sync_branch, sync_prd_branch
from prd2pr.github.commands.request import CommandRequest
from prd2pr.github.comment_once import post_once
from prd2pr.github.context import GitHubContext
from prd2pr.github.event_prds import Subject, explain_unwanted, has_trigger_label
from prd2pr.github.messages.closed_pull_text import limit_to_queries
from prd2pr.github.messages.markers import make_marker, read_sha_marker
from prd2pr.github.messages.replies import CommandReply, NotNow, ProblemReply
from prd2pr.github.orders import Trigger
from prd2pr.github.outcome import PrdOutcome
from prd2pr.github.publish.closed_pull import publish_closed, publish_halted, suggest_step_after_close
from prd2pr.github.unhandled_commands import answer_query, find_last_refusal_reason, reply_to_trigger
from prd2pr.proof.rewritten_steps import find_rewritten_steps
from prd2pr.state.branch_base import is_started_after_merge
from prd2pr.state.store import BranchState, StateStore
from prd2pr.views.models import NextStep
from prd2pr.workflow.commits import hand_edits
from prd2pr.workflow.session import Session


@dataclass(frozen=True)
class RemotePrd:
    """The state of a PRD on GitHub. The local branch is at the same commit."""

    context: GitHubContext
    subject: Subject
    head: str | None  # with the commits that are held back
    pull: Pull | None
    published: str | None = None  # the head of the branch on GitHub

    @property
    def branch(self) -> str:
        return self.context.branch_of(self.subject.id)

    @property
    def open_pull(self) -> Pull | None:
        return self.pull if self.pull and self.pull.open else None

    def state_at(self, at: str) -> BranchState:
        return StateStore(self.context.git, self.subject.id).load(at)

    @cached_property
    def last_shown_head(self) -> str:
        """The head that was last published."""
        pull = self.open_pull
        status = self.context.hub.find_comment(pull.number, make_marker("status", self.subject.id)) if pull else None
        return read_sha_marker("head", status.body) if status else ""

    @cached_property
    def issue(self) -> Issue | None:
        """The issue that the PRD came from."""
        return self.context.hub.issue(self.subject.issue) if self.subject.issue is not None else None


def load_remote_prd(context: GitHubContext, subject: Subject) -> RemotePrd:
    branch = context.branch_of(subject.id)
    synced = sync_prd_branch(context.git, context.remote, branch, subject.id)
    pull = context.hub.pull_for_branch(branch, context.base_branch)
    if pull is not None and not pull.open:
        synced = SyncedBranch(sync_branch(context.git, context.remote, branch), synced.published)
    return RemotePrd(context, subject, synced.head, pull, synced.published)


# --- checks -----------------------------------------------------------------------------------------------------------


def check_preconditions(found: RemotePrd) -> PrdOutcome | None:
    """Return why no work may start, or None. Closed pull requests and deleted branches are not changed."""
    context, subject, head, pull = found.context, found.subject, found.head, found.pull
    if pull is None and head is None:
        return None if subject.can_start else PrdOutcome("nothing-to-do", f"{subject.id} has no branch here")
    if pull is not None and not pull.merged and not pull.open:
        reason = f"#{pull.number} was closed; nothing is done until it is reopened"
        return PrdOutcome("waiting", reason, suggest_step_after_close(context, subject, pull, head))
    if pull is not None and pull.merged:
        stop = check_merged(found, pull)
        if stop is not None or head is None:
            return stop
    if head is None:
        assert pull is not None, "without a branch and a pull request, work starts"
        reason = f"{found.branch} was deleted and is not created again"
        return PrdOutcome("waiting", reason, f"restore the branch of #{pull.number}, or close it")
    opened = found.open_pull
    published = found.published or head
    moved = opened and (check_changed_base(found, head, opened) or check_forced_back(found, published, opened))
    return moved or check_edited_state(found, head) or check_missing_plan(found, head)


def check_merged(found: RemotePrd, pull: Pull) -> PrdOutcome | None:
    """Return the outcome for a merged pull request, or None if the PRD has changed and may start again.

    The old branch must be gone first. Only a person may delete it.
    """
    context, subject, head = found.context, found.subject, found.head
    if head is not None and is_started_after_merge(context.git, head, context.base_commit, pull):
        return None
    if not subject.can_start or subject.prd is None:
        return PrdOutcome("done", f"#{pull.number} is merged", suggest_step_after_close(context, subject, pull, head))
    if head is None:
        return None
    planned = found.state_at(head).prd
    if planned is not None and planned.blob == subject.prd.blob:
        return PrdOutcome("done", f"#{pull.number} is merged", suggest_step_after_close(context, subject, pull, head))
    reason = f"{subject.prd.path} has changed since #{pull.number} was merged, but its branch still exists"
    return PrdOutcome(
        "refused", reason, f"delete the branch {found.branch}, then start the workflow again for {subject.id}"
    )


def check_changed_base(found: RemotePrd, head: str, pull: Pull) -> PrdOutcome | None:
    """Refuse to work on a pull request whose base was changed, because nothing was planned or proved for that base."""
    if pull.base == found.context.base_branch:
        return None
    original_base = found.state_at(head).project.base_branch
    if pull.base == original_base:
        return None
    reason = f"the base of #{pull.number} was changed from {original_base} to {pull.base}"
    return PrdOutcome("waiting", reason, f"change the base of #{pull.number} back to {original_base}, or close it")


def check_forced_back(found: RemotePrd, head: str, pull: Pull) -> PrdOutcome | None:
    """Refuse a branch that no longer contains the last published step, because it was force-pushed."""
    git, last = found.context.git, found.last_shown_head
    if not last or last == head or (git.has_commit(last) and git.is_ancestor(last, head)):
        return None
    reason = f"{found.branch} was force-pushed: it no longer contains {last[:10]}, the last step"
    remedy = f"Push {last[:10]} again to continue from there"
    if find_rewritten_steps(git, head) is None:  # otherwise its steps differ from the proved ones
        remedy += f"; or delete prd2pr's status comment to continue from {head[:10]}"
    remedy += "."
    reply = ProblemReply("this run", reason, found.branch, remedy)
    post_once(found.context.hub, pull.number, reply, make_marker("waiting", found.subject.id, f"forced/{head}"))
    return PrdOutcome("waiting", reason, remedy)


def check_edited_state(found: RemotePrd, head: str) -> PrdOutcome | None:
    """Refuse state that was edited by hand: its commands, cursors and verdicts cannot be trusted."""
    commit = hand_edits.find_hand_edit(found.context.git, found.context.base_commit, head)
    if commit is None:
        return None
    problem = hand_edits.make_hand_edit_error(commit, found.branch)
    if found.open_pull is not None:
        marker = make_marker("waiting", found.subject.id, f"by-hand/{commit.sha}")
        post_once(found.context.hub, found.open_pull.number, ProblemReply.of("this run", problem), marker)
    return PrdOutcome("waiting", problem.what, problem.remedy)


def check_missing_plan(found: RemotePrd, head: str) -> PrdOutcome | None:
    """Ignore a branch without a plan, which only shares our prefix."""
    if found.subject.prd is not None or found.state_at(head).planned:
        return None
    return PrdOutcome("nothing-to-do", f"{found.branch} contains no plan and is not changed", "delete or rename it")


def check_still_wanted(found: RemotePrd) -> PrdOutcome | None:
    """Return the outcome if an issue is no longer wanted because its label was removed or it was closed.

    An issue that was started with `/epic` never had the label.
    """
    context, issue = found.context, found.issue
    reason = explain_unwanted(context, issue) if issue is not None else ""
    label = context.config.labels.trigger
    if issue is None or not reason or (issue.open and context.hub.last_labelling(issue.number, label) is None):
        return None
    relabel = f"add the label `{label}` to #{issue.number}"
    if has_trigger_label(context, issue):
        relabel = f"remove the label `{label}` from #{issue.number} and add it again"
    remedy = relabel if issue.open else f"reopen #{issue.number}"
    return PrdOutcome("waiting", f"{reason} (#{issue.number})", f"To continue, {remedy}; or close the pull request.")


# --- reporting --------------------------------------------------------------------------------------------------------


def stop_without_work(found: RemotePrd, stop: PrdOutcome, trigger: Trigger, *, requested: bool) -> PrdOutcome:
    """Report once why no work is done. If this was reported before, the job does nothing and does not fail."""
    context, subject, pull = found.context, found.subject, found.pull
    closed = pull is not None and not pull.open
    if trigger:
        reply = reply_stopped(found, trigger, stop)
        stop = reply if closed else stop  # otherwise the outcome waits for a person to fix the problem
    is_news = False
    if pull is not None and closed:
        is_news = publish_closed(context, subject, pull, found.head)
    elif pull is not None and stop.status == "waiting":
        is_news = publish_halted(context, subject, pull, stop)
    if not (is_news or requested or trigger) and stop.status in ("waiting", "done"):
        stop = replace(stop, status="nothing-to-do")
    return replace(stop, prd=subject.id, branch=found.branch, pull=pull.url if pull else "", is_news=is_news)


def reply_stopped(found: RemotePrd, trigger: Trigger, stop: PrdOutcome) -> PrdOutcome:
    """Answer queries, and reply to all other commands with the reason and the remedy."""
    status = found.state_at(found.head).status if found.head else Status()
    reader = open_read_session(found)

    def build_reply(request: CommandRequest) -> CommandReply:
        if found.head is None and request.command.name == "tdd verify":
            return NotNow(request.command.shown, f"{stop.reason}, and its steps were deleted with the branch")
        if reader is not None and request.command.reads:
            return limit_to_queries(answer_query(found.context, reader, request), stop.next)
        return NotNow(request.command.shown, stop.reason, NextStep(stop.next))

    refused = find_last_refusal_reason(reply_to_trigger(found.context, trigger, status, build_reply, pull=found.pull))
    return replace(stop, status="refused", reason=refused, replied=True) if refused else stop


def open_read_session(found: RemotePrd) -> Session | None:
    """Open the branch, or the merged state if the branch was deleted. State that was edited by hand is not read."""
    context, at = found.context, found.head or found.context.base_commit
    prd = found.state_at(at).prd
    if prd is None or hand_edits.find_hand_edit(context.git, context.base_commit, at) is not None:
        return None
    return context.open_session(prd, found.subject.issue)
