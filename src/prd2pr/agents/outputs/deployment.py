"""Deployment: what a plan requires of the program's environment, and how to roll it back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import Field

from prd2pr.domain.records import Prd, Record

_DEPLOYMENT_FILES = re.compile(
    r"(?:^|/)(?:Dockerfile[^/]*|Containerfile|(?:docker-)?compose[^/]*\.ya?ml|Procfile|fly\.toml|vercel\.json|"
    r"netlify\.toml|render\.ya?ml|app\.ya?ml|serverless\.ya?ml|skaffold\.ya?ml|Chart\.ya?ml|[^/]+\.tf|nginx[^/]*\.conf|"
    r"[^/]+\.service)$|(?:^|/)(?:k8s|kubernetes|helm|deploy|deployment|terraform|ansible)/",
)
_DEPLOYMENT_WORDS = re.compile(
    r"\b(?:deploy\w*|roll(?:ed)? ?back|rollout|infrastructure|kubernetes|docker|container image|environment variables?|"
    r"migrations?|staging|production server|reverse proxy|load balancer)\b",
    re.IGNORECASE,
)

Sentences = tuple[str, ...]


class DeploymentAnswer(Record):
    """The changes in the program's environment that a plan needs. The plan itself does not make them."""

    infrastructure: Sentences = Field(default=(), max_length=8, description="Services, storage, settings it needs.")
    routing: Sentences = Field(default=(), max_length=8, description="Ports, paths and names that change.")
    pipeline: Sentences = Field(default=(), max_length=8, description="What build and delivery have to do differently.")
    rollback: Sentences = Field(
        min_length=1, max_length=8, description="How to roll back, in order; say if data would be lost."
    )
    questions: Sentences = Field(default=(), max_length=4, description="What only a person can answer.")


def format_deployment_verdict(answer: DeploymentAnswer) -> str:
    """Summarize which parts of the environment change."""
    changed = [name for name in ("infrastructure", "routing", "pipeline") if getattr(answer, name)]
    return f"{', '.join(changed)} to check" if changed else "no changes to the environment"


def concerns_deployment(prd: Prd, files: Iterable[str]) -> bool:
    return bool(_DEPLOYMENT_WORDS.search(prd.text)) or any(_DEPLOYMENT_FILES.search(path) for path in files)


def list_deployment_files(files: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in files if _DEPLOYMENT_FILES.search(path)))
