"""SECURITY: reported risks, risky calls in the code, secrets and dependencies."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from prd2pr.livingdocs.history import LivingFacts, SecurityNote
from prd2pr.livingdocs.readers.manifests import Manifest
from prd2pr.livingdocs.readers.python_risks import is_secret_name

MAX_PLACES = 150
_POLICIES = (".github/security.md", "security.md")  # in GitHub's search order
_SECRET_FILE = re.compile(
    r"(?:^\.env(?:\..+)?|.*\.(?:pem|key|p12|pfx|jks|keystore)|id_(?:rsa|dsa|ed25519|ecdsa)|\.netrc|\.pgpass)"
)
_TEMPLATES = ("example", "sample", "template", "dist")
_SEVERITY_ORDER = {"critical": 0, "high": 1, "medium": 2, "moderate": 2, "low": 3}


class RiskyPlace(NamedTuple):
    call: str
    why: str
    path: str
    line: int


class SecurityView(NamedTuple):
    policy: str
    says_how: bool  # the hand-written part says how to report
    notes: tuple[SecurityNote, ...]
    reviewed: bool
    places: tuple[RiskyPlace, ...]
    more_places: int
    looked_at: int  # Python files
    secret_files: tuple[str, ...]
    secret_settings: tuple[str, ...]  # variables of the environment
    env_is_ignored: bool
    manifests: tuple[Manifest, ...]
    locks: tuple[str, ...]
    unpinned_actions: tuple[tuple[str, str], ...]


def build_security_view(facts: LivingFacts) -> SecurityView:
    repository = facts.repository
    notes = [note for worked in facts.prds for note in worked.risks]
    places = [
        RiskyPlace(risk.call, risk.why, path, risk.line)
        for path, file in repository.python.items()
        for risk in file.risks
    ]
    secret = {read.name for file in repository.code.values() for read in file.env if is_secret_name(read.name)}
    return SecurityView(
        policy=next((path for wanted in _POLICIES for path in repository.paths if path.lower() == wanted), ""),
        says_how="report" in facts.by_people.get("SECURITY", "").lower(),
        notes=tuple(sorted(notes, key=lambda note: _SEVERITY_ORDER.get(note.severity.lower(), 9))),
        reviewed=any(worked.reviewed for worked in facts.prds),
        places=tuple(places[:MAX_PLACES]),
        more_places=max(0, len(places) - MAX_PLACES),
        looked_at=len(repository.python),
        secret_files=tuple(
            path for path in repository.paths if has_secret_file_name(path) and not repository.is_test(path)
        ),
        secret_settings=tuple(sorted(secret)),
        env_is_ignored=bool(repository.ignored & {".env", ".env*", "*.env", "/.env"}),
        manifests=repository.settings.manifests,
        locks=repository.settings.locks,
        unpinned_actions=tuple(
            dict.fromkeys(
                (action, pipeline.path)
                for pipeline in repository.settings.pipelines
                for job in pipeline.jobs
                for action in job.unpinned
            )
        ),
    )


def has_secret_file_name(path: str) -> bool:
    """Whether the file name is one commonly used for keys and passwords."""
    name = PurePosixPath(path).name.lower()
    return bool(_SECRET_FILE.fullmatch(name)) and not any(word in name for word in _TEMPLATES)
