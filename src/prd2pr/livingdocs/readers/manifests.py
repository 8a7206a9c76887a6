"""Read manifests (pyproject.toml, package.json and others): name, dependencies, scripts and tools."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prd2pr.livingdocs.readers.plain_yaml import as_list, as_mapping, as_text, as_texts

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_PINNED = re.compile(r"===?\s*[^*\s,]+\s*(?:;|$|\\|#)")


class ManifestScript(NamedTuple):
    """A command that the project defines under a name."""

    name: str
    does: str


class Manifest(NamedTuple):
    path: str
    kind: str  # such as pyproject, package.json, requirements, go.mod or Cargo.toml
    name: str = ""
    version: str = ""
    runtime: str = ""  # such as Python >=3.11
    builder: str = ""
    dependencies: tuple[str, ...] = ()
    dev_dependencies: tuple[str, ...] = ()
    unpinned: int = 0  # dependencies without an exact version
    programs: tuple[ManifestScript, ...] = ()  # installed with the project
    scripts: tuple[ManifestScript, ...] = ()  # run inside the project
    tools: tuple[str, ...] = ()  # tools that it configures
    private: bool = False


LOCK_FILES = frozenset(
    {
        "uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",
        "go.sum", "cargo.lock", "gemfile.lock", "composer.lock", "bun.lockb",
    }
)  # fmt: skip
_UNREAD_KINDS = {
    "gemfile": "Gemfile",
    "composer.json": "composer.json",
    "pom.xml": "pom.xml",
    "build.gradle": "Gradle",
    "build.gradle.kts": "Gradle",
    "pipfile": "Pipfile",
    "setup.py": "setup.py",
    "environment.yml": "conda environment",
}


def is_manifest_file(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    known = {"pyproject.toml", "package.json", "go.mod", "cargo.toml", "setup.cfg", *_UNREAD_KINDS}
    return name in known or bool(re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name))


def is_lock_file(path: str) -> bool:
    return PurePosixPath(path).name.lower() in LOCK_FILES


def read_manifest_file(path: str, content: str) -> Manifest | None:
    name = PurePosixPath(path).name.lower()
    reader = _READERS.get("requirements" if name.startswith("requirements") else name)
    if reader is None:
        return Manifest(path, _UNREAD_KINDS[name]) if name in _UNREAD_KINDS else None
    try:
        return reader(path, content)
    except (ValueError, RecursionError, TypeError, configparser.Error):  # ValueError is raised for invalid TOML or JSON
        return Manifest(path, f"{PurePosixPath(path).name}, which cannot be read")


def _read_pyproject(path: str, content: str) -> Manifest:
    raw = tomllib.loads(content)
    project = as_mapping(raw.get("project"))
    tools = as_mapping(raw.get("tool"))
    poetry = as_mapping(tools.get("poetry"))
    needs = as_texts(project.get("dependencies")) or tuple(
        name for name in as_mapping(poetry.get("dependencies")) if name != "python"
    )
    extras = (each for group in as_mapping(project.get("optional-dependencies")).values() for each in as_texts(group))
    groups = (each for group in as_mapping(raw.get("dependency-groups")).values() for each in as_texts(group))
    entry_points = as_mapping(project.get("scripts")) or as_mapping(poetry.get("scripts"))
    version = as_text(project.get("version")) or as_text(poetry.get("version"))
    dynamic = "version" in as_texts(project.get("dynamic"))
    wanted = as_text(project.get("requires-python")) or as_text(as_mapping(poetry.get("dependencies")).get("python"))
    return Manifest(
        path,
        "pyproject.toml",
        name=as_text(project.get("name")) or as_text(poetry.get("name")),
        version=version or ("set while building" if dynamic else ""),
        runtime=f"Python {wanted}" if wanted else "",
        builder=as_text(as_mapping(raw.get("build-system")).get("build-backend")),
        dependencies=_parse_requirement_names(needs),
        dev_dependencies=_parse_requirement_names((*extras, *groups)),
        unpinned=sum(not _PINNED.search(each) for each in needs),
        programs=_list_scripts(entry_points),
        tools=tuple(sorted(tools)),
    )


def _read_package_json(path: str, content: str) -> Manifest:
    raw = as_mapping(json.loads(content))
    needs = as_mapping(raw.get("dependencies"))
    engines = as_mapping(raw.get("engines"))
    binary = raw.get("bin")
    programs = {as_text(raw.get("name")): as_text(binary)} if isinstance(binary, str) else as_mapping(binary)
    return Manifest(
        path,
        "package.json",
        name=as_text(raw.get("name")),
        version=as_text(raw.get("version")),
        runtime=", ".join(f"{name} {as_text(engines[name])}" for name in sorted(engines)),
        dependencies=tuple(sorted(needs)),
        dev_dependencies=tuple(sorted(as_mapping(raw.get("devDependencies")))),
        unpinned=sum(not re.match(r"\d", as_text(wanted)) for wanted in needs.values()),
        programs=_list_scripts(programs),
        scripts=_list_scripts(as_mapping(raw.get("scripts"))),
        private=raw.get("private") is True,
    )


def _read_cargo(path: str, content: str) -> Manifest:
    raw = tomllib.loads(content)
    package = as_mapping(raw.get("package"))
    edition = as_text(package.get("edition"))
    binaries = [as_mapping(each) for each in as_list(raw.get("bin"))]
    return Manifest(
        path,
        "Cargo.toml",
        name=as_text(package.get("name")),
        version=as_text(package.get("version")),
        runtime=f"Rust, edition {edition}" if edition else "",
        dependencies=tuple(sorted(as_mapping(raw.get("dependencies")))),
        dev_dependencies=tuple(sorted(as_mapping(raw.get("dev-dependencies")))),
        programs=tuple(ManifestScript(as_text(each.get("name")), as_text(each.get("path"))) for each in binaries),
    )


def _read_setup_cfg(path: str, content: str) -> Manifest:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(content)
    needs = tuple(filter(None, parser.get("options", "install_requires", fallback="").splitlines()))
    console = parser.get("options.entry_points", "console_scripts", fallback="").splitlines()
    pairs = (line.partition("=") for line in console if "=" in line)
    wanted = parser.get("options", "python_requires", fallback="")
    return Manifest(
        path,
        "setup.cfg",
        name=parser.get("metadata", "name", fallback=""),
        version=parser.get("metadata", "version", fallback=""),
        runtime=f"Python {wanted}" if wanted else "",
        dependencies=_parse_requirement_names(needs),
        unpinned=sum(not _PINNED.search(each) for each in needs),
        programs=tuple(sorted((ManifestScript(a.strip(), b.strip()) for a, _, b in pairs), key=lambda each: each.name)),
        tools=tuple(sorted(parser.sections())),
    )


def _read_go_mod(path: str, content: str) -> Manifest:
    module = re.search(r"^module\s+(\S+)", content, re.MULTILINE)
    version = re.search(r"^go\s+(\S+)", content, re.MULTILINE)
    needs = re.findall(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\S+(?!.*// indirect)", content, re.MULTILINE)
    return Manifest(
        path,
        "go.mod",
        name=module[1] if module else "",
        runtime=f"Go {version[1]}" if version else "",
        dependencies=tuple(sorted(set(needs))),
    )


def _read_requirements(path: str, content: str) -> Manifest:
    lines = [line for line in content.splitlines() if line.strip() and not line.lstrip().startswith(("#", "-"))]
    dev = any(word in PurePosixPath(path).name.lower() for word in ("dev", "test", "lint", "doc"))
    names = _parse_requirement_names(lines)
    return Manifest(
        path,
        "requirements",
        dependencies=() if dev else names,
        dev_dependencies=names if dev else (),
        unpinned=0 if dev else sum(not _PINNED.search(line) for line in lines),
    )


_READERS: dict[str, Callable[[str, str], Manifest]] = {
    "pyproject.toml": _read_pyproject,
    "cargo.toml": _read_cargo,
    "package.json": _read_package_json,
    "setup.cfg": _read_setup_cfg,
    "go.mod": _read_go_mod,
    "requirements": _read_requirements,
}


def _parse_requirement_names(requirements: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    found = (_REQUIREMENT.match(each) for each in requirements)
    return tuple(sorted({match[1] for match in found if match}, key=str.lower))


def _list_scripts(raw: dict[str, Any]) -> tuple[ManifestScript, ...]:
    return tuple(
        ManifestScript(name, as_text(does) or as_text(as_mapping(does).get("reference")))
        for name, does in sorted(raw.items())
    )


def list_programs(manifests: tuple[Manifest, ...]) -> Iterator[tuple[Manifest, ManifestScript]]:
    for manifest in manifests:
        for script in manifest.programs:
            yield manifest, script
