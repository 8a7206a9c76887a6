"""The repository's own files about how it is built, run and delivered, each read by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from prd2pr.core.living.containers import (
    Image,
    Process,
    Resource,
    Service,
    cluster_resources,
    image_of,
    is_compose,
    is_dockerfile,
    looks_like_cluster,
    nginx_routes,
    processes_of,
    services_of,
    terraform_resources,
)
from prd2pr.core.living.manifests import Manifest, is_lock_file, is_manifest, manifest_of
from prd2pr.core.living.pipelines import (
    Pipeline,
    Target,
    hooks_of,
    is_makefile,
    pipeline_kind,
    pipeline_of,
    targets_of,
)

MOST_YAML = 200  # files that are looked into for objects of a cluster
_HOOKS = ".pre-commit-config.yaml"

# Files that a service reads to run the project, by their name.
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


class Platform(NamedTuple):
    path: str
    name: str


class Settings(NamedTuple):
    manifests: tuple[Manifest, ...] = ()
    locks: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    services: tuple[Service, ...] = ()
    resources: tuple[Resource, ...] = ()
    processes: tuple[Process, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    targets: tuple[Target, ...] = ()
    hooks: tuple[str, ...] = ()
    platforms: tuple[Platform, ...] = ()


def is_setting(path: str) -> bool:
    """Whether its text is worth reading here."""
    name = PurePosixPath(path).name.lower()
    return (
        is_manifest(path)
        or is_dockerfile(path)
        or is_makefile(path)
        or bool(pipeline_kind(path))
        or name in {"procfile", _HOOKS}
        or name.endswith((".tf", ".service", ".yml", ".yaml"))
        or _is_nginx(path)
    )


def settings_from(texts: Mapping[str, str], paths: tuple[str, ...]) -> Settings:
    """`texts`: those of the files that `is_setting` wants; `paths`: all there are."""
    known = sorted(texts)
    clusters = [path for path in known if _may_be_cluster(path, texts[path])][:MOST_YAML]
    return Settings(
        manifests=tuple(filter(None, (manifest_of(path, texts[path]) for path in known if is_manifest(path)))),
        locks=tuple(path for path in paths if is_lock_file(path)),
        images=tuple(image_of(path, texts[path]) for path in known if is_dockerfile(path)),
        services=tuple(each for path in known if is_compose(path) for each in services_of(path, texts[path])),
        resources=(
            *(each for path in clusters for each in cluster_resources(path, texts[path])),
            *(each for path in known if path.endswith(".tf") for each in terraform_resources(path, texts[path])),
            *(each for path in known if _is_nginx(path) for each in nginx_routes(path, texts[path])),
        ),
        processes=tuple(each for path in known if _starts_processes(path) for each in processes_of(path, texts[path])),
        pipelines=tuple(pipeline_of(path, texts[path]) for path in known if pipeline_kind(path)),
        targets=tuple(each for path in known if is_makefile(path) for each in targets_of(path, texts[path])),
        hooks=tuple(each for path in known if path == _HOOKS for each in hooks_of(texts[path])),
        platforms=tuple(Platform(path, name) for path in paths if (name := _platform(path))),
    )


def _may_be_cluster(path: str, text: str) -> bool:
    yaml = path.endswith((".yml", ".yaml")) and not pipeline_kind(path) and not is_compose(path)
    return yaml and looks_like_cluster(text)


def _starts_processes(path: str) -> bool:
    return path.endswith(".service") or PurePosixPath(path).name.lower() == "procfile"


def _is_nginx(path: str) -> bool:
    return "nginx" in path.lower() and path.endswith((".conf", ".template"))


def _platform(path: str) -> str:
    return PLATFORMS.get(PurePosixPath(path).name.lower(), "")
