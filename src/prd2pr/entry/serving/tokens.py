"""`prd2pr serve token …`: who may ask the server for what. And `--rebuild`, which forgets what can be read again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime

from prd2pr.core.access import SCOPE_WORDS, Scope
from prd2pr.core.wording import plain
from prd2pr.errors import UsageProblem
from prd2pr.server.api.tokens import TokenRow, issue, listed, revoke, written
from prd2pr.server.database import open_database
from prd2pr.server.projection.running import rebuild
from prd2pr.server.settings import ServerSettings

USUAL_DAYS = 90.0
HOW = "prd2pr serve token create --name NAME --scope read|operate|admin --repo OWNER/NAME, token list, token revoke ID"

CREATED = """\
{token}

This is shown once: only a digest of it is kept.
It may, in {repos}: {scope}.
{ends}
Take it back: prd2pr serve token revoke {id}
"""


def keeping_way(options: argparse.Namespace) -> Callable[[ServerSettings], int]:
    if options.rebuild and not options.words:
        return rebuild_projection
    match options.words:
        case ["token", "create"]:
            return lambda settings: create(settings, options)
        case ["token", "list"]:
            return tell
        case ["token", "revoke", number]:
            return lambda settings: take_back(settings, number)
    raise UsageProblem(f"`serve {' '.join(options.words)}` is not known", where="prd2pr serve", remedy=HOW)


def create(settings: ServerSettings, options: argparse.Namespace) -> int:
    if not options.scope:
        words = "; ".join(f"{scope}: {told}" for scope, told in SCOPE_WORDS.items())
        raise UsageProblem("a token needs a scope", where="--scope", remedy=words)
    days = USUAL_DAYS if options.days is None else options.days
    scope, repos = Scope(options.scope), tuple(options.token_repos or ())
    with closing(open_database(settings.database)) as database:
        made = issue(database, options.name or "", scope, repos, days=days or None, now=datetime.now(UTC))
    ends = f"It ends at {made.expires_at}." if made.expires_at else "It does not end by itself."
    where = ", ".join(repos)
    sys.stdout.write(CREATED.format(token=made.token, repos=where, scope=SCOPE_WORDS[scope], ends=ends, id=made.id))
    return 0


def tell(settings: ServerSettings) -> int:
    with closing(open_database(settings.database)) as database:
        found = listed(database)
    now = written(datetime.now(UTC))
    sys.stdout.write("".join(f"{line(each, now)}\n" for each in found))
    sys.stdout.write(f"{len(found)} in all.\n")
    return 0


def line(token: TokenRow, now: str) -> str:
    used = f"used {token.last_used_at}" if token.last_used_at else "never used"
    ends = f"ends {token.expires_at}" if token.expires_at else "does not end"
    repos = ",".join(token.repos)
    return f"{token.id}  {token.standing(now):<8} {token.scope:<8} {repos}  {plain(token.name)}, {used}, {ends}"


def take_back(settings: ServerSettings, number: str) -> int:
    with closing(open_database(settings.database)) as database:
        found = revoke(database, number, datetime.now(UTC))
    if found is None:
        raise UsageProblem(
            f"there is no token {number!r}", where="token revoke", remedy="prd2pr serve token list shows their ids"
        )
    sys.stdout.write(f"{found.id} ({plain(found.name)}) no longer holds.\n")
    return 0


def rebuild_projection(settings: ServerSettings) -> int:
    with closing(open_database(settings.database)) as database:
        rebuild(database)
    sys.stdout.write("What was read from branches is forgotten; the server reads it again when it runs.\n")
    return 0
