"""CI_CD: what machines check and deliver, and when."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.living.manifests import Manifest
from prd2pr.core.living.mermaid import Flowchart, flowchart
from prd2pr.core.living.pipelines import Pipeline, Target
from prd2pr.core.living.worked import LivingFacts

_WORDS = ("test", "check", "lint", "format", "type", "ci", "verify", "cover", "bench")
_CHECKERS = frozenset(
    {"pytest", "ruff", "mypy", "black", "isort", "pylint", "flake8", "coverage", "tox", "nox", "pyright", "bandit"}
)


class PipelineView(NamedTuple):
    pipeline: Pipeline
    chart: Flowchart


class CheckedBy(NamedTuple):
    manifest: Manifest
    tools: tuple[str, ...]


class CiView(NamedTuple):
    pipelines: tuple[PipelineView, ...]
    hooks: tuple[str, ...]
    targets: tuple[Target, ...]
    scripts: tuple[tuple[str, str, str], ...]  # manifest, name, what it does
    checkers: tuple[CheckedBy, ...]
    delivers: bool


def ci_cd(facts: LivingFacts) -> CiView:
    settings = facts.repository.settings
    tools = ((each, tuple(tool for tool in each.tools if tool in _CHECKERS)) for each in settings.manifests)
    return CiView(
        pipelines=tuple(PipelineView(each, chart_of(each)) for each in settings.pipelines),
        hooks=settings.hooks,
        targets=tuple(each for each in settings.targets if is_check(each.name)),
        scripts=tuple(
            (manifest.path, script.name, script.does)
            for manifest in settings.manifests
            for script in manifest.scripts
            if is_check(script.name)
        ),
        checkers=tuple(CheckedBy(manifest, found) for manifest, found in tools if found),
        delivers=any(job.delivers for each in settings.pipelines for job in each.jobs),
    )


def chart_of(pipeline: Pipeline) -> Flowchart:
    """Only where jobs wait for each other: a row of boxes says no more than the table does."""
    edges = [(other, job.id) for job in pipeline.jobs for other in job.needs]
    return flowchart([job.id for job in pipeline.jobs], edges) if edges else Flowchart()


def is_check(name: str) -> bool:
    return any(word in name.lower().replace("_", "-").split("-")[0] for word in _WORDS) or name.lower() in _WORDS
