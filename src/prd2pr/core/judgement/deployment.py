"""Deployment: what a plan means for where the program runs, and the way back."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import Field

from prd2pr.core.records import Prd, Record

_FILES = re.compile(
    r"(?:^|/)(?:Dockerfile[^/]*|Containerfile|(?:docker-)?compose[^/]*\.ya?ml|Procfile|fly\.toml|vercel\.json|"
    r"netlify\.toml|render\.ya?ml|app\.ya?ml|serverless\.ya?ml|skaffold\.ya?ml|Chart\.ya?ml|[^/]+\.tf|nginx[^/]*\.conf|"
    r"[^/]+\.service)$|(?:^|/)(?:k8s|kubernetes|helm|deploy|deployment|terraform|ansible)/",
)
_WORDS = re.compile(
    r"\b(?:deploy\w*|roll(?:ed)? ?back|rollout|infrastructure|kubernetes|docker|container image|environment variables?|"
    r"migrations?|staging|production server|reverse proxy|load balancer)\b",
    re.IGNORECASE,
)

Sentences = tuple[str, ...]


class DeploymentAnswer(Record):
    """What has to be so, where the program runs, for this plan to work. Nothing here is done by the plan itself."""

    infrastructure: Sentences = Field(default=(), max_length=8, description="Services, storage, settings it needs.")
    routing: Sentences = Field(default=(), max_length=8, description="Ports, paths and names that change.")
    pipeline: Sentences = Field(default=(), max_length=8, description="What build and delivery have to do differently.")
    rollback: Sentences = Field(
        min_length=1, max_length=8, description="How to go back, in order; say if data would be lost."
    )
    questions: Sentences = Field(default=(), max_length=4, description="What only a person can answer.")


def verdict(answer: DeploymentAnswer) -> str:
    """What changes around the program."""
    changed = [name for name in ("infrastructure", "routing", "pipeline") if getattr(answer, name)]
    return f"{', '.join(changed)} to look at" if changed else "nothing changes around it"


def concerns_deployment(prd: Prd, files: Iterable[str]) -> bool:
    return bool(_WORDS.search(prd.text)) or any(_FILES.search(path) for path in files)


def deployment_files(files: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(path for path in files if _FILES.search(path)))
