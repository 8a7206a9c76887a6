"""Work in the repository's own Actions: its workflow is started, and the run is found again by the claim's mark."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

from prd2pr.forges.github.hub import GitHubHub
from prd2pr.forges.github.runs import find_run, is_run, start_run
from prd2pr.server.work.claims import Claim

WORKFLOW = "prd2pr.yml"
# The workflow's file is older than these inputs: the run was accepted, and cannot be told from others.
UNKNOWN = "accepted"
MOST_SAID = 500
LOOK_AGAIN_SECONDS = 3.0

OpenHub = Callable[[str], GitHubHub]


class Dispatching:
    def __init__(self, hub_of: OpenHub) -> None:
        self.hub_of = hub_of

    def begin(self, claim: Claim, turn: int) -> str:
        """A claim that was begun before the server was killed has its run already."""
        hub, mark = self.hub_of(claim.lane), mark_of(claim.id, turn)
        run = find_run(hub.wire, WORKFLOW, mark)
        if run is None and claim.resumed:
            # Who had it may have dispatched a moment ago, and GitHub may not show it yet: it is looked for twice.
            time.sleep(LOOK_AGAIN_SECONDS)
            run = find_run(hub.wire, WORKFLOW, mark)
        if run is None:
            base = hub.default_branch()
            run = start_run(hub.wire, WORKFLOW, base, inputs_of(claim, mark), mark)
            if run is None:
                old = start_run(hub.wire, WORKFLOW, base, {"reason": f"the App's server ({mark})"}, mark)
                return str(old) if old else UNKNOWN
        return str(run) if run else mark

    def has_begun(self, claim: Claim, mark: str) -> bool:
        """GitHub may accept a dispatch and make no run of it."""
        if mark == UNKNOWN:
            return True
        wire = self.hub_of(claim.lane).wire
        return is_run(wire, int(mark)) if mark.isdigit() else find_run(wire, WORKFLOW, mark) is not None


def mark_of(claim: str, turn: int) -> str:
    """Short, and not a number: it stands in the run's title."""
    return "s" + hashlib.sha256(f"{claim}/{turn}".encode()).hexdigest()[:20]


def inputs_of(claim: Claim, mark: str) -> dict[str, str]:
    """With where something was said, for whoever finds nothing of it on the branches."""
    said = dict.fromkeys(each.said for each in claim.deliveries if each.said)
    return {"delivery": mark, "reason": "the App's server", "said": ",".join(list(said)[-MOST_SAID:])}
