"""The App was installed, or came to more repositories: each is offered the pull request that sets it up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prd2pr.core.app_needs import ONBOARDING
from prd2pr.core.events import Installed
from prd2pr.errors import Prd2prError
from prd2pr.flows.offering import Offered, offer
from prd2pr.forges.github.open import open_hub
from prd2pr.forges.github.setup_branch import SetupBranch
from prd2pr.server.installations import Installations
from prd2pr.server.settings import ServerSettings
from prd2pr.server.setup.manifest import github_pages

OFFERING_ACTIONS = frozenset({"created", "added"})
ENDING_ACTIONS = frozenset({"deleted", "suspend"})
# An App that is given all repositories of an organisation must not flood it with pull requests.
MOST_OFFERED = 25


@dataclass(frozen=True)
class Onboarded:
    """`left_out`: beyond what is offered at once; installing the App on chosen repositories offers it to those."""

    offered: tuple[Offered, ...] = ()
    problems: tuple[tuple[str, Prd2prError], ...] = ()
    left_out: tuple[str, ...] = ()


Offer = Callable[[int, str], Offered]


def onboard(event: Installed, installations: Installations, offering: Offer, most: int = MOST_OFFERED) -> Onboarded:
    """One repository's trouble keeps no other from it. Doing it again opens nothing twice, so it may be retried."""
    if event.action in ENDING_ACTIONS:
        installations.forget(event.installation)
    if event.action not in OFFERING_ACTIONS:
        return Onboarded()
    offered: list[Offered] = []
    problems: list[tuple[str, Prd2prError]] = []
    for repository in event.added[:most]:
        try:
            offered.append(offering(event.installation, repository))
        except Prd2prError as problem:
            problems.append((repository, problem))
    return Onboarded(tuple(offered), tuple(problems), event.added[most:])


def offering_on_github(settings: ServerSettings, installations: Installations) -> Offer:
    def offering(installation: int, repository: str) -> Offered:
        source = installations.source(installation, [repository], ONBOARDING)
        page = f"{github_pages(settings)}/settings/installations/{installation}"
        with open_hub(repository, token=source, api_url=settings.github_api_url) as hub:
            return offer(SetupBranch(hub), app_url=page)

    return offering
