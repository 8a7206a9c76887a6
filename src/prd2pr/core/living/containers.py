"""Files that say what the project runs on: Dockerfiles, compose files, clusters, Terraform, units, Procfiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prd2pr.core.living.plain_yaml import listed, mapping, text, texts, yaml_documents


class Image(NamedTuple):
    """A Dockerfile: what it starts from, what it opens, and what runs in the end."""

    path: str
    bases: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    user: str = ""
    starts: str = ""
    health: str = ""
    variables: tuple[str, ...] = ()


class Service(NamedTuple):
    """One of a compose file."""

    path: str
    name: str
    image: str = ""  # or what it is built from
    ports: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    health: str = ""


class Resource(NamedTuple):
    """An object of a cluster, or a block of Terraform."""

    path: str
    kind: str
    name: str
    detail: str = ""
    routes: tuple[str, ...] = ()  # of an Ingress: host and path


class Process(NamedTuple):
    """A line of a Procfile, or a systemd unit."""

    path: str
    name: str
    command: str
    about: str = ""


def is_dockerfile(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    return name in {"dockerfile", "containerfile"} or name.startswith("dockerfile.") or name.endswith(".dockerfile")


def is_compose(path: str) -> bool:
    return bool(re.fullmatch(r"(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml", PurePosixPath(path).name.lower()))


def image_of(path: str, content: str) -> Image:
    bases: list[str] = []
    last: dict[str, str] = {}
    ports: list[str] = []
    variables: list[str] = []
    stages: set[str] = set()
    for word, rest in _instructions(content):
        if word == "FROM":
            parts = [part for part in rest.split() if not part.startswith("--")]
            if len(parts) > 2 and parts[1].upper() == "AS":
                stages.add(parts[2])
            if parts and parts[0] not in stages:
                bases.append(parts[0])
        elif word == "EXPOSE":
            ports += rest.split()
        elif word in {"ENV", "ARG"}:
            variables += re.findall(r"(?:^|\s)([A-Za-z_]\w*)(?==|\s|$)", rest)[: None if "=" in rest else 1]
        elif word in {"USER", "CMD", "ENTRYPOINT", "HEALTHCHECK"}:
            last[word] = rest
    starts = " ".join(filter(None, (_command(last.get("ENTRYPOINT", "")), _command(last.get("CMD", "")))))
    health = _command(last.get("HEALTHCHECK", "").partition("CMD")[2].strip())
    return Image(
        path, tuple(dict.fromkeys(bases)), tuple(dict.fromkeys(ports)), last.get("USER", ""), starts, health,
        tuple(dict.fromkeys(variables)),
    )  # fmt: skip


def _instructions(content: str) -> Iterator[tuple[str, str]]:
    whole = re.sub(r"\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*", " ", content)
    for line in whole.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word and not word.startswith("#"):
            yield word.upper(), rest.strip()


def _command(written: str) -> str:
    """`["python", "-m", "shop"]` as it would be typed."""
    if not written.startswith("["):
        return written
    try:
        return " ".join(texts(json.loads(written)))
    except ValueError:
        return written


def services_of(path: str, content: str) -> tuple[Service, ...]:
    found = []
    for document in yaml_documents(content):
        for name, raw in mapping(mapping(document).get("services")).items():
            found.append(_service(path, name, mapping(raw)))
    return tuple(found)


def _service(path: str, name: str, raw: dict[str, Any]) -> Service:
    build = raw.get("build")
    context = text(build) or text(mapping(build).get("context"))
    ports = tuple(text(each) or text(mapping(each).get("published")) for each in listed(raw.get("ports")))
    return Service(
        path,
        name,
        text(raw.get("image")) or (f"built from {context}" if context else ""),
        tuple(filter(None, ports)),
        texts(raw.get("depends_on")),
        tuple(each.partition("=")[0] for each in texts(raw.get("environment"))),
        " ".join(texts(mapping(raw.get("healthcheck")).get("test"))),
    )


def looks_like_cluster(content: str) -> bool:
    return bool(re.search(r"^apiVersion:", content, re.MULTILINE) and re.search(r"^kind:", content, re.MULTILINE))


def cluster_resources(path: str, content: str) -> tuple[Resource, ...]:
    found = []
    for document in yaml_documents(content):
        raw = mapping(document)
        kind, name = text(raw.get("kind")), text(mapping(raw.get("metadata")).get("name"))
        if kind and raw.get("apiVersion") and name:
            spec = mapping(raw.get("spec"))
            found.append(Resource(path, kind, name, _cluster_detail(spec), tuple(_ingress(kind, spec))))
    return tuple(found)


def _cluster_detail(spec: dict[str, Any]) -> str:
    pod = mapping(mapping(spec.get("template")).get("spec")) or spec
    images = [text(mapping(each).get("image")) for each in listed(pod.get("containers"))]
    ports = [text(mapping(each).get("port")) for each in listed(spec.get("ports"))]
    replicas = text(spec.get("replicas"))
    parts = [*filter(None, images), f"{replicas} replicas" if replicas else "", *(f"port {p}" for p in ports if p)]
    return ", ".join(filter(None, parts))


def _ingress(kind: str, spec: dict[str, Any]) -> Iterator[str]:
    if kind != "Ingress":
        return
    for rule in map(mapping, listed(spec.get("rules"))):
        for each in map(mapping, listed(mapping(rule.get("http")).get("paths"))):
            service = mapping(mapping(each.get("backend")).get("service"))
            target = text(service.get("name")) or "a service"
            yield f"{text(rule.get('host'))}{text(each.get('path')) or '/'} to {target}"


_TERRAFORM = re.compile(r'^(resource|module|provider|data)\s+"([^"\n]+)"(?:\s+"([^"\n]+)")?\s*\{', re.MULTILINE)


def terraform_resources(path: str, content: str) -> tuple[Resource, ...]:
    found = (match.groups() for match in _TERRAFORM.finditer(content))
    return tuple(Resource(path, block, second or first, first if second else "") for block, first, second in found)


def processes_of(path: str, content: str) -> tuple[Process, ...]:
    if path.endswith(".service"):
        values = dict(re.findall(r"^(Description|ExecStart)\s*=\s*(.+?)\s*$", content, re.MULTILINE))
        command = values.get("ExecStart", "")
        return (Process(path, PurePosixPath(path).stem, command, values.get("Description", "")),) if command else ()
    lines = re.findall(r"^([A-Za-z0-9_-]+):[ \t]*(\S.*?)[ \t]*$", content, re.MULTILINE)
    return tuple(Process(path, name, command) for name, command in lines)


def nginx_routes(path: str, content: str) -> tuple[Resource, ...]:
    """`location` blocks with where they hand on to."""
    found = []
    for match in re.finditer(r"^\s*location\s+([^{\n]+?)\s*\{([^}]*)", content, re.MULTILINE):
        target = re.search(r"(?:proxy_pass|root|alias|return)\s+([^;\n]+);", match[2])
        found.append(Resource(path, "nginx", match[1], target[1].strip() if target else ""))
    return tuple(found)
