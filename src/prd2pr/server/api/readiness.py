"""Whether the server can do its work now. Details stay in the log: anybody may ask for this."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.client.models import Check

LOG = logging.getLogger("prd2pr.server.health")


def checks(app: FastAPI) -> tuple[Check, ...]:
    """Other parts may add theirs: `app.state.checks` maps a name to what says whether it is well."""
    more: dict[str, Callable[[], bool]] = getattr(app.state, "checks", {})
    return (
        Check(name="database", ok=database_answers(app)),
        *(Check(name=name, ok=is_well()) for name, is_well in more.items()),
    )


def database_answers(app: FastAPI) -> bool:
    try:
        with app.state.parts.database.reading() as connection:
            return bool(connection.execute(text("SELECT 1")).scalar())
    except SQLAlchemyError:
        LOG.warning("the database does not answer", exc_info=True)
        return False
