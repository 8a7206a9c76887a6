"""The GraphQL endpoint: five mutations, the viewer, and reviews. Errors come under status 200, as on GitHub."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from fakes.github import shapes
from fakes.github.context import Context, Route, allows, found
from fakes.github.graphql_text import Field, NotGraphQL, parse
from fakes.github.on_git import identity
from fakes.github.on_pulls import missing_checks
from fakes.github.state import LEVELS, Issue, Repository, Review
from fakes.github.wire import Answer, Json


class GraphQLError(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def graphql(ctx: Context) -> Answer:
    try:
        operation = parse(ctx.body["query"], ctx.body.get("variables") or {})
        known = MUTATIONS if operation.kind == "mutation" else QUERIES
        data = {each.alias: _resolve(ctx, each, known) for each in operation.fields}
    except NotGraphQL as broken:
        return _unknown(ctx, str(broken))
    except GraphQLError as wrong:
        if wrong.kind == "undefinedField":
            return _unknown(ctx, str(wrong))
        return found({"data": None, "errors": [{"type": wrong.kind, "message": str(wrong)}]})
    return found({"data": data})


def _unknown(ctx: Context, message: str) -> Answer:
    ctx.fake.violate(f"POST /graphql: {message}")
    return found({"errors": [{"message": message, "extensions": {"code": "undefinedField"}}]})


def _resolve(ctx: Context, asked: Field, known: Mapping[str, Callable[[Context, Json], Json]]) -> Any:
    if asked.name not in known:
        raise GraphQLError("undefinedField", f"Field '{asked.name}' doesn't exist")
    if asked.name == "repository":
        return select(known[asked.name](ctx, dict(asked.arguments)), asked.selection, ctx)
    given = asked.arguments.get("input", {})
    if not isinstance(given, dict) or set(asked.arguments) - {"input"}:
        raise GraphQLError("undefinedField", f"Field '{asked.name}' doesn't accept {sorted(asked.arguments)}")
    return select(known[asked.name](ctx, given), asked.selection)


def select(value: Any, selection: tuple[Field, ...], ctx: Context | None = None) -> Any:
    """Only the selected fields; a missing one is an error. A function is a field with arguments."""
    if isinstance(value, list):
        return [select(each, selection, ctx) for each in value]
    if not selection or value is None:
        return value
    picked = {}
    for each in selection:
        if each.name not in value:
            raise GraphQLError("undefinedField", f"Field '{each.name}' doesn't exist")
        inner = value[each.name]
        picked[each.alias] = select(inner(**each.arguments) if callable(inner) else inner, each.selection, ctx)
    return picked


# --- draft and ready --------------------------------------------------------------------------------------------------


def _pull(ctx: Context, given: Json) -> tuple[Repository, Issue]:
    if set(given) - {"pullRequestId", "clientMutationId"} or "pullRequestId" not in given:
        raise GraphQLError("undefinedField", f"input is {sorted(given)}")
    for repo in ctx.fake.state.repositories.values():
        for row in repo.issues.values():
            if row.pull and f"PR_{row.pull.id}" == given["pullRequestId"]:
                _may(ctx, repo, "pull_requests:write")
                return repo, row
    raise GraphQLError("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['pullRequestId']}'")


def _may(ctx: Context, repo: Repository, need: str) -> None:
    token = ctx.token
    assert token
    seen = token.repositories is None or repo.full_name.lower() in token.repositories
    held = LEVELS.index(repo.collaborators.get(token.login.lower(), "none"))
    allowed = held >= LEVELS.index("write") if token.kind == "user" else allows(token, need)
    if not (seen and allowed):
        raise GraphQLError("FORBIDDEN", "Resource not accessible by integration")


def to_draft(ctx: Context, given: Json) -> Json:
    repo, row = _pull(ctx, given)
    if not repo.drafts:
        raise GraphQLError("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
    return _set_draft(ctx, repo, row, draft=True)


def to_ready(ctx: Context, given: Json) -> Json:
    repo, row = _pull(ctx, given)
    return _set_draft(ctx, repo, row, draft=False)


def _set_draft(ctx: Context, repo: Repository, row: Issue, *, draft: bool) -> Json:
    assert row.pull
    if row.state == "closed":
        raise GraphQLError("UNPROCESSABLE", "Pull request is closed")
    row.pull.draft, row.updated_at = draft, ctx.fake.stamp()
    seen = {
        "id": f"PR_{row.pull.id}", "number": row.number, "isDraft": draft, "title": row.title, "state": "OPEN",
        "url": shapes.issue_page(ctx.fake, repo, row),
    }  # fmt: skip
    return {"pullRequest": seen, "clientMutationId": None}


# --- auto-merge ---


def enable_auto_merge(ctx: Context, given: Json) -> Json:
    method = str(given.get("mergeMethod", "MERGE"))
    repo, row = _pull(ctx, {name: value for name, value in given.items() if name != "mergeMethod"})
    _may(ctx, repo, "contents:write")
    if method not in ("MERGE", "SQUASH", "REBASE"):
        raise GraphQLError("undefinedField", f"mergeMethod is {method}")
    assert row.pull
    if not repo.auto_merge:
        raise GraphQLError("UNPROCESSABLE", "Pull request Auto merge is not allowed for this repository")
    if row.pull.draft or row.state == "closed":
        raise GraphQLError("UNPROCESSABLE", "Pull request is not in a state to be merged")
    if not missing_checks(repo, row):
        raise GraphQLError("UNPROCESSABLE", "Pull request Pull request is in clean status")
    row.pull.auto_merge = method.lower()
    return {"pullRequest": {"id": f"PR_{row.pull.id}", "number": row.number}, "clientMutationId": None}


# --- a commit ---------------------------------------------------------------------------------------------------------


def create_commit(ctx: Context, given: Json) -> Json:
    repo, branch = _branch(ctx, given.get("branch") or {})
    bare, expected = ctx.fake.bare(repo), given.get("expectedHeadOid")
    old = bare.heads().get(branch)
    if old is None:
        raise GraphQLError("NOT_FOUND", f"No branch {branch}")
    if old != expected:
        raise GraphQLError(
            "STALE_DATA", f'Expected branch to point to "{expected}" but it did not. Pull and try again.'
        )
    message, changes = given.get("message") or {}, given.get("fileChanges") or {}
    text = "\n\n".join(part for part in (message.get("headline", ""), message.get("body", "")) if part)
    entries: list[tuple[str, str, str | None]] = [
        (each["path"], "100644", bare.write_blob(base64.b64decode(each["contents"])))
        for each in changes.get("additions", [])
    ]
    entries += [(each["path"], "100644", None) for each in changes.get("deletions", [])]
    _workflows(ctx, [path for path, _, _ in entries])
    who = (*identity(ctx.fake.user(ctx.login)), ctx.fake.stamp())
    sha = bare.write_commit(bare.write_tree(old, entries), [old], text, who, who)
    repo.signed.append(sha)
    bare.move(f"refs/heads/{branch}", sha, old)
    page = f"{shapes.html(ctx.fake, repo)}/commit/{sha}"
    facts = {"oid": sha, "url": page, "message": text, "tree": {"oid": bare.commit(sha).tree}}
    return {"commit": facts, "ref": {"name": branch, "target": {"oid": sha}}, "clientMutationId": None}


def update_refs(ctx: Context, given: Json) -> Json:
    """All or none, each only from its expected commit."""
    if set(given) - {"repositoryId", "refUpdates", "clientMutationId"}:
        raise GraphQLError("undefinedField", f"input is {sorted(given)}")
    repo = next(
        (each for each in ctx.fake.state.repositories.values() if f"R_{each.id}" == given["repositoryId"]), None
    )
    if repo is None:
        raise GraphQLError("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['repositoryId']}'")
    _may(ctx, repo, "contents:write")
    bare, (update,) = ctx.fake.bare(repo), given["refUpdates"]
    name, old, new = update["name"], update.get("beforeOid"), update["afterOid"]
    there = bare.refs().get(name)
    if not bare.has(new, "commit"):
        raise GraphQLError("UNPROCESSABLE", "Object does not exist")
    if name.removeprefix("refs/heads/") in repo.protected:
        raise GraphQLError(
            "UNPROCESSABLE", f"Repository rule violations found: cannot update this protected ref: {name}"
        )
    if there is None or (old and there != old):
        raise GraphQLError("UNPROCESSABLE", f"Reference update rejected: {name} is not at {old}")
    if not update.get("force") and not bare.is_ancestor(there, new):
        raise GraphQLError("UNPROCESSABLE", "Update is not a fast forward")
    bare.move(name, new, there)
    return {"clientMutationId": None}


def _branch(ctx: Context, given: Json) -> tuple[Repository, str]:
    repo = ctx.fake.state.repositories.get(str(given.get("repositoryNameWithOwner", "")).lower())
    if repo is None or set(given) - {"repositoryNameWithOwner", "branchName"}:
        raise GraphQLError("NOT_FOUND", "Could not resolve to a Repository")
    _may(ctx, repo, "contents:write")
    return repo, str(given.get("branchName", "")).removeprefix("refs/heads/")


def _workflows(ctx: Context, paths: list[str]) -> None:
    token = ctx.token
    assert token
    touched = any(path.startswith(".github/workflows/") for path in paths)
    if touched and token.kind != "user" and not allows(token, "workflows:write"):
        raise GraphQLError("FORBIDDEN", "Resource not accessible by integration")


def viewer(ctx: Context, given: Json) -> Json:
    who = ctx.fake.user(ctx.login)
    return {"login": who.login, "databaseId": who.id, "id": f"U_{who.id}", "__typename": who.type}


def repository(ctx: Context, given: Json) -> Json:
    repo = ctx.fake.state.repositories.get(f"{given['owner']}/{given['name']}".lower())
    if repo is None or set(given) != {"owner", "name"}:
        raise GraphQLError("NOT_FOUND", "Could not resolve to a Repository")
    _may(ctx, repo, "pull_requests:read")

    def pull_request(number: int) -> Json | None:
        row = repo.issues.get(number)
        if row is None or row.pull is None:
            raise GraphQLError("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
        return {"number": number, "reviews": lambda last: {"nodes": _reviews(ctx, repo, number, last)}}

    return {"pullRequest": pull_request}


def _reviews(ctx: Context, repo: Repository, number: int, last: int) -> list[Json]:
    """A pending review is only shown to its author."""
    rows = [row for row in repo.reviews.values() if row.number == number]
    rows = [row for row in rows if row.submitted_at or row.user == ctx.login]
    return [_review(ctx, repo, row) for row in rows[-last:]]


def _review(ctx: Context, repo: Repository, row: Review) -> Json:
    who = ctx.fake.user(row.user)
    lines = [
        {"databaseId": each.id, "body": each.body, "path": each.path, "line": each.line, "lastEditedAt": each.edited_at}
        for each in row.comments
    ]
    page = f"{shapes.issue_page(ctx.fake, repo, repo.issues[row.number])}#pullrequestreview-{row.id}"
    return {
        "databaseId": row.id, "state": row.state, "body": row.body, "submittedAt": row.submitted_at,
        "lastEditedAt": row.edited_at, "url": page,
        "author": {"login": who.login.removesuffix("[bot]"), "__typename": who.type},
        "comments": lambda first: {"nodes": lines[:first]},
    }  # fmt: skip


MUTATIONS = {
    "convertPullRequestToDraft": to_draft,
    "markPullRequestReadyForReview": to_ready,
    "enablePullRequestAutoMerge": enable_auto_merge,
    "createCommitOnBranch": create_commit,
    "updateRefs": update_refs,
}
QUERIES = {"viewer": viewer, "repository": repository}
ROUTES = (
    Route(
        "POST", "/graphql", graphql,
        body=frozenset({"query", "variables", "operationName"}), required=frozenset({"query"}),
    ),
)  # fmt: skip
