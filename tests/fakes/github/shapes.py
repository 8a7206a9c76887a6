"""The JSON that GitHub gives for each object, including URLs that work."""

from __future__ import annotations

from typing import Any

from fakes.github.fake import ACTIONS_APP, ACTIONS_APP_ID, FakeGitHub
from fakes.github.state import (
    LEVELS,
    App,
    CheckRun,
    Comment,
    CommitStatus,
    Issue,
    Label,
    Reaction,
    Repository,
    User,
)  # fmt: skip

Json = dict[str, Any]
EPOCH = "2026-01-01T00:00:00Z"
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
REPOSITORY_LINKS = (
    "archive", "assignees", "blobs", "branches", "collaborators", "comments", "commits", "compare", "contents",
    "contributors", "deployments", "downloads", "events", "forks", "git_commits", "git_refs", "git_tags", "hooks",
    "issue_comment", "issue_events", "issues", "keys", "labels", "languages", "merges", "milestones", "notifications",
    "pulls", "releases", "stargazers", "statuses", "subscribers", "subscription", "tags", "teams", "trees",
)  # fmt: skip
USER_LINKS = (
    "events", "followers", "following", "gists", "organizations", "received_events", "repos", "starred",
    "subscriptions",
)  # fmt: skip


def user(fake: FakeGitHub, login: str) -> Json:
    who = fake.state.users.get(login.lower()) or User(10137, "ghost")
    at = f"{fake.api_url}/users/{who.login}"
    return {
        "login": who.login, "id": who.id, "node_id": f"U_{who.id}", "type": who.type, "site_admin": False,
        "avatar_url": f"{fake.server_url}/{who.id}.png", "gravatar_id": "", "url": at,
        "html_url": f"{fake.server_url}/{who.login}", **{f"{name}_url": f"{at}/{name}" for name in USER_LINKS},
    }  # fmt: skip


def full_user(fake: FakeGitHub, login: str) -> Json:
    return {
        **user(fake, login), "name": None, "company": None, "blog": "", "location": None, "email": None,
        "hireable": None, "bio": None, "public_repos": 1, "public_gists": 0, "followers": 0, "following": 0,
        "created_at": EPOCH, "updated_at": EPOCH,
    }  # fmt: skip


def api(fake: FakeGitHub, repo: Repository) -> str:
    return f"{fake.api_url}/repos/{repo.full_name}"


def html(fake: FakeGitHub, repo: Repository) -> str:
    return f"{fake.server_url}/{repo.full_name}"


def repository(fake: FakeGitHub, repo: Repository) -> Json:
    at = api(fake, repo)
    issues = sum(issue.state == "open" for issue in repo.issues.values())
    return {
        "id": repo.id, "node_id": f"R_{repo.id}", "name": repo.name, "full_name": repo.full_name,
        "owner": user(fake, repo.owner), "private": repo.private, "description": None, "fork": bool(repo.parent),
        "url": at, "html_url": html(fake, repo), "clone_url": f"{html(fake, repo)}.git",
        "git_url": f"git://localhost/{repo.full_name}.git", "ssh_url": f"git@localhost:{repo.full_name}.git",
        "svn_url": html(fake, repo), "mirror_url": None, "homepage": None, "language": "Python", "license": None,
        "default_branch": repo.default_branch, "archived": repo.archived, "disabled": False, "visibility": _seen(repo),
        "has_issues": True, "has_projects": True, "has_wiki": False, "has_pages": False, "has_downloads": True,
        "has_discussions": False, "forks": 0, "forks_count": 0, "open_issues": issues, "open_issues_count": issues,
        "size": 1, "stargazers_count": 0, "watchers": 0, "watchers_count": 0, "allow_forking": True,
        "pushed_at": EPOCH, "created_at": EPOCH, "updated_at": EPOCH,
        **{f"{name}_url": f"{at}/{name}" for name in REPOSITORY_LINKS},
    }  # fmt: skip


def _seen(repo: Repository) -> str:
    return "private" if repo.private else "public"


def full_repository(fake: FakeGitHub, repo: Repository, login: str) -> Json:
    level = LEVELS.index(repo.collaborators.get(login.lower(), "none"))
    can = {name: level >= LEVELS.index(at) for name, at in _PERMISSION_LEVELS.items()}
    merging = {"allow_merge_commit": True, "allow_squash_merge": True, "allow_rebase_merge": True}
    return {
        **repository(fake, repo), "network_count": 0, "subscribers_count": 0, "permissions": can, **merging,
        "allow_auto_merge": False, "delete_branch_on_merge": False, "is_template": False, "topics": [],
    }  # fmt: skip


_PERMISSION_LEVELS: dict[str, Any] = {
    "admin": "admin", "maintain": "maintain", "push": "write", "triage": "triage", "pull": "read",
}  # fmt: skip


def label(fake: FakeGitHub, repo: Repository, row: Label) -> Json:
    return {
        "id": row.id, "node_id": f"LA_{row.id}", "url": f"{api(fake, repo)}/labels/{row.name}", "name": row.name,
        "color": row.color, "default": False, "description": row.description,
    }  # fmt: skip


def labels(fake: FakeGitHub, repo: Repository, names: list[str]) -> list[Json]:
    return [label(fake, repo, repo.labels[name.lower()]) for name in names]


def reaction(fake: FakeGitHub, row: Reaction) -> Json:
    return {
        "id": row.id, "node_id": f"REA_{row.id}", "user": user(fake, row.user), "content": row.content,
        "created_at": row.created_at,
    }  # fmt: skip


def rollup(at: str, rows: list[Reaction]) -> Json:
    counts = {name: sum(row.content == name for row in rows) for name in REACTIONS}
    return {"url": f"{at}/reactions", "total_count": len(rows), **counts}


def association(repo: Repository, login: str) -> str:
    """Not a permission: a collaborator of any level is a MEMBER or COLLABORATOR here, as on GitHub."""
    if login.lower() == repo.owner.lower():
        return "OWNER"
    return "COLLABORATOR" if repo.collaborators.get(login.lower(), "none") != "none" else "NONE"


def issue(fake: FakeGitHub, repo: Repository, row: Issue) -> Json:
    at = f"{api(fake, repo)}/issues/{row.number}"
    value: Json = {
        "id": row.id, "node_id": f"I_{row.id}", "number": row.number, "title": row.title, "body": row.body,
        "user": user(fake, row.user), "labels": labels(fake, repo, row.labels), "state": row.state,
        "state_reason": row.state_reason, "locked": row.locked, "active_lock_reason": None, "assignee": None,
        "assignees": [], "milestone": None, "created_at": row.created_at, "updated_at": row.updated_at,
        "comments": sum(comment.number == row.number for comment in repo.comments.values()),
        "closed_at": row.closed_at, "closed_by": user(fake, row.closed_by) if row.closed_by else None,
        "author_association": association(repo, row.user),
        "url": at, "repository_url": api(fake, repo), "labels_url": f"{at}/labels{{/name}}",
        "comments_url": f"{at}/comments", "events_url": f"{at}/events", "timeline_url": f"{at}/timeline",
        "html_url": issue_page(fake, repo, row), "reactions": rollup(at, row.reactions),
        "performed_via_github_app": app_of(fake, row.app), "sub_issues_summary": _summary(repo, row),
    }  # fmt: skip
    if row.pull:
        page, pull = issue_page(fake, repo, row), f"{api(fake, repo)}/pulls/{row.number}"
        links = {"diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "merged_at": row.pull.merged_at}
        value |= {"draft": row.pull.draft, "pull_request": {"url": pull, "html_url": page, **links}}
    return value


def issue_page(fake: FakeGitHub, repo: Repository, row: Issue) -> str:
    return f"{html(fake, repo)}/{'pull' if row.pull else 'issues'}/{row.number}"


def _summary(repo: Repository, row: Issue) -> Json:
    by_id = {each.id: each for each in repo.issues.values()}
    total = len(row.sub_issues)
    done = sum(by_id[each].state == "closed" for each in row.sub_issues)
    return {"total": total, "completed": done, "percent_completed": 100 * done // total if total else 0}


def comment(fake: FakeGitHub, repo: Repository, row: Comment) -> Json:
    at = f"{api(fake, repo)}/issues/comments/{row.id}"
    page = issue_page(fake, repo, repo.issues[row.number])
    return {
        "id": row.id, "node_id": f"IC_{row.id}", "url": at, "html_url": f"{page}#issuecomment-{row.id}",
        "issue_url": f"{api(fake, repo)}/issues/{row.number}", "user": user(fake, row.user), "body": row.body,
        "created_at": row.created_at, "updated_at": row.updated_at, "reactions": rollup(at, row.reactions),
        "author_association": association(repo, row.user), "performed_via_github_app": app_of(fake, row.app),
    }  # fmt: skip


def app_of(fake: FakeGitHub, slug: str) -> Json | None:
    if not slug:
        return None
    known = next((each for each in fake.state.apps.values() if each.slug == slug), None)
    return app(fake, known or App(ACTIONS_APP_ID, ACTIONS_APP, "github", ""))


def app(fake: FakeGitHub, row: App) -> Json:
    return {
        "id": row.id, "slug": row.slug, "client_id": row.client_id, "node_id": f"A_{row.id}",
        "owner": user(fake, row.owner), "name": row.slug, "description": None, "external_url": fake.server_url,
        "html_url": f"{fake.server_url}/apps/{row.slug}", "created_at": EPOCH, "updated_at": EPOCH,
        "permissions": row.permissions, "events": row.events,
    }  # fmt: skip


def pull(fake: FakeGitHub, repo: Repository, row: Issue) -> Json:
    """As it is in a list."""
    part = row.pull
    assert part
    at, page = f"{api(fake, repo)}/pulls/{row.number}", issue_page(fake, repo, row)
    under = f"{api(fake, repo)}/issues/{row.number}"
    links = {
        "self": at, "html": page, "issue": under, "comments": f"{under}/comments", "commits": f"{at}/commits",
        "review_comments": f"{at}/comments", "review_comment": f"{api(fake, repo)}/pulls/comments{{/number}}",
        "statuses": f"{api(fake, repo)}/statuses/{part.head_sha}",
    }  # fmt: skip
    return {
        "id": part.id, "node_id": f"PR_{part.id}", "number": row.number, "url": at, "html_url": page,
        "diff_url": f"{page}.diff", "patch_url": f"{page}.patch", "issue_url": under, "state": row.state,
        "locked": row.locked, "active_lock_reason": None, "title": row.title, "body": row.body,
        "user": user(fake, row.user), "labels": labels(fake, repo, row.labels), "milestone": None, "assignee": None,
        "assignees": [], "requested_reviewers": [], "requested_teams": [], "draft": part.draft,
        "created_at": row.created_at, "updated_at": row.updated_at, "closed_at": row.closed_at,
        "merged_at": part.merged_at, "merge_commit_sha": part.merge_sha,
        "auto_merge": {
            "enabled_by": user(fake, row.user), "merge_method": part.auto_merge, "commit_title": "",
            "commit_message": "",
        } if part.auto_merge else None,
        "author_association": association(repo, row.user),
        "head": _side(fake, fake.state.repositories[part.head_repo.lower()], part.head, part.head_sha),
        "base": _side(fake, repo, part.base, part.base_sha),
        "_links": {name: {"href": address} for name, address in links.items()},
        **{f"{name}_url": address for name, address in links.items() if name not in ("self", "html", "issue")},
    }  # fmt: skip


def _side(fake: FakeGitHub, repo: Repository, branch: str, sha: str) -> Json:
    return {
        "label": f"{repo.owner}:{branch}", "ref": branch, "sha": sha, "user": user(fake, repo.owner),
        "repo": repository(fake, repo),
    }  # fmt: skip


def full_pull(fake: FakeGitHub, repo: Repository, row: Issue) -> Json:
    part = row.pull
    assert part
    bare = fake.bare(repo)
    added, deleted, files = bare.changes(part.base_sha, part.head_sha)
    return {
        **pull(fake, repo, row), "merged": part.merged_at is not None, "mergeable": row.state == "open" or None,
        "mergeable_state": "draft" if part.draft else "clean", "rebaseable": None, "maintainer_can_modify": False,
        "merged_by": user(fake, part.merged_by) if part.merged_by else None, "review_comments": 0,
        "comments": sum(each.number == row.number for each in repo.comments.values()),
        "commits": bare.count(part.base_sha, part.head_sha), "additions": added, "deletions": deleted,
        "changed_files": files,
    }  # fmt: skip


def check_run(fake: FakeGitHub, repo: Repository, row: CheckRun) -> Json:
    at = f"{api(fake, repo)}/check-runs/{row.id}"
    return {
        "id": row.id, "node_id": f"CR_{row.id}", "head_sha": row.head_sha, "name": row.name, "url": at,
        "external_id": row.external_id, "html_url": f"{html(fake, repo)}/runs/{row.id}",
        "details_url": row.details_url, "status": row.status, "conclusion": row.conclusion,
        "started_at": row.started_at, "completed_at": row.completed_at, "check_suite": {"id": 1},
        "app": app_of(fake, row.app), "pull_requests": [],
        "output": {
            "title": row.title, "summary": row.summary, "text": row.text,
            "annotations_count": len(row.annotations), "annotations_url": f"{at}/annotations",
        },
    }  # fmt: skip


def status(fake: FakeGitHub, repo: Repository, row: CommitStatus) -> Json:
    return {
        "url": f"{api(fake, repo)}/statuses/{row.sha}", "avatar_url": None, "id": row.id, "node_id": f"SC_{row.id}",
        "state": row.state, "description": row.description, "target_url": row.target_url, "context": row.context,
        "created_at": row.created_at, "updated_at": row.created_at, "creator": user(fake, row.creator),
    }  # fmt: skip
