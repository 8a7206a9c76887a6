"""RUNBOOK: how to set the project up, run it, check it, and what to do when something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.core.living.containers import Process
from prd2pr.core.living.infrastructure import Variable, environment_of
from prd2pr.core.living.manifests import all_programs
from prd2pr.core.living.repository import Repository
from prd2pr.core.living.routing import RouteRow, routes_of
from prd2pr.core.living.worked import LivingFacts
from prd2pr.core.signatures import module_name

MOST_ERRORS = 80


class Step(NamedTuple):
    """Something to type, and where the repository says so."""

    command: str
    said_in: str
    about: str = ""
    runs: str = ""  # what is behind it


class ErrorRow(NamedTuple):
    name: str
    about: str
    path: str
    line: int


class RunbookView(NamedTuple):
    set_up: tuple[Step, ...]
    tests: tuple[Step, ...]
    start: tuple[Step, ...]
    other: tuple[Step, ...]
    processes: tuple[Process, ...]
    variables: tuple[Variable, ...]
    health: tuple[RouteRow, ...]
    health_checks: tuple[tuple[str, str], ...]  # file, command
    errors: tuple[ErrorRow, ...]
    more_errors: int
    has_state: bool


def runbook(facts: LivingFacts) -> RunbookView:
    repository = facts.repository
    settings = repository.settings
    errors = [
        ErrorRow(f"{module_name(path)}.{each.name}", each.about, path, each.line)
        for path, file in repository.python.items()
        for each in file.errors
    ]
    start = tuple(start_steps(repository))
    tests = tuple(test_steps(repository))
    set_up = tuple(set_up_steps(repository))
    used = {step.command for step in (*set_up, *tests, *start)}
    other = (Step(f"make {each.name}", each.path, each.about) for each in settings.targets)
    return RunbookView(
        set_up=set_up,
        tests=tests,
        start=start,
        other=tuple(step for step in other if step.command not in used),
        processes=settings.processes,
        variables=environment_of(repository),
        health=tuple(route for route in routes_of(repository) if route.tells_health),
        health_checks=(
            *((image.path, image.health) for image in settings.images if image.health),
            *((service.path, service.health) for service in settings.services if service.health),
        ),
        errors=tuple(errors[:MOST_ERRORS]),
        more_errors=max(0, len(errors) - MOST_ERRORS),
        has_state=bool(facts.prds),
    )


def at_root(path: str) -> bool:
    return "/" not in path


def set_up_steps(repository: Repository) -> Iterator[Step]:
    """What the files at the root ask for, in the way that their own tools are called."""
    settings = repository.settings
    names = {path.lower(): path for path in repository.paths if at_root(path)}
    targets = {each.name: each for each in settings.targets if at_root(each.path)}
    for name in ("setup", "install", "bootstrap"):
        if name in targets:
            yield Step(f"make {name}", targets[name].path, targets[name].about)
    kinds = {each.kind: each for each in settings.manifests if at_root(each.path)}
    for lock, command in (("uv.lock", "uv sync"), ("poetry.lock", "poetry install"), ("pipfile.lock", "pipenv sync")):
        if lock in names:
            yield Step(command, names[lock])
            break
    else:
        if "pyproject.toml" in kinds and kinds["pyproject.toml"].name:
            yield Step("python -m pip install -e .", "pyproject.toml")
        elif "setup.py" in kinds or "setup.cfg" in kinds:
            yield Step("python -m pip install -e .", "setup.py" if "setup.py" in kinds else "setup.cfg")
    for manifest in settings.manifests:
        if manifest.kind == "requirements" and at_root(manifest.path) and manifest.path.endswith(".txt"):
            yield Step(f"python -m pip install -r {manifest.path}", manifest.path)
    if "package.json" in kinds:
        by_lock = {"pnpm-lock.yaml": "pnpm install", "yarn.lock": "yarn install", "package-lock.json": "npm ci"}
        found = next((lock for lock in by_lock if lock in names), "")
        yield Step(by_lock.get(found, "npm install"), found or "package.json")
    if "go.mod" in kinds:
        yield Step("go build ./...", "go.mod")
    if "Cargo.toml" in kinds:
        yield Step("cargo build", "Cargo.toml")


def test_steps(repository: Repository) -> Iterator[Step]:
    settings = repository.settings
    for target in settings.targets:
        if at_root(target.path) and target.name in {"test", "tests", "check"}:
            yield Step(f"make {target.name}", target.path, target.about)
    kinds = {each.kind: each for each in settings.manifests if at_root(each.path)}
    if any(path.endswith(".py") for path in repository.tests):
        said = next((each.path for each in settings.manifests if "pytest" in each.tools), "the test files")
        yield Step("python -m pytest", said)
    if "package.json" in kinds and any(each.name == "test" for each in kinds["package.json"].scripts):
        yield Step("npm test", "package.json")
    if "go.mod" in kinds and any(path.endswith("_test.go") for path in repository.paths):
        yield Step("go test ./...", "go.mod")
    if "Cargo.toml" in kinds:
        yield Step("cargo test", "Cargo.toml")


def start_steps(repository: Repository) -> Iterator[Step]:
    settings = repository.settings
    for manifest, script in all_programs(settings.manifests):
        yield Step(script.name, manifest.path, runs=script.does)
    for path in repository.python:
        if path.endswith("/__main__.py"):
            yield Step(f"python -m {module_name(path).removesuffix('.__main__')}", path)
    for manifest in settings.manifests:
        for script in manifest.scripts:
            if script.name in {"start", "dev", "serve"}:
                call = "npm start" if script.name == "start" else f"npm run {script.name}"
                yield Step(call, manifest.path, runs=script.does)
    for target in settings.targets:
        if target.name in {"run", "start", "serve", "dev", "up"}:
            yield Step(f"make {target.name}", target.path, target.about)
    if settings.services:
        yield Step("docker compose up", settings.services[0].path)
