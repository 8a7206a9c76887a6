"""Logs as JSON lines, one for each record, with what must not be read by others taken out."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TextIO
from urllib.parse import urlsplit

from prd2pr.core.said.leaks import REDACTED, Secrets
from prd2pr.server.settings import SECRETS, ServerSettings

# Known by their form, wherever they come from: our tokens, GitHub's, and whatever stands in such a header or address.
FORMS = re.compile(
    r"prd2pr_[0-9a-f]{12}_[A-Za-z0-9_-]{20,}"
    r"|gh[a-z]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic ))[A-Za-z0-9._~+/=-]{8,}"
)
# What every record has; the rest is what was said along with it.
OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
LONGEST = 20_000  # characters of one line


def secrets_in(settings: ServerSettings) -> Iterator[str]:
    """Whatever is set and must not be read in a log."""
    for name in SECRETS:
        yield getattr(settings, name).get_secret_value()
    yield urlsplit(settings.database).password or ""
    yield from (os.environ.get(source.token_env, "") for source in settings.sources if source.token_env)


class JsonLines(logging.Formatter):
    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.clean(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in OWN and not name.startswith("_"):
                plain = isinstance(value, bool | int | float) or value is None
                line[name] = value if plain else self.clean(str(value))
        if record.exc_info:
            line["error"] = self.clean(self.formatException(record.exc_info))
        return json.dumps(line)

    def clean(self, text: str) -> str:
        """Cut afterwards: half of a secret is not known again."""
        return self._secrets.scrub(FORMS.sub(REDACTED, text)).text[:LONGEST]


def write_logs(secrets: Secrets, stream: TextIO | None = None, level: int = logging.INFO) -> logging.Handler:
    """From now on, for the whole process; libraries' own handlers are taken away, so that nothing goes around it."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "dbos"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]  # dbos adds one of its own where there is none
        logger.propagate = True
    for name in ("httpx", "httpcore", "sqlalchemy.engine"):  # every request and every statement
        logging.getLogger(name).setLevel(logging.WARNING)
    return handler
