"""Read infrastructure files: Dockerfiles, compose files, Kubernetes, Terraform, systemd units, Procfiles, nginx."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from prd2pr.livingdocs.readers.plain_yaml import as_list, as_mapping, as_text, as_texts, load_yaml_documents


class ContainerImage(NamedTuple):
    """A Dockerfile: base images, exposed ports and start command."""

    path: str
    bases: tuple[str, ...] = ()
    ports: tuple[str, ...] = ()
    user: str = ""
    starts: str = ""
    health: str = ""
    variables: tuple[str, ...] = ()


class ComposeService(NamedTuple):
    path: str
    name: str
    image: str = ""  # the image or the build context
    ports: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    health: str = ""


class InfraResource(NamedTuple):
    """A Kubernetes object, a Terraform block or an nginx location."""

    path: str
    kind: str
    name: str
    detail: str = ""
    routes: tuple[str, ...] = ()  # host and path of an Ingress


class ProcessEntry(NamedTuple):
    """A Procfile line or a systemd unit."""

    path: str
    name: str
    command: str
    about: str = ""


def is_dockerfile(path: str) -> bool:
    name = PurePosixPath(path).name.lower()
    return name in {"dockerfile", "containerfile"} or name.startswith("dockerfile.") or name.endswith(".dockerfile")


def is_compose(path: str) -> bool:
    return bool(re.fullmatch(r"(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml", PurePosixPath(path).name.lower()))


def read_dockerfile(path: str, content: str) -> ContainerImage:
    bases: list[str] = []
    last: dict[str, str] = {}
    ports: list[str] = []
    variables: list[str] = []
    stages: set[str] = set()
    for word, rest in _parse_instructions(content):
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
    starts = " ".join(filter(None, (_format_command(last.get("ENTRYPOINT", "")), _format_command(last.get("CMD", "")))))
    health = _format_command(last.get("HEALTHCHECK", "").partition("CMD")[2].strip())
    return ContainerImage(
        path, tuple(dict.fromkeys(bases)), tuple(dict.fromkeys(ports)), last.get("USER", ""), starts, health,
        tuple(dict.fromkeys(variables)),
    )  # fmt: skip


def _parse_instructions(content: str) -> Iterator[tuple[str, str]]:
    whole = re.sub(r"\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*", " ", content)
    for line in whole.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word and not word.startswith("#"):
            yield word.upper(), rest.strip()


def _format_command(written: str) -> str:
    """Return an exec-form command such as `["python", "-m", "shop"]` as it would be typed."""
    if not written.startswith("["):
        return written
    try:
        return " ".join(as_texts(json.loads(written)))
    except ValueError:
        return written


def read_services(path: str, content: str) -> tuple[ComposeService, ...]:
    found = []
    for document in load_yaml_documents(content):
        for name, raw in as_mapping(as_mapping(document).get("services")).items():
            found.append(_read_service(path, name, as_mapping(raw)))
    return tuple(found)


def _read_service(path: str, name: str, raw: dict[str, Any]) -> ComposeService:
    build = raw.get("build")
    context = as_text(build) or as_text(as_mapping(build).get("context"))
    ports = tuple(as_text(each) or as_text(as_mapping(each).get("published")) for each in as_list(raw.get("ports")))
    return ComposeService(
        path,
        name,
        as_text(raw.get("image")) or (f"built from {context}" if context else ""),
        tuple(filter(None, ports)),
        as_texts(raw.get("depends_on")),
        tuple(each.partition("=")[0] for each in as_texts(raw.get("environment"))),
        " ".join(as_texts(as_mapping(raw.get("healthcheck")).get("test"))),
    )


def is_cluster_manifest(content: str) -> bool:
    return bool(re.search(r"^apiVersion:", content, re.MULTILINE) and re.search(r"^kind:", content, re.MULTILINE))


def read_cluster_resources(path: str, content: str) -> tuple[InfraResource, ...]:
    found = []
    for document in load_yaml_documents(content):
        raw = as_mapping(document)
        kind, name = as_text(raw.get("kind")), as_text(as_mapping(raw.get("metadata")).get("name"))
        if kind and raw.get("apiVersion") and name:
            spec = as_mapping(raw.get("spec"))
            found.append(
                InfraResource(path, kind, name, _describe_workload(spec), tuple(_list_ingress_routes(kind, spec)))
            )
    return tuple(found)


def _describe_workload(spec: dict[str, Any]) -> str:
    pod = as_mapping(as_mapping(spec.get("template")).get("spec")) or spec
    images = [as_text(as_mapping(each).get("image")) for each in as_list(pod.get("containers"))]
    ports = [as_text(as_mapping(each).get("port")) for each in as_list(spec.get("ports"))]
    replicas = as_text(spec.get("replicas"))
    parts = [*filter(None, images), f"{replicas} replicas" if replicas else "", *(f"port {p}" for p in ports if p)]
    return ", ".join(filter(None, parts))


def _list_ingress_routes(kind: str, spec: dict[str, Any]) -> Iterator[str]:
    if kind != "Ingress":
        return
    for rule in map(as_mapping, as_list(spec.get("rules"))):
        for each in map(as_mapping, as_list(as_mapping(rule.get("http")).get("paths"))):
            service = as_mapping(as_mapping(each.get("backend")).get("service"))
            target = as_text(service.get("name")) or "a service"
            yield f"{as_text(rule.get('host'))}{as_text(each.get('path')) or '/'} to {target}"


_TERRAFORM = re.compile(r'^(resource|module|provider|data)\s+"([^"\n]+)"(?:\s+"([^"\n]+)")?\s*\{', re.MULTILINE)


def read_terraform_resources(path: str, content: str) -> tuple[InfraResource, ...]:
    found = (match.groups() for match in _TERRAFORM.finditer(content))
    return tuple(InfraResource(path, block, second or first, first if second else "") for block, first, second in found)


def read_processes(path: str, content: str) -> tuple[ProcessEntry, ...]:
    if path.endswith(".service"):
        values = dict(re.findall(r"^(Description|ExecStart)\s*=\s*(.+?)\s*$", content, re.MULTILINE))
        command = values.get("ExecStart", "")
        return (
            (ProcessEntry(path, PurePosixPath(path).stem, command, values.get("Description", "")),) if command else ()
        )
    lines = re.findall(r"^([A-Za-z0-9_-]+):[ \t]*(\S.*?)[ \t]*$", content, re.MULTILINE)
    return tuple(ProcessEntry(path, name, command) for name, command in lines)


def read_nginx_routes(path: str, content: str) -> tuple[InfraResource, ...]:
    """Read `location` blocks with their targets."""
    found = []
    for match in re.finditer(r"^\s*location\s+([^{\n]+?)\s*\{([^}]*)", content, re.MULTILINE):
        target = re.search(r"(?:proxy_pass|root|alias|return)\s+([^;\n]+);", match[2])
        found.append(InfraResource(path, "nginx", match[1], target[1].strip() if target else ""))
    return tuple(found)
