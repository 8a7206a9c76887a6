"""Apps, their installations, and the tokens that are minted for an hour."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.asking import PAGING, Ask, Route, found, made
from fakes.github.state import App, Delivery, Installation
from fakes.github.wire import Answer, Json, Refusal, Violation, no_scope, not_found


def _app(ask: Ask) -> App:
    if ask.app is None:
        raise Refusal(401, "A JSON web token could not be decoded")
    return ask.app


def get_app(ask: Ask) -> Answer:
    return found(shapes.app(ask.fake, _app(ask)))


def list_installations(ask: Ask) -> Answer:
    slug = _app(ask).slug
    rows = [_installation(ask, row) for row in ask.fake.state.installations.values() if row.app == slug]
    page, headers = ask.paged(rows)
    return found(page, headers)


def get_installation(ask: Ask) -> Answer:
    return found(_installation(ask, _installed(ask)))


def _installed(ask: Ask) -> Installation:
    row = ask.fake.state.installations.get(ask.number("installation_id"))
    if row is None or row.app != _app(ask).slug:
        raise not_found()
    return row


def of_repository(ask: Ask) -> Answer:
    slug, name = _app(ask).slug, ask.repo.full_name
    rows = (row for row in ask.fake.state.installations.values() if row.app == slug and name in row.repositories)
    row = next(rows, None)
    if row is None:
        raise not_found()
    return found(_installation(ask, row))


def _installation(ask: Ask, row: Installation) -> Json:
    at = f"{ask.fake.api_url}/app/installations/{row.id}"
    account = shapes.user(ask.fake, row.account)
    return {
        "id": row.id, "app_id": _app(ask).id, "app_slug": row.app, "target_id": account["id"],
        "target_type": account["type"], "account": account, "permissions": row.permissions, "events": ["push"],
        "repository_selection": "selected", "single_file_name": None, "access_tokens_url": f"{at}/access_tokens",
        "repositories_url": f"{ask.fake.api_url}/installation/repositories", "created_at": shapes.EPOCH,
        "html_url": f"{ask.fake.server_url}/settings/installations/{row.id}", "updated_at": shapes.EPOCH,
        "suspended_at": None, "suspended_by": None,
    }  # fmt: skip


def mint_token(ask: Ask) -> Answer:
    row = _installed(ask)
    wanted: Any = ask.body.get("permissions")
    if wanted is not None:
        _check_granted(row, wanted)
    names = ask.body.get("repositories")
    known = {name.partition("/")[2]: name for name in row.repositories}
    if names is not None and not set(names) <= set(known):
        message = (
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
        raise Refusal(422, message)
    token = ask.fake.installation_token(row, wanted)
    if names is not None:
        token.repositories = [known[name].lower() for name in names]
    return made(
        {
            "token": token.value, "expires_at": ask.fake.stamp(token.expires_at), "permissions": token.permissions,
            "repository_selection": "selected",
            "repositories": [shapes.repository(ask.fake, ask.fake.repo(name)) for name in token.repositories or []],
        }
    )  # fmt: skip


def _check_granted(row: Installation, wanted: Any) -> None:
    if not isinstance(wanted, dict) or not all(word in ("read", "write") for word in wanted.values()):
        raise Violation(422, f"permissions are {wanted!r}")
    held = {"metadata": "read", **row.permissions}
    for name, access in wanted.items():
        if held.get(name) not in (access, "write"):
            raise Refusal(422, "The permissions requested are not granted to this installation.")


def convert_manifest(ask: Ask) -> Answer:
    """Once, within the hour, and without any token: the code is the secret."""
    code = ask.params["code"]
    made_of = ask.fake.state.conversions.pop(code, None)
    if made_of is None or made_of.ends < ask.fake.now():
        raise not_found()
    app = ask.fake.state.apps[made_of.app]
    return made({**shapes.app(ask.fake, app), **made_of.secrets})


def list_repositories(ask: Ask) -> Answer:
    if ask.token is None or ask.token.kind == "user":
        raise Refusal(403, "You must authenticate with an installation access token in order to list repositories.")
    page, headers = ask.paged(ask.token.repositories or [])
    rows = [shapes.repository(ask.fake, ask.fake.repo(name)) for name in page]
    return found({"total_count": len(ask.token.repositories or []), "repositories": rows}, headers)


def revoke_token(ask: Ask) -> Answer:
    if ask.token is None or ask.token.kind == "user":
        raise no_scope()
    ask.fake.revoke(ask.token.value)
    return Answer(204)


def list_deliveries(ask: Ask) -> Answer:
    """By cursor, the newest first."""
    _app(ask)
    query, size = ask.request.query, int(ask.request.query.get("per_page", 30))
    cursor = query.get("cursor", "")
    if cursor and not cursor.removeprefix("v1_").isdigit():
        raise Violation(422, f"the cursor is {cursor!r}")
    rows = [
        row for row in reversed(ask.fake.state.deliveries) if not cursor or row.id < int(cursor.removeprefix("v1_"))
    ]
    headers = {}
    if len(rows) > size:
        at = f"{ask.fake.api_url}/app/hook/deliveries?per_page={size}&cursor=v1_{rows[size - 1].id}"
        headers["link"] = f'<{at}>; rel="next"'
    return found([_delivery(ask, row) for row in rows[:size]], headers)


def _delivery(ask: Ask, row: Delivery) -> Json:
    good = 200 <= row.status_code < 300
    return {
        "id": row.id, "guid": row.guid, "delivered_at": ask.fake.stamp(row.at), "redelivery": row.redelivery,
        "duration": 0.27, "status": "OK" if good else "failed to connect to host", "status_code": row.status_code,
        "event": row.event, "action": row.action, "installation_id": None, "repository_id": None,
        "throttled_at": None,
    }  # fmt: skip


def redeliver(ask: Ask) -> Answer:
    _app(ask)
    if not any(row.id == ask.number("delivery_id") for row in ask.fake.state.deliveries):
        raise not_found()
    ask.fake.state.redeliver.append(ask.number("delivery_id"))
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
