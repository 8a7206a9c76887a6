"""The GraphQL door: four mutations, and the query for who one is. Errors come under status 200, as they do there."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from fakes.github import shapes
from fakes.github.asking import Ask, Route, allows, found
from fakes.github.graphql_text import Field, NotGraphQL, parse
from fakes.github.on_git import identity
from fakes.github.state import LEVELS, Issue, Repository
from fakes.github.wire import Answer, Json


class Wrong(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def graphql(ask: Ask) -> Answer:
    try:
        operation = parse(ask.body["query"], ask.body.get("variables") or {})
        known = MUTATIONS if operation.kind == "mutation" else QUERIES
        data = {each.alias: _resolve(ask, each, known) for each in operation.fields}
    except NotGraphQL as broken:
        return _unknown(ask, str(broken))
    except Wrong as wrong:
        if wrong.kind == "undefinedField":
            return _unknown(ask, str(wrong))
        return found({"data": None, "errors": [{"type": wrong.kind, "message": str(wrong)}]})
    return found({"data": data})


def _unknown(ask: Ask, message: str) -> Answer:
    ask.fake.violate(f"POST /graphql: {message}")
    return found({"errors": [{"message": message, "extensions": {"code": "undefinedField"}}]})


def _resolve(ask: Ask, asked: Field, known: Mapping[str, Callable[[Ask, Json], Json]]) -> Any:
    if asked.name not in known:
        raise Wrong("undefinedField", f"Field '{asked.name}' doesn't exist")
    given = asked.arguments.get("input", {})
    if not isinstance(given, dict) or set(asked.arguments) - {"input"}:
        raise Wrong("undefinedField", f"Field '{asked.name}' doesn't accept {sorted(asked.arguments)}")
    return select(known[asked.name](ask, given), asked.selection)


def select(value: Any, selection: tuple[Field, ...]) -> Any:
    """Only what was asked for; what is not there is an error."""
    if not selection or value is None:
        return value
    picked = {}
    for each in selection:
        if each.name not in value:
            raise Wrong("undefinedField", f"Field '{each.name}' doesn't exist")
        picked[each.alias] = select(value[each.name], each.selection)
    return picked


# --- draft and ready --------------------------------------------------------------------------------------------------


def _pull(ask: Ask, given: Json) -> tuple[Repository, Issue]:
    if set(given) - {"pullRequestId", "clientMutationId"} or "pullRequestId" not in given:
        raise Wrong("undefinedField", f"input is {sorted(given)}")
    for repo in ask.fake.state.repositories.values():
        for row in repo.issues.values():
            if row.pull and f"PR_{row.pull.id}" == given["pullRequestId"]:
                _may(ask, repo, "pull_requests:write")
                return repo, row
    raise Wrong("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['pullRequestId']}'")


def _may(ask: Ask, repo: Repository, need: str) -> None:
    token = ask.token
    assert token
    seen = token.repositories is None or repo.full_name.lower() in token.repositories
    held = LEVELS.index(repo.collaborators.get(token.login.lower(), "none"))
    allowed = held >= LEVELS.index("write") if token.kind == "user" else allows(token, need)
    if not (seen and allowed):
        raise Wrong("FORBIDDEN", "Resource not accessible by integration")


def to_draft(ask: Ask, given: Json) -> Json:
    repo, row = _pull(ask, given)
    if not repo.drafts:
        raise Wrong("UNPROCESSABLE", "Draft pull requests are not supported in this repository.")
    return _set_draft(ask, repo, row, draft=True)


def to_ready(ask: Ask, given: Json) -> Json:
    repo, row = _pull(ask, given)
    return _set_draft(ask, repo, row, draft=False)


def _set_draft(ask: Ask, repo: Repository, row: Issue, *, draft: bool) -> Json:
    assert row.pull
    if row.state == "closed":
        raise Wrong("UNPROCESSABLE", "Pull request is closed")
    row.pull.draft, row.updated_at = draft, ask.fake.stamp()
    seen = {
        "id": f"PR_{row.pull.id}", "number": row.number, "isDraft": draft, "title": row.title, "state": "OPEN",
        "url": shapes.issue_page(ask.fake, repo, row),
    }  # fmt: skip
    return {"pullRequest": seen, "clientMutationId": None}


# --- a commit ---------------------------------------------------------------------------------------------------------


def create_commit(ask: Ask, given: Json) -> Json:
    repo, branch = _branch(ask, given.get("branch") or {})
    bare, expected = ask.fake.bare(repo), given.get("expectedHeadOid")
    old = bare.heads().get(branch)
    if old is None:
        raise Wrong("NOT_FOUND", f"No branch {branch}")
    if old != expected:
        raise Wrong("STALE_DATA", f'Expected branch to point to "{expected}" but it did not. Pull and try again.')
    message, changes = given.get("message") or {}, given.get("fileChanges") or {}
    text = "\n\n".join(part for part in (message.get("headline", ""), message.get("body", "")) if part)
    entries: list[tuple[str, str, str | None]] = [
        (each["path"], "100644", bare.write_blob(base64.b64decode(each["contents"])))
        for each in changes.get("additions", [])
    ]
    entries += [(each["path"], "100644", None) for each in changes.get("deletions", [])]
    _workflows(ask, [path for path, _, _ in entries])
    who = (*identity(ask.fake.user(ask.login)), ask.fake.stamp())
    sha = bare.write_commit(bare.write_tree(old, entries), [old], text, who, who)
    repo.signed.append(sha)
    bare.move(f"refs/heads/{branch}", sha, old)
    page = f"{shapes.html(ask.fake, repo)}/commit/{sha}"
    facts = {"oid": sha, "url": page, "message": text, "tree": {"oid": bare.commit(sha).tree}}
    return {"commit": facts, "ref": {"name": branch, "target": {"oid": sha}}, "clientMutationId": None}


def update_refs(ask: Ask, given: Json) -> Json:
    """All or none, each only from where it is said to be."""
    if set(given) - {"repositoryId", "refUpdates", "clientMutationId"}:
        raise Wrong("undefinedField", f"input is {sorted(given)}")
    repo = next(
        (each for each in ask.fake.state.repositories.values() if f"R_{each.id}" == given["repositoryId"]), None
    )
    if repo is None:
        raise Wrong("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['repositoryId']}'")
    _may(ask, repo, "contents:write")
    bare, (update,) = ask.fake.bare(repo), given["refUpdates"]
    name, old, new = update["name"], update.get("beforeOid"), update["afterOid"]
    there = bare.refs().get(name)
    if not bare.has(new, "commit"):
        raise Wrong("UNPROCESSABLE", "Object does not exist")
    if name.removeprefix("refs/heads/") in repo.protected:
        raise Wrong("UNPROCESSABLE", f"Repository rule violations found: cannot update this protected ref: {name}")
    if there is None or (old and there != old):
        raise Wrong("UNPROCESSABLE", f"Reference update rejected: {name} is not at {old}")
    if not update.get("force") and not bare.is_ancestor(there, new):
        raise Wrong("UNPROCESSABLE", "Update is not a fast forward")
    bare.move(name, new, there)
    return {"clientMutationId": None}


def _branch(ask: Ask, given: Json) -> tuple[Repository, str]:
    repo = ask.fake.state.repositories.get(str(given.get("repositoryNameWithOwner", "")).lower())
    if repo is None or set(given) - {"repositoryNameWithOwner", "branchName"}:
        raise Wrong("NOT_FOUND", "Could not resolve to a Repository")
    _may(ask, repo, "contents:write")
    return repo, str(given.get("branchName", "")).removeprefix("refs/heads/")


def _workflows(ask: Ask, paths: list[str]) -> None:
    token = ask.token
    assert token
    touched = any(path.startswith(".github/workflows/") for path in paths)
    if touched and token.kind != "user" and not allows(token, "workflows:write"):
        raise Wrong("FORBIDDEN", "Resource not accessible by integration")


def viewer(ask: Ask, given: Json) -> Json:
    who = ask.fake.user(ask.login)
    return {"login": who.login, "databaseId": who.id, "id": f"U_{who.id}", "__typename": who.type}


MUTATIONS = {
    "convertPullRequestToDraft": to_draft,
    "markPullRequestReadyForReview": to_ready,
    "createCommitOnBranch": create_commit,
    "updateRefs": update_refs,
}
QUERIES = {"viewer": viewer}
ROUTES = (
    Route(
        "POST", "/graphql", graphql,
        body=frozenset({"query", "variables", "operationName"}), required=frozenset({"query"}),
    ),
)  # fmt: skip
