"""Open a set-up pull request in each repository in which the App is newly installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prd2pr.errors import Prd2prError
from prd2pr.github.client.factory import open_hub
from prd2pr.github.client.setup_branch import SetupBranch
from prd2pr.github.events.events import AppInstalled
from prd2pr.github.setup.app_permissions import SETUP_ACCESS
from prd2pr.github.setup.offer import SetupOffer, offer_setup
from prd2pr.server.installations import Installations
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.manifest import make_github_web_url

OFFER_ACTIONS = frozenset({"created", "added"})
REMOVAL_ACTIONS = frozenset({"deleted", "suspend"})
# An App installed on a whole organization must not flood it with pull requests.
MAX_OFFERS = 25


@dataclass(frozen=True)
class OnboardingResult:
    """The result of onboarding.

    `left_out` lists the repositories beyond the limit. They can be onboarded by installing the App on them
    individually.
    """

    offered: tuple[SetupOffer, ...] = ()
    problems: tuple[tuple[str, Prd2prError], ...] = ()
    left_out: tuple[str, ...] = ()


Offer = Callable[[int, str], SetupOffer]


def onboard_repositories(
    event: AppInstalled, installations: Installations, make_offer: Offer, most: int = MAX_OFFERS
) -> OnboardingResult:
    """Open the set-up pull request in each added repository.

    A failure affects only its own repository, and repeating the call is safe.
    """
    if event.action in REMOVAL_ACTIONS:
        installations.forget(event.installation)
    if event.action not in OFFER_ACTIONS:
        return OnboardingResult()
    offered: list[SetupOffer] = []
    problems: list[tuple[str, Prd2prError]] = []
    for repository in event.added[:most]:
        try:
            offered.append(make_offer(event.installation, repository))
        except Prd2prError as problem:
            problems.append((repository, problem))
    return OnboardingResult(tuple(offered), tuple(problems), event.added[most:])


def make_github_offer(settings: ServerSettings, installations: Installations) -> Offer:
    def make_offer(installation: int, repository: str) -> SetupOffer:
        source = installations.source(installation, [repository], SETUP_ACCESS)
        page = f"{make_github_web_url(settings)}/settings/installations/{installation}"
        with open_hub(repository, token=source, api_url=settings.github_api_url) as hub:
            return offer_setup(SetupBranch(hub), app_url=page)

    return make_offer
