"""Every error that prd2pr raises on purpose, in one tree.

    Prd2prError                    what happened, where, and what to do; never shown as a traceback
    ├── UsageProblem               wrong option or argument                                    exit 2
    ├── SetupProblem               repository, machine or configuration is not ready           exit 1
    │   ├── NotARepository
    │   ├── ConfigInvalid
    │   ├── RunnerMissing
    │   ├── ModelMissing
    │   └── TokenMissing
    ├── InputInvalid               a file that a person wrote is not valid                     exit 1
    │   ├── PrdInvalid
    │   ├── PrdRejected            the rules of the Why role reject it
    │   └── PlanInvalid
    ├── StateProblem               `.orch-state/` on the branch cannot be used                 exit 1
    │   ├── StateCorrupted
    │   ├── StateNewer
    │   └── StateByHand
    ├── BranchProblem              git rejected the step                                       exit 1
    │   ├── UnknownRevision                                                                    exit 2
    │   ├── BranchMoved
    │   ├── BranchInUse
    │   ├── SecretFound            the commit would publish a secret of the job
    │   ├── StepsLost              somebody deleted the branch or moved it back
    │   └── StepsRewritten         somebody rewrote steps on a story's branch
    ├── IllegalCommand             the state machine does not allow this command now           exit 1
    ├── CannotJudge                the tests could not be run, so there is no verdict          exit 2
    ├── ModelProblem               a model call failed after all retries                       exit 1
    │   ├── ModelRefused           the answer was a refusal, or invalid after all retries
    │   ├── SpendLimit             the provider's or the user's spending limit
    │   └── TranscriptEnded        a replayed transcript has no answer for this request
    ├── HubProblem                 GitHub refused a call                                       exit 1
    │   ├── PullsNotAllowed        the setting that lets Actions open pull requests is off
    │   ├── ScopeMissing           the token lacks a permission
    │   ├── BadCredentials
    │   ├── RepositoryArchived
    │   ├── NotFoundThere          gone, renamed, or not visible with this token
    │   ├── WorkflowMissing        not on the default branch, or without `workflow_dispatch`
    │   ├── WorkflowFilesLocked    `.github/workflows` cannot be written with this token
    │   ├── BranchProtected        a rule of the repository refused the push
    │   ├── PullLimit              the repository accepts no more pull requests now
    │   ├── RateLimited
    │   ├── HubUnreachable
    │   ├── TextTooLong            over GitHub's limit of 65,536 characters
    │   ├── TreeDiffers            the commit made through the API differs from the proved one
    │   └── TrackerMissing         issues or sub-issues are disabled
    └── Stopped                    Ctrl-C or SIGTERM; all proved work is committed             exit 130

Any other exception that reaches the CLI is a bug: exit 3, with a report to paste.
"""

from __future__ import annotations


class Prd2prError(Exception):
    exit_status = 1
    code = "ERR000"

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.remedy = remedy

    def lines(self) -> list[str]:
        """Return the lines for a terminal: what happened, where, and what to do."""
        return [
            f"error: {self.what}",
            *([f"where: {self.where}"] if self.where else []),
            *([f"to do: {self.remedy}"] if self.remedy else []),
        ]


class UsageProblem(Prd2prError):
    exit_status = 2
    code = "ERR100"


class SetupProblem(Prd2prError):
    code = "ERR200"


class NotARepository(SetupProblem):
    code = "ERR201"


class ConfigInvalid(SetupProblem):
    code = "ERR202"


class RunnerMissing(SetupProblem):
    code = "ERR203"


class ModelMissing(SetupProblem):
    code = "ERR204"


class TokenMissing(SetupProblem):
    code = "ERR205"


class IdentityMissing(SetupProblem):
    code = "ERR206"


class InputInvalid(Prd2prError):
    code = "ERR300"


class PrdInvalid(InputInvalid):
    code = "ERR301"


class PlanInvalid(InputInvalid):
    code = "ERR302"


class PrdRejected(InputInvalid):
    code = "ERR303"


class StateProblem(Prd2prError):
    code = "ERR400"


class StateCorrupted(StateProblem):
    code = "ERR401"


class StateNewer(StateProblem):
    code = "ERR402"


class StateByHand(StateProblem):
    code = "ERR403"


class BranchProblem(Prd2prError):
    code = "ERR500"


class UnknownRevision(BranchProblem):
    exit_status = 2
    code = "ERR501"


class BranchMoved(BranchProblem):
    code = "ERR502"


class BranchInUse(BranchProblem):
    code = "ERR503"


class SecretFound(BranchProblem):
    code = "ERR504"


class StepsLost(BranchProblem):
    code = "ERR505"


class StepsRewritten(BranchProblem):
    code = "ERR506"


class IllegalCommand(Prd2prError):
    code = "ERR600"


class CannotJudge(Prd2prError):
    exit_status = 2
    code = "ERR700"


class ModelProblem(Prd2prError):
    code = "ERR800"


class ModelRefused(ModelProblem):
    code = "ERR801"


class SpendLimit(ModelProblem):
    code = "ERR802"


class TranscriptEnded(ModelProblem):
    code = "ERR803"


class HubProblem(Prd2prError):
    code = "ERR850"


class PullsNotAllowed(HubProblem):
    code = "ERR851"


class ScopeMissing(HubProblem):
    code = "ERR852"


class BadCredentials(HubProblem):
    code = "ERR853"


class RepositoryArchived(HubProblem):
    code = "ERR854"


class NotFoundThere(HubProblem):
    code = "ERR855"


class WorkflowMissing(HubProblem):
    code = "ERR856"


class WorkflowFilesLocked(HubProblem):
    code = "ERR857"


class BranchProtected(HubProblem):
    code = "ERR858"


class PullLimit(HubProblem):
    code = "ERR859"


class RateLimited(HubProblem):
    """GitHub's rate limit is reached.

    `until` is the time at which it accepts calls again, in seconds since the epoch.
    """

    code = "ERR860"

    def __init__(self, what: str, *, where: str = "", remedy: str = "", until: float = 0.0) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.until = until


class HubUnreachable(HubProblem):
    code = "ERR861"


class TextTooLong(HubProblem):
    code = "ERR862"


class TreeDiffers(HubProblem):
    code = "ERR863"


class TrackerMissing(HubProblem):
    """Issues or sub-issues are disabled in the repository. The work does not depend on them."""

    code = "ERR864"


class Stopped(Prd2prError):
    exit_status = 130
    code = "ERR900"
