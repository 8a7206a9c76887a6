"""DEPLOYMENT: how the project gets to where it runs. What the repository does not say is not made up."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.living.containers import Image, Process, Resource, Service
from prd2pr.core.living.infrastructure import Variable, environment_of
from prd2pr.core.living.manifests import Manifest
from prd2pr.core.living.pipelines import Job, Pipeline, Target
from prd2pr.core.living.settings import Platform
from prd2pr.core.living.worked import LivingFacts

_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout"})
_WORDS = ("deploy", "release", "publish", "ship", "rollback", "migrate", "upload")


class Delivery(NamedTuple):
    pipeline: Pipeline
    job: Job


class DeploymentView(NamedTuple):
    deliveries: tuple[Delivery, ...]
    images: tuple[Image, ...]
    services: tuple[Service, ...]
    workloads: tuple[Resource, ...]
    processes: tuple[Process, ...]
    platforms: tuple[Platform, ...]
    packages: tuple[Manifest, ...]
    targets: tuple[Target, ...]
    rollback: tuple[Target, ...]
    required: tuple[Variable, ...]

    @property
    def found(self) -> bool:
        return bool(
            self.deliveries or self.images or self.services or self.workloads or self.processes or self.platforms
        )


def deployment(facts: LivingFacts) -> DeploymentView:
    settings = facts.repository.settings
    targets = [each for each in settings.targets if any(word in each.name.lower() for word in _WORDS)]
    return DeploymentView(
        deliveries=tuple(
            Delivery(pipeline, job) for pipeline in settings.pipelines for job in pipeline.jobs if job.delivers
        ),
        images=settings.images,
        services=settings.services,
        workloads=tuple(each for each in settings.resources if each.kind in _WORKLOADS),
        processes=settings.processes,
        platforms=settings.platforms,
        packages=tuple(each for each in settings.manifests if is_package(each)),
        targets=tuple(each for each in targets if "rollback" not in each.name.lower()),
        rollback=tuple(each for each in targets if "rollback" in each.name.lower()),
        required=tuple(each for each in environment_of(facts.repository) if each.required),
    )


def is_package(manifest: Manifest) -> bool:
    """Something that could be published: it has a name and a version, and is not marked as private."""
    return bool(manifest.name and manifest.version and not manifest.private)
