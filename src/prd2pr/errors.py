"""Every error that prd2pr raises on purpose, in one tree.

    Prd2prError                    says what happened, where, and what to do; never shown as a traceback
    ├── UsageProblem               the call itself is wrong                                    exit 2
    ├── SetupProblem               repository, machine or configuration is not ready           exit 1
    │   ├── NotARepository
    │   ├── ConfigInvalid
    │   ├── RunnerMissing
    │   └── ModelMissing
    ├── InputInvalid               a file that a person wrote cannot be used                   exit 1
    │   ├── PrdInvalid
    │   └── PlanInvalid
    ├── StateProblem               `.orch-state/` on the branch cannot be used                 exit 1
    │   ├── StateCorrupted
    │   └── StateNewer
    ├── BranchProblem              git would not let the step land                             exit 1
    │   ├── UnknownRevision                                                                    exit 2
    │   ├── BranchMoved
    │   └── BranchInUse
    ├── IllegalCommand             a machine does not allow this now                           exit 1
    ├── CannotJudge                the tests could not be run, so there is no verdict          exit 2
    ├── ModelProblem               a model call failed for good                                exit 1
    │   ├── ModelRefused           the answer was a refusal, or unusable after all tries
    │   ├── SpendLimit             the provider's or the user's spending limit
    │   └── TranscriptEnded        a replayed transcript has no answer for this request
    └── Stopped                    Ctrl-C or SIGTERM; all that was proved is committed         exit 130

Anything else that reaches the edge is a bug: exit 3, with a report to paste.
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
        """One line what, one line where, one line what to do."""
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


class InputInvalid(Prd2prError):
    code = "ERR300"


class PrdInvalid(InputInvalid):
    code = "ERR301"


class PlanInvalid(InputInvalid):
    code = "ERR302"


class StateProblem(Prd2prError):
    code = "ERR400"


class StateCorrupted(StateProblem):
    code = "ERR401"


class StateNewer(StateProblem):
    code = "ERR402"


class BranchProblem(Prd2prError):
    code = "ERR500"


class UnknownRevision(BranchProblem):
    exit_status = 2
    code = "ERR501"


class BranchMoved(BranchProblem):
    code = "ERR502"


class BranchInUse(BranchProblem):
    code = "ERR503"


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


class Stopped(Prd2prError):
    exit_status = 130
    code = "ERR900"
