"""RUNBOOK: how to install, test, start and check the project, and which errors it raises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from prd2pr.languages.python.signatures import get_module_name
from prd2pr.livingdocs.documents.operations import (
    is_health_route,
    list_environment_variables,
    list_planned,
    list_routes,
)
from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.readers.manifests import list_programs
from prd2pr.livingdocs.repository import Repository


class RunbookStep(NamedTuple):
    """A command to type, and the file that mentions it."""

    command: str
    named_in: str
    about: str = ""
    runs: str = ""  # what the command executes


def build_runbook_view(facts: LivingFacts) -> dict[str, object]:
    repository = facts.repository
    settings = repository.settings
    start = tuple(list_start_steps(repository))
    tests = tuple(list_test_steps(repository))
    set_up = tuple(list_setup_steps(repository))
    used = {step.command for step in (*set_up, *tests, *start)}
    other = (RunbookStep(f"make {each.name}", each.path, each.about) for each in settings.targets)
    return {
        "set_up": set_up,
        "tests": tests,
        "start": start,
        "other": [step for step in other if step.command not in used],
        "processes": settings.processes,
        "variables": list_environment_variables(repository),
        "health": [(path, route) for path, route in list_routes(repository) if is_health_route(route)],
        "health_checks": [
            *(image for image in settings.images if image.health),
            *(service for service in settings.services if service.health),
        ],
        "errors": [
            (f"{get_module_name(path)}.{each.name}", path, each)
            for path, file in repository.python.items()
            for each in file.errors
        ],
        "planned_rollback": list_planned(facts, "rollback"),
        "has_state": bool(facts.prds),
    }


def is_at_root(path: str) -> bool:
    return "/" not in path


def list_setup_steps(repository: Repository) -> Iterator[RunbookStep]:
    """Yield the install commands that follow from the files at the root."""
    settings = repository.settings
    names = {path.lower(): path for path in repository.paths if is_at_root(path)}
    targets = {each.name: each for each in settings.targets if is_at_root(each.path)}
    for name in ("setup", "install", "bootstrap"):
        if name in targets:
            yield RunbookStep(f"make {name}", targets[name].path, targets[name].about)
    kinds = {each.kind: each for each in settings.manifests if is_at_root(each.path)}
    for lock, command in (("uv.lock", "uv sync"), ("poetry.lock", "poetry install"), ("pipfile.lock", "pipenv sync")):
        if lock in names:
            yield RunbookStep(command, names[lock])
            break
    else:
        if "pyproject.toml" in kinds and kinds["pyproject.toml"].name:
            yield RunbookStep("python -m pip install -e .", "pyproject.toml")
        elif "setup.py" in kinds or "setup.cfg" in kinds:
            yield RunbookStep("python -m pip install -e .", "setup.py" if "setup.py" in kinds else "setup.cfg")
    for manifest in settings.manifests:
        if manifest.kind == "requirements" and is_at_root(manifest.path) and manifest.path.endswith(".txt"):
            yield RunbookStep(f"python -m pip install -r {manifest.path}", manifest.path)
    if "package.json" in kinds:
        by_lock = {"pnpm-lock.yaml": "pnpm install", "yarn.lock": "yarn install", "package-lock.json": "npm ci"}
        found = next((lock for lock in by_lock if lock in names), "")
        yield RunbookStep(by_lock.get(found, "npm install"), found or "package.json")
    if "go.mod" in kinds:
        yield RunbookStep("go build ./...", "go.mod")
    if "Cargo.toml" in kinds:
        yield RunbookStep("cargo build", "Cargo.toml")


def list_test_steps(repository: Repository) -> Iterator[RunbookStep]:
    settings = repository.settings
    for target in settings.targets:
        if is_at_root(target.path) and target.name in {"test", "tests", "check"}:
            yield RunbookStep(f"make {target.name}", target.path, target.about)
    kinds = {each.kind: each for each in settings.manifests if is_at_root(each.path)}
    if any(path.endswith(".py") for path in repository.tests):
        source = next((each.path for each in settings.manifests if "pytest" in each.tools), "the test files")
        yield RunbookStep("python -m pytest", source)
    if "package.json" in kinds and any(each.name == "test" for each in kinds["package.json"].scripts):
        yield RunbookStep("npm test", "package.json")
    if "go.mod" in kinds and any(path.endswith("_test.go") for path in repository.paths):
        yield RunbookStep("go test ./...", "go.mod")
    if "Cargo.toml" in kinds:
        yield RunbookStep("cargo test", "Cargo.toml")


def list_start_steps(repository: Repository) -> Iterator[RunbookStep]:
    settings = repository.settings
    for manifest, script in list_programs(settings.manifests):
        yield RunbookStep(script.name, manifest.path, runs=script.does)
    for path in repository.python:
        if path.endswith("/__main__.py"):
            yield RunbookStep(f"python -m {get_module_name(path).removesuffix('.__main__')}", path)
    for manifest in settings.manifests:
        for script in manifest.scripts:
            if script.name in {"start", "dev", "serve"}:
                call = "npm start" if script.name == "start" else f"npm run {script.name}"
                yield RunbookStep(call, manifest.path, runs=script.does)
    for target in settings.targets:
        if target.name in {"run", "start", "serve", "dev", "up"}:
            yield RunbookStep(f"make {target.name}", target.path, target.about)
    if settings.services:
        yield RunbookStep("docker compose up", settings.services[0].path)
