"""ROUTING: HTTP routes, proxies, programs and CLI commands."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.readers.containers import InfraResource
from prd2pr.livingdocs.readers.manifests import list_programs
from prd2pr.livingdocs.repository import Repository

MAX_ROWS = 300
_HEALTH = frozenset(
    {"health", "healthz", "livez", "readyz", "live", "ready", "liveness", "readiness", "ping", "heartbeat", "up"}
)


class RouteRow(NamedTuple):
    method: str
    path: str
    handler: str
    file: str
    line: int

    @property
    def tells_health(self) -> bool:
        return self.path.rstrip("/").rpartition("/")[2].lower() in _HEALTH and self.method in {"GET", "HEAD", "any"}


class CommandRow(NamedTuple):
    name: str
    about: str
    file: str
    line: int


class ProgramRow(NamedTuple):
    name: str
    leads_to: str
    said_in: str


class RoutingView(NamedTuple):
    routes: tuple[RouteRow, ...]
    more_routes: int
    outer: tuple[InfraResource, ...]  # proxies and cluster ingresses
    programs: tuple[ProgramRow, ...]
    commands: tuple[CommandRow, ...]
    more_commands: int


def build_routing_view(facts: LivingFacts) -> RoutingView:
    repository = facts.repository
    routes, commands = list_route_rows(repository), list_command_rows(repository)
    resources = repository.settings.resources
    return RoutingView(
        routes=routes[:MAX_ROWS],
        more_routes=max(0, len(routes) - MAX_ROWS),
        outer=tuple(each for each in resources if each.kind == "nginx" or each.routes),
        programs=tuple(
            ProgramRow(script.name, script.does, manifest.path)
            for manifest, script in list_programs(repository.settings.manifests)
        ),
        commands=commands[:MAX_ROWS],
        more_commands=max(0, len(commands) - MAX_ROWS),
    )


def list_route_rows(repository: Repository) -> tuple[RouteRow, ...]:
    found = [
        RouteRow(route.method, route.path, route.handler, path, route.line)
        for path, file in repository.code.items()
        for route in file.routes
    ]
    return tuple(sorted(found, key=lambda row: (row.path, row.method, row.file, row.line)))


def list_command_rows(repository: Repository) -> tuple[CommandRow, ...]:
    return tuple(
        CommandRow(command.name, command.about, path, command.line)
        for path, file in repository.code.items()
        for command in file.commands
    )
