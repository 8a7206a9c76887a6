"""INFRASTRUCTURE: what the project runs on, and what it has to be given, as its own files say."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.living.containers import Image, Process, Resource, Service
from prd2pr.core.living.manifests import Manifest
from prd2pr.core.living.mermaid import Flowchart, flowchart
from prd2pr.core.living.python_risks import looks_secret
from prd2pr.core.living.repository import Repository
from prd2pr.core.living.settings import Platform
from prd2pr.core.living.worked import LivingFacts

MOST_ROWS = 150
MOST_PLACES = 4


class Variable(NamedTuple):
    """Of the environment. `required`: somewhere it is read without a default."""

    name: str
    required: bool
    secret: bool
    default: str
    places: tuple[tuple[str, int], ...]
    more: int


class InfrastructureView(NamedTuple):
    runtimes: tuple[Manifest, ...]
    images: tuple[Image, ...]
    services: tuple[Service, ...]
    service_chart: Flowchart
    resources: tuple[Resource, ...]
    more_resources: int
    processes: tuple[Process, ...]
    platforms: tuple[Platform, ...]
    variables: tuple[Variable, ...]
    more_variables: int
    languages: tuple[str, ...]

    @property
    def found(self) -> bool:
        """Whether there is any file about infrastructure."""
        return bool(self.images or self.services or self.resources or self.processes or self.platforms)


def infrastructure(facts: LivingFacts) -> InfrastructureView:
    repository = facts.repository
    settings = repository.settings
    variables = environment_of(repository)
    resources = [each for each in settings.resources if each.kind != "nginx"]
    edges = [(service.name, other) for service in settings.services for other in service.needs]
    names = list(dict.fromkeys(service.name for service in settings.services))
    return InfrastructureView(
        runtimes=tuple(each for each in settings.manifests if each.runtime),
        images=settings.images,
        services=settings.services,
        service_chart=flowchart(names, edges) if edges else Flowchart(),
        resources=tuple(resources[:MOST_ROWS]),
        more_resources=max(0, len(resources) - MOST_ROWS),
        processes=settings.processes,
        platforms=settings.platforms,
        variables=variables[:MOST_ROWS],
        more_variables=max(0, len(variables) - MOST_ROWS),
        languages=repository.languages,
    )


def environment_of(repository: Repository) -> tuple[Variable, ...]:
    """Variables that the code reads; what tests read is their own affair."""
    reads: dict[str, list[tuple[str, int, bool, str]]] = {}
    for path, file in repository.code.items():
        for read in file.env:
            reads.setdefault(read.name, []).append((path, read.line, read.required, read.default))
    found = []
    for name in sorted(reads):
        places = [(path, line) for path, line, _, _ in reads[name]]
        secret = looks_secret(name)
        default = next((default for *_, default in reads[name] if default), "")
        found.append(
            Variable(
                name,
                any(required for _, _, required, _ in reads[name]),
                secret,
                "" if secret else default,
                tuple(places[:MOST_PLACES]),
                max(0, len(places) - MOST_PLACES),
            )
        )
    return tuple(found)
