"""One call being answered: who asks, for which repository, with which words; and what a route demands of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fakes.github.bare import Bare
from fakes.github.fake import FakeGitHub
from fakes.github.state import LEVELS, App, Comment, Issue, Level, Repository, Token
from fakes.github.wire import Answer, Json, Refusal, Request, Violation, invalid, no_scope, not_found

Handler = Callable[["Ask"], Answer]
PAGING = frozenset({"per_page", "page"})


@dataclass(frozen=True)
class Route:
    method: str
    template: str  # `{name}` is one piece of the path, `{name*}` the whole rest
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
class Ask:
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


# --- who may ----------------------------------------------------------------------------------------------------------


def authorise(ask: Ask) -> None:
    """Refuses as GitHub does: 401 without a good token, 404 for what one may not see, 403 for what one may not do."""
    if ask.route.needs in ("", "app"):
        return
    if ask.token is None:
        raise Refusal(401, "Requires authentication")
    if ask.repository is None:
        return
    if ask.token.repositories is not None and ask.repo.full_name.lower() not in ask.token.repositories:
        raise not_found()
    if ask.token.kind == "user":
        _authorise_person(ask)
    elif not any(allows(ask.token, need) for need in _needs(ask)):
        raise no_scope()
    if ask.route.writes and ask.repo.archived:
        raise Refusal(403, "Repository was archived so is read-only.")


def allows(token: Token, need: str) -> bool:
    name, _, access = need.partition(":")
    held = token.permissions.get(name, "none")
    return held in ("write", "admin") or (access == "read" and held == "read")


def _needs(ask: Ask) -> list[str]:
    """What stands under a pull request needs either permission; under an issue, the one for issues."""
    name, _, access = ask.route.needs.partition(":")
    if name != "conversation":
        return [ask.route.needs]
    number = ask.comment().number if "comment_id" in ask.params else ask.number()
    found = ask.repo.issues.get(number)
    also = [f"pull_requests:{access}"] if found and found.pull else []
    return [f"issues:{access}", *also]


def _authorise_person(ask: Ask) -> None:
    held = LEVELS.index(ask.repo.collaborators.get(ask.login.lower(), "none"))
    if held == 0 and ask.repo.private:
        raise not_found()
    public = LEVELS.index("read")  # anybody may read and talk in a public repository
    if max(held, public) < LEVELS.index(ask.route.level):
        raise Refusal(403, "Must have push access to repository") if ask.route.writes else not_found()


# --- what may be said -------------------------------------------------------------------------------------------------


def check_words(ask: Ask) -> None:
    unknown = set(ask.request.query) - ask.route.query
    if unknown:
        raise Violation(422, f"unknown query parameters: {', '.join(sorted(unknown))}")
    if not ask.request.body:
        ask.body = {}
    else:
        try:
            ask.body = ask.request.json
        except ValueError:
            raise Violation(400, "Problems parsing JSON") from None
    if isinstance(ask.body, list) and ask.route.body == {"labels"}:
        ask.body = {"labels": ask.body}
    if not isinstance(ask.body, dict):
        raise Violation(400, "Body should be a JSON object")
    unknown = set(ask.body) - ask.route.body
    if unknown:
        raise Violation(422, f"unknown body keys: {', '.join(sorted(unknown))}")
    missing = ask.route.required - set(ask.body)
    if missing:
        words = [f'"{name}" wasn\'t supplied.' for name in sorted(missing)]
        raise Violation(422, "Invalid request.\n\n" + "\n".join(words))


def text(ask: Ask, resource: str, name: str, default: str | None = None) -> str | None:
    """A string of the body, held to the limit that GitHub sets on bodies and titles."""
    value = ask.body.get(name, default)
    if value is not None and not isinstance(value, str):
        raise Violation(422, f"Invalid request.\n\nFor 'properties/{name}', {value!r} is not a string.")
    most = 256 if name == "title" else ask.fake.limits.comment_length
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
