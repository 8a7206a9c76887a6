"""The repository itself, who may do what in it, its branches and files, and the one who asks."""

from __future__ import annotations

import base64

from fakes.github import shapes
from fakes.github.asking import Ask, Route, found
from fakes.github.wire import Answer, Json, Refusal, no_scope, not_found

R = "/repos/{owner}/{repo}"
# GitHub's older field knows four levels; `role_name` knows them all.
OLD_PERMISSION = {
    "none": "none", "read": "read", "triage": "read", "write": "write", "maintain": "write", "admin": "admin",
}  # fmt: skip


def get_repository(ask: Ask) -> Answer:
    return found(shapes.full_repository(ask.fake, ask.repo, ask.login))


def get_permission(ask: Ask) -> Answer:
    who = ask.fake.state.users.get(ask.params["username"].lower())
    if who is None or who.type == "Organization":
        raise Refusal(404, f"{ask.params['username']} is not a user")
    level = ask.repo.collaborators.get(who.login.lower(), "none")
    if level == "none" and not ask.repo.private and who.type == "User":
        level = "read"  # everybody may read a public repository; an App's bot is nobody's collaborator
    role = {"none": ""}.get(level, level)
    user = {**shapes.user(ask.fake, who.login), "role_name": role}
    return found({"permission": OLD_PERMISSION[level], "role_name": role, "user": user})


def get_user(ask: Ask) -> Answer:
    if ask.token is None or ask.token.kind != "user":
        raise no_scope()
    return found(shapes.full_user(ask.fake, ask.login))


def get_someone(ask: Ask) -> Answer:
    who = ask.fake.state.users.get(ask.params["username"].lower())
    if who is None:
        raise not_found()
    return found(shapes.full_user(ask.fake, who.login))


def get_rate_limit(ask: Ask) -> Answer:
    token = ask.token
    if token is None:
        raise Refusal(401, "Requires authentication")
    used = min(token.used, token.limit)
    rate = {"limit": token.limit, "used": used, "remaining": token.limit - used, "reset": int(token.window_ends)}
    return found({"resources": {"core": rate, "search": rate}, "rate": rate})


def get_branch(ask: Ask) -> Answer:
    name = ask.params["branch"]
    sha = ask.bare.heads().get(name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    at = f"{shapes.api(ask.fake, ask.repo)}/branches/{name}"
    protected = name in ask.repo.protected
    return found(
        {
            "name": name, "commit": commit(ask, sha), "protected": protected, "protection_url": f"{at}/protection",
            "protection": {"enabled": protected},
            "_links": {"self": at, "html": f"{shapes.html(ask.fake, ask.repo)}/tree/{name}"},
        }
    )  # fmt: skip


def get_commit(ask: Ask) -> Answer:
    sha = ask.bare.resolve(ask.params["ref"])
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {ask.params['ref']}")
    return found(commit(ask, sha))


def commit(ask: Ask, sha: str) -> Json:
    facts, at = ask.bare.commit(sha), f"{shapes.api(ask.fake, ask.repo)}/commits/"
    page = f"{shapes.html(ask.fake, ask.repo)}/commit/"
    who = {"author": facts.author, "committer": facts.committer}
    people = {role: dict(zip(("name", "email", "date"), each, strict=True)) for role, each in who.items()}
    tree = {"sha": facts.tree, "url": f"{shapes.api(ask.fake, ask.repo)}/git/trees/{facts.tree}"}
    return {
        "sha": sha, "node_id": f"C_{sha}", "url": at + sha, "html_url": page + sha,
        "comments_url": f"{at}{sha}/comments", "author": None, "committer": None,
        "parents": [{"sha": each, "url": at + each, "html_url": page + each} for each in facts.parents],
        "commit": {**people, "message": facts.message, "tree": tree, "url": at + sha, "comment_count": 0},
    }  # fmt: skip


def get_contents(ask: Ask) -> Answer:
    path, ref = ask.params["path"], ask.request.query.get("ref", ask.repo.default_branch)
    rev = ask.bare.resolve(ref)
    if rev is None:
        raise Refusal(404, f"No commit found for the ref {ref}")
    content = ask.bare.file(rev, path)
    if content is None:
        raise not_found()
    at = f"{shapes.api(ask.fake, ask.repo)}/contents/{path}?ref={ref}"
    sha = ask.bare.git("rev-parse", f"{rev}:{path}")
    git = f"{shapes.api(ask.fake, ask.repo)}/git/blobs/{sha}"
    page = f"{shapes.html(ask.fake, ask.repo)}/blob/{ref}/{path}"
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
    Route("GET", f"{R}/commits/{{ref}}", get_commit, "contents:read"),
    Route("GET", f"{R}/contents/{{path*}}", get_contents, "contents:read", query=frozenset({"ref"})),
    Route("GET", "/user", get_user),
    Route("GET", "/users/{username}", get_someone),
    Route("GET", "/rate_limit", get_rate_limit, ""),
)
