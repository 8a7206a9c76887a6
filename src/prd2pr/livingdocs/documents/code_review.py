"""PATTERNS and SECURITY: patterns to follow, and places to review when the code changes."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.readers.python_risks import is_secret_name

MAX_WEAKEST = 5
MIN_HABIT_PLACES = 5  # fewer places do not show a habit


def build_patterns_view(facts: LivingFacts) -> dict[str, object]:
    uses: dict[str, dict[str, float]] = {}
    for usage in facts.memory.usages:  # in time order, so the latest record of a file wins
        uses.setdefault(usage.pattern, {})[usage.path] = usage.compliance
    views = []
    for pattern in facts.memory.patterns:
        places = uses.get(pattern.id, {})
        weak = sorted((round(value), path) for path, value in places.items() if value < 100)[:MAX_WEAKEST]
        compliance = round(sum(places.values()) / len(places)) if places else None
        views.append((pattern, len(places), compliance, weak))
    views.sort(key=lambda each: (each[0].name.lower(), each[0].id))
    return {"patterns": views, "habits": count_habits(facts)}


def count_habits(facts: LivingFacts) -> list[tuple[str, int, int]]:
    """Return each convention of the code, with the number of places that follow it and of all places."""
    files = [file for file in facts.repository.python.values() if file.parsed and file.lines]
    public = [each for file in files for each in file.functions if not _is_private(each.name)]
    found = (
        ("modules begin with a docstring", sum(bool(file.about) for file in files), len(files)),
        ("public functions are fully annotated", sum(each.annotated for each in public), len(public)),
        (
            "data classes are frozen",
            sum(file.frozen_classes for file in files),
            sum(file.data_classes for file in files),
        ),
        ("functions have at most 20 lines", sum(each.length <= 20 for each in public), len(public)),
    )
    return [habit for habit in found if habit[2] >= MIN_HABIT_PLACES]


def _is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


_POLICIES = (".github/security.md", "security.md")  # in GitHub's search order
_SECRET_FILE = re.compile(
    r"(?:^\.env(?:\..+)?|.*\.(?:pem|key|p12|pfx|jks|keystore)|id_(?:rsa|dsa|ed25519|ecdsa)|\.netrc|\.pgpass)"
)
_TEMPLATES = ("example", "sample", "template", "dist")
_SEVERITY_ORDER = {"critical": 0, "high": 1, "medium": 2, "moderate": 2, "low": 3}


def build_security_view(facts: LivingFacts) -> dict[str, object]:
    repository = facts.repository
    notes = [note for worked in facts.prds for note in worked.risks]
    secret = {read.name for file in repository.code.values() for read in file.env if is_secret_name(read.name)}
    policies = (path for wanted in _POLICIES for path in repository.paths if path.lower() == wanted)
    secret_files = (path for path in repository.paths if has_secret_file_name(path) and not repository.is_test(path))
    actions = (
        (action, pipeline.path)
        for pipeline in repository.settings.pipelines
        for job in pipeline.jobs
        for action in job.unpinned
    )
    return {
        "policy": next(policies, ""),
        "notes": sorted(notes, key=lambda note: _SEVERITY_ORDER.get(note.severity.lower(), 9)),
        "reviewed": any(worked.reviewed for worked in facts.prds),
        "places": [(path, risk) for path, file in repository.python.items() for risk in file.risks],
        "looked_at": len(repository.python),
        "secret_files": list(secret_files),
        "secret_settings": sorted(secret),
        "env_is_ignored": bool(repository.ignored & {".env", ".env*", "*.env", "/.env"}),
        "manifests": repository.settings.manifests,
        "locks": repository.settings.locks,
        "unpinned_actions": list(dict.fromkeys(actions)),
    }


def has_secret_file_name(path: str) -> bool:
    """Return whether the file name is commonly used for keys or passwords."""
    name = PurePosixPath(path).name.lower()
    return bool(_SECRET_FILE.fullmatch(name)) and not any(word in name for word in _TEMPLATES)
