"""Manifests: what a project is called, needs and offers, as pyproject.toml, package.json and the like say it."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prd2pr.core.living.plain_yaml import listed, mapping, text, texts

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_PINNED = re.compile(r"===?\s*[^*\s,]+\s*(?:;|$|\\|#)")


class Script(NamedTuple):
    """A command that the project offers or keeps for itself: its name and what it does."""

    name: str
    does: str


class Manifest(NamedTuple):
    path: str
    kind: str  # pyproject, package.json, requirements, go.mod, Cargo.toml, setup.cfg, Pipfile, …
    name: str = ""
    version: str = ""
    runtime: str = ""  # Python >=3.11
    builder: str = ""
    dependencies: tuple[str, ...] = ()
    dev_dependencies: tuple[str, ...] = ()
    unpinned: int = 0  # of the dependencies, those that any later version may satisfy
    programs: tuple[Script, ...] = ()  # installed with the project
    scripts: tuple[Script, ...] = ()  # run inside of it
    tools: tuple[str, ...] = ()  # that have settings in it
    private: bool = False


LOCK_FILES = frozenset(
    {
        "uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock", "package-lock.json", "pnpm-lock.yaml", "yarn.lock",
        "go.sum", "cargo.lock", "gemfile.lock", "composer.lock", "bun.lockb",
    }
)  # fmt: skip
_OTHERS = {
    "gemfile": "Gemfile",
    "composer.json": "composer.json",
    "pom.xml": "pom.xml",
    "build.gradle": "Gradle",
    "build.gradle.kts": "Gradle",
    "pipfile": "Pipfile",
    "setup.py": "setup.py",
    "environment.yml": "conda environment",
}


def is_manifest(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    known = {"pyproject.toml", "package.json", "go.mod", "cargo.toml", "setup.cfg", *_OTHERS}
    return name in known or bool(re.fullmatch(r"requirements[\w.-]*\.(?:txt|in)", name))


def is_lock_file(path: str) -> bool:
    return PurePosixPath(path).name.lower() in LOCK_FILES


def manifest_of(path: str, content: str) -> Manifest | None:
    name = PurePosixPath(path).name.lower()
    reader = _READERS.get("requirements" if name.startswith("requirements") else name)
    if reader is None:
        return Manifest(path, _OTHERS[name]) if name in _OTHERS else None
    try:
        return reader(path, content)
    except (ValueError, RecursionError, TypeError, configparser.Error):  # ValueError: TOML or JSON that is none
        return Manifest(path, f"{PurePosixPath(path).name}, which cannot be read")


def _pyproject(path: str, content: str) -> Manifest:
    raw = tomllib.loads(content)
    project = mapping(raw.get("project"))
    tools = mapping(raw.get("tool"))
    poetry = mapping(tools.get("poetry"))
    needs = texts(project.get("dependencies")) or tuple(
        name for name in mapping(poetry.get("dependencies")) if name != "python"
    )
    extras = (each for group in mapping(project.get("optional-dependencies")).values() for each in texts(group))
    groups = (each for group in mapping(raw.get("dependency-groups")).values() for each in texts(group))
    entry_points = mapping(project.get("scripts")) or mapping(poetry.get("scripts"))
    version = text(project.get("version")) or text(poetry.get("version"))
    dynamic = "version" in texts(project.get("dynamic"))
    wanted = text(project.get("requires-python")) or text(mapping(poetry.get("dependencies")).get("python"))
    return Manifest(
        path,
        "pyproject.toml",
        name=text(project.get("name")) or text(poetry.get("name")),
        version=version or ("set while building" if dynamic else ""),
        runtime=f"Python {wanted}" if wanted else "",
        builder=text(mapping(raw.get("build-system")).get("build-backend")),
        dependencies=_names(needs),
        dev_dependencies=_names((*extras, *groups)),
        unpinned=sum(not _PINNED.search(each) for each in needs),
        programs=_scripts(entry_points),
        tools=tuple(sorted(tools)),
    )


def _package_json(path: str, content: str) -> Manifest:
    raw = mapping(json.loads(content))
    needs = mapping(raw.get("dependencies"))
    engines = mapping(raw.get("engines"))
    binary = raw.get("bin")
    programs = {text(raw.get("name")): text(binary)} if isinstance(binary, str) else mapping(binary)
    return Manifest(
        path,
        "package.json",
        name=text(raw.get("name")),
        version=text(raw.get("version")),
        runtime=", ".join(f"{name} {text(engines[name])}" for name in sorted(engines)),
        dependencies=tuple(sorted(needs)),
        dev_dependencies=tuple(sorted(mapping(raw.get("devDependencies")))),
        unpinned=sum(not re.match(r"\d", text(wanted)) for wanted in needs.values()),
        programs=_scripts(programs),
        scripts=_scripts(mapping(raw.get("scripts"))),
        private=raw.get("private") is True,
    )


def _cargo(path: str, content: str) -> Manifest:
    raw = tomllib.loads(content)
    package = mapping(raw.get("package"))
    edition = text(package.get("edition"))
    binaries = [mapping(each) for each in listed(raw.get("bin"))]
    return Manifest(
        path,
        "Cargo.toml",
        name=text(package.get("name")),
        version=text(package.get("version")),
        runtime=f"Rust, edition {edition}" if edition else "",
        dependencies=tuple(sorted(mapping(raw.get("dependencies")))),
        dev_dependencies=tuple(sorted(mapping(raw.get("dev-dependencies")))),
        programs=tuple(Script(text(each.get("name")), text(each.get("path"))) for each in binaries),
    )


def _setup_cfg(path: str, content: str) -> Manifest:
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
        dependencies=_names(needs),
        unpinned=sum(not _PINNED.search(each) for each in needs),
        programs=tuple(sorted((Script(a.strip(), b.strip()) for a, _, b in pairs), key=lambda each: each.name)),
        tools=tuple(sorted(parser.sections())),
    )


def _go_mod(path: str, content: str) -> Manifest:
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


def _requirements(path: str, content: str) -> Manifest:
    lines = [line for line in content.splitlines() if line.strip() and not line.lstrip().startswith(("#", "-"))]
    dev = any(word in PurePosixPath(path).name.lower() for word in ("dev", "test", "lint", "doc"))
    names = _names(lines)
    return Manifest(
        path,
        "requirements",
        dependencies=() if dev else names,
        dev_dependencies=names if dev else (),
        unpinned=0 if dev else sum(not _PINNED.search(line) for line in lines),
    )


_READERS: dict[str, Callable[[str, str], Manifest]] = {
    "pyproject.toml": _pyproject,
    "cargo.toml": _cargo,
    "package.json": _package_json,
    "setup.cfg": _setup_cfg,
    "go.mod": _go_mod,
    "requirements": _requirements,
}


def _names(requirements: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    found = (_REQUIREMENT.match(each) for each in requirements)
    return tuple(sorted({match[1] for match in found if match}, key=str.lower))


def _scripts(raw: dict[str, Any]) -> tuple[Script, ...]:
    return tuple(Script(name, text(does) or text(mapping(does).get("reference"))) for name, does in sorted(raw.items()))


def all_programs(manifests: tuple[Manifest, ...]) -> Iterator[tuple[Manifest, Script]]:
    for manifest in manifests:
        for script in manifest.programs:
            yield manifest, script
