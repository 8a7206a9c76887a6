"""Read all files that define how the project is built, run and deployed, each with the reader for its kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from prd2pr.livingdocs.readers.containers import (
    ComposeService,
    ContainerImage,
    InfraResource,
    ProcessEntry,
    is_cluster_manifest,
    is_compose,
    is_dockerfile,
    read_cluster_resources,
    read_dockerfile,
    read_nginx_routes,
    read_processes,
    read_services,
    read_terraform_resources,
)
from prd2pr.livingdocs.readers.manifests import Manifest, is_lock_file, is_manifest_file, read_manifest_file
from prd2pr.livingdocs.readers.pipelines import (
    CiPipeline,
    MakeTarget,
    detect_pipeline_kind,
    is_makefile,
    read_hooks,
    read_make_targets,
    read_pipeline,
)

MAX_YAML = 200  # maximum number of files searched for Kubernetes objects
_HOOKS_FILE = ".pre-commit-config.yaml"

# Hosting services by the name of their configuration file.
PLATFORMS = {
    "fly.toml": "Fly.io",
    "vercel.json": "Vercel",
    "netlify.toml": "Netlify",
    "app.yaml": "Google App Engine",
    "render.yaml": "Render",
    "railway.json": "Railway",
    "serverless.yml": "Serverless Framework",
    "chart.yaml": "Helm",
    "kustomization.yaml": "Kustomize",
    "skaffold.yaml": "Skaffold",
    "ansible.cfg": "Ansible",
    "vagrantfile": "Vagrant",
    "flake.nix": "Nix",
    "wrangler.toml": "Cloudflare Workers",
    "pulumi.yaml": "Pulumi",
    "cdk.json": "AWS CDK",
}


class HostingPlatform(NamedTuple):
    path: str
    name: str


class ProjectSettings(NamedTuple):
    manifests: tuple[Manifest, ...] = ()
    locks: tuple[str, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    services: tuple[ComposeService, ...] = ()
    resources: tuple[InfraResource, ...] = ()
    processes: tuple[ProcessEntry, ...] = ()
    pipelines: tuple[CiPipeline, ...] = ()
    targets: tuple[MakeTarget, ...] = ()
    hooks: tuple[str, ...] = ()
    platforms: tuple[HostingPlatform, ...] = ()


def is_settings_file(path: str) -> bool:
    """Return whether `read_project_settings` reads this file."""
    name = PurePosixPath(path).name.lower()
    return (
        is_manifest_file(path)
        or is_dockerfile(path)
        or is_makefile(path)
        or bool(detect_pipeline_kind(path))
        or name in {"procfile", _HOOKS_FILE}
        or name.endswith((".tf", ".service", ".yml", ".yaml"))
        or _is_nginx(path)
    )


def read_project_settings(texts: Mapping[str, str], paths: tuple[str, ...]) -> ProjectSettings:
    """Read the settings.

    `texts` are the files for which `is_settings_file` is true, and `paths` are all files.
    """
    known = sorted(texts)
    clusters = [path for path in known if _is_cluster_file(path, texts[path])][:MAX_YAML]
    return ProjectSettings(
        manifests=tuple(
            filter(None, (read_manifest_file(path, texts[path]) for path in known if is_manifest_file(path)))
        ),
        locks=tuple(path for path in paths if is_lock_file(path)),
        images=tuple(read_dockerfile(path, texts[path]) for path in known if is_dockerfile(path)),
        services=tuple(each for path in known if is_compose(path) for each in read_services(path, texts[path])),
        resources=(
            *(each for path in clusters for each in read_cluster_resources(path, texts[path])),
            *(each for path in known if path.endswith(".tf") for each in read_terraform_resources(path, texts[path])),
            *(each for path in known if _is_nginx(path) for each in read_nginx_routes(path, texts[path])),
        ),
        processes=tuple(each for path in known if _is_process_file(path) for each in read_processes(path, texts[path])),
        pipelines=tuple(read_pipeline(path, texts[path]) for path in known if detect_pipeline_kind(path)),
        targets=tuple(each for path in known if is_makefile(path) for each in read_make_targets(path, texts[path])),
        hooks=tuple(each for path in known if path == _HOOKS_FILE for each in read_hooks(texts[path])),
        platforms=tuple(HostingPlatform(path, name) for path in paths if (name := _detect_platform(path))),
    )


def _is_cluster_file(path: str, text: str) -> bool:
    yaml = path.endswith((".yml", ".yaml")) and not detect_pipeline_kind(path) and not is_compose(path)
    return yaml and is_cluster_manifest(text)


def _is_process_file(path: str) -> bool:
    return path.endswith(".service") or PurePosixPath(path).name.lower() == "procfile"


def _is_nginx(path: str) -> bool:
    return "nginx" in path.lower() and path.endswith((".conf", ".template"))


def _detect_platform(path: str) -> str:
    return PLATFORMS.get(PurePosixPath(path).name.lower(), "")
