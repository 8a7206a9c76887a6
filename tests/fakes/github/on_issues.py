"""Issues, the comments under them (and under pull requests), reactions and sub-issues."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found, made, strings, text
from fakes.github.fake import FakeGitHub
from fakes.github.on_labels import on_issue, put_on
from fakes.github.state import LEVELS, Comment, Issue, Reaction, Repository
from fakes.github.wire import Answer, Refusal, Violation, invalid, not_found

R = "/repos/{owner}/{repo}"
MAX_SUB_ISSUES = 100

# --- effects (for routes, and for people in a test) -------------------------------------------------------------------


def open_issue(
    fake: FakeGitHub, repo: Repository, by: str, title: str, body: str | None = None, labels: tuple[str, ...] = (),
    app: str = "",
) -> Issue:  # fmt: skip
    now, number = fake.stamp(), max(repo.issues, default=0) + 1
    row = Issue(fake.new_id(), number, by, title, body, now, now, app=app)
    for name in labels:
        put_on(fake, repo, row, name, by)
    repo.issues[number] = row
    return row


def add_comment(fake: FakeGitHub, repo: Repository, number: int, by: str, body: str, app: str = "") -> Comment:
    now = fake.stamp()
    row = Comment(fake.new_id(), number, by, body, now, now, app)
    repo.comments[row.id] = row
    repo.issues[number].updated_at = now
    return row


def edit_comment(fake: FakeGitHub, row: Comment, body: str) -> None:
    """GitHub's times are whole seconds; an edit is always later than the comment, so that it is visible as one."""
    row.body = body
    row.updated_at = fake.stamp(fake.now() + 1)


def set_state(fake: FakeGitHub, row: Issue, state: str, by: str, reason: str | None = None) -> None:
    if state == row.state:
        return
    row.updated_at = fake.stamp()
    if state == "closed":
        row.state, row.closed_at, row.closed_by = "closed", row.updated_at, by
        row.state_reason = None if row.pull else reason or "completed"
    else:
        row.state, row.closed_at, row.closed_by = "open", None, None
        row.state_reason = None if row.pull else "reopened"


# --- issues -----------------------------------------------------------------------------------------------------------


def list_issues(ctx: Context) -> Answer:
    query = ctx.request.query
    rows = list(ctx.repo.issues.values())
    state = query.get("state", "open")
    if state not in ("open", "closed", "all"):
        raise Violation(422, f"state is {state!r}")
    rows = [row for row in rows if state in ("all", row.state)]
    wanted = {name.strip().lower() for name in query.get("labels", "").split(",") if name.strip()}
    rows = [row for row in rows if wanted <= {name.lower() for name in row.labels}]
    if "creator" in query:
        rows = [row for row in rows if row.user.lower() == query["creator"].lower()]
    if "since" in query:
        rows = [row for row in rows if row.updated_at >= query["since"]]
    key = "updated_at" if query.get("sort") == "updated" else "number"
    rows.sort(key=lambda row: getattr(row, key), reverse=query.get("direction", "desc") == "desc")
    page, headers = ctx.paged(rows)
    return found([shapes.issue(ctx.fake, ctx.repo, row) for row in page], headers)


def get_issue(ctx: Context) -> Answer:
    return found(shapes.issue(ctx.fake, ctx.repo, ctx.issue()))


def create_issue(ctx: Context) -> Answer:
    title = text(ctx, "Issue", "title")
    if not title:
        raise invalid("Issue", "title", "missing_field")
    names = tuple(strings(ctx.body.get("labels", []), "labels")) if may_triage(ctx) else ()
    row = open_issue(ctx.fake, ctx.repo, ctx.login, title, text(ctx, "Issue", "body"), names, ctx.app_slug)
    return made(shapes.issue(ctx.fake, ctx.repo, row))


def may_triage(ctx: Context) -> bool:
    """Labels without the permission to set them are dropped silently."""
    if ctx.token and ctx.token.kind != "user":
        return True
    held = ctx.repo.collaborators.get(ctx.login.lower(), "none")
    return LEVELS.index(held) >= LEVELS.index("triage")


def patch_issue(ctx: Context) -> Answer:
    row = ctx.issue()
    title, body = text(ctx, "Issue", "title", row.title), text(ctx, "Issue", "body", row.body)
    state = ctx.body.get("state", row.state)
    if not title:
        raise invalid("Issue", "title", "missing_field")
    if state not in ("open", "closed"):
        raise invalid("Issue", "state", "invalid")
    if row.pull and row.pull.merged_at and state == "open":
        raise invalid("Issue", "state", "custom", "state cannot be changed. The pull request was merged.")
    row.title, row.body, row.updated_at = title, body, ctx.fake.stamp()
    set_state(ctx.fake, row, state, ctx.login, ctx.body.get("state_reason"))
    if "labels" in ctx.body and may_triage(ctx):
        row.labels = [on_issue(ctx.fake, ctx.repo, name) for name in strings(ctx.body["labels"], "labels")]
    return found(shapes.issue(ctx.fake, ctx.repo, row))


# --- comments ---------------------------------------------------------------------------------------------------------


def list_comments(ctx: Context) -> Answer:
    number = ctx.issue().number
    return _comments(ctx, [row for row in ctx.repo.comments.values() if row.number == number])


def list_all_comments(ctx: Context) -> Answer:
    return _comments(ctx, list(ctx.repo.comments.values()))


def _comments(ctx: Context, rows: list[Comment]) -> Answer:
    query = ctx.request.query
    rows = [row for row in rows if row.updated_at >= query.get("since", "")]
    key = "updated_at" if query.get("sort") == "updated" else "id"
    rows.sort(key=lambda row: getattr(row, key), reverse=query.get("direction") == "desc")
    page, headers = ctx.paged(rows)
    return found([shapes.comment(ctx.fake, ctx.repo, row) for row in page], headers)


def get_comment(ctx: Context) -> Answer:
    return found(shapes.comment(ctx.fake, ctx.repo, ctx.comment()))


def create_comment(ctx: Context) -> Answer:
    row, body = ctx.issue(), _comment_body(ctx)
    if row.locked and not may_triage(ctx):
        raise Refusal(403, "Unable to create comment because issue is locked.")
    comment = add_comment(ctx.fake, ctx.repo, row.number, ctx.login, body, ctx.app_slug)
    return made(shapes.comment(ctx.fake, ctx.repo, comment))


def _comment_body(ctx: Context) -> str:
    body = text(ctx, "IssueComment", "body")
    if not body or not body.strip():
        raise invalid("IssueComment", "body", "missing_field")
    return body


def patch_comment(ctx: Context) -> Answer:
    row = ctx.comment()
    _own(ctx, row)
    edit_comment(ctx.fake, row, _comment_body(ctx))
    return found(shapes.comment(ctx.fake, ctx.repo, row))


def delete_comment(ctx: Context) -> Answer:
    row = ctx.comment()
    _own(ctx, row)
    del ctx.repo.comments[row.id]
    return Answer(204)


def _own(ctx: Context, row: Comment) -> None:
    held = LEVELS.index(ctx.repo.collaborators.get(ctx.login.lower(), "none"))
    person = ctx.token is not None and ctx.token.kind == "user"
    if person and row.user != ctx.login and held < LEVELS.index("write"):
        raise Refusal(403, "Must have admin rights to Repository.")


# --- reactions --------------------------------------------------------------------------------------------------------


def react_to_comment(ctx: Context) -> Answer:
    return _react(ctx, ctx.comment().reactions)


def react_to_line(ctx: Context) -> Answer:
    lines = (line for review in ctx.repo.reviews.values() for line in review.comments)
    row = next((each for each in lines if each.id == ctx.number("comment_id")), None)
    if row is None:
        raise not_found()
    return _react(ctx, row.reactions)


def react_to_issue(ctx: Context) -> Answer:
    return _react(ctx, ctx.issue().reactions)


def _react(ctx: Context, rows: list[Reaction]) -> Answer:
    content = ctx.body["content"]
    if content not in shapes.REACTIONS:
        raise invalid("Reaction", "content", "invalid")
    for row in rows:
        if (row.user, row.content) == (ctx.login, content):
            return found(shapes.reaction(ctx.fake, row))
    row = Reaction(ctx.fake.new_id(), ctx.login, content, ctx.fake.stamp())
    rows.append(row)
    return made(shapes.reaction(ctx.fake, row))


def list_comment_reactions(ctx: Context) -> Answer:
    return _reactions(ctx, ctx.comment().reactions)


def list_issue_reactions(ctx: Context) -> Answer:
    return _reactions(ctx, ctx.issue().reactions)


def _reactions(ctx: Context, rows: list[Reaction]) -> Answer:
    wanted = ctx.request.query.get("content")
    page, headers = ctx.paged([row for row in rows if wanted in (None, row.content)])
    return found([shapes.reaction(ctx.fake, row) for row in page], headers)


def delete_comment_reaction(ctx: Context) -> Answer:
    return _unreact(ctx, ctx.comment().reactions)


def delete_issue_reaction(ctx: Context) -> Answer:
    return _unreact(ctx, ctx.issue().reactions)


def _unreact(ctx: Context, rows: list[Reaction]) -> Answer:
    row = next((each for each in rows if each.id == ctx.number("reaction_id") and each.user == ctx.login), None)
    if row is None:
        raise not_found()
    rows.remove(row)
    return Answer(204)


# --- sub-issues -------------------------------------------------------------------------------------------------------


def list_sub_issues(ctx: Context) -> Answer:
    by_id = _by_id(ctx.repo)
    page, headers = ctx.paged([by_id[each] for each in ctx.issue().sub_issues])
    return found([shapes.issue(ctx.fake, ctx.repo, row) for row in page], headers)


def _by_id(repo: Repository) -> dict[int, Issue]:
    return {row.id: row for row in repo.issues.values()}


def add_sub_issue(ctx: Context) -> Answer:
    parent, child = ctx.issue(), _by_id(ctx.repo).get(_id(ctx.body["sub_issue_id"]))
    if child is None:
        raise Refusal(404, "The provided sub-issue does not exist")
    other = next((row for row in ctx.repo.issues.values() if child.id in row.sub_issues), None)
    if other and not (ctx.body.get("replace_parent") and other is not parent):
        raise _sub_issue_refused("Issue may not contain duplicate sub-issues and Sub issue may only have one parent")
    if child.pull or child is parent:
        raise _sub_issue_refused("Sub issue is invalid")
    if len(parent.sub_issues) >= MAX_SUB_ISSUES:
        raise _sub_issue_refused("Parent cannot have more than 100 sub-issues")
    if other:
        other.sub_issues.remove(child.id)
    parent.sub_issues.append(child.id)
    return made(shapes.issue(ctx.fake, ctx.repo, parent))


def _sub_issue_refused(why: str) -> Refusal:
    return Refusal(422, f"An error occurred while adding the sub-issue to the parent issue. {why}")


def remove_sub_issue(ctx: Context) -> Answer:
    parent, child = ctx.issue(), _id(ctx.body["sub_issue_id"])
    if child not in parent.sub_issues:
        raise not_found()
    parent.sub_issues.remove(child)
    return found(shapes.issue(ctx.fake, ctx.repo, parent))


def _id(value: Any) -> int:
    if not isinstance(value, int):
        raise Violation(422, f"sub_issue_id is {value!r}")
    return value


def get_parent(ctx: Context) -> Answer:
    child = ctx.issue()
    parent = next((row for row in ctx.repo.issues.values() if child.id in row.sub_issues), None)
    if parent is None:
        raise not_found()
    return found(shapes.issue(ctx.fake, ctx.repo, parent))


# --- the routes -------------------------------------------------------------------------------------------------------

_LIST = frozenset({"state", "labels", "creator", "since", "sort", "direction"}) | PAGING
_COMMENTS = frozenset({"since"}) | PAGING
_TALK, _READ = "conversation:write", "conversation:read"
_BODY, _CONTENT, _CHILD = frozenset({"body"}), frozenset({"content"}), frozenset({"sub_issue_id"})
_NEW = frozenset({"title", "body", "labels"})
_EDIT = _NEW | {"state", "state_reason"}
_REACTIONS = frozenset({"content"}) | PAGING

ROUTES = (
    Route("GET", f"{R}/issues", list_issues, "issues:read", query=_LIST),
    Route("POST", f"{R}/issues", create_issue, "issues:write", body=_NEW, required=frozenset({"title"})),
    Route("GET", f"{R}/issues/{{number}}", get_issue, _READ),
    Route("PATCH", f"{R}/issues/{{number}}", patch_issue, _TALK, "triage", body=_EDIT),
    Route("GET", f"{R}/issues/{{number}}/comments", list_comments, _READ, query=_COMMENTS),
    Route("POST", f"{R}/issues/{{number}}/comments", create_comment, _TALK, body=_BODY, required=_BODY),
    Route("GET", f"{R}/issues/comments", list_all_comments, "issues:read", query=_COMMENTS | {"sort", "direction"}),
    Route("GET", f"{R}/issues/comments/{{comment_id}}", get_comment, _READ),
    Route("PATCH", f"{R}/issues/comments/{{comment_id}}", patch_comment, _TALK, body=_BODY, required=_BODY),
    Route("DELETE", f"{R}/issues/comments/{{comment_id}}", delete_comment, _TALK),
    Route("GET", f"{R}/issues/comments/{{comment_id}}/reactions", list_comment_reactions, _READ, query=_REACTIONS),
    Route(
        "POST", f"{R}/issues/comments/{{comment_id}}/reactions", react_to_comment, _TALK,
        body=_CONTENT, required=_CONTENT,
    ),
    Route("DELETE", f"{R}/issues/comments/{{comment_id}}/reactions/{{reaction_id}}", delete_comment_reaction, _TALK),
    Route(
        "POST", f"{R}/pulls/comments/{{comment_id}}/reactions", react_to_line, "pull_requests:write",
        body=_CONTENT, required=_CONTENT,
    ),
    Route("GET", f"{R}/issues/{{number}}/reactions", list_issue_reactions, _READ, query=_REACTIONS),
    Route("POST", f"{R}/issues/{{number}}/reactions", react_to_issue, _TALK, body=_CONTENT, required=_CONTENT),
    Route("DELETE", f"{R}/issues/{{number}}/reactions/{{reaction_id}}", delete_issue_reaction, _TALK),
    Route("GET", f"{R}/issues/{{number}}/sub_issues", list_sub_issues, "issues:read", query=PAGING),
    Route(
        "POST", f"{R}/issues/{{number}}/sub_issues", add_sub_issue, "issues:write", "triage",
        body=_CHILD | {"replace_parent"}, required=_CHILD,
    ),
    Route(
        "DELETE", f"{R}/issues/{{number}}/sub_issue", remove_sub_issue, "issues:write", "triage",
        body=_CHILD, required=_CHILD,
    ),
    Route("GET", f"{R}/issues/{{number}}/parent", get_parent, "issues:read"),
)  # fmt: skip
