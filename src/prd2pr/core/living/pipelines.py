"""Files that say what machines check and deliver: workflows, pipelines, hooks, and the targets of a Makefile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prd2pr.core.living.plain_yaml import listed, mapping, text, texts, yaml_documents
from prd2pr.core.wording import clip, plain

_PINNED = re.compile(r"@[0-9a-f]{40}$|^\./|^docker://.*@sha256:")
_DELIVERS = re.compile(r"deploy|release|publish|ship|rollout|upload|promote", re.IGNORECASE)
_GITLAB_WORDS = frozenset(
    {
        "stages", "variables", "default", "include", "workflow", "image", "services", "cache", "before_script",
        "after_script", "pages", "spec",
    }
)  # fmt: skip


class Job(NamedTuple):
    id: str
    name: str = ""
    runs_on: str = ""
    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    unpinned: tuple[str, ...] = ()  # actions that a moved tag would change
    environment: str = ""

    @property
    def delivers(self) -> bool:
        return bool(self.environment or _DELIVERS.search(self.id) or _DELIVERS.search(self.name))


class Pipeline(NamedTuple):
    path: str
    kind: str  # GitHub Actions, GitLab CI …
    name: str = ""
    triggers: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()


class Target(NamedTuple):
    """Of a Makefile or justfile."""

    path: str
    name: str
    about: str = ""


def pipeline_kind(path: str) -> str:
    """Empty for what is no pipeline."""
    lower = path.lower()
    name = PurePosixPath(lower).name
    if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", lower):
        return "GitHub Actions"
    exact = {
        ".gitlab-ci.yml": "GitLab CI",
        ".circleci/config.yml": "CircleCI",
        "jenkinsfile": "Jenkins",
        "azure-pipelines.yml": "Azure Pipelines",
        ".travis.yml": "Travis CI",
        "bitbucket-pipelines.yml": "Bitbucket Pipelines",
        ".drone.yml": "Drone",
        "cloudbuild.yaml": "Google Cloud Build",
        "buildspec.yml": "AWS CodeBuild",
    }
    return exact.get(lower, exact.get(name, "") if "/" not in lower else "")


def pipeline_of(path: str, content: str) -> Pipeline:
    kind = pipeline_kind(path)
    raw = next((mapping(each) for each in yaml_documents(content)), {}) if kind != "Jenkins" else {}
    if kind == "GitHub Actions":
        jobs = tuple(_job(name, mapping(job)) for name, job in mapping(raw.get("jobs")).items())
        return Pipeline(path, kind, text(raw.get("name")), tuple(_triggers(raw.get("on"))), jobs)
    if kind == "GitLab CI":
        return Pipeline(path, kind, "", (), tuple(_gitlab(raw)))
    return Pipeline(path, kind, text(raw.get("name")), (), ())


def _triggers(on: Any) -> Iterator[str]:
    """`push to main`, `pull_request`, `schedule 0 3 * * *`"""
    if not isinstance(on, dict):
        yield from texts(on)
        return
    for event, raw in mapping(on).items():
        if event == "schedule":
            yield from (f"schedule {text(mapping(each).get('cron'))}" for each in listed(raw))
            continue
        limits = mapping(raw)
        told = [
            f"{word} {', '.join(texts(limits.get(key))[:6])}"
            for key, word in (("branches", "on"), ("tags", "of tags"), ("types", ""), ("paths", "of"))
            if texts(limits.get(key))
        ]
        yield " ".join([event, *told]).replace("  ", " ").strip()


def _job(name: str, raw: dict[str, Any]) -> Job:
    steps = [mapping(each) for each in listed(raw.get("steps"))]
    used = [text(step.get("uses")) for step in steps if step.get("uses")]
    used += [text(raw["uses"])] if raw.get("uses") else []
    runs = (first_line(text(step.get("run"))) for step in steps if step.get("run"))
    environment = text(raw.get("environment")) or text(mapping(raw.get("environment")).get("name"))
    return Job(
        name,
        text(raw.get("name")),
        ", ".join(texts(raw.get("runs-on"))),
        texts(raw.get("needs")),
        tuple(filter(None, runs)),
        tuple(each for each in used if not _PINNED.search(each)),
        environment,
    )


def _gitlab(raw: dict[str, Any]) -> Iterator[Job]:
    for name, job in raw.items():
        settings = mapping(job)
        if name in _GITLAB_WORDS or name.startswith((".", "<<")) or not settings:
            continue
        needs = tuple(text(each) or text(mapping(each).get("job")) for each in listed(settings.get("needs")))
        environment = text(settings.get("environment")) or text(mapping(settings.get("environment")).get("name"))
        commands = tuple(first_line(each) for each in texts(settings.get("script")))
        yield Job(name, text(settings.get("stage")), "", tuple(filter(None, needs)), commands, (), environment)


def first_line(script: str) -> str:
    lines = [line for line in map(plain, script.splitlines()) if line and not line.startswith(("#", "set -"))]
    if not lines:
        return ""
    return clip(lines[0], 120) + (f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else "")


def hooks_of(content: str) -> tuple[str, ...]:
    """The ids of a `.pre-commit-config.yaml`."""
    found = []
    for document in yaml_documents(content):
        for repository in map(mapping, listed(mapping(document).get("repos"))):
            found += [text(mapping(hook).get("id")) for hook in listed(repository.get("hooks"))]
    return tuple(filter(None, found))


_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*)[ \t]*:(?![=:])[^\n#]*(?:##[ \t]*([^\n]*))?", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\n)#+[ \t]*([^\n]+)\n$")


def targets_of(path: str, content: str) -> tuple[Target, ...]:
    """Names that people type, with the comment that stands beside or above them. Files that are made are left out."""
    phony = {name for line in re.findall(r"^\.PHONY[ \t]*:([^\n]*)", content, re.MULTILINE) for name in line.split()}
    found: dict[str, Target] = {}
    for match in _TARGET.finditer(content):
        name = match[1]
        if phony and name not in phony:
            continue
        if "/" in name or ("." in name and not phony):
            continue
        above = _COMMENT.search(content[: match.start()])
        about = match[2] or (above[1] if above else "")
        found.setdefault(name, Target(path, name, clip(plain(about), 160)))
    return tuple(found.values())


def is_makefile(path: str) -> bool:
    return PurePosixPath(path).name.lower() in {"makefile", "gnumakefile", "justfile"}
