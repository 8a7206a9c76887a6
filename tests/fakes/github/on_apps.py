"""Apps, their installations, and the tokens that are minted for an hour."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.context import PAGING, Context, Route, found, made
from fakes.github.state import App, Delivery, Installation
from fakes.github.wire import Answer, Json, Refusal, Violation, no_scope, not_found


def _app(ctx: Context) -> App:
    if ctx.app is None:
        raise Refusal(401, "A JSON web token could not be decoded")
    return ctx.app


def get_app(ctx: Context) -> Answer:
    return found(shapes.app(ctx.fake, _app(ctx)))


def list_installations(ctx: Context) -> Answer:
    slug = _app(ctx).slug
    rows = [_installation(ctx, row) for row in ctx.fake.state.installations.values() if row.app == slug]
    page, headers = ctx.paged(rows)
    return found(page, headers)


def get_installation(ctx: Context) -> Answer:
    return found(_installation(ctx, _installed(ctx)))


def _installed(ctx: Context) -> Installation:
    row = ctx.fake.state.installations.get(ctx.number("installation_id"))
    if row is None or row.app != _app(ctx).slug:
        raise not_found()
    return row


def of_repository(ctx: Context) -> Answer:
    slug, name = _app(ctx).slug, ctx.repo.full_name
    rows = (row for row in ctx.fake.state.installations.values() if row.app == slug and name in row.repositories)
    row = next(rows, None)
    if row is None:
        raise not_found()
    return found(_installation(ctx, row))


def _installation(ctx: Context, row: Installation) -> Json:
    at = f"{ctx.fake.api_url}/app/installations/{row.id}"
    account = shapes.user(ctx.fake, row.account)
    return {
        "id": row.id, "app_id": _app(ctx).id, "app_slug": row.app, "target_id": account["id"],
        "target_type": account["type"], "account": account, "permissions": row.permissions, "events": ["push"],
        "repository_selection": "selected", "single_file_name": None, "access_tokens_url": f"{at}/access_tokens",
        "repositories_url": f"{ctx.fake.api_url}/installation/repositories", "created_at": shapes.EPOCH,
        "html_url": f"{ctx.fake.server_url}/settings/installations/{row.id}", "updated_at": shapes.EPOCH,
        "suspended_at": None, "suspended_by": None,
    }  # fmt: skip


def mint_token(ctx: Context) -> Answer:
    row = _installed(ctx)
    wanted: Any = ctx.body.get("permissions")
    if wanted is not None:
        _check_granted(row, wanted)
    names = ctx.body.get("repositories")
    known = {name.partition("/")[2]: name for name in row.repositories}
    if names is not None and not set(names) <= set(known):
        message = (
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
        raise Refusal(422, message)
    token = ctx.fake.installation_token(row, wanted)
    if names is not None:
        token.repositories = [known[name].lower() for name in names]
    return made(
        {
            "token": token.value, "expires_at": ctx.fake.stamp(token.expires_at), "permissions": token.permissions,
            "repository_selection": "selected",
            "repositories": [shapes.repository(ctx.fake, ctx.fake.repo(name)) for name in token.repositories or []],
        }
    )  # fmt: skip


def _check_granted(row: Installation, wanted: Any) -> None:
    if not isinstance(wanted, dict) or not all(word in ("read", "write") for word in wanted.values()):
        raise Violation(422, f"permissions are {wanted!r}")
    held = {"metadata": "read", **row.permissions}
    for name, access in wanted.items():
        if held.get(name) not in (access, "write"):
            raise Refusal(422, "The permissions requested are not granted to this installation.")


def convert_manifest(ctx: Context) -> Answer:
    """Once, within the hour, and without any token: the code is the secret."""
    code = ctx.params["code"]
    made_of = ctx.fake.state.conversions.pop(code, None)
    if made_of is None or made_of.ends < ctx.fake.now():
        raise not_found()
    app = ctx.fake.state.apps[made_of.app]
    return made({**shapes.app(ctx.fake, app), **made_of.secrets})


def list_repositories(ctx: Context) -> Answer:
    if ctx.token is None or ctx.token.kind == "user":
        raise Refusal(403, "You must authenticate with an installation access token in order to list repositories.")
    page, headers = ctx.paged(ctx.token.repositories or [])
    rows = [shapes.repository(ctx.fake, ctx.fake.repo(name)) for name in page]
    return found({"total_count": len(ctx.token.repositories or []), "repositories": rows}, headers)


def revoke_token(ctx: Context) -> Answer:
    if ctx.token is None or ctx.token.kind == "user":
        raise no_scope()
    ctx.fake.revoke(ctx.token.value)
    return Answer(204)


def list_deliveries(ctx: Context) -> Answer:
    """By cursor, the newest first."""
    _app(ctx)
    query, size = ctx.request.query, int(ctx.request.query.get("per_page", 30))
    cursor = query.get("cursor", "")
    if cursor and not cursor.removeprefix("v1_").isdigit():
        raise Violation(422, f"the cursor is {cursor!r}")
    rows = [
        row for row in reversed(ctx.fake.state.deliveries) if not cursor or row.id < int(cursor.removeprefix("v1_"))
    ]
    headers = {}
    if len(rows) > size:
        at = f"{ctx.fake.api_url}/app/hook/deliveries?per_page={size}&cursor=v1_{rows[size - 1].id}"
        headers["link"] = f'<{at}>; rel="next"'
    return found([_delivery(ctx, row) for row in rows[:size]], headers)


def _delivery(ctx: Context, row: Delivery) -> Json:
    good = 200 <= row.status_code < 300
    return {
        "id": row.id, "guid": row.guid, "delivered_at": ctx.fake.stamp(row.at), "redelivery": row.redelivery,
        "duration": 0.27, "status": "OK" if good else "failed to connect to host", "status_code": row.status_code,
        "event": row.event, "action": row.action, "installation_id": None, "repository_id": None,
        "throttled_at": None,
    }  # fmt: skip


def redeliver(ctx: Context) -> Answer:
    _app(ctx)
    if not any(row.id == ctx.number("delivery_id") for row in ctx.fake.state.deliveries):
        raise not_found()
    ctx.fake.state.redeliver.append(ctx.number("delivery_id"))
    return Answer(202, {})


ROUTES = (
    Route("GET", "/app/hook/deliveries", list_deliveries, "app", query=frozenset({"per_page", "cursor"})),
    Route("POST", "/app/hook/deliveries/{delivery_id}/attempts", redeliver, "app"),
    Route("POST", "/app-manifests/{code}/conversions", convert_manifest, ""),
    Route("GET", "/app", get_app, "app"),
    Route("GET", "/app/installations", list_installations, "app", query=PAGING),
    Route("GET", "/app/installations/{installation_id}", get_installation, "app"),
    Route("GET", "/repos/{owner}/{repo}/installation", of_repository, "app"),
    Route(
        "POST", "/app/installations/{installation_id}/access_tokens", mint_token, "app",
        body=frozenset({"repositories", "repository_ids", "permissions"}),
    ),
    Route("GET", "/installation/repositories", list_repositories, query=PAGING),
    Route("DELETE", "/installation/token", revoke_token),
)  # fmt: skip
