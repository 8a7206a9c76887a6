"""Bearer tokens: shown once when created, stored as a digest.

A token is `prd2pr_<id>_<secret>`. The id selects the row, and the secret's digest is compared in constant time, even
for an unknown id. The secret has 256 random bits, so a fast hash is sufficient.
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

from prd2pr.errors import InputInvalid
from prd2pr.server.database import Database
from prd2pr.server.token_scopes import Bearer, Scope, is_repo_pattern

LOG = logging.getLogger("prd2pr.server.api")
TOKEN_PATTERN = re.compile(r"prd2pr_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
DUMMY_DIGEST = hashlib.sha256(b"no token").hexdigest()
LAST_USED_RESOLUTION = timedelta(minutes=1)  # limits how often the last use is written
MAX_NAME_LENGTH = 100
MAX_DAYS = 3660


@dataclass(frozen=True)
class IssuedToken:
    """A newly created token. Its secret is available only here."""

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

    def get_status(self, now: str) -> str:
        if self.revoked_at:
            return "revoked"
        return "expired" if self.expires_at and self.expires_at <= now else "valid"


def format_utc(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def create_token(
    database: Database, name: str, scope: Scope, repos: tuple[str, ...], *, days: float | None, now: datetime
) -> IssuedToken:
    """Create a token that expires after `days`, or never if `days` is None."""
    validate_token_request(name, repos, days)
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    expires_at = format_utc(now + timedelta(days=days)) if days is not None else None
    with database.writing() as connection:
        connection.execute(
            text(
                "INSERT INTO tokens (id, name, digest, scope, repos, created_at, expires_at)"
                " VALUES (:id, :name, :digest, :scope, :repos, :created_at, :expires_at)"
            ),
            {
                "id": number,
                "name": name,
                "digest": hash_secret(secret),
                "scope": scope.value,
                "repos": json.dumps(repos),
                "created_at": format_utc(now),
                "expires_at": expires_at,
            },
        )
    return IssuedToken(number, f"prd2pr_{number}_{secret}", expires_at)


def validate_token_request(name: str, repos: tuple[str, ...], days: float | None) -> None:
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise InputInvalid(
            f"the token's name is empty, longer than {MAX_NAME_LENGTH} characters, or not printable",
            where="--name",
            remedy="name its holder, such as --name dashboard: the name is recorded with every order",
        )
    if not repos:
        raise InputInvalid(
            "a token needs at least one repository",
            where="--repo",
            remedy="name each: --repo owner/name, --repo 'owner/*', or --repo '*' for all",
        )
    for repo in repos:
        if not is_repo_pattern(repo):
            raise InputInvalid(
                f"{repo!r} is not a repository or pattern",
                where="--repo",
                remedy="write owner/name, 'owner/*', or '*' for all",
            )
    if days is not None and not 0 < days <= MAX_DAYS:
        raise InputInvalid(
            f"{days:g} days is out of range",
            where="--days",
            remedy=f"use more than 0 and at most {MAX_DAYS}, or omit --days for a token that does not expire",
        )


def find_bearer(database: Database, presented: str, now: datetime) -> Bearer | None:
    """Return the token's holder, or None if the token is unknown, expired or revoked."""
    form = TOKEN_PATTERN.fullmatch(presented)
    number, secret = form.groups() if form else ("", presented)
    with database.reading() as connection:
        row = connection.execute(text("SELECT * FROM tokens WHERE id = :id"), {"id": number}).mappings().first()
    same = hmac.compare_digest(hash_secret(secret), row["digest"] if row else DUMMY_DIGEST)
    if row is None or not same:
        return None
    token = _parse_row(row)
    if token.get_status(format_utc(now)) != "valid":
        return None
    _record_use(database, token, now)
    return Bearer(token.id, token.name, token.scope, token.repos)


def _record_use(database: Database, token: TokenRow, now: datetime) -> None:
    if token.last_used_at and token.last_used_at > format_utc(now - LAST_USED_RESOLUTION):
        return
    used = text("UPDATE tokens SET last_used_at = :now WHERE id = :id")
    try:
        with database.writing() as connection:
            connection.execute(used, {"now": format_utc(now), "id": token.id})
    except OperationalError as error:  # for example a full disk; reading must still work
        LOG.warning("the use of a token could not be recorded: %s", error.orig, extra={"token": token.id})


def revoke_token(database: Database, number: str, now: datetime) -> TokenRow | None:
    """Revoke a token and return it, or None if the id is unknown. Revoking a token twice changes nothing."""
    with database.writing() as connection:
        connection.execute(
            text("UPDATE tokens SET revoked_at = :now WHERE id = :id AND revoked_at IS NULL"),
            {"now": format_utc(now), "id": number},
        )
        row = connection.execute(text("SELECT * FROM tokens WHERE id = :id"), {"id": number}).mappings().first()
    return _parse_row(row) if row else None


def list_tokens(database: Database) -> tuple[TokenRow, ...]:
    with database.reading() as connection:
        rows = connection.execute(text("SELECT * FROM tokens ORDER BY created_at, id")).mappings().all()
    return tuple(_parse_row(row) for row in rows)


def _parse_row(row: RowMapping) -> TokenRow:
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
