"""`prd2pr serve token …` manages API tokens; `--rebuild` discards data that can be read again from branches."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

from prd2pr.domain.wording import clean_line
from prd2pr.errors import UsageProblem
from prd2pr.server.api.tokens import TokenRow, create_token, format_utc, list_tokens, revoke_token
from prd2pr.server.database import open_database
from prd2pr.server.projection.service import clear_projection
from prd2pr.server.settings import ServerSettings
from prd2pr.server.token_scopes import SCOPE_DESCRIPTIONS, Scope

DEFAULT_DAYS = 90.0
USAGE = (
    "prd2pr serve token create --name NAME --scope read|operate|admin --repo OWNER/NAME, token list, token revoke ID"
)

CREATED = """\
{token}

This token is shown only once: the server stores a digest.
Scope in {repos}: {scope}.
{ends}
To revoke it: prd2pr serve token revoke {id}
"""


def select_token_command(options: argparse.Namespace) -> Callable[[ServerSettings], int]:
    if options.rebuild and not options.words:
        return rebuild_projection
    match options.words:
        case ["token", "create"]:
            return lambda settings: run_token_create(settings, options)
        case ["token", "list"]:
            return print_tokens
        case ["token", "revoke", number]:
            return lambda settings: run_token_revoke(settings, number)
    raise UsageProblem(f"unknown command `serve {' '.join(options.words)}`", where="prd2pr serve", remedy=USAGE)


def run_token_create(settings: ServerSettings, options: argparse.Namespace) -> int:
    if not options.scope:
        scopes = "; ".join(f"{scope}: {description}" for scope, description in SCOPE_DESCRIPTIONS.items())
        raise UsageProblem("a token requires a scope", where="--scope", remedy=scopes)
    days = DEFAULT_DAYS if options.days is None else options.days
    scope, repos = Scope(options.scope), tuple(options.token_repos or ())
    with closing(open_database(settings.database)) as database:
        token = create_token(database, options.name or "", scope, repos, days=days or None, now=datetime.now(UTC))
    expiry = f"It expires at {token.expires_at}." if token.expires_at else "It does not expire."
    repositories = ", ".join(repos)
    sys.stdout.write(
        CREATED.format(token=token.token, repos=repositories, scope=SCOPE_DESCRIPTIONS[scope], ends=expiry, id=token.id)
    )
    return 0


def print_tokens(settings: ServerSettings) -> int:
    with closing(open_database(settings.database)) as database:
        found = list_tokens(database)
    now = format_utc(datetime.now(UTC))
    sys.stdout.write("".join(f"{format_token_line(each, now)}\n" for each in found))
    sys.stdout.write(f"{len(found)} tokens.\n")
    return 0


def format_token_line(token: TokenRow, now: str) -> str:
    used = f"used {token.last_used_at}" if token.last_used_at else "never used"
    expiry = f"expires {token.expires_at}" if token.expires_at else "does not expire"
    repos = ",".join(token.repos)
    return (
        f"{token.id}  {token.get_status(now):<8} {token.scope:<8} {repos}  {clean_line(token.name)}, {used}, {expiry}"
    )


def run_token_revoke(settings: ServerSettings, number: str) -> int:
    with closing(open_database(settings.database)) as database:
        found = revoke_token(database, number, datetime.now(UTC))
    if found is None:
        raise UsageProblem(
            f"unknown token {number!r}", where="token revoke", remedy="list the tokens with: prd2pr serve token list"
        )
    sys.stdout.write(f"{found.id} ({clean_line(found.name)}) is revoked.\n")
    return 0


def rebuild_projection(settings: ServerSettings) -> int:
    with closing(open_database(settings.database)) as database:
        clear_projection(database)
    sys.stdout.write("The data read from branches is discarded; the server reads it again when it runs.\n")
    return 0
