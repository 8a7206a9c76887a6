"""The context of one request: the caller, the repository, the parameters; and what a route requires of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fakes.github.bare import Bare
from fakes.github.fake import FakeGitHub
from fakes.github.state import LEVELS, App, Comment, Issue, Level, Repository, Token
from fakes.github.wire import Answer, Json, Refusal, Request, Violation, invalid, no_scope, not_found

Handler = Callable[["Context"], Answer]
PAGING = frozenset({"per_page", "page"})


@dataclass(frozen=True)
class Route:
    method: str
    template: str  # `{name}` is one segment of the path, `{name*}` the whole rest
    handler: Handler
    needs: str = "metadata:read"  # the token's permission; "app": a JSON web token; "": none
    level: Level = "read"  # what a person's own token needs
    query: frozenset[str] = frozenset()
    body: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()

    @property
    def writes(self) -> bool:
        return self.method != "GET"


@dataclass
class Context:
    fake: FakeGitHub
    request: Request
    route: Route
    params: dict[str, str]
    token: Token | None = None
    app: App | None = None
    repository: Repository | None = None
    body: Any = field(default_factory=dict)

    @property
    def repo(self) -> Repository:
        assert self.repository is not None
        return self.repository

    @property
    def bare(self) -> Bare:
        return self.fake.bare(self.repo)

    @property
    def login(self) -> str:
        assert self.token is not None
        return self.token.login

    @property
    def app_slug(self) -> str:
        return self.token.app if self.token else ""

    def number(self, name: str = "number") -> int:
        return int(self.params[name])

    def issue(self) -> Issue:
        found = self.repo.issues.get(self.number())
        if found is None:
            raise not_found()
        return found

    def pull(self) -> Issue:
        found = self.issue()
        if found.pull is None:
            raise not_found()
        return found

    def comment(self) -> Comment:
        found = self.repo.comments.get(self.number("comment_id"))
        if found is None:
            raise not_found()
        return found

    def paged(self, values: list[Any]) -> tuple[list[Any], dict[str, str]]:
        size, page = self._count("per_page", 30), self._count("page", 1)
        if size > 100:
            raise Violation(422, "per_page is over 100")
        last = max(1, -(-len(values) // size))
        links = {"next": page + 1, "last": last} if page < last else {}
        if page > 1:
            links |= {"prev": page - 1, "first": 1}
        header = ", ".join(f'<{self._page(at)}>; rel="{name}"' for name, at in links.items())
        return values[(page - 1) * size : page * size], {"link": header} if header else {}

    def _page(self, at: int) -> str:
        query = {**self.request.query, "page": str(at)}
        return f"{self.fake.api_url}{self.request.path}?" + "&".join(f"{name}={text}" for name, text in query.items())

    def _count(self, name: str, default: int) -> int:
        word = self.request.query.get(name, str(default))
        if not word.isdigit() or int(word) < 1:
            raise Violation(422, f"{name} is {word!r}")
        return int(word)


# --- permissions ------------------------------------------------------------------------------------------------------


def authorise(ctx: Context) -> None:
    """Refuses as GitHub does: 401 without a valid token, 404 for what is hidden, 403 for what is forbidden."""
    if ctx.route.needs in ("", "app"):
        return
    if ctx.token is None:
        raise Refusal(401, "Requires authentication")
    if ctx.repository is None:
        return
    if ctx.token.repositories is not None and ctx.repo.full_name.lower() not in ctx.token.repositories:
        raise not_found()
    if ctx.token.kind == "user":
        _authorise_person(ctx)
    elif not any(allows(ctx.token, need) for need in _needs(ctx)):
        raise no_scope()
    if ctx.route.writes and ctx.repo.archived:
        raise Refusal(403, "Repository was archived so is read-only.")


def allows(token: Token, need: str) -> bool:
    name, _, access = need.partition(":")
    held = token.permissions.get(name, "none")
    return held in ("write", "admin") or (access == "read" and held == "read")


def _needs(ctx: Context) -> list[str]:
    """Under a pull request either permission is enough; under an issue, the one for issues."""
    name, _, access = ctx.route.needs.partition(":")
    if name != "conversation":
        return [ctx.route.needs]
    number = ctx.comment().number if "comment_id" in ctx.params else ctx.number()
    found = ctx.repo.issues.get(number)
    also = [f"pull_requests:{access}"] if found and found.pull else []
    return [f"issues:{access}", *also]


def _authorise_person(ctx: Context) -> None:
    held = LEVELS.index(ctx.repo.collaborators.get(ctx.login.lower(), "none"))
    if held == 0 and ctx.repo.private:
        raise not_found()
    public = LEVELS.index("read")  # anybody may read and comment in a public repository
    if max(held, public) < LEVELS.index(ctx.route.level):
        raise Refusal(403, "Must have push access to repository") if ctx.route.writes else not_found()


# --- validation -------------------------------------------------------------------------------------------------------


def check_parameters(ctx: Context) -> None:
    unknown = set(ctx.request.query) - ctx.route.query
    if unknown:
        raise Violation(422, f"unknown query parameters: {', '.join(sorted(unknown))}")
    if not ctx.request.body:
        ctx.body = {}
    else:
        try:
            ctx.body = ctx.request.json
        except ValueError:
            raise Violation(400, "Problems parsing JSON") from None
    if isinstance(ctx.body, list) and ctx.route.body == {"labels"}:
        ctx.body = {"labels": ctx.body}
    if not isinstance(ctx.body, dict):
        raise Violation(400, "Body should be a JSON object")
    unknown = set(ctx.body) - ctx.route.body
    if unknown:
        raise Violation(422, f"unknown body keys: {', '.join(sorted(unknown))}")
    missing = ctx.route.required - set(ctx.body)
    if missing:
        words = [f'"{name}" wasn\'t supplied.' for name in sorted(missing)]
        raise Violation(422, "Invalid request.\n\n" + "\n".join(words))


def text(ctx: Context, resource: str, name: str, default: str | None = None) -> str | None:
    """A string of the body, within the limit that GitHub sets on bodies and titles."""
    value = ctx.body.get(name, default)
    if value is not None and not isinstance(value, str):
        raise Violation(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not a string.")
    most = 256 if name == "title" else ctx.fake.limits.comment_length
    if value is not None and len(value) > most:
        raise invalid(resource, name, "custom", f"{name} is too long (maximum is {most} characters)")
    return value


def strings(value: Any, name: str) -> list[str]:
    """Labels come as names, or as objects with a name."""
    names = (
        [each.get("name") if isinstance(each, dict) else each for each in value] if isinstance(value, list) else None
    )
    if names is None or not all(isinstance(each, str) for each in names):
        raise Violation(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not an array of strings.")
    return [each for each in names if each]


def found(value: Json | list[Any], headers: dict[str, str] | None = None) -> Answer:
    return Answer(200, value, headers or {})


def made(value: Json | list[Any]) -> Answer:
    return Answer(201, value)
