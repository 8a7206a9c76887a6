"""A limit that was reached, in a run on a code host: why it ends, and what a person does about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prd2pr.core.decide import Rest
from prd2pr.core.said.status import limit_helped
from prd2pr.core.two_names import in_comments
from prd2pr.errors import SpendLimit

if TYPE_CHECKING:
    from prd2pr.flows.prd_run import PrdRun

GO_ON = "/tdd run"


def out_of_budget(run: PrdRun, limit: SpendLimit) -> Rest:
    """Between two phases, so nothing is lost. Before there is a plan there is no pull request to comment under."""
    if run.host.git.branch_head(run.session.branch) is None:
        issue, prd = run.session.issue, run.session.prd
        label = run.host.config.labels.trigger
        anew = f"take the label `{label}` off #{issue} and give it again"
        again = anew if issue else f"run the workflow with `prd` set to `{prd.id}`"
        raise SpendLimit(limit.what, where=prd.path, remedy=f"{limit_helped(limit.remedy)}, then {again}.") from limit
    return Rest("budget", limit.what, in_comments(limit.remedy) or GO_ON)
