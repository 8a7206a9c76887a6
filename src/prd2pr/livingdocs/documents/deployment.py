"""DEPLOYMENT: how the project is deployed, as far as the repository says."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.livingdocs.documents.infrastructure import EnvironmentVariable, list_environment_variables
from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.readers.containers import ComposeService, ContainerImage, InfraResource, ProcessEntry
from prd2pr.livingdocs.readers.manifests import Manifest
from prd2pr.livingdocs.readers.pipelines import CiPipeline, MakeTarget, PipelineJob
from prd2pr.livingdocs.readers.settings import HostingPlatform

_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "Rollout"})
_WORDS = ("deploy", "release", "publish", "ship", "rollback", "migrate", "upload")


class DeliveryJob(NamedTuple):
    pipeline: CiPipeline
    job: PipelineJob


class DeploymentView(NamedTuple):
    deliveries: tuple[DeliveryJob, ...]
    images: tuple[ContainerImage, ...]
    services: tuple[ComposeService, ...]
    workloads: tuple[InfraResource, ...]
    processes: tuple[ProcessEntry, ...]
    platforms: tuple[HostingPlatform, ...]
    packages: tuple[Manifest, ...]
    targets: tuple[MakeTarget, ...]
    rollback: tuple[MakeTarget, ...]
    required: tuple[EnvironmentVariable, ...]

    @property
    def found(self) -> bool:
        return bool(
            self.deliveries or self.images or self.services or self.workloads or self.processes or self.platforms
        )


def build_deployment_view(facts: LivingFacts) -> DeploymentView:
    settings = facts.repository.settings
    targets = [each for each in settings.targets if any(word in each.name.lower() for word in _WORDS)]
    return DeploymentView(
        deliveries=tuple(
            DeliveryJob(pipeline, job) for pipeline in settings.pipelines for job in pipeline.jobs if job.delivers
        ),
        images=settings.images,
        services=settings.services,
        workloads=tuple(each for each in settings.resources if each.kind in _WORKLOADS),
        processes=settings.processes,
        platforms=settings.platforms,
        packages=tuple(each for each in settings.manifests if is_publishable(each)),
        targets=tuple(each for each in targets if "rollback" not in each.name.lower()),
        rollback=tuple(each for each in targets if "rollback" in each.name.lower()),
        required=tuple(each for each in list_environment_variables(facts.repository) if each.required),
    )


def is_publishable(manifest: Manifest) -> bool:
    """Whether the package has a name and a version and is not private."""
    return bool(manifest.name and manifest.version and not manifest.private)
