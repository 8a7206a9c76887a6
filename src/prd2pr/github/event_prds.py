"""Find the PRDs to which an event refers, and the current text of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from prd2pr.domain.forge import Actor, Issue, Pull, has_level
from prd2pr.domain.records import Prd
from prd2pr.domain.wording import clean_line, escape_invisible
from prd2pr.errors import InputInvalid, PrdInvalid
from prd2pr.github.branch_writer import sync_branch
from prd2pr.github.context import GitHubContext
from prd2pr.github.events.events import (
    BranchPushed,
    CommentCreated,
    CommentRef,
    Event,
    LabelAdded,
    PullClosed,
    PullReopened,
    ReviewSubmitted,
    ScheduleTriggered,
    ServerDispatched,
    WorkflowDispatched,
    compute_text_digest,
)
from prd2pr.github.messages.markers import STORY_MARK, read_prd_marker
from prd2pr.github.permissions import LABEL_LEVEL
from prd2pr.prd.files import matches_prd_globs
from prd2pr.prd.issue_ids import make_issue_prd_id, make_issue_prd_path, parse_issue_number
from prd2pr.prd.issue_text import build_issue_prd, map_problem_to_issue
from prd2pr.prd.parser import decode_prd, parse_prd
from prd2pr.state.cursors import ProcessedItem
from prd2pr.state.layout import ID, PRDS
from prd2pr.state.store import StateStore
from prd2pr.workflow.duplicate_ids import MAX_FILES_CHECKED
from prd2pr.workflow.prd_files import find_not_prd_reason, list_prd_paths, read_prd_id

NULL_SHA = "0" * 40
WORKFLOWS = ".github/workflows"


@dataclass(frozen=True)
class Subject:
    """A PRD. `prd` is None if only the branch contains its text."""

    id: str
    prd: Prd | None = None
    issue: int | None = None
    can_start: bool = False  # whether the event may start the PRD if it has no branch yet
    started_by: ProcessedItem | None = None  # the comment that starts the PRD; the commit of the plan marks it as done


@dataclass(frozen=True)
class UnreadablePrd:
    """A PRD that cannot be read. It is reported and not processed further."""

    path: str
    problem: InputInvalid
    issue: int | None = None


@dataclass(frozen=True)
class NoPrd:
    """A file in the PRD directories that is not a PRD, or an issue that is no longer wanted."""

    path: str  # for an issue, its number
    reason: str


@dataclass(frozen=True)
class IssueWithoutPrd:
    """An issue without a PRD. Only commands that need no PRD are executed there."""

    number: int
    unchanged_for: frozenset[int] = frozenset()  # comments whose authors saw the current text of the issue


@dataclass(frozen=True)
class StoryIssue:
    """The issue of one story, which shows its progress. Commands there are not executed."""

    number: int
    prd: str


EventSubject = Subject | UnreadablePrd | NoPrd | IssueWithoutPrd | StoryIssue


def find_subjects(context: GitHubContext, event: Event) -> tuple[EventSubject, ...]:
    return tuple(_iter_subjects(context, event))


def _iter_subjects(context: GitHubContext, event: Event) -> Iterator[EventSubject]:
    match event:
        case BranchPushed():
            yield from find_subjects_of_push(context, event)
        case LabelAdded():
            yield from find_subjects_of_label(context, event)
        case CommentCreated():
            yield find_subject_of_comment(context, event.number, on_pull=event.on_pull)
        case WorkflowDispatched():
            wanted = event.inputs.get("prd", "").strip()
            yield from (find_subject_by_name(context, wanted),) if wanted else list_active_subjects(context)
        case ScheduleTriggered():
            yield from list_active_subjects(context)
            yield from find_missed_subjects(context)
        case PullClosed() | PullReopened() | ReviewSubmitted():
            yield from find_subjects_of_branch(context, event.branch)


# --- pushes -----------------------------------------------------------------------------------------------------------


def find_subjects_of_push(context: GitHubContext, event: BranchPushed) -> Iterator[EventSubject]:
    if event.branch != context.base_branch:
        yield from find_subjects_of_branch(context, event.branch)
        return
    seen: dict[str, str] = {}
    touched = find_touched_prds(context, event)
    for path in touched.present:
        subject = read_prd_file(context, path)
        if isinstance(subject, Subject) and subject.id in touched.merged_ids and is_built(context, subject):
            continue  # added by the merge of the PRD's own pull request
        if isinstance(subject, Subject):
            if subject.id in seen:
                yield UnreadablePrd(path, make_duplicate_id_error(subject.id, seen[subject.id], path))
                continue
            seen[subject.id] = path
        yield subject
    for branch in list_active_subjects(context) if touched.deleted else ():
        if branch.id not in seen and find_planned_path(context, branch.id) in touched.deleted:
            seen[branch.id] = ""
            yield branch
    for prd_id in sorted(touched.merged_ids - seen.keys()):
        yield find_active_subject(prd_id)
    for prd_id in touched.dropped_ids - touched.merged_ids - seen.keys():
        yield from find_subjects_of_dropped_id(context, prd_id)
    for path in touched.not_prds:
        yield NoPrd(path, find_not_prd_reason(context.git, context.base_commit, path))


@dataclass(frozen=True)
class TouchedFiles:
    """The PRD files that a push changed."""

    present: tuple[str, ...]
    deleted: frozenset[str] = frozenset()
    not_prds: tuple[str, ...] = ()  # files in the PRD directories that are not PRDs
    dropped_ids: frozenset[str] = frozenset()  # ids that these files had before the push
    merged_ids: frozenset[str] = frozenset()  # ids whose state was also pushed, because their pull request was merged


def find_touched_prds(context: GitHubContext, event: BranchPushed) -> TouchedFiles:
    """Find the PRD files that a push changed. Uses git, because Actions does not list the files."""
    existing = set(list_prd_files(context))
    touched = event.paths
    known = event.before != NULL_SHA and context.git.has_commit(event.before)
    if touched is None and known:
        after = event.after if context.git.has_commit(event.after) else context.base_commit
        touched = tuple(change.path for change in context.git.diff(event.before, after))
    if touched is None:
        return TouchedFiles(tuple(sorted(existing)))
    others = {path for path in touched if matches_prd_globs(context.config.prds, path)} - existing
    deleted = frozenset(path for path in others if context.git.read(context.base_commit, path) is None)
    present = tuple(sorted(existing.intersection(touched)))
    before = {read_prd_id(context.git, event.before, path) for path in (*present, *deleted)} if known else set()
    now = {read_prd_id(context.git, context.base_commit, path) for path in present}
    return TouchedFiles(
        present,
        deleted,
        tuple(sorted(others - deleted)),
        frozenset(before - now - {""}),
        list_prd_ids_with_state(touched),
    )


def list_prd_ids_with_state(paths: tuple[str, ...]) -> frozenset[str]:
    names = (path.removeprefix(f"{PRDS}/").partition("/")[0] for path in paths if path.startswith(f"{PRDS}/"))
    return frozenset(name for name in names if ID.fullmatch(name))


def is_built(context: GitHubContext, subject: Subject) -> bool:
    """Return whether the current text of the PRD is already built and merged into the base branch."""
    merged = StateStore(context.git, subject.id).load(context.base_commit).prd
    return merged is not None and subject.prd is not None and merged.blob == subject.prd.blob


def find_subjects_of_dropped_id(context: GitHubContext, prd_id: str) -> Iterator[Subject]:
    """Yield the file to which an id moved from another file, or the branch whose PRD file no longer exists."""
    branch = context.branch_of(prd_id)
    is_active = context.remote.head(branch) is not None
    other = find_prd_by_id(context, prd_id)
    if other is None and is_active:
        yield find_active_subject(prd_id)
    if other is not None and other.prd is not None and not (is_active and is_planned_as_written(context, other.prd)):
        yield other


def is_planned_as_written(context: GitHubContext, prd: Prd) -> bool:
    planned = load_prd_from_branch(context, prd.id)
    return planned is not None and planned.blob == prd.blob


def list_prd_files(context: GitHubContext) -> list[str]:
    return list_prd_paths(context.git, context.base_commit, context.config.prds)


def find_planned_path(context: GitHubContext, prd_id: str) -> str:
    """Return the path of the file from which the branch on GitHub was planned."""
    prd = load_prd_from_branch(context, prd_id)
    return prd.path if prd else ""


def load_prd_from_branch(context: GitHubContext, prd_id: str) -> Prd | None:
    branch = context.branch_of(prd_id)
    head = sync_branch(context.git, context.remote, branch)
    return StateStore(context.git, prd_id).load(head).prd if head else None


def find_prd_by_id(context: GitHubContext, prd_id: str) -> Subject | None:
    """Return the file with this id on the base branch, even if it was moved."""
    files = (read_prd_file(context, path) for path in list_prd_files(context)[:MAX_FILES_CHECKED])
    return next((each for each in files if isinstance(each, Subject) and each.id == prd_id), None)


def read_prd_file(context: GitHubContext, path: str) -> EventSubject:
    data = context.git.read(context.base_commit, path)
    try:
        prd = parse_prd(decode_prd(data or b"", path), path, blob=context.git.write_blob(data or b""))
    except InputInvalid as problem:
        return UnreadablePrd(escape_invisible(path), problem)
    clash = parse_issue_number(prd.id)
    if clash is not None and path != make_issue_prd_path(clash):
        return UnreadablePrd(path, make_reserved_id_error(prd.id, path))
    return Subject(prd.id, prd, can_start=True)


def make_duplicate_id_error(prd_id: str, first: str, second: str) -> PrdInvalid:
    return PrdInvalid(
        f"{first} and {second} have the same id `{prd_id}`, which names their branch",
        where=second,
        remedy="change the `id:` in the front matter of one of them",
    )


def make_reserved_id_error(prd_id: str, path: str) -> PrdInvalid:
    return PrdInvalid(
        f"the id `{prd_id}` is reserved for the PRD of an issue", where=path, remedy="give the file another `id:`"
    )


# --- issues and comments ----------------------------------------------------------------------------------------------


def find_subjects_of_label(context: GitHubContext, event: LabelAdded) -> Iterator[EventSubject]:
    # GitHub's labels are case-insensitive.
    if event.on_pull or event.label.casefold() != context.config.labels.trigger.casefold():
        return
    issue = context.hub.issue(event.number)
    reason = f"#{event.number} no longer exists" if issue is None else explain_unwanted(context, issue)
    if issue is not None and find_tracked_prd_id(context, issue):
        reason = "prd2pr wrote this issue to show the progress of a PRD"
    if reason or issue is None:
        yield NoPrd(f"#{event.number}", reason)
        return
    yield read_issue_prd(context, replace(issue, title=event.title, body=event.body))


def explain_unwanted(context: GitHubContext, issue: Issue) -> str:
    """Return why the issue is no longer wanted, or an empty string if it is.

    The label may have been removed, or the issue closed, before the run started. Adding the label back requires
    permission.
    """
    if not issue.open:
        return "the issue was closed"
    label = context.config.labels.trigger
    if not has_trigger_label(context, issue):
        return f"the label `{label}` was removed"
    labelling = context.hub.last_labelling(issue.number, label)
    if labelling is None or not labelling.again or can_label(context, labelling.by):
        return ""
    return f"the label `{label}` was removed; {labelling.by.login}, who added it again, is not allowed to start work"


def has_trigger_label(context: GitHubContext, issue: Issue) -> bool:
    return context.config.labels.trigger.casefold() in (name.casefold() for name in issue.labels)


def read_issue_prd(context: GitHubContext, issue: Issue) -> EventSubject:
    """Read the issue as a PRD. After it was planned, the text on the branch is used instead."""
    path = make_issue_prd_path(issue.number)
    data = build_issue_prd(issue.number, issue.title, issue.body).encode()
    try:
        prd = parse_prd(decode_prd(data, path), path, blob=context.git.write_blob(data))
    except InputInvalid as problem:
        return UnreadablePrd(f"#{issue.number}", map_problem_to_issue(problem, issue.number, issue.body), issue.number)
    return Subject(prd.id, prd, issue=issue.number, can_start=True)


def find_subject_of_comment(context: GitHubContext, number: int, *, on_pull: bool) -> EventSubject:
    if on_pull:
        pull = context.hub.pull(number)
        found = list(find_subjects_of_branch(context, pull.head)) if pull is not None and not pull.from_fork else []
        return found[0] if found else IssueWithoutPrd(number)
    issue = context.hub.issue(number)
    tracked = find_tracked_prd_id(context, issue) if issue is not None else ""
    if tracked and issue is not None and STORY_MARK.match(issue.body):
        return StoryIssue(number, tracked)
    prd_id = tracked or make_issue_prd_id(number)
    branch = context.branch_of(prd_id)
    if context.remote.head(branch) is not None or find_pull(context, branch) is not None:
        return find_active_subject(prd_id)  # even if it was merged or closed and its branch was deleted
    if not tracked and issue is not None and not explain_unwanted(context, issue) and is_label_trusted(context, issue):
        return read_issue_prd(context, issue)  # the run that the label started was lost
    return IssueWithoutPrd(number)


def find_tracked_prd_id(context: GitHubContext, issue: Issue) -> str:
    """Return the PRD of one of our tracking or story issues, or an empty string for other issues."""
    return read_prd_marker(issue.body) if issue.author in context.hub.ours() else ""


# --- active and missed PRDs -------------------------------------------------------------------------------------------


def find_subjects_of_branch(context: GitHubContext, branch: str) -> Iterator[Subject]:
    prd_id = branch.removeprefix(context.config.branch_prefix)
    if branch.startswith(context.config.branch_prefix) and ID.fullmatch(prd_id):
        yield find_active_subject(prd_id)


def find_active_subject(prd_id: str) -> Subject:
    return Subject(prd_id, issue=parse_issue_number(prd_id))


def list_active_subjects(context: GitHubContext) -> Iterator[Subject]:
    for branch in sorted(context.remote.branches(context.config.branch_prefix)):
        yield from find_subjects_of_branch(context, branch)


def find_missed_subjects(context: GitHubContext) -> Iterator[EventSubject]:
    """Yield PRDs that were pushed or labeled without a run, or whose run ended without any effect."""
    branches = context.remote.branches(context.config.branch_prefix)
    for subject in map(partial(read_prd_file, context), list_prd_files(context)):
        if not isinstance(subject, Subject) or context.branch_of(subject.id) in branches:
            continue
        if is_missed_prd(context, subject):
            branches[context.branch_of(subject.id)] = ""
            yield subject
    for issue in context.hub.issues_labelled(context.config.labels.trigger):
        branch = context.branch_of(make_issue_prd_id(issue.number))
        wanted = (
            issue.open
            and not issue.is_pull
            and not find_tracked_prd_id(context, issue)
            and is_label_trusted(context, issue)
        )
        # If it was merged or closed and its branch was deleted, only a new label starts it again.
        if wanted and branch not in branches and find_pull(context, branch) is None:
            yield read_issue_prd(context, issue)


def find_pull(context: GitHubContext, branch: str) -> Pull | None:
    return context.hub.pull_for_branch(branch, context.base_branch)


def is_missed_prd(context: GitHubContext, subject: Subject) -> bool:
    """Return whether the PRD is not built although its push should have started a run."""
    assert subject.prd is not None, "the PRD was read from a file"
    if not context.job.workflow or is_built(context, subject):
        return False
    pushed_by = context.git.last_change(context.base_commit, subject.prd.path)
    if was_text_merged(context, subject.id, pushed_by):
        return False  # it was reverted, so it is no longer wanted
    return context.git.read(pushed_by, f"{WORKFLOWS}/{context.job.workflow}") is not None


def was_text_merged(context: GitHubContext, prd_id: str, pushed_by: str) -> bool:
    """Return whether this text was built and merged, even if the merge has been reverted since."""
    pull = find_pull(context, context.branch_of(prd_id))
    if pull is None or not pull.merged or not context.git.has_commit(pull.merge_sha):
        return False
    return context.git.is_ancestor(pushed_by, pull.merge_sha)


def is_label_trusted(context: GitHubContext, issue: Issue) -> bool:
    """Return whether the person who added the label and the author of the issue both have permission.

    The author needs it too, because the text may have been edited after it was labeled.
    """
    labelling = context.hub.last_labelling(issue.number, context.config.labels.trigger)
    return labelling is not None and can_label(context, labelling.by) and can_label(context, issue.author)


def can_label(context: GitHubContext, person: Actor) -> bool:
    return not person.bot and has_level(context.hub.permission(person.login), LABEL_LEVEL)


def find_subject_by_name(context: GitHubContext, wanted: str) -> EventSubject:
    """Find a PRD by its id or path."""
    if ID.fullmatch(wanted) and context.remote.head(context.branch_of(wanted)) is not None:
        return find_active_subject(wanted)
    if wanted in list_prd_files(context):
        return read_prd_file(context, wanted)
    number = parse_issue_number(wanted)
    issue = context.hub.issue(number) if number is not None else None
    if issue is not None and not issue.is_pull:
        return read_issue_prd(context, issue)
    return find_prd_by_id(context, wanted) or UnreadablePrd(clean_line(wanted), make_unknown_prd_error(context))


def make_unknown_prd_error(context: GitHubContext) -> PrdInvalid:
    files = ", ".join(list_prd_files(context)[:3])
    return PrdInvalid(
        f"there is no PRD with this name on {context.base_branch}, and no branch for it",
        remedy=f"name a file or its id: {files}"
        if files
        else f"push one that matches {' or '.join(context.config.prds)}",
    )


def find_subjects_of_server_dispatch(context: GitHubContext, event: ServerDispatched) -> Iterator[EventSubject]:
    """Yield the PRDs of a scheduled run, and those of the comments and labels that the server received.

    Permission is still checked for each comment and label.
    """
    known: set[str] = set()
    for subject in (*list_active_subjects(context), *find_missed_subjects(context)):
        if isinstance(subject, Subject):
            known.add(subject.id)
        yield subject
    for prd in dict.fromkeys(each.prd for each in event.orders if each.prd not in known):
        known.add(prd)
        yield find_active_subject(prd)  # merged or never started, but its command gets a reply
    for number in dict.fromkeys(each.number for each in event.comment_refs):
        found = find_subject_of_reference(
            context, number, [each for each in event.comment_refs if each.number == number]
        )
        if found is not None and not (isinstance(found, Subject) and found.id in known):
            yield found


def find_subject_of_reference(context: GitHubContext, number: int, refs: list[CommentRef]) -> EventSubject | None:
    issue = context.hub.issue(number)
    if issue is None:
        return None
    subject = find_subject_of_comment(context, number, on_pull=issue.is_pull)
    if not isinstance(subject, IssueWithoutPrd):
        return subject
    unchanged = [each for each in refs if each.digest == compute_text_digest(issue.title, issue.body)]
    if unchanged and not issue.is_pull and not explain_unwanted(context, issue) and has_permitted_label(context, issue):
        return read_issue_prd(context, issue)
    return IssueWithoutPrd(number, frozenset(each.comment for each in unchanged))


def has_permitted_label(context: GitHubContext, issue: Issue) -> bool:
    labelling = context.hub.last_labelling(issue.number, context.config.labels.trigger)
    return labelling is not None and can_label(context, labelling.by)
