"""Blobs, trees, commits and refs by REST: the parts of a commit through the API."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

from fakes.github import shapes
from fakes.github.bare import GitFailed
from fakes.github.context import PAGING, Context, Route, allows, found, made
from fakes.github.state import User
from fakes.github.wire import Answer, Json, Refusal, Violation, no_scope, not_found

R = "/repos/{owner}/{repo}"
ZERO = "0" * 40
MODES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}
SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\nmade by the fake\n-----END PGP SIGNATURE-----\n"

# --- blobs and trees --------------------------------------------------------------------------------------------------


def create_blob(ctx: Context) -> Answer:
    content, encoding = ctx.body["content"], ctx.body.get("encoding", "utf-8")
    if not isinstance(content, str) or encoding not in ("utf-8", "base64"):
        raise Violation(422, f"content or encoding is wrong: {encoding!r}")
    try:
        raw = base64.b64decode(content, validate=False) if encoding == "base64" else content.encode()
    except (binascii.Error, UnicodeEncodeError):
        raise Refusal(422, "content is not valid Base64") from None
    sha = ctx.bare.write_blob(raw)
    return made({"sha": sha, "url": f"{_git(ctx)}/blobs/{sha}"})


def _git(ctx: Context) -> str:
    return f"{shapes.api(ctx.fake, ctx.repo)}/git"


def get_blob(ctx: Context) -> Answer:
    sha = ctx.params["sha"]
    if not ctx.bare.has(sha, "blob"):
        raise not_found()
    raw = ctx.bare.read_blob(sha)
    return found(
        {"sha": sha, "node_id": f"B_{sha}", "size": len(raw), "url": f"{_git(ctx)}/blobs/{sha}",
         "content": base64.encodebytes(raw).decode(), "encoding": "base64"}
    )  # fmt: skip


def create_tree(ctx: Context) -> Answer:
    base = ctx.body.get("base_tree")
    if base is not None and not ctx.bare.has(base, "tree"):
        raise Refusal(422, "base_tree is not a valid tree oid")
    entries = [_entry(ctx, each) for each in ctx.body["tree"]]
    if not entries:
        raise Refusal(422, "Invalid tree info")
    _may_touch_workflows(ctx, [path for path, _, _ in entries])
    try:
        sha = ctx.bare.write_tree(base, entries)
    except GitFailed as failed:
        raise Refusal(422, "GitRPC::BadObjectState", errors=[str(failed)]) from None
    return made(_tree(ctx, sha, deep=False))


def _entry(ctx: Context, value: Any) -> tuple[str, str, str | None]:
    if not isinstance(value, dict) or set(value) - {"path", "mode", "type", "sha", "content"}:
        raise Violation(422, f"tree entry {value!r}")
    path, mode = value.get("path"), value.get("mode")
    if not isinstance(path, str) or not path or path.startswith("/") or ".." in path.split("/"):
        raise Refusal(422, "tree.path contains a malformed path component")
    if mode not in MODES or value.get("type", MODES[mode]) != MODES[mode]:
        raise Refusal(422, "tree.mode must be one of 100644, 100755, 040000, 160000 or 120000")
    if ("sha" in value) == ("content" in value):
        raise Refusal(422, "Must supply either tree.sha or tree.content")
    if "content" in value:
        return path, mode, ctx.bare.write_blob(value["content"].encode())
    sha = value["sha"]
    if sha is not None and mode != "160000" and not ctx.bare.has(sha, MODES[mode]):
        raise Refusal(422, f"tree.sha {sha} is not a valid {MODES[mode]}")
    return path, mode, sha


def _may_touch_workflows(ctx: Context, paths: list[str]) -> None:
    """GitHub refuses an App's tree that touches a workflow file, unless it holds `workflows`."""
    touched = any(path.startswith(".github/workflows/") for path in paths)
    if touched and ctx.token and ctx.token.kind != "user" and not allows(ctx.token, "workflows:write"):
        raise no_scope()


def get_tree(ctx: Context) -> Answer:
    sha = ctx.bare.git("rev-parse", f"{ctx.params['sha']}^{{tree}}") if _is_tree(ctx) else None
    if sha is None:
        raise not_found()
    return found(_tree(ctx, sha, deep="recursive" in ctx.request.query))


def _is_tree(ctx: Context) -> bool:
    return ctx.bare.has(ctx.params["sha"], "tree")


def _tree(ctx: Context, sha: str, *, deep: bool) -> Json:
    rows: list[Json] = []
    for entry in ctx.bare.list_tree(sha, deep=deep):
        address = f"{_git(ctx)}/{entry.type}s/{entry.sha}"
        row: Json = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha, "url": address}
        rows.append(row if entry.size is None else {**row, "size": entry.size})
    return {"sha": sha, "url": f"{_git(ctx)}/trees/{sha}", "tree": rows, "truncated": False}


# --- commits ----------------------------------------------------------------------------------------------------------


def create_commit(ctx: Context) -> Answer:
    tree, parents, message = ctx.body["tree"], ctx.body.get("parents", []), ctx.body["message"]
    if not isinstance(message, str) or not message.strip():
        raise Refusal(422, 'Invalid request.\n\n"message" wasn\'t supplied.')
    if not ctx.bare.has(tree, "tree"):
        raise Refusal(422, "Tree SHA does not exist")
    for parent in parents:
        if not ctx.bare.has(parent, "commit"):
            raise Refusal(422, f"Parent SHA does not exist or is not a commit object: {parent}")
    author = _person(ctx, ctx.body.get("author"))
    committer = _person(ctx, ctx.body.get("committer")) if "committer" in ctx.body else author
    sha = ctx.bare.write_commit(tree, parents, message, author, committer)
    if "author" not in ctx.body and "committer" not in ctx.body and ctx.token and ctx.token.kind != "user":
        ctx.repo.signed.append(sha)
    return made(_commit(ctx, sha))


def _person(ctx: Context, given: Any) -> tuple[str, str, str]:
    if given is None:
        return (*identity(ctx.fake.user(ctx.login)), ctx.fake.stamp())
    if not isinstance(given, dict) or set(given) - {"name", "email", "date"} or not {"name", "email"} <= set(given):
        raise Violation(422, f"author or committer is {given!r}")
    date = given.get("date") or ctx.fake.stamp()
    try:
        datetime.fromisoformat(date)
    except ValueError:
        raise Refusal(422, f"{date!r} is not a valid date-time") from None
    return given["name"], given["email"], date


def identity(who: User) -> tuple[str, str]:
    return who.login, f"{who.id}+{who.login}@users.noreply.github.com"


def get_commit(ctx: Context) -> Answer:
    sha = ctx.params["sha"]
    if len(sha) != 40 or not ctx.bare.has(sha, "commit"):
        raise not_found()
    return found(_commit(ctx, sha))


def _commit(ctx: Context, sha: str) -> Json:
    facts, page = ctx.bare.commit(sha), f"{shapes.html(ctx.fake, ctx.repo)}/commit/"
    at = f"{_git(ctx)}/commits/"
    signed = sha in ctx.repo.signed
    verification = {
        "verified": signed, "reason": "valid" if signed else "unsigned", "signature": SIGNATURE if signed else None,
        "payload": f"tree {facts.tree}" if signed else None, "verified_at": ctx.fake.stamp() if signed else None,
    }  # fmt: skip
    return {
        "sha": sha, "node_id": f"C_{sha}", "url": at + sha, "html_url": page + sha, "message": facts.message,
        "author": dict(zip(("name", "email", "date"), facts.author, strict=True)),
        "committer": dict(zip(("name", "email", "date"), facts.committer, strict=True)),
        "tree": {"sha": facts.tree, "url": f"{_git(ctx)}/trees/{facts.tree}"},
        "parents": [{"sha": each, "url": at + each, "html_url": page + each} for each in facts.parents],
        "verification": verification,
    }  # fmt: skip


# --- refs -------------------------------------------------------------------------------------------------------------


def get_ref(ctx: Context) -> Answer:
    sha = ctx.bare.refs().get(f"refs/{ctx.params['ref']}")
    if sha is None:
        raise not_found()
    return found(_ref(ctx, f"refs/{ctx.params['ref']}", sha))


def _ref(ctx: Context, name: str, sha: str) -> Json:
    target = {"type": "commit", "sha": sha, "url": f"{_git(ctx)}/commits/{sha}"}
    return {"ref": name, "node_id": f"REF_{name}", "url": f"{_git(ctx)}/{name}", "object": target}


def matching_refs(ctx: Context) -> Answer:
    rows = ctx.bare.refs(f"refs/{ctx.params['ref']}")
    return found([_ref(ctx, name, sha) for name, sha in rows.items()])


def create_ref(ctx: Context) -> Answer:
    name, sha = ctx.body["ref"], ctx.body["sha"]
    if not isinstance(name, str) or not name.startswith("refs/") or name.count("/") < 2:
        raise Refusal(422, "Reference name is not valid")
    if not ctx.bare.has(sha, "commit"):
        raise Refusal(422, "Object does not exist")
    if name in ctx.bare.refs():
        raise Refusal(422, "Reference already exists")
    _move(ctx, name, sha, ZERO)
    return made(_ref(ctx, name, sha))


def patch_ref(ctx: Context) -> Answer:
    name, sha = f"refs/{ctx.params['ref']}", ctx.body["sha"]
    old = ctx.bare.refs().get(name)
    if old is None:
        raise Refusal(422, "Reference does not exist")
    if not ctx.bare.has(sha, "commit"):
        raise Refusal(422, "Object does not exist")
    if not ctx.body.get("force") and not ctx.bare.is_ancestor(old, sha):
        raise Refusal(422, "Update is not a fast forward")
    _move(ctx, name, sha, old)
    return found(_ref(ctx, name, sha))


def _move(ctx: Context, name: str, sha: str, old: str) -> None:
    if name.removeprefix("refs/heads/") in ctx.repo.protected:
        raise Refusal(409, f"Repository rule violations found\n\nCannot update this protected ref: {name}")
    try:
        ctx.bare.move(name, sha, old)
    except GitFailed as failed:
        raise Refusal(422, "Reference cannot be updated", errors=[str(failed)]) from None


def delete_ref(ctx: Context) -> Answer:
    name = f"refs/{ctx.params['ref']}"
    if name not in ctx.bare.refs():
        raise Refusal(422, "Reference does not exist")
    if name.removeprefix("refs/heads/") in ctx.repo.protected:
        raise Refusal(422, "Cannot delete this protected branch")
    ctx.bare.delete(name)
    return Answer(204)


_W = "contents:write"
_BLOB, _TREE = frozenset({"content", "encoding"}), frozenset({"tree", "base_tree"})
_COMMIT = frozenset({"message", "tree", "parents", "author", "committer"})
_REF = frozenset({"ref", "sha"})
_MADE_OF = frozenset({"message", "tree"})

ROUTES = (
    Route("POST", f"{R}/git/blobs", create_blob, _W, "write", body=_BLOB, required=frozenset({"content"})),
    Route("GET", f"{R}/git/blobs/{{sha}}", get_blob, "contents:read"),
    Route("POST", f"{R}/git/trees", create_tree, _W, "write", body=_TREE, required=frozenset({"tree"})),
    Route("GET", f"{R}/git/trees/{{sha}}", get_tree, "contents:read", query=frozenset({"recursive"})),
    Route("POST", f"{R}/git/commits", create_commit, _W, "write", body=_COMMIT, required=_MADE_OF),
    Route("GET", f"{R}/git/commits/{{sha}}", get_commit, "contents:read"),
    Route("GET", f"{R}/git/ref/{{ref*}}", get_ref, "contents:read"),
    Route("GET", f"{R}/git/matching-refs/{{ref*}}", matching_refs, "contents:read", query=PAGING),
    Route("POST", f"{R}/git/refs", create_ref, _W, "write", body=_REF, required=_REF),
    Route(
        "PATCH", f"{R}/git/refs/{{ref*}}", patch_ref, _W, "write",
        body=frozenset({"sha", "force"}), required=frozenset({"sha"}),
    ),
    Route("DELETE", f"{R}/git/refs/{{ref*}}", delete_ref, _W, "write"),
)  # fmt: skip
