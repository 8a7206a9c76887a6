"""The repository itself, its permissions, its branches and files, and the authenticated user."""

from __future__ import annotations

import base64

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found
from fakes.github.wire import Answer, Json, Refusal, no_scope, not_found

R = "/repos/{owner}/{repo}"
# GitHub's older field knows four levels; `role_name` knows them all.
OLD_PERMISSION = {
    "none": "none", "read": "read", "triage": "read", "write": "write", "maintain": "write", "admin": "admin",
}  # fmt: skip


def get_repository(ctx: Context) -> Answer:
    return found(shapes.full_repository(ctx.fake, ctx.repo, ctx.login))


def get_permission(ctx: Context) -> Answer:
    who = ctx.fake.state.users.get(ctx.params["username"].lower())
    if who is None or who.type == "Organization":
        raise Refusal(404, f"{ctx.params['username']} is not a user")
    level = ctx.repo.collaborators.get(who.login.lower(), "none")
    if level == "none" and not ctx.repo.private and who.type == "User":
        level = "read"  # everybody may read a public repository; an App's bot is nobody's collaborator
    role = {"none": ""}.get(level, level)
    user = {**shapes.user(ctx.fake, who.login), "role_name": role}
    return found({"permission": OLD_PERMISSION[level], "role_name": role, "user": user})


def get_user(ctx: Context) -> Answer:
    if ctx.token is None or ctx.token.kind != "user":
        raise no_scope()
    return found(shapes.full_user(ctx.fake, ctx.login))


def get_other_user(ctx: Context) -> Answer:
    who = ctx.fake.state.users.get(ctx.params["username"].lower())
    if who is None:
        raise not_found()
    return found(shapes.full_user(ctx.fake, who.login))


def get_rate_limit(ctx: Context) -> Answer:
    token = ctx.token
    if token is None:
        raise Refusal(401, "Requires authentication")
    used = min(token.used, token.limit)
    rate = {"limit": token.limit, "used": used, "remaining": token.limit - used, "reset": int(token.window_ends)}
    return found({"resources": {"core": rate, "search": rate}, "rate": rate})


def get_branch(ctx: Context) -> Answer:
    name = ctx.params["branch"]
    sha = ctx.bare.heads().get(name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    at = f"{shapes.api(ctx.fake, ctx.repo)}/branches/{name}"
    protected = name in ctx.repo.protected
    return found(
        {
            "name": name, "commit": commit(ctx, sha), "protected": protected, "protection_url": f"{at}/protection",
            "protection": {"enabled": protected},
            "_links": {"self": at, "html": f"{shapes.html(ctx.fake, ctx.repo)}/tree/{name}"},
        }
    )  # fmt: skip


def get_commit(ctx: Context) -> Answer:
    sha = ctx.bare.resolve(ctx.params["ref"])
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {ctx.params['ref']}")
    return found(commit(ctx, sha))


def commit(ctx: Context, sha: str) -> Json:
    facts, at = ctx.bare.commit(sha), f"{shapes.api(ctx.fake, ctx.repo)}/commits/"
    page = f"{shapes.html(ctx.fake, ctx.repo)}/commit/"
    who = {"author": facts.author, "committer": facts.committer}
    people = {role: dict(zip(("name", "email", "date"), each, strict=True)) for role, each in who.items()}
    tree = {"sha": facts.tree, "url": f"{shapes.api(ctx.fake, ctx.repo)}/git/trees/{facts.tree}"}
    return {
        "sha": sha, "node_id": f"C_{sha}", "url": at + sha, "html_url": page + sha,
        "comments_url": f"{at}{sha}/comments", "author": None, "committer": None,
        "parents": [{"sha": each, "url": at + each, "html_url": page + each} for each in facts.parents],
        "commit": {**people, "message": facts.message, "tree": tree, "url": at + sha, "comment_count": 0},
    }  # fmt: skip


def list_rules(ctx: Context) -> Answer:
    """The active rules for a branch, which need not exist."""
    source = {"ruleset_source_type": "Repository", "ruleset_source": ctx.repo.full_name, "ruleset_id": 1}
    signed = ctx.params["branch"] in ctx.repo.signed_branches
    return found([{"type": "required_signatures", **source}] if signed else [])


def get_contents(ctx: Context) -> Answer:
    path, ref = ctx.params["path"], ctx.request.query.get("ref", ctx.repo.default_branch)
    rev = ctx.bare.resolve(ref)
    if rev is None:
        raise Refusal(404, f"No commit found for the ref {ref}")
    content = ctx.bare.file(rev, path)
    if content is None:
        raise not_found()
    at = f"{shapes.api(ctx.fake, ctx.repo)}/contents/{path}?ref={ref}"
    sha = ctx.bare.git("rev-parse", f"{rev}:{path}")
    git = f"{shapes.api(ctx.fake, ctx.repo)}/git/blobs/{sha}"
    page = f"{shapes.html(ctx.fake, ctx.repo)}/blob/{ref}/{path}"
    return found(
        {
            "type": "file", "name": path.rpartition("/")[2], "path": path, "sha": sha, "size": len(content),
            "encoding": "base64", "content": base64.encodebytes(content).decode(), "url": at, "git_url": git,
            "html_url": page, "download_url": page, "_links": {"self": at, "git": git, "html": page},
        }
    )  # fmt: skip


ROUTES = (
    Route("GET", R, get_repository),
    Route("GET", f"{R}/collaborators/{{username}}/permission", get_permission),
    Route("GET", f"{R}/branches/{{branch*}}", get_branch, "contents:read"),
    Route("GET", f"{R}/rules/branches/{{branch*}}", list_rules, query=PAGING),
    Route("GET", f"{R}/commits/{{ref}}", get_commit, "contents:read"),
    Route("GET", f"{R}/contents/{{path*}}", get_contents, "contents:read", query=frozenset({"ref"})),
    Route("GET", "/user", get_user),
    Route("GET", "/users/{username}", get_other_user),
    Route("GET", "/rate_limit", get_rate_limit, ""),
)
