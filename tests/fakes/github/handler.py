"""The path of a request: faults, token, route, permission, validation, the handler; and its line in `calls`."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from urllib.parse import unquote

from fakes.github import (
    on_actions,
    on_apps,
    on_checks,
    on_git,
    on_graphql,
    on_issues,
    on_labels,
    on_pulls,
    on_repo,
    on_runs,
)
from fakes.github.context import Context, Route, authorise, check_parameters
from fakes.github.fake import Call, FakeGitHub
from fakes.github.faults import (
    SECONDARY,
    SECONDARY_DOCS,
    BrokenAfter,
    Calls,
    DropAfter,
    DropBefore,
    Fault,
    Stale,
    pause,
    rate_limited,
    refusal_of,
)  # fmt: skip
from fakes.github.jwt import app_of_jwt
from fakes.github.state import State, Token
from fakes.github.wire import Answer, Dropped, Refusal, Request, Violation, not_found

ROUTES = (
    *on_actions.ROUTES, *on_apps.ROUTES, *on_issues.ROUTES, *on_labels.ROUTES, *on_pulls.ROUTES, *on_checks.ROUTES,
    *on_git.ROUTES, *on_repo.ROUTES, *on_graphql.ROUTES, *on_runs.ROUTES,
)  # fmt: skip
WINDOW = 3600.0
NUMBERS = ("number", "comment_id", "reaction_id", "check_run_id", "installation_id", "run_id", "delivery_id")


def answer(fake: FakeGitHub, request: Request) -> Answer:
    """What goes back over the wire; raises Dropped if nothing does."""
    return with_faults(fake, request, lambda stale: _answer(fake, request, stale))


def with_faults(fake: FakeGitHub, request: Request, handle: Callable[[Stale | None], Answer]) -> Answer:
    """Run the handler under the scripted faults, and record the call. Nothing is locked while a fault waits."""
    with fake.lock:
        faults = fake.faults.for_request(request)
        number = len(fake.calls) + 1
        fake.calls.append(_call(fake, request, number, 0))
    for fault in faults:
        pause(fault)
        if isinstance(fault, Calls) and fault.before:
            fault.before()
        if isinstance(fault, DropBefore):
            raise Dropped
    outcome = _outcome(fake, faults, handle)
    for fault in faults:
        if isinstance(fault, Calls) and fault.after:
            fault.after()
        if isinstance(fault, DropAfter):
            raise Dropped
        if isinstance(fault, BrokenAfter):
            outcome = Refusal(fault.status, "Server Error").answer()
    with fake.lock:
        call = _call(fake, request, number, outcome.status)
        fake.calls[number - 1] = call
        fake.exchanges.append((call, dict(request.headers), outcome.status, outcome.body))
    return outcome


def _outcome(fake: FakeGitHub, faults: list[Fault], handle: Callable[[Stale | None], Answer]) -> Answer:
    refusals = [refusal for fault in faults if (refusal := refusal_of(fault, fake.now()))]
    if refusals:
        return refusals[0].answer()
    return handle(next((fault for fault in faults if isinstance(fault, Stale)), None))


def _call(fake: FakeGitHub, request: Request, number: int, status: int) -> Call:
    matched = match(request.method, request.path)
    token = fake.state.tokens.get(credential(request))
    return Call(
        number, request.method, request.path, request.query, request.body, token.login if token else "", status,
        f"{request.method} {matched[0].template}" if matched else "",
    )  # fmt: skip


def _answer(fake: FakeGitHub, request: Request, stale: Stale | None) -> Answer:
    with fake.lock:
        token: Token | None = None
        try:
            matched = match(request.method, request.path)
            if matched is None:
                raise Violation(404, "Not Found")
            ctx = Context(fake, request, matched[0], matched[1])
            token = ctx.token = _token(fake, ctx)
            _check_client(ctx)
            if ctx.route.writes:
                fake.remember()
                outcome = _handle(ctx)
            else:
                with _as_of(fake, stale):
                    outcome = _handle(ctx)
        except Refusal as refusal:
            if isinstance(refusal, Violation):
                fake.violate(f"{request.method} {request.path}: {refusal.message}")
            outcome = refusal.answer()
        return _with_limits(_unless_known(request, outcome, token), token)


def _unless_known(request: Request, outcome: Answer, token: Token | None) -> Answer:
    """A conditional request for unchanged data gets 304, and does not count."""
    if request.method != "GET" or outcome.status != 200 or token is None:
        return outcome
    tag = f'W/"{hashlib.sha256(outcome.body).hexdigest()}"'
    if request.headers.get("if-none-match") != tag:
        return Answer(200, outcome.value, {**outcome.headers, "etag": tag}, outcome.raw)
    token.used -= 1
    return Answer(304, None, {**outcome.headers, "etag": tag})


@contextmanager
def _as_of(fake: FakeGitHub, stale: Stale | None) -> Iterator[None]:
    present: State = fake.state
    if stale:
        fake.state = fake.as_of(stale.writes)
    try:
        yield
    finally:
        fake.state = present


def _handle(ctx: Context) -> Answer:
    if "owner" in ctx.params:
        ctx.repository = ctx.fake.state.repositories.get(f"{ctx.params['owner']}/{ctx.params['repo']}".lower())
        if ctx.repository is None:
            raise not_found()
        on_pulls.follow_branches(ctx.fake, ctx.repository)
    authorise(ctx)
    check_parameters(ctx)
    _check_content_limit(ctx)
    return ctx.route.handler(ctx)


# --- routes -----------------------------------------------------------------------------------------------------------


def match(method: str, path: str) -> tuple[Route, dict[str, str]] | None:
    for route in ROUTES:
        if route.method == method and (fits := _pattern(route.template).fullmatch(path)):
            return route, {name: unquote(word) for name, word in fits.groupdict().items()}
    return None


@cache
def _pattern(template: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+\*?)\}", template)
    return re.compile("".join(_piece(piece) if at % 2 else re.escape(piece) for at, piece in enumerate(pieces)))


def _piece(name: str) -> str:
    if name.endswith("*"):
        return f"(?P<{name[:-1]}>.+)"
    return f"(?P<{name}>{r'[0-9]+' if name in NUMBERS else '[^/]+'})"


# --- tokens and limits ------------------------------------------------------------------------------------------------


def credential(request: Request) -> str:
    kind, _, word = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        return base64.b64decode(word).decode("utf-8", "replace").partition(":")[2]
    return word.strip() if kind.lower() in ("bearer", "token") else ""


def _token(fake: FakeGitHub, ctx: Context) -> Token | None:
    word = credential(ctx.request)
    if not word:
        return None
    if word.count(".") == 2:
        ctx.app = app_of_jwt(fake, word)
        if ctx.route.needs != "app":
            raise Refusal(401, "Bad credentials")
        return None
    token = live_token(fake, word)
    if ctx.route.needs == "app":
        raise Refusal(401, "A JSON web token could not be decoded")
    _spend(fake, token, ctx)
    return token


def live_token(fake: FakeGitHub, word: str) -> Token:
    token = fake.state.tokens.get(word)
    if token is None or (token.expires_at is not None and token.expires_at <= fake.now()):
        raise Refusal(401, "Bad credentials")
    return token


def _spend(fake: FakeGitHub, token: Token, ctx: Context) -> None:
    if ctx.request.path == "/rate_limit":
        return
    if fake.now() >= token.window_ends:
        token.used, token.window_ends = 0, fake.now() + WINDOW
    token.used += 1
    if token.used > token.limit:
        raise rate_limited(token.window_ends)


def _with_limits(outcome: Answer, token: Token | None) -> Answer:
    if token is None:
        return outcome
    limits = {
        "x-ratelimit-limit": str(token.limit), "x-ratelimit-used": str(min(token.used, token.limit)),
        "x-ratelimit-remaining": str(max(0, token.limit - token.used)), "x-ratelimit-resource": "core",
        "x-ratelimit-reset": str(int(token.window_ends)),
    }  # fmt: skip
    return Answer(outcome.status, outcome.value, {**limits, **outcome.headers}, outcome.raw)


def _check_client(ctx: Context) -> None:
    if not ctx.request.headers.get("user-agent"):
        raise Violation(
            403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header."
        )


def _check_content_limit(ctx: Context) -> None:
    most = ctx.fake.limits.content_per_minute
    if most is None or not ctx.route.writes or ctx.token is None:
        return
    times = ctx.fake.content_times.setdefault(ctx.token.value, [])
    times[:] = [at for at in times if at > ctx.fake.now() - 60]
    if len(times) >= most:
        wait = max(1, int(times[0] + 60 - ctx.fake.now()) + 1)
        raise Refusal(403, SECONDARY, headers={"retry-after": str(wait)}, docs=SECONDARY_DOCS)
    times.append(ctx.fake.now())
