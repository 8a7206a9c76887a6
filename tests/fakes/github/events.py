"""The payloads that Actions writes to GITHUB_EVENT_PATH, built from the fake's state in the form of webhooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fakes.github import shapes
from fakes.github.fake import FakeGitHub
from fakes.github.state import Comment, Dispatch, Issue, Repository, Review

Json = dict[str, Any]
ZERO = "0" * 40


@dataclass(frozen=True)
class Event:
    name: str
    payload: Json = field(repr=False)
    ref: str = "refs/heads/main"
    sha: str = ""
    actor: str = ""


def _around(fake: FakeGitHub, repo: Repository, by: str) -> Json:
    organization = shapes.user(fake, repo.owner)
    around: Json = {"repository": shapes.repository(fake, repo), "sender": shapes.user(fake, by)}
    return around | ({"organization": organization} if organization["type"] == "Organization" else {})


def _default(fake: FakeGitHub, repo: Repository) -> Json:
    """What events without a branch of their own run on."""
    sha = fake.bare(repo).heads().get(repo.default_branch, ZERO)
    return {"ref": f"refs/heads/{repo.default_branch}", "sha": sha}


def pushed(
    fake: FakeGitHub, repo: Repository, by: str, branch: str, before: str, after: str, *, webhook: bool = False
) -> Event:
    """Actions leaves out which files a commit touches; the webhook itself lists them."""
    bare = fake.bare(repo)
    gone, new = after == ZERO, before == ZERO
    forced = not gone and not new and not bare.is_ancestor(before, after)
    rows = [] if gone else _commits(fake, repo, "" if new else before, after, webhook=webhook)
    payload = {
        "ref": f"refs/heads/{branch}", "before": before, "after": after, "created": new, "deleted": gone,
        "forced": forced, "base_ref": None, "commits": rows, "head_commit": rows[-1] if rows else None,
        "compare": f"{shapes.html(fake, repo)}/compare/{before[:12]}...{after[:12]}",
        "pusher": {"name": by, "email": f"{by}@users.noreply.github.com"}, **_around(fake, repo, by),
    }  # fmt: skip
    return Event("push", payload, f"refs/heads/{branch}", after, by)


def _commits(fake: FakeGitHub, repo: Repository, before: str, after: str, *, webhook: bool) -> list[Json]:
    bare = fake.bare(repo)
    span = f"{before}..{after}" if before else after
    names = bare.git("rev-list", "--reverse", "--max-count=20", span).split()
    return [_commit(fake, repo, sha, webhook=webhook) for sha in names]


def _commit(fake: FakeGitHub, repo: Repository, sha: str, *, webhook: bool) -> Json:
    bare = fake.bare(repo)
    facts = bare.commit(sha)
    value: Json = {
        "id": sha, "tree_id": facts.tree, "distinct": True, "message": facts.message, "timestamp": facts.author[2],
        "url": f"{shapes.html(fake, repo)}/commit/{sha}", "author": _named(facts.author),
        "committer": _named(facts.committer),
    }  # fmt: skip
    if not webhook:
        return value
    lines = bare.git("diff-tree", "--root", "-r", "--no-commit-id", "--no-renames", "--name-status", sha).splitlines()
    pairs = [line.split("\t", 1) for line in lines]
    kinds = {"added": "A", "removed": "D", "modified": "M"}
    return value | {kind: [path for mark, path in pairs if mark == letter] for kind, letter in kinds.items()}


def _named(who: tuple[str, str, str]) -> Json:
    return {"name": who[0], "email": who[1], "username": who[0]}


def issue_event(
    fake: FakeGitHub, repo: Repository, by: str, action: str, issue: Issue, label: str | None = None
) -> Event:
    payload = {"action": action, "issue": shapes.issue(fake, repo, issue), **_around(fake, repo, by)}
    if label is not None:
        known = repo.labels.get(label.lower())
        payload["label"] = shapes.label(fake, repo, known) if known else {"name": label}
    return Event("issues", payload, actor=by, **_default(fake, repo))


def comment_event(
    fake: FakeGitHub, repo: Repository, by: str, action: str, comment: Comment, *, was: str | None = None
) -> Event:
    issue = repo.issues[comment.number]
    payload = {
        "action": action, "issue": shapes.issue(fake, repo, issue), "comment": shapes.comment(fake, repo, comment),
        **_around(fake, repo, by),
    }  # fmt: skip
    if was is not None:
        payload["changes"] = {"body": {"from": was}}
    return Event("issue_comment", payload, actor=by, **_default(fake, repo))


def pull_event(fake: FakeGitHub, repo: Repository, by: str, action: str, issue: Issue) -> Event:
    assert issue.pull
    payload = {
        "action": action, "number": issue.number, "pull_request": shapes.full_pull(fake, repo, issue),
        **_around(fake, repo, by),
    }  # fmt: skip
    return Event("pull_request", payload, f"refs/pull/{issue.number}/merge", issue.pull.head_sha, by)


def review_event(fake: FakeGitHub, repo: Repository, review: Review, action: str = "submitted") -> Event:
    """As for `pull_request`, the workflow file is that of the pull request's merge."""
    issue = repo.issues[review.number]
    assert issue.pull
    page = f"{shapes.issue_page(fake, repo, issue)}#pullrequestreview-{review.id}"
    shown = {
        "id": review.id, "node_id": f"PRR_{review.id}", "user": shapes.user(fake, review.user), "body": review.body,
        "state": review.state.lower(), "submitted_at": review.submitted_at, "commit_id": issue.pull.head_sha,
        "html_url": page,
    }  # fmt: skip
    payload = {
        "action": action, "review": shown, "pull_request": shapes.full_pull(fake, repo, issue),
        **_around(fake, repo, review.user),
    }  # fmt: skip
    return Event("pull_request_review", payload, f"refs/pull/{issue.number}/merge", issue.pull.head_sha, review.user)


def review_comment_event(fake: FakeGitHub, repo: Repository, review: Review, action: str = "created") -> Event:
    made, line = review_event(fake, repo, review), review.comments[-1]
    comment = {
        "id": line.id, "user": shapes.user(fake, review.user), "body": line.body, "path": line.path, "line": line.line,
        "pull_request_review_id": review.id,
    }  # fmt: skip
    payload = {**made.payload, "action": action, "comment": comment}
    del payload["review"]
    return Event("pull_request_review_comment", payload, made.ref, made.sha, made.actor)


def dispatch_event(fake: FakeGitHub, repo: Repository, row: Dispatch) -> Event:
    if row.event_type:
        payload: Json = {
            "action": row.event_type, "branch": row.ref, "client_payload": row.inputs, **_around(fake, repo, row.by),
        }  # fmt: skip
        return Event("repository_dispatch", payload, actor=row.by, **_default(fake, repo))
    ref = row.ref if row.ref.startswith("refs/") else f"refs/heads/{row.ref}"
    workflow = f".github/workflows/{row.workflow}"
    payload = {"ref": ref, "inputs": row.inputs or None, "workflow": workflow, **_around(fake, repo, row.by)}
    return Event("workflow_dispatch", payload, ref, fake.bare(repo).resolve(ref) or "", row.by)


def schedule_event(fake: FakeGitHub, repo: Repository, cron: str = "17 */6 * * *") -> Event:
    """It has no sender."""
    payload = _around(fake, repo, repo.owner)
    del payload["sender"]
    workflow = ".github/workflows/prd2pr.yml"
    return Event("schedule", {"schedule": cron, "workflow": workflow, **payload}, **_default(fake, repo))
