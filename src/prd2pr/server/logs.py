"""Logging as JSON lines, with secrets redacted."""

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

from prd2pr.domain.secrets import REDACTED, Secrets
from prd2pr.server.settings import SECRET_NAMES, ServerSettings

# Secrets recognized by their format: prd2pr's and GitHub's tokens, passwords in URLs, and Authorization headers.
SECRET_PATTERN = re.compile(
    r"prd2pr_[0-9a-f]{12}_[A-Za-z0-9_-]{20,}"
    r"|gh[a-z]_[A-Za-z0-9_]{20,}|github_pat_[A-Za-z0-9_]{20,}"
    r"|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"
    r"|(?i:(?<=bearer )|(?<=basic ))[A-Za-z0-9._~+/=-]{8,}"
)
# Attributes of every log record; any others were passed as `extra`.
STANDARD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}
MAX_TEXT_LENGTH = 20_000  # characters per line


def list_secret_values(settings: ServerSettings) -> Iterator[str]:
    """Yield the configured values that must not appear in a log."""
    for name in SECRET_NAMES:
        yield getattr(settings, name).get_secret_value()
    yield urlsplit(settings.database).password or ""
    yield from (os.environ.get(source.token_env, "") for source in settings.sources if source.token_env)


class JsonFormatter(logging.Formatter):
    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.redact(record.getMessage()),
        }
        for name, value in vars(record).items():
            if name not in STANDARD_FIELDS and not name.startswith("_"):
                plain = isinstance(value, bool | int | float) or value is None
                line[name] = value if plain else self.redact(str(value))
        if record.exc_info:
            line["error"] = self.redact(self.formatException(record.exc_info))
        return json.dumps(line)

    def redact(self, text: str) -> str:
        """Remove secrets, then truncate, because a truncated secret would not be recognized."""
        return self._secrets.scrub(SECRET_PATTERN.sub(REDACTED, text))[:MAX_TEXT_LENGTH]


def configure_logging(secrets: Secrets, stream: TextIO | None = None, level: int = logging.INFO) -> logging.Handler:
    """Configure logging for the whole process.

    Handlers of libraries are removed, so that nothing bypasses redaction.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access", "dbos"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [logging.NullHandler()]  # dbos adds its own handler if there is none
        logger.propagate = True
    for name in ("httpx", "httpcore", "sqlalchemy.engine"):  # they log every request and every statement
        logging.getLogger(name).setLevel(logging.WARNING)
    return handler
