"""Dead letters: deliveries without remaining attempts. List them, and queue them again on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from prd2pr.server.database import Database


@dataclass(frozen=True)
class DeadLetter:
    guid: str
    event: str
    lane: str
    attempts: int
    reason: str
    received_at: float


def list_dead_letters(database: Database) -> list[DeadLetter]:
    with database.reading() as connection:
        query = (
            "SELECT guid, event, lane, attempts, reason, received_at FROM deliveries WHERE state = 'dead' ORDER BY id"
        )
        return [DeadLetter(*row) for row in connection.execute(text(query))]


def replay_dead_letters(database: Database, guids: Sequence[str] = ()) -> list[str]:
    """Queue the given dead letters again with fresh attempts, or all of them if none is given."""
    wanted = [each.guid for each in list_dead_letters(database) if not guids or each.guid in guids]
    with database.writing() as connection:
        for guid in wanted:
            connection.execute(
                text(
                    """UPDATE deliveries SET state = 'waiting', forgiven = attempts, batch = '',
                       settled_at = NULL WHERE guid = :guid AND state = 'dead'"""
                ),
                {"guid": guid},
            )
    return wanted
