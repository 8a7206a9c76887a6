"""Pull requests. The heads of their branches are read from git before every call (`follow_branches`)."""

from __future__ import annotations

from typing import Literal, cast

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found, made, text
from fakes.github.fake import FakeGitHub
from fakes.github.on_issues import set_state
from fakes.github.state import Issue, PullPart, Repository
from fakes.github.wire import Answer, Refusal, Violation, invalid

R = "/repos/{owner}/{repo}"
NOT_PERMITTED = "GitHub Actions is not permitted to create or approve pull requests."


def follow_branches(fake: FakeGitHub, repo: Repository) -> None:
    """An open pull request moves with its branch, and is closed when that is deleted; a closed one stays as it was."""
    rows = [row for row in repo.issues.values() if row.pull and row.state == "open"]
    heads = {name: fake.bare(fake.repo(name)).heads() for name in {row.pull.head_repo for row in rows if row.pull}}
    for row in rows:
        assert row.pull
        sha = heads[row.pull.head_repo].get(row.pull.head)
        if sha is None:
            set_state(fake, row, "closed", row.user)
        elif sha != row.pull.head_sha:
            row.pull.head_sha, row.updated_at = sha, fake.stamp()
            _keep_head(fake, repo, row)


def _keep_head(fake: FakeGitHub, repo: Repository, row: Issue) -> None:
    assert row.pull
    if fake.bare(repo).has(row.pull.head_sha, "commit"):
        fake.bare(repo).git("update-ref", f"refs/pull/{row.number}/head", row.pull.head_sha)


def open_pull(
    fake: FakeGitHub, repo: Repository, by: str, title: str, body: str | None, head: str, base: str, *,
    draft: bool = False, app: str = "",
) -> Issue:  # fmt: skip
    """`head` is a branch, or `owner:branch`."""
    source, branch = _source(fake, repo, head)
    heads, bases = fake.bare(source).heads(), fake.bare(repo).heads()
    if base not in bases:
        raise invalid("PullRequest", "base", "invalid")
    if branch not in heads:
        raise invalid("PullRequest", "head", "invalid")
    _fetch(fake, source, repo, heads[branch])
    if not fake.bare(repo).count(bases[base], heads[branch]):
        raise _custom(f"No commits between {base} and {branch}")
    if _open_one(repo, source, branch, base):
        raise _custom(f"A pull request already exists for {source.owner}:{branch}.")
    if draft and not repo.drafts:
        raise Refusal(422, "Draft pull requests are not supported in this repository.")
    now, number = fake.stamp(), max(repo.issues, default=0) + 1
    part = PullPart(fake.new_id(), branch, heads[branch], base, bases[base], source.full_name, draft)
    row = Issue(fake.new_id(), number, by, title, body, now, now, app=app, pull=part)
    repo.issues[number] = row
    _keep_head(fake, repo, row)
    return row


def _source(fake: FakeGitHub, repo: Repository, head: str) -> tuple[Repository, str]:
    owner, colon, branch = head.partition(":")
    if not colon or owner.lower() == repo.owner.lower():
        return repo, branch or head
    source = fake.state.repositories.get(f"{owner}/{repo.name}".lower())
    if source is None or source.parent != repo.full_name:
        raise invalid("PullRequest", "head", "invalid")
    return source, branch


def _fetch(fake: FakeGitHub, source: Repository, repo: Repository, sha: str) -> None:
    if source is not repo:
        fake.bare(repo).git("fetch", "-q", str(fake.bare(source).path), sha)


def _custom(message: str) -> Refusal:
    return Refusal(422, "Validation Failed", errors=[{"resource": "PullRequest", "code": "custom", "message": message}])


def _open_one(repo: Repository, source: Repository, branch: str, base: str) -> Issue | None:
    wanted = (source.full_name, branch, base)
    rows = (row for row in repo.issues.values() if row.pull and row.state == "open")
    return next(
        (row for row in rows if row.pull and (row.pull.head_repo, row.pull.head, row.pull.base) == wanted), None
    )


MergeMethod = Literal["merge", "squash", "rebase"]


def merge_pull(
    fake: FakeGitHub, repo: Repository, number: int, by: str, *, method: MergeMethod = "merge", message: str = ""
) -> str:
    """As with the button. `message` is what a person writes into the box in place of GitHub's own text."""
    row = repo.issues[number]
    assert row.pull
    follow_branches(fake, repo)
    bare, part, who = fake.bare(repo), row.pull, (by, f"{by}@users.noreply.example.org", fake.stamp())
    onto = bare.heads()[part.base]
    commits = [bare.commit(sha) for sha in bare.git("rev-list", "--reverse", f"{onto}..{part.head_sha}").splitlines()]
    if method == "rebase":
        sha = onto
        for each in (each for each in commits if len(each.parents) == 1):
            sha = bare.write_commit(bare.replay(each, sha), [sha], f"{each.message}\n", each.author, who)
    else:
        tree = bare.git("merge-tree", "--write-tree", onto, part.head_sha).splitlines()[0]
        parents = [onto] if method == "squash" else [onto, part.head_sha]
        details = "\n\n".join(f"* {each.message}" for each in commits)
        squashed = f"{row.title} (#{number})\n\n{details}\n"
        merged = f"Merge pull request #{number} from {repo.owner}/{part.head}\n\n{row.title}\n"
        sha = bare.write_commit(tree, parents, message or (squashed if method == "squash" else merged), who, who)
    bare.move(f"refs/heads/{part.base}", sha, onto)
    set_state(fake, row, "closed", by)
    part.merged_at, part.merged_by, part.merge_sha, part.draft = row.closed_at, by, sha, False
    return sha


def missing_checks(repo: Repository, row: Issue) -> set[str]:
    """What the base requires and the head does not have. A check run or a status of that name satisfies it."""
    assert row.pull
    passed = {
        each.name for each in repo.checks.values()
        if each.head_sha == row.pull.head_sha and each.conclusion in ("success", "neutral", "skipped")
    }  # fmt: skip
    passed |= {each.context for each in repo.statuses if (each.sha, each.state) == (row.pull.head_sha, "success")}
    return set(repo.required_checks) - passed


def merge_what_is_ready(fake: FakeGitHub, repo: Repository) -> list[int]:
    """What GitHub does after each check: merge the pull requests with auto-merge that now have everything."""
    follow_branches(fake, repo)
    ready = [
        row for row in repo.issues.values()
        if row.pull and row.state == "open" and row.pull.auto_merge and not row.pull.draft
        and not missing_checks(repo, row)
    ]  # fmt: skip
    for row in ready:
        assert row.pull
        merge_pull(fake, repo, row.number, row.user, method=cast(MergeMethod, row.pull.auto_merge))
    return [row.number for row in ready]


# --- routes -----------------------------------------------------------------------------------------------------------


def list_pulls(ctx: Context) -> Answer:
    query = ctx.request.query
    state = query.get("state", "open")
    if state not in ("open", "closed", "all"):
        raise Violation(422, f"state is {state!r}")
    rows = [row for row in ctx.repo.issues.values() if row.pull and state in ("all", row.state)]
    if "head" in query:
        wanted = _head_filter(query["head"])
        rows = [row for row in rows if _head_of(row) == wanted]
    if "base" in query:
        rows = [row for row in rows if row.pull and row.pull.base == query["base"]]
    key = "updated_at" if query.get("sort") == "updated" else "number"
    newest_first = query.get("direction", "desc" if query.get("sort", "created") == "created" else "asc") == "desc"
    rows.sort(key=lambda row: getattr(row, key), reverse=newest_first)
    page, headers = ctx.paged(rows)
    return found([shapes.pull(ctx.fake, ctx.repo, row) for row in page], headers)


def _head_filter(wanted: str) -> str:
    if ":" not in wanted:
        # GitHub ignores such a filter and lists everything: no client should rely on it.
        raise Violation(422, f"head is {wanted!r}, not owner:branch")
    owner, _, branch = wanted.partition(":")
    return f"{owner.lower()}:{branch}"


def _head_of(row: Issue) -> str:
    assert row.pull
    return f"{row.pull.head_repo.partition('/')[0].lower()}:{row.pull.head}"


def get_pull(ctx: Context) -> Answer:
    return found(shapes.full_pull(ctx.fake, ctx.repo, ctx.pull()))


def create_pull(ctx: Context) -> Answer:
    if ctx.token and ctx.token.kind == "actions" and not ctx.repo.actions_may_open_pulls:
        raise Refusal(403, NOT_PERMITTED)
    title = text(ctx, "PullRequest", "title")
    if not title:
        raise invalid("PullRequest", "title", "missing_field")
    row = open_pull(
        ctx.fake, ctx.repo, ctx.login, title, text(ctx, "PullRequest", "body"), ctx.body["head"], ctx.body["base"],
        draft=bool(ctx.body.get("draft")), app=ctx.app_slug,
    )  # fmt: skip
    return made(shapes.full_pull(ctx.fake, ctx.repo, row))


def patch_pull(ctx: Context) -> Answer:
    row = ctx.pull()
    assert row.pull
    title, body = text(ctx, "PullRequest", "title", row.title), text(ctx, "PullRequest", "body", row.body)
    state = ctx.body.get("state", row.state)
    if not title:
        raise invalid("PullRequest", "title", "missing_field")
    if state not in ("open", "closed"):
        raise invalid("PullRequest", "state", "invalid")
    if state == "open" and row.state == "closed":
        _may_reopen(ctx, row)
    row.title, row.body, row.updated_at = title, body, ctx.fake.stamp()
    row.pull.base = ctx.body.get("base", row.pull.base)
    set_state(ctx.fake, row, state, ctx.login)
    return found(shapes.full_pull(ctx.fake, ctx.repo, row))


def _may_reopen(ctx: Context, row: Issue) -> None:
    assert row.pull
    if row.pull.merged_at:
        raise invalid("PullRequest", "state", "custom", "state cannot be changed. The pull request cannot be reopened.")
    if row.pull.head not in ctx.bare.heads():
        message = f"state cannot be changed. The {row.pull.head} branch has been deleted."
        raise invalid("PullRequest", "state", "custom", message)
    if ctx.bare.heads()[row.pull.head] != row.pull.head_sha and not ctx.bare.is_ancestor(
        row.pull.head_sha, ctx.bare.heads()[row.pull.head]
    ):
        message = f"state cannot be changed. The {row.pull.head} branch was force-pushed or recreated."
        raise invalid("PullRequest", "state", "custom", message)


_LIST = frozenset({"state", "head", "base", "sort", "direction"}) | PAGING
_NEW = frozenset({"title", "body", "head", "base", "draft", "maintainer_can_modify"})
_EDIT = frozenset({"title", "body", "state", "base"})

ROUTES = (
    Route("GET", f"{R}/pulls", list_pulls, "pull_requests:read", query=_LIST),
    Route(
        "POST",
        f"{R}/pulls",
        create_pull,
        "pull_requests:write",
        body=_NEW,
        required=frozenset({"title", "head", "base"}),
    ),
    Route("GET", f"{R}/pulls/{{number}}", get_pull, "pull_requests:read"),
    Route("PATCH", f"{R}/pulls/{{number}}", patch_pull, "pull_requests:write", "write", body=_EDIT),
)
