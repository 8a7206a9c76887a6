"""INFRASTRUCTURE: runtimes, images, services, resources and environment variables."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.mermaid import Flowchart, draw_flowchart
from prd2pr.livingdocs.readers.containers import ComposeService, ContainerImage, InfraResource, ProcessEntry
from prd2pr.livingdocs.readers.manifests import Manifest
from prd2pr.livingdocs.readers.python_risks import is_secret_name
from prd2pr.livingdocs.readers.settings import HostingPlatform
from prd2pr.livingdocs.repository import Repository

MAX_ROWS = 150
MAX_PLACES = 4


class EnvironmentVariable(NamedTuple):
    """An environment variable; `required` if it is read without a default somewhere."""

    name: str
    required: bool
    secret: bool
    default: str
    places: tuple[tuple[str, int], ...]
    more: int


class InfrastructureView(NamedTuple):
    runtimes: tuple[Manifest, ...]
    images: tuple[ContainerImage, ...]
    services: tuple[ComposeService, ...]
    service_chart: Flowchart
    resources: tuple[InfraResource, ...]
    more_resources: int
    processes: tuple[ProcessEntry, ...]
    platforms: tuple[HostingPlatform, ...]
    variables: tuple[EnvironmentVariable, ...]
    more_variables: int
    languages: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether the repository has any infrastructure file."""
        return bool(self.images or self.services or self.resources or self.processes or self.platforms)


def build_infrastructure_view(facts: LivingFacts) -> InfrastructureView:
    repository = facts.repository
    settings = repository.settings
    variables = list_environment_variables(repository)
    resources = [each for each in settings.resources if each.kind != "nginx"]
    edges = [(service.name, other) for service in settings.services for other in service.needs]
    names = list(dict.fromkeys(service.name for service in settings.services))
    return InfrastructureView(
        runtimes=tuple(each for each in settings.manifests if each.runtime),
        images=settings.images,
        services=settings.services,
        service_chart=draw_flowchart(names, edges) if edges else Flowchart(),
        resources=tuple(resources[:MAX_ROWS]),
        more_resources=max(0, len(resources) - MAX_ROWS),
        processes=settings.processes,
        platforms=settings.platforms,
        variables=variables[:MAX_ROWS],
        more_variables=max(0, len(variables) - MAX_ROWS),
        languages=repository.languages,
    )


def list_environment_variables(repository: Repository) -> tuple[EnvironmentVariable, ...]:
    """Return the environment variables that the code reads, without those of tests."""
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
                tuple(places[:MAX_PLACES]),
                max(0, len(places) - MAX_PLACES),
            )
        )
    return tuple(found)
