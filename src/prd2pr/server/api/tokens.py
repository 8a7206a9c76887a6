"""Bearer tokens: made once, shown once, kept as a digest.

A token is `prd2pr_<id>_<secret>`. The id finds its row, the secret's digest is compared in constant time; an id that
does not exist costs the same. The secret has 256 random bits, so a plain hash is as good as a slow one.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import RowMapping, text
from sqlalchemy.exc import OperationalError

from prd2pr.core.access import Bearer, Scope, is_pattern
from prd2pr.errors import InputInvalid
from prd2pr.server.database import Database

LOG = logging.getLogger("prd2pr.server.api")
FORM = re.compile(r"prd2pr_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
NOBODYS_DIGEST = hashlib.sha256(b"nobody's").hexdigest()
USED_EVERY = timedelta(minutes=1)  # how exactly it is known when a token was used last: a write for each call costs
LONGEST_NAME = 100
LONGEST_DAYS = 3660


@dataclass(frozen=True)
class Issued:
    """The only moment at which the token itself is known."""

    id: str
    token: str
    expires_at: str | None

    def __repr__(self) -> str:
        return f"Issued({self.id})"


@dataclass(frozen=True)
class TokenRow:
    id: str
    name: str
    scope: Scope
    repos: tuple[str, ...]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None

    def standing(self, now: str) -> str:
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now else "valid"


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def issue(
    database: Database, name: str, scope: Scope, repos: tuple[str, ...], *, days: float | None, now: datetime
) -> Issued:
    """`days`: until it expires; None: never."""
    check(name, repos, days)
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    expires_at = written(now + timedelta(days=days)) if days is not None else None
    with database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO tokens (id, name, digest, scope, repos, created_at, expires_at)"
                " VALUES (:id, :name, :digest, :scope, :repos, :created_at, :expires_at)"
            ),
            {
                "id": number,
                "name": name,
                "digest": digest(secret),
                "scope": scope.value,
                "repos": json.dumps(repos),
                "created_at": written(now),
                "expires_at": expires_at,
            },
        )
    return Issued(number, f"prd2pr_{number}_{secret}", expires_at)


def check(name: str, repos: tuple[str, ...], days: float | None) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise InputInvalid(
            "a token needs a name: it goes on record with whatever is asked for by it",
            where="--name",
            remedy=f"give up to {LONGEST_NAME} characters, such as --name dashboard",
        )
    if not repos:
        raise InputInvalid(
            "a token for no repository would open nothing",
            where="--repo",
            remedy="name each: --repo owner/name, --repo 'owner/*', or --repo '*' for all",
        )
    for repo in repos:
        if not is_pattern(repo):
            raise InputInvalid(
                f"{repo!r} is no repository",
                where="--repo",
                remedy="write owner/name, 'owner/*', or '*' for all",
            )
    if days is not None and not 0 < days <= LONGEST_DAYS:
        raise InputInvalid(
            f"{days:g} days cannot be",
            where="--days",
            remedy=f"give more than 0 and up to {LONGEST_DAYS}, or leave it out for a token that does not expire",
        )


def bearer_of(database: Database, presented: str, now: datetime) -> Bearer | None:
    """Whose token it is; None: nobody's, or it expired or was revoked."""
    form = FORM.fullmatch(presented)
    number, secret = form.groups() if form else ("", presented)
    with database.reading() as connection:
        row = connection.execute(text("SELECT * FROM tokens WHERE id = :id"), {"id": number}).mappings().first()
    same = hmac.compare_digest(digest(secret), row["digest"] if row else NOBODYS_DIGEST)
    if row is None or not same:
        return None
    token = _token(row)
    if token.standing(written(now)) != "valid":
        return None
    _note_use(database, token, now)
    return Bearer(token.id, token.name, token.scope, token.repos)


def _note_use(database: Database, token: TokenRow, now: datetime) -> None:
    if token.last_used_at and token.last_used_at > written(now - USED_EVERY):
        return
    used = text("UPDATE tokens SET last_used_at = :now WHERE id = :id")
    try:
        with database.writing() as connection:
            connection.execute(used, {"now": written(now), "id": token.id})
    except OperationalError as error:  # the disk is full, say: whoever only reads needs none of it
        LOG.warning("that a token was used could not be noted: %s", error.orig, extra={"token": token.id})


def revoke(database: Database, number: str, now: datetime) -> TokenRow | None:
    """What it was; None: there is none with this id. One that was revoked already stays as it was."""
    with database.writing() as connection:
        connection.execute(
            text("UPDATE tokens SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL"),
            {"now": written(now), "id": number},
        )
        row = connection.execute(text("SELECT * FROM tokens WHERE id = :id"), {"id": number}).mappings().first()
    return _token(row) if row else None


def listed(database: Database) -> tuple[TokenRow, ...]:
    with database.reading() as connection:
        rows = connection.execute(text("SELECT * FROM tokens ORDER BY created_at, id")).mappings().all()
    return tuple(_token(row) for row in rows)


def _token(row: RowMapping) -> TokenRow:
    return TokenRow(
        id=row["id"],
        name=row["name"],
        scope=Scope(row["scope"]),
        repos=tuple(json.loads(row["repos"])),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )
