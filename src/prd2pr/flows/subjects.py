"""Which PRDs an event is about, and what text each of them has now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from prd2pr.core.cursors import Settled
from prd2pr.core.events import Commented, Dispatched, Event, Labelled, PullClosed, PullReopened, Pushed, Scheduled
from prd2pr.core.hub import Actor, Issue
from prd2pr.core.issue_ids import issue_number, issue_prd_id, issue_prd_path
from prd2pr.core.issue_prd import issue_prd_text, told_of_issue
from prd2pr.core.layout import ID, PRDS
from prd2pr.core.permission import LABEL_NEEDS, reaches
from prd2pr.core.prd import decode_prd, parse_prd
from prd2pr.core.prd_files import fits
from prd2pr.core.records import Prd
from prd2pr.core.said.markers import STORY_MARK, prd_of_marker
from prd2pr.core.wording import plain, visible
from prd2pr.errors import InputInvalid, PrdInvalid
from prd2pr.flows.host import Host
from prd2pr.flows.prd_files import id_at, prd_paths, why_none_at
from prd2pr.flows.remote_writers import follow
from prd2pr.flows.twins import MOST_LOOKED_AT
from prd2pr.repo.store import StateStore

NULL = "0" * 40
WORKFLOWS = ".github/workflows"


@dataclass(frozen=True)
class Subject:
    """A PRD that something happened to. `prd` is None where its branch alone says what it is."""

    id: str
    prd: Prd | None = None
    issue: int | None = None
    starts: bool = False  # the event may begin it, where it has no branch yet
    asked_by: Settled | None = None  # the comment that began it: its plan carries it out


@dataclass(frozen=True)
class Unreadable:
    """A PRD file that cannot be used: said, and nothing else is touched."""

    path: str
    problem: InputInvalid
    issue: int | None = None


@dataclass(frozen=True)
class NoPrd:
    """A file that lies among the PRDs and is none; an issue that nobody wants to be one any more."""

    path: str  # of an issue, its number
    reason: str


@dataclass(frozen=True)
class Nobodys:
    """An issue without a PRD: only what needs none can be answered there."""

    number: int
    meant: frozenset[int] = frozenset()  # comments whose authors saw the issue as it is now


@dataclass(frozen=True)
class StoryIssue:
    """The issue of one story: it tells, and takes no commands, which would be lost there with their event."""

    number: int
    prd: str


About = Subject | Unreadable | NoPrd | Nobodys | StoryIssue


def subjects_of(host: Host, event: Event) -> tuple[About, ...]:
    return tuple(_subjects(host, event))


def _subjects(host: Host, event: Event) -> Iterator[About]:
    match event:
        case Pushed():
            yield from pushed(host, event)
        case Labelled():
            yield from labelled(host, event)
        case Commented():
            yield said_under(host, event.number, on_pull=event.on_pull)
        case Dispatched():
            wanted = event.inputs.get("prd", "").strip()
            yield from (named(host, wanted),) if wanted else under_way(host)
        case Scheduled():
            yield from under_way(host)
            yield from forgotten(host)
        case PullClosed() | PullReopened():
            yield from on_branch(host, event.branch)


# --- pushes -----------------------------------------------------------------------------------------------------------


def pushed(host: Host, event: Pushed) -> Iterator[About]:
    if event.branch != host.base_branch:
        yield from on_branch(host, event.branch)
        return
    seen: dict[str, str] = {}
    touched = touched_prds(host, event)
    for path in touched.there:
        about = file_subject(host, path)
        if isinstance(about, Subject) and about.id in touched.states and is_built(host, about):
            continue  # its own merge brought it
        if isinstance(about, Subject):
            if about.id in seen:
                yield Unreadable(path, same_id(about.id, seen[about.id], path))
                continue
            seen[about.id] = path
        yield about
    for branch in under_way(host) if touched.gone else ():
        if branch.id not in seen and planned_from(host, branch.id) in touched.gone:
            seen[branch.id] = ""
            yield branch
    for prd_id in sorted(touched.states - seen.keys()):
        yield subject_under_way(prd_id)
    for prd_id in touched.given_up - touched.states - seen.keys():
        yield from without_its_file(host, prd_id)
    for path in touched.none:
        yield NoPrd(path, why_none_at(host.git, host.base_commit, path))


@dataclass(frozen=True)
class Touched:
    """PRD files by a push: those that are there now, those that are not any more, and files that are no PRDs."""

    there: tuple[str, ...]
    gone: frozenset[str] = frozenset()
    none: tuple[str, ...] = ()
    given_up: frozenset[str] = frozenset()  # ids that these files had before
    states: frozenset[str] = frozenset()  # ids whose state came along: a pull request was merged


def touched_prds(host: Host, event: Pushed) -> Touched:
    """Actions does not tell which files a push touched, so git is asked."""
    there = set(prds_of(host))
    touched = event.paths
    known = event.before != NULL and host.git.has_commit(event.before)
    if touched is None and known:
        after = event.after if host.git.has_commit(event.after) else host.base_commit
        touched = tuple(change.path for change in host.git.diff(event.before, after))
    if touched is None:
        return Touched(tuple(sorted(there)))
    others = {path for path in touched if fits(host.config.prds, path)} - there
    gone = frozenset(path for path in others if host.git.read(host.base_commit, path) is None)
    here = tuple(sorted(there.intersection(touched)))
    before = {id_at(host.git, event.before, path) for path in (*here, *gone)} if known else set()
    now = {id_at(host.git, host.base_commit, path) for path in here}
    return Touched(here, gone, tuple(sorted(others - gone)), frozenset(before - now - {""}), states_in(touched))


def states_in(paths: tuple[str, ...]) -> frozenset[str]:
    names = (path.removeprefix(f"{PRDS}/").partition("/")[0] for path in paths if path.startswith(f"{PRDS}/"))
    return frozenset(name for name in names if ID.fullmatch(name))


def is_built(host: Host, about: Subject) -> bool:
    """What it says is in the base already."""
    merged = StateStore(host.git, about.id, host.branch_of(about.id)).load(host.base_commit).prd
    return merged is not None and about.prd is not None and merged.blob == about.prd.blob


def without_its_file(host: Host, prd_id: str) -> Iterator[Subject]:
    """An id that a file has given up. Another one may have been refused for it; else its branch has lost its PRD."""
    branch = host.branch_of(prd_id)
    under_way = host.remote.head(branch) is not None
    other = with_id(host, prd_id)
    if other is None and under_way:
        yield subject_under_way(prd_id)
    if other is not None and other.prd is not None and not (under_way and is_planned(host, other.prd)):
        yield other


def is_planned(host: Host, prd: Prd) -> bool:
    """As it is now."""
    planned = planned_prd(host, prd.id)
    return planned is not None and planned.blob == prd.blob


def prds_of(host: Host) -> list[str]:
    return prd_paths(host.git, host.base_commit, host.config.prds)


def planned_from(host: Host, prd_id: str) -> str:
    """The file that a branch on the code host was planned from."""
    prd = planned_prd(host, prd_id)
    return prd.path if prd else ""


def planned_prd(host: Host, prd_id: str) -> Prd | None:
    branch = host.branch_of(prd_id)
    head = follow(host.git, host.remote, branch)
    return StateStore(host.git, prd_id, branch).load(head).prd if head else None


def with_id(host: Host, prd_id: str) -> Subject | None:
    """The file of the base branch that has this id, wherever it was moved to."""
    files = (file_subject(host, path) for path in prds_of(host)[:MOST_LOOKED_AT])
    return next((each for each in files if isinstance(each, Subject) and each.id == prd_id), None)


def file_subject(host: Host, path: str) -> About:
    data = host.git.read(host.base_commit, path)
    try:
        prd = parse_prd(decode_prd(data or b"", path), path, blob=host.git.write_blob(data or b""))
    except InputInvalid as problem:
        return Unreadable(visible(path), problem)
    clash = issue_number(prd.id)
    if clash is not None and path != issue_prd_path(clash):
        return Unreadable(path, reserved(prd.id, path))
    return Subject(prd.id, prd, starts=True)


def same_id(prd_id: str, first: str, second: str) -> PrdInvalid:
    return PrdInvalid(
        f"{first} and {second} both call themselves `{prd_id}`, and a PRD's id names its branch",
        where=second,
        remedy="give one of them another `id:` in its front matter",
    )


def reserved(prd_id: str, path: str) -> PrdInvalid:
    return PrdInvalid(
        f"`{prd_id}` is how the PRD of an issue is called", where=path, remedy="give the file another `id:`"
    )


# --- issues and comments ----------------------------------------------------------------------------------------------


def labelled(host: Host, event: Labelled) -> Iterator[About]:
    # GitHub tells labels apart without regard to case.
    if event.on_pull or event.label.casefold() != host.config.labels.trigger.casefold():
        return
    issue = host.hub.issue(event.number)
    reason = f"#{event.number} is not there any more" if issue is None else why_not_wanted(host, issue)
    if issue is not None and prd_told_by(host, issue):
        reason = "prd2pr wrote this issue itself, to show how far a PRD is"
    if reason or issue is None:
        yield NoPrd(f"#{event.number}", reason)
        return
    yield issue_subject(host, replace(issue, title=event.title, body=event.body))


def why_not_wanted(host: Host, issue: Issue) -> str:
    """The label may be taken away, and the issue closed, before the run that the label started; empty: it is wanted.

    What one person took away is not given back by somebody who could not have given it.
    """
    if not issue.open:
        return "the issue was closed meanwhile"
    label = host.config.labels.trigger
    if not has_label(host, issue):
        return f"the label `{label}` was taken away meanwhile"
    given = host.hub.label_given(issue.number, label)
    if given is None or not given.again or may_label(host, given.by):
        return ""
    return f"the label `{label}` was taken away, and {given.by.login}, who gave it again, may not order work by it"


def has_label(host: Host, issue: Issue) -> bool:
    return host.config.labels.trigger.casefold() in (name.casefold() for name in issue.labels)


def issue_subject(host: Host, issue: Issue) -> About:
    """Once it is planned, the branch holds what counts."""
    path = issue_prd_path(issue.number)
    data = issue_prd_text(issue.number, issue.title, issue.body).encode()
    try:
        prd = parse_prd(decode_prd(data, path), path, blob=host.git.write_blob(data))
    except InputInvalid as problem:
        return Unreadable(f"#{issue.number}", told_of_issue(problem, issue.number, issue.body), issue.number)
    return Subject(prd.id, prd, issue=issue.number, starts=True)


def said_under(host: Host, number: int, *, on_pull: bool) -> About:
    if on_pull:
        pull = host.hub.pull(number)
        found = list(on_branch(host, pull.head)) if pull is not None and not pull.from_fork else []
        return found[0] if found else Nobodys(number)
    issue = host.hub.issue(number)
    told = prd_told_by(host, issue) if issue is not None else ""
    if told and issue is not None and STORY_MARK.match(issue.body):
        return StoryIssue(number, told)
    prd_id = told or issue_prd_id(number)
    branch = host.branch_of(prd_id)
    if host.remote.head(branch) is not None or host.hub.pull_of(branch) is not None:
        return subject_under_way(prd_id)  # also where it was merged or closed, and the branch deleted since
    if not told and issue is not None and not why_not_wanted(host, issue) and is_trusted(host, issue):
        return issue_subject(host, issue)  # the run that the label started was lost
    return Nobodys(number)


def prd_told_by(host: Host, issue: Issue) -> str:
    """The PRD whose tracking issue, or story's issue, this is; empty: we did not write it."""
    return prd_of_marker(issue.body) if issue.author in host.hub.ours() else ""


# --- what is under way ------------------------------------------------------------------------------------------------


def on_branch(host: Host, branch: str) -> Iterator[Subject]:
    prd_id = branch.removeprefix(host.config.branch_prefix)
    if branch.startswith(host.config.branch_prefix) and ID.fullmatch(prd_id):
        yield subject_under_way(prd_id)


def subject_under_way(prd_id: str) -> Subject:
    return Subject(prd_id, issue=issue_number(prd_id))


def under_way(host: Host) -> Iterator[Subject]:
    for branch in sorted(host.remote.branches(host.config.branch_prefix)):
        yield from on_branch(host, branch)


def forgotten(host: Host) -> Iterator[About]:
    """What was pushed or labelled while nobody listened, or whose run was ended before it did anything."""
    there = host.remote.branches(host.config.branch_prefix)
    for about in map(partial(file_subject, host), prds_of(host)):
        if isinstance(about, Subject) and host.branch_of(about.id) not in there and never_begun(host, about):
            there[host.branch_of(about.id)] = ""
            yield about
    for issue in host.hub.issues_labelled(host.config.labels.trigger):
        branch = host.branch_of(issue_prd_id(issue.number))
        wanted = issue.open and not issue.is_pull and not prd_told_by(host, issue) and is_trusted(host, issue)
        # One that was merged or closed, and its branch deleted since, is begun again by a new label, not by us.
        if wanted and branch not in there and host.hub.pull_of(branch) is None:
            yield issue_subject(host, issue)


def never_begun(host: Host, about: Subject) -> bool:
    """What it says is not built already; and its push should have started it, since the workflow was there by then."""
    assert about.prd is not None, "a file has a text"
    if not host.workflow or is_built(host, about):
        return False
    pushed_by = host.git.last_change(host.base_commit, about.prd.path)
    if was_merged(host, about.id, pushed_by):
        return False  # and reverted since, by somebody who did not want it
    return host.git.read(pushed_by, f"{WORKFLOWS}/{host.workflow}") is not None


def was_merged(host: Host, prd_id: str, pushed_by: str) -> bool:
    """Whether this very text was built and merged once, whatever became of it."""
    pull = host.hub.pull_of(host.branch_of(prd_id), host.base_branch)
    if pull is None or not pull.merged or not host.git.has_commit(pull.merge_sha):
        return False
    return host.git.is_ancestor(pushed_by, pull.merge_sha)


def is_trusted(host: Host, issue: Issue) -> bool:
    """The label was given by somebody who may; and since nobody knows what the issue said then, by its author too."""
    given = host.hub.label_given(issue.number, host.config.labels.trigger)
    return given is not None and may_label(host, given.by) and may_label(host, issue.author)


def may_label(host: Host, person: Actor) -> bool:
    return not person.bot and reaches(host.hub.permission(person.login), LABEL_NEEDS)


def named(host: Host, wanted: str) -> About:
    """By id or by file."""
    if ID.fullmatch(wanted) and host.remote.head(host.branch_of(wanted)) is not None:
        return subject_under_way(wanted)
    if wanted in prds_of(host):
        return file_subject(host, wanted)
    number = issue_number(wanted)
    issue = host.hub.issue(number) if number is not None else None
    if issue is not None and not issue.is_pull:
        return issue_subject(host, issue)
    return with_id(host, wanted) or Unreadable(plain(wanted), no_such_prd(host))


def no_such_prd(host: Host) -> PrdInvalid:
    there = ", ".join(prds_of(host)[:3])
    return PrdInvalid(
        f"no PRD is called so on {host.base_branch}, and no branch is being worked on for it",
        remedy=f"name a file or its id: {there}" if there else f"push one that fits {' or '.join(host.config.prds)}",
    )
