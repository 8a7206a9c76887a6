"""The App's id, private key and webhook secret, in a directory that only its owner reads. Written once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prd2pr.errors import BadCredentials, SetupProblem

KEY, SECRET, VARIABLES = "private-key.pem", "webhook-secret", "prd2pr.env"


@dataclass(frozen=True)
class NewApp:
    id: str
    slug: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    permissions: Mapping[str, str] = field(default_factory=dict)


def read_new_app(answer: Mapping[str, Any]) -> NewApp:
    """GitHub's answer to the manifest's code."""
    given = {name: answer.get(name) for name in ("id", "slug", "pem", "webhook_secret")}
    missing = sorted(name for name, value in given.items() if not value)
    if missing:
        raise BadCredentials(
            f"GitHub's answer about the App holds no {', '.join(missing)}",
            where="POST /app-manifests/…/conversions",
            remedy="Delete the App on GitHub and begin again.",
        )
    granted = answer.get("permissions")
    return NewApp(
        str(given["id"]),
        str(given["slug"]),
        str(given["pem"]),
        str(given["webhook_secret"]),
        granted if isinstance(granted, dict) else {},
    )


def prepare(place: Path) -> None:
    """Before GitHub is asked: a key that cannot be kept would be lost, and there is no second one."""
    taken = [name for name in (KEY, SECRET, VARIABLES) if (place / name).exists()]
    if taken:
        raise SetupProblem(
            f"an App is kept here already: {', '.join(taken)}",
            where=str(place),
            remedy="Name another directory, or take these files away if that App is gone.",
        )
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.chmod(0o700)
    trial = place / ".trial"
    _write(trial, "")
    trial.unlink()


def keep(place: Path, app: NewApp, *, api_url: str = "", github_url: str = "", public_url: str = "") -> Path:
    """The file of variables; it names the others. Key and secret are on the disk before it is there."""
    _write(place / KEY, app.private_key.strip() + "\n")
    _write(place / SECRET, app.webhook_secret + "\n")
    variables = {
        "PRD2PR_APP_ID": app.id,
        "PRD2PR_APP_PRIVATE_KEY_FILE": str((place / KEY).absolute()),
        "PRD2PR_WEBHOOK_SECRET_FILE": str((place / SECRET).absolute()),
        "PRD2PR_PUBLIC_URL": public_url,
        "PRD2PR_GITHUB_API_URL": api_url,
        "PRD2PR_GITHUB_URL": github_url,
    }
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items() if value]
    _write(place / VARIABLES, "".join(lines))
    return place / VARIABLES


def _write(path: Path, text: str) -> None:
    """New, readable by nobody else from its first moment, and on the disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
