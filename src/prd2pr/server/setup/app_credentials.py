"""Store the App's id, private key and webhook secret in a directory readable only by its owner."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prd2pr.errors import BadCredentials, SetupProblem

KEY_FILE, SECRET_FILE, ENV_FILE = "private-key.pem", "webhook-secret", "prd2pr.env"


@dataclass(frozen=True)
class NewApp:
    id: str
    slug: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    permissions: Mapping[str, str] = field(default_factory=dict)


def parse_new_app(answer: Mapping[str, Any]) -> NewApp:
    """Parse GitHub's response to the conversion of the manifest code."""
    given = {name: answer.get(name) for name in ("id", "slug", "pem", "webhook_secret")}
    missing = sorted(name for name, value in given.items() if not value)
    if missing:
        raise BadCredentials(
            f"GitHub's answer about the new App lacks {', '.join(missing)}",
            where="POST /app-manifests/…/conversions",
            remedy="Delete the App on GitHub and start again.",
        )
    granted = answer.get("permissions")
    return NewApp(
        str(given["id"]),
        str(given["slug"]),
        str(given["pem"]),
        str(given["webhook_secret"]),
        granted if isinstance(granted, dict) else {},
    )


def prepare_credentials_directory(directory: Path) -> None:
    """Create the directory and check that it is writable, before GitHub issues a key that it shows only once."""
    existing = [name for name in (KEY_FILE, SECRET_FILE, ENV_FILE) if (directory / name).exists()]
    if existing:
        raise SetupProblem(
            f"the directory already contains the credentials of an App: {', '.join(existing)}",
            where=str(directory),
            remedy="Choose another directory, or delete these files if that App is gone.",
        )
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.chmod(0o700)
    trial = directory / ".trial"
    _write_private_file(trial, "")
    trial.unlink()


def save_credentials(
    directory: Path, app: NewApp, *, api_url: str = "", github_url: str = "", public_url: str = ""
) -> Path:
    """Write the credentials and return the environment file, which is written last and refers to the others."""
    _write_private_file(directory / KEY_FILE, app.private_key.strip() + "\n")
    _write_private_file(directory / SECRET_FILE, app.webhook_secret + "\n")
    variables = {
        "PRD2PR_APP_ID": app.id,
        "PRD2PR_APP_PRIVATE_KEY_FILE": str((directory / KEY_FILE).absolute()),
        "PRD2PR_WEBHOOK_SECRET_FILE": str((directory / SECRET_FILE).absolute()),
        "PRD2PR_PUBLIC_URL": public_url,
        "PRD2PR_GITHUB_API_URL": api_url,
        "PRD2PR_GITHUB_URL": github_url,
    }
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items() if value]
    _write_private_file(directory / ENV_FILE, "".join(lines))
    return directory / ENV_FILE


def _write_private_file(path: Path, text: str) -> None:
    """Create a file with mode 0600 and flush it to disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
