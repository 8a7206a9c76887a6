"""Blobs, trees, commits and refs by REST: what a commit through the API is made of."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

from fakes.github import shapes
from fakes.github.asking import PAGING, Ask, Route, allows, found, made
from fakes.github.bare import GitFailed
from fakes.github.state import User
from fakes.github.wire import Answer, Json, Refusal, Violation, no_scope, not_found

R = "/repos/{owner}/{repo}"
ZERO = "0" * 40
MODES = {"100644": "blob", "100755": "blob", "120000": "blob", "040000": "tree", "160000": "commit"}
SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\nmade by the fake\n-----END PGP SIGNATURE-----\n"

# --- blobs and trees --------------------------------------------------------------------------------------------------


def create_blob(ask: Ask) -> Answer:
    content, encoding = ask.body["content"], ask.body.get("encoding", "utf-8")
    if not isinstance(content, str) or encoding not in ("utf-8", "base64"):
        raise Violation(422, f"content or encoding is wrong: {encoding!r}")
    try:
        raw = base64.b64decode(content, validate=False) if encoding == "base64" else content.encode()
    except (binascii.Error, UnicodeEncodeError):
        raise Refusal(422, "content is not valid Base64") from None
    sha = ask.bare.write_blob(raw)
    return made({"sha": sha, "url": f"{_git(ask)}/blobs/{sha}"})


def _git(ask: Ask) -> str:
    return f"{shapes.api(ask.fake, ask.repo)}/git"


def get_blob(ask: Ask) -> Answer:
    sha = ask.params["sha"]
    if not ask.bare.has(sha, "blob"):
        raise not_found()
    raw = ask.bare.read_blob(sha)
    return found(
        {"sha": sha, "node_id": f"B_{sha}", "size": len(raw), "url": f"{_git(ask)}/blobs/{sha}",
         "content": base64.encodebytes(raw).decode(), "encoding": "base64"}
    )  # fmt: skip


def create_tree(ask: Ask) -> Answer:
    base = ask.body.get("base_tree")
    if base is not None and not ask.bare.has(base, "tree"):
        raise Refusal(422, "base_tree is not a valid tree oid")
    entries = [_entry(ask, each) for each in ask.body["tree"]]
    if not entries:
        raise Refusal(422, "Invalid tree info")
    _may_touch_workflows(ask, [path for path, _, _ in entries])
    try:
        sha = ask.bare.write_tree(base, entries)
    except GitFailed as failed:
        raise Refusal(422, "GitRPC::BadObjectState", errors=[str(failed)]) from None
    return made(_tree(ask, sha, deep=False))


def _entry(ask: Ask, value: Any) -> tuple[str, str, str | None]:
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
        return path, mode, ask.bare.write_blob(value["content"].encode())
    sha = value["sha"]
    if sha is not None and mode != "160000" and not ask.bare.has(sha, MODES[mode]):
        raise Refusal(422, f"tree.sha {sha} is not a valid {MODES[mode]}")
    return path, mode, sha


def _may_touch_workflows(ask: Ask, paths: list[str]) -> None:
    """GitHub refuses an App's tree that touches a workflow file, unless it holds `workflows`."""
    touched = any(path.startswith(".github/workflows/") for path in paths)
    if touched and ask.token and ask.token.kind != "user" and not allows(ask.token, "workflows:write"):
        raise no_scope()


def get_tree(ask: Ask) -> Answer:
    sha = ask.bare.git("rev-parse", f"{ask.params['sha']}^{{tree}}") if _is_tree(ask) else None
    if sha is None:
        raise not_found()
    return found(_tree(ask, sha, deep="recursive" in ask.request.query))


def _is_tree(ask: Ask) -> bool:
    return ask.bare.has(ask.params["sha"], "tree")


def _tree(ask: Ask, sha: str, *, deep: bool) -> Json:
    rows: list[Json] = []
    for entry in ask.bare.list_tree(sha, deep=deep):
        address = f"{_git(ask)}/{entry.type}s/{entry.sha}"
        row: Json = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha, "url": address}
        rows.append(row if entry.size is None else {**row, "size": entry.size})
    return {"sha": sha, "url": f"{_git(ask)}/trees/{sha}", "tree": rows, "truncated": False}


# --- commits ----------------------------------------------------------------------------------------------------------


def create_commit(ask: Ask) -> Answer:
    tree, parents, message = ask.body["tree"], ask.body.get("parents", []), ask.body["message"]
    if not isinstance(message, str) or not message.strip():
        raise Refusal(422, 'Invalid request.\n\n"message" wasn\'t supplied.')
    if not ask.bare.has(tree, "tree"):
        raise Refusal(422, "Tree SHA does not exist")
    for parent in parents:
        if not ask.bare.has(parent, "commit"):
            raise Refusal(422, f"Parent SHA does not exist or is not a commit object: {parent}")
    author = _person(ask, ask.body.get("author"))
    committer = _person(ask, ask.body.get("committer")) if "committer" in ask.body else author
    sha = ask.bare.write_commit(tree, parents, message, author, committer)
    if "author" not in ask.body and "committer" not in ask.body and ask.token and ask.token.kind != "user":
        ask.repo.signed.append(sha)
    return made(_commit(ask, sha))


def _person(ask: Ask, given: Any) -> tuple[str, str, str]:
    if given is None:
        return (*identity(ask.fake.user(ask.login)), ask.fake.stamp())
    if not isinstance(given, dict) or set(given) - {"name", "email", "date"} or not {"name", "email"} <= set(given):
        raise Violation(422, f"author or committer is {given!r}")
    date = given.get("date") or ask.fake.stamp()
    try:
        datetime.fromisoformat(date)
    except ValueError:
        raise Refusal(422, f"{date!r} is not a valid date-time") from None
    return given["name"], given["email"], date


def identity(who: User) -> tuple[str, str]:
    return who.login, f"{who.id}+{who.login}@users.noreply.github.com"


def get_commit(ask: Ask) -> Answer:
    sha = ask.params["sha"]
    if len(sha) != 40 or not ask.bare.has(sha, "commit"):
        raise not_found()
    return found(_commit(ask, sha))


def _commit(ask: Ask, sha: str) -> Json:
    facts, page = ask.bare.commit(sha), f"{shapes.html(ask.fake, ask.repo)}/commit/"
    at = f"{_git(ask)}/commits/"
    signed = sha in ask.repo.signed
    verification = {
        "verified": signed, "reason": "valid" if signed else "unsigned", "signature": SIGNATURE if signed else None,
        "payload": f"tree {facts.tree}" if signed else None, "verified_at": ask.fake.stamp() if signed else None,
    }  # fmt: skip
    return {
        "sha": sha, "node_id": f"C_{sha}", "url": at + sha, "html_url": page + sha, "message": facts.message,
        "author": dict(zip(("name", "email", "date"), facts.author, strict=True)),
        "committer": dict(zip(("name", "email", "date"), facts.committer, strict=True)),
        "tree": {"sha": facts.tree, "url": f"{_git(ask)}/trees/{facts.tree}"},
        "parents": [{"sha": each, "url": at + each, "html_url": page + each} for each in facts.parents],
        "verification": verification,
    }  # fmt: skip


# --- refs -------------------------------------------------------------------------------------------------------------


def get_ref(ask: Ask) -> Answer:
    sha = ask.bare.refs().get(f"refs/{ask.params['ref']}")
    if sha is None:
        raise not_found()
    return found(_ref(ask, f"refs/{ask.params['ref']}", sha))


def _ref(ask: Ask, name: str, sha: str) -> Json:
    target = {"type": "commit", "sha": sha, "url": f"{_git(ask)}/commits/{sha}"}
    return {"ref": name, "node_id": f"REF_{name}", "url": f"{_git(ask)}/{name}", "object": target}


def matching_refs(ask: Ask) -> Answer:
    rows = ask.bare.refs(f"refs/{ask.params['ref']}")
    return found([_ref(ask, name, sha) for name, sha in rows.items()])


def create_ref(ask: Ask) -> Answer:
    name, sha = ask.body["ref"], ask.body["sha"]
    if not isinstance(name, str) or not name.startswith("refs/") or name.count("/") < 2:
        raise Refusal(422, "Reference name is not valid")
    if not ask.bare.has(sha, "commit"):
        raise Refusal(422, "Object does not exist")
    if name in ask.bare.refs():
        raise Refusal(422, "Reference already exists")
    _move(ask, name, sha, ZERO)
    return made(_ref(ask, name, sha))


def patch_ref(ask: Ask) -> Answer:
    name, sha = f"refs/{ask.params['ref']}", ask.body["sha"]
    old = ask.bare.refs().get(name)
    if old is None:
        raise Refusal(422, "Reference does not exist")
    if not ask.bare.has(sha, "commit"):
        raise Refusal(422, "Object does not exist")
    if not ask.body.get("force") and not ask.bare.is_ancestor(old, sha):
        raise Refusal(422, "Update is not a fast forward")
    _move(ask, name, sha, old)
    return found(_ref(ask, name, sha))


def _move(ask: Ask, name: str, sha: str, old: str) -> None:
    if name.removeprefix("refs/heads/") in ask.repo.protected:
        raise Refusal(409, f"Repository rule violations found\n\nCannot update this protected ref: {name}")
    try:
        ask.bare.move(name, sha, old)
    except GitFailed as failed:
        raise Refusal(422, "Reference cannot be updated", errors=[str(failed)]) from None


def delete_ref(ask: Ask) -> Answer:
    name = f"refs/{ask.params['ref']}"
    if name not in ask.bare.refs():
        raise Refusal(422, "Reference does not exist")
    if name.removeprefix("refs/heads/") in ask.repo.protected:
        raise Refusal(422, "Cannot delete this protected branch")
    ask.bare.delete(name)
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
