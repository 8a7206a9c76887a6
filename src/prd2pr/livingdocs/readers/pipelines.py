"""Read CI pipelines, pre-commit hooks and Makefile targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prd2pr.domain.wording import clean_line, clip
from prd2pr.livingdocs.readers.plain_yaml import as_list, as_mapping, as_text, as_texts, load_yaml_documents

_PINNED = re.compile(r"@[0-9a-f]{40}$|^\./|^docker://.*@sha256:")
_DELIVERS = re.compile(r"deploy|release|publish|ship|rollout|upload|promote", re.IGNORECASE)
_GITLAB_WORDS = frozenset(
    {
        "stages", "variables", "default", "include", "workflow", "image", "services", "cache", "before_script",
        "after_script", "pages", "spec",
    }
)  # fmt: skip


class PipelineJob(NamedTuple):
    id: str
    name: str = ""
    runs_on: str = ""
    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    unpinned: tuple[str, ...] = ()  # actions not pinned to a commit
    environment: str = ""

    @property
    def delivers(self) -> bool:
        return bool(self.environment or _DELIVERS.search(self.id) or _DELIVERS.search(self.name))


class CiPipeline(NamedTuple):
    path: str
    kind: str  # such as GitHub Actions or GitLab CI
    name: str = ""
    triggers: tuple[str, ...] = ()
    jobs: tuple[PipelineJob, ...] = ()


class MakeTarget(NamedTuple):
    """A target of a Makefile or justfile."""

    path: str
    name: str
    about: str = ""


def detect_pipeline_kind(path: str) -> str:
    """Return the CI system that the file belongs to, or an empty string if it is not a pipeline."""
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


def read_pipeline(path: str, content: str) -> CiPipeline:
    kind = detect_pipeline_kind(path)
    raw = next((as_mapping(each) for each in load_yaml_documents(content)), {}) if kind != "Jenkins" else {}
    if kind == "GitHub Actions":
        jobs = tuple(_read_job(name, as_mapping(job)) for name, job in as_mapping(raw.get("jobs")).items())
        return CiPipeline(path, kind, as_text(raw.get("name")), tuple(_list_triggers(raw.get("on"))), jobs)
    if kind == "GitLab CI":
        return CiPipeline(path, kind, "", (), tuple(_read_gitlab_jobs(raw)))
    return CiPipeline(path, kind, as_text(raw.get("name")), (), ())


def _list_triggers(on: Any) -> Iterator[str]:
    """Yield the triggers of a workflow, such as `push on main`, `pull_request` or `schedule 0 3 * * *`."""
    if not isinstance(on, dict):
        yield from as_texts(on)
        return
    for event, raw in as_mapping(on).items():
        if event == "schedule":
            yield from (f"schedule {as_text(as_mapping(each).get('cron'))}" for each in as_list(raw))
            continue
        limits = as_mapping(raw)
        tags = "or of tags" if as_texts(limits.get("branches")) else "of tags"
        filters = [
            f"{word} {', '.join(as_texts(limits.get(key))[:6])}"
            for key, word in (("branches", "on"), ("tags", tags), ("types", ""), ("paths", "of"))
            if as_texts(limits.get(key))
        ]
        yield " ".join([event, *filters]).replace("  ", " ").strip()


def _read_job(name: str, raw: dict[str, Any]) -> PipelineJob:
    steps = [as_mapping(each) for each in as_list(raw.get("steps"))]
    used = [as_text(step.get("uses")) for step in steps if step.get("uses")]
    used += [as_text(raw["uses"])] if raw.get("uses") else []
    runs = (shorten_script(as_text(step.get("run"))) for step in steps if step.get("run"))
    environment = as_text(raw.get("environment")) or as_text(as_mapping(raw.get("environment")).get("name"))
    return PipelineJob(
        name,
        as_text(raw.get("name")),
        ", ".join(as_texts(raw.get("runs-on"))),
        as_texts(raw.get("needs")),
        tuple(filter(None, runs)),
        tuple(each for each in used if not _PINNED.search(each)),
        environment,
    )


def _read_gitlab_jobs(raw: dict[str, Any]) -> Iterator[PipelineJob]:
    for name, job in raw.items():
        settings = as_mapping(job)
        if name in _GITLAB_WORDS or name.startswith((".", "<<")) or not settings:
            continue
        needs = tuple(as_text(each) or as_text(as_mapping(each).get("job")) for each in as_list(settings.get("needs")))
        environment = as_text(settings.get("environment")) or as_text(
            as_mapping(settings.get("environment")).get("name")
        )
        commands = tuple(shorten_script(each) for each in as_texts(settings.get("script")))
        yield PipelineJob(
            name, as_text(settings.get("stage")), "", tuple(filter(None, needs)), commands, (), environment
        )


def shorten_script(script: str) -> str:
    lines = [line for line in map(clean_line, script.splitlines()) if line and not line.startswith(("#", "set -"))]
    if not lines:
        return ""
    return clip(lines[0], 120) + (f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else "")


def read_hooks(content: str) -> tuple[str, ...]:
    """Return the hook ids of a `.pre-commit-config.yaml`."""
    found = []
    for document in load_yaml_documents(content):
        for repository in map(as_mapping, as_list(as_mapping(document).get("repos"))):
            found += [as_text(as_mapping(hook).get("id")) for hook in as_list(repository.get("hooks"))]
    return tuple(filter(None, found))


_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*)[ \t]*:(?![=:])[^\n#]*(?:##[ \t]*([^\n]*))?", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|\n)#+[ \t]*([^\n]+)\n$")


def read_make_targets(path: str, content: str) -> tuple[MakeTarget, ...]:
    """Read the targets that people type, with the comment on or above their line. File targets are left out."""
    phony = {name for line in re.findall(r"^\.PHONY[ \t]*:([^\n]*)", content, re.MULTILINE) for name in line.split()}
    found: dict[str, MakeTarget] = {}
    for match in _TARGET.finditer(content):
        name = match[1]
        if phony and name not in phony:
            continue
        if "/" in name or ("." in name and not phony):
            continue
        above = _COMMENT.search(content[: match.start()])
        about = match[2] or (above[1] if above else "")
        found.setdefault(name, MakeTarget(path, name, clip(clean_line(about), 160)))
    return tuple(found.values())


def is_makefile(path: str) -> bool:
    return PurePosixPath(path).name.lower() in {"makefile", "gnumakefile", "justfile"}
