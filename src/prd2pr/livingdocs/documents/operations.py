"""INFRASTRUCTURE, DEPLOYMENT, CI_CD and ROUTING: how the project is run, delivered, checked and reached."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.mermaid import draw_flowchart
from prd2pr.livingdocs.readers.manifests import list_programs
from prd2pr.livingdocs.readers.pipelines import CiPipeline
from prd2pr.livingdocs.readers.python_risks import is_secret_name
from prd2pr.livingdocs.readers.settings import ProjectSettings
from prd2pr.livingdocs.readers.source_file import HttpRoute
from prd2pr.livingdocs.repository import Repository

MAX_SENTENCE = 400


class EnvironmentVariable(NamedTuple):
    """An environment variable. It is `required` if it is read somewhere without a default."""

    name: str
    required: bool
    secret: bool
    default: str
    places: list[tuple[str, int]]


def build_infrastructure_view(facts: LivingFacts) -> dict[str, object]:
    repository = facts.repository
    settings = repository.settings
    edges = [(service.name, other) for service in settings.services for other in service.needs]
    names = list(dict.fromkeys(service.name for service in settings.services))
    return {
        "settings": settings,
        "running": list_running(settings),
        "languages": repository.languages,
        "runtimes": [each for each in settings.manifests if each.runtime],
        "service_chart": draw_flowchart(names, edges) if edges else (),
        "resources": [each for each in settings.resources if each.kind != "nginx"],
        "variables": list_environment_variables(repository),
        "planned": list_planned(facts, "infrastructure"),
    }


def list_planned(facts: LivingFacts, part: str) -> list[tuple[str, str]]:
    """Return the Deployment role's notes on this part, each with the title of its PRD."""
    return [
        (each.title, clip(clean_line(sentence), MAX_SENTENCE))
        for each in facts.prds
        for sentence in getattr(each.deployment, part)
    ]


def list_running(settings: ProjectSettings) -> tuple[NamedTuple, ...]:
    """Return the containers, services and processes that the project runs, from all infrastructure files."""
    resources = (each for each in settings.resources if each.kind != "nginx")
    return (*settings.images, *settings.services, *resources, *settings.processes, *settings.platforms)


def list_environment_variables(repository: Repository) -> tuple[EnvironmentVariable, ...]:
    """Return the environment variables that the code reads, ignoring tests."""
    reads: dict[str, list[tuple[str, int, bool, str]]] = {}
    for path, file in repository.code.items():
        for read in file.env:
            reads.setdefault(read.name, []).append((path, read.line, read.required, read.default))
    found = []
    for name in sorted(reads):
        places = [(path, line) for path, line, _, _ in reads[name]]
        secret = is_secret_name(name)
        default = next((default for *_, default in reads[name] if default), "")
        found.append(
            EnvironmentVariable(
                name,
                any(required for _, _, required, _ in reads[name]),
                secret,
                "" if secret else default,
                places,
            )
        )
    return tuple(found)


_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout"})
_DELIVERY_WORDS = ("deploy", "release", "publish", "ship", "rollback", "migrate", "upload")


def build_deployment_view(facts: LivingFacts) -> dict[str, object]:
    settings = facts.repository.settings
    targets = [each for each in settings.targets if any(word in each.name.lower() for word in _DELIVERY_WORDS)]
    return {
        "settings": settings,
        "running": list_running(settings),
        "deliveries": [(pipeline, job) for pipeline in settings.pipelines for job in pipeline.jobs if job.delivers],
        "workloads": [each for each in settings.resources if each.kind in _WORKLOADS],
        # A package can be published if it has a name and a version, and is not private.
        "packages": [each for each in settings.manifests if each.name and each.version and not each.private],
        "targets": [each for each in targets if "rollback" not in each.name.lower()],
        "rollback": [each for each in targets if "rollback" in each.name.lower()],
        "required": [each for each in list_environment_variables(facts.repository) if each.required],
        "planned": list_planned(facts, "pipeline"),
        "planned_rollback": list_planned(facts, "rollback"),
    }


_CHECK_WORDS = ("test", "check", "lint", "format", "type", "ci", "verify", "cover", "bench")
_CHECKERS = frozenset(
    {"pytest", "ruff", "mypy", "black", "isort", "pylint", "flake8", "coverage", "tox", "nox", "pyright", "bandit"}
)


def build_ci_view(facts: LivingFacts) -> dict[str, object]:
    settings = facts.repository.settings
    tools = ((each, tuple(tool for tool in each.tools if tool in _CHECKERS)) for each in settings.manifests)
    return {
        "pipelines": [(each, draw_pipeline(each)) for each in settings.pipelines],
        "hooks": settings.hooks,
        "targets": [each for each in settings.targets if is_check_name(each.name)],
        "scripts": [
            (manifest, script)
            for manifest in settings.manifests
            for script in manifest.scripts
            if is_check_name(script.name)
        ],
        "checkers": [(manifest, found) for manifest, found in tools if found],
        "planned": list_planned(facts, "pipeline"),
        "delivers": any(job.delivers for each in settings.pipelines for job in each.jobs),
    }


def draw_pipeline(pipeline: CiPipeline) -> tuple[str, ...]:
    """Draw the jobs if they depend on each other. Otherwise the table of jobs is enough."""
    edges = [(other, job.id) for job in pipeline.jobs for other in job.needs]
    return draw_flowchart([job.id for job in pipeline.jobs], edges) if edges else ()


def is_check_name(name: str) -> bool:
    lowered = name.lower()
    first = lowered.replace("_", "-").split("-")[0]
    return lowered in _CHECK_WORDS or any(word in first for word in _CHECK_WORDS)


_HEALTH = frozenset(
    {"health", "healthz", "livez", "readyz", "live", "ready", "liveness", "readiness", "ping", "heartbeat", "up"}
)


def build_routing_view(facts: LivingFacts) -> dict[str, object]:
    repository = facts.repository
    settings = repository.settings
    return {
        "routes": list_routes(repository),
        "outer": [each for each in settings.resources if each.kind == "nginx" or each.routes],  # proxies and ingresses
        "programs": list(list_programs(settings.manifests)),
        "commands": [(path, command) for path, file in repository.code.items() for command in file.commands],
        "planned": list_planned(facts, "routing"),
    }


def list_routes(repository: Repository) -> list[tuple[str, HttpRoute]]:
    """Return the routes with their files, sorted by path."""
    found = [(path, route) for path, file in repository.code.items() for route in file.routes]
    return sorted(found, key=lambda row: (row[1].path, row[1].method, row[0], row[1].line))


def is_health_route(route: HttpRoute) -> bool:
    return route.path.rstrip("/").rpartition("/")[2].lower() in _HEALTH and route.method in {"GET", "HEAD", "any"}
