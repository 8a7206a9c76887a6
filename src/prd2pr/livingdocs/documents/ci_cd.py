"""CI_CD: pipelines with their jobs and triggers, hooks and local checks."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.mermaid import Flowchart, draw_flowchart
from prd2pr.livingdocs.readers.manifests import Manifest
from prd2pr.livingdocs.readers.pipelines import CiPipeline, MakeTarget

_WORDS = ("test", "check", "lint", "format", "type", "ci", "verify", "cover", "bench")
_CHECKERS = frozenset(
    {"pytest", "ruff", "mypy", "black", "isort", "pylint", "flake8", "coverage", "tox", "nox", "pyright", "bandit"}
)


class PipelineView(NamedTuple):
    pipeline: CiPipeline
    chart: Flowchart


class ToolRow(NamedTuple):
    manifest: Manifest
    tools: tuple[str, ...]


class CiView(NamedTuple):
    pipelines: tuple[PipelineView, ...]
    hooks: tuple[str, ...]
    targets: tuple[MakeTarget, ...]
    scripts: tuple[tuple[str, str, str], ...]  # manifest, name, what it does
    checkers: tuple[ToolRow, ...]
    delivers: bool


def build_ci_view(facts: LivingFacts) -> CiView:
    settings = facts.repository.settings
    tools = ((each, tuple(tool for tool in each.tools if tool in _CHECKERS)) for each in settings.manifests)
    return CiView(
        pipelines=tuple(PipelineView(each, draw_pipeline(each)) for each in settings.pipelines),
        hooks=settings.hooks,
        targets=tuple(each for each in settings.targets if is_check_name(each.name)),
        scripts=tuple(
            (manifest.path, script.name, script.does)
            for manifest in settings.manifests
            for script in manifest.scripts
            if is_check_name(script.name)
        ),
        checkers=tuple(ToolRow(manifest, found) for manifest, found in tools if found),
        delivers=any(job.delivers for each in settings.pipelines for job in each.jobs),
    )


def draw_pipeline(pipeline: CiPipeline) -> Flowchart:
    """Draw the jobs if they depend on each other; otherwise the table says as much."""
    edges = [(other, job.id) for job in pipeline.jobs for other in job.needs]
    return draw_flowchart([job.id for job in pipeline.jobs], edges) if edges else Flowchart()


def is_check_name(name: str) -> bool:
    return any(word in name.lower().replace("_", "-").split("-")[0] for word in _WORDS) or name.lower() in _WORDS
