"""What the launcher is told to compare: the plan, and a function that was changed on purpose."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from typing import Any

from prd2pr.ports import ParityRequest
from prd2pr.runners.canary import Canary
from prd2pr.runners.canary_words import SUBJECTS

HIDDEN = "hidden"
_WORDS = SUBJECTS.split()


@dataclass(frozen=True)
class Planted:
    """A module whose one function gives another answer after the step than before: the comparison must see it."""

    module: str
    name: str
    summand: int

    @property
    def path(self) -> str:
        return f"{self.module}.py"

    @property
    def old(self) -> str:
        return f"def {self.name}(value):\n    return value + {self.summand}\n"

    @property
    def new(self) -> str:
        return f"def {self.name}(value):\n    return value + {self.summand + 1}\n"


def plant() -> Planted:
    word = secrets.choice(_WORDS)
    return Planted(f"{word}_{secrets.token_hex(3)}", f"{secrets.choice(_WORDS)}_{word}", secrets.randbelow(90) + 3)


def parity_order(request: ParityRequest, canaries: list[Canary], planted: Planted) -> dict[str, Any]:
    plan = request.plan
    targets = [
        {**asdict(each), "hints": dict(each.hints), "needed": list(each.needed)}
        for each in plan.targets
    ]  # fmt: skip
    hidden = {
        "id": HIDDEN, "name": planted.name, "module": planted.module, "path": planted.path, "line": 1,
        "kind": "function", "hints": {}, "needed": ["value"], "guessable": True, "judged": True,
    }  # fmt: skip
    return {
        "tests": list(request.tests),
        "hidden": list(canaries[0].ids),
        "files": sorted({*(test.partition("::")[0] for test in request.tests), canaries[0].path}),
        "targets": [*targets, hidden],
        "hidden_calls": [
            {"target": HIDDEN, "module": planted.module, "self": None, "args": [["plain", 7]], "kwargs": {}}
        ],
        "old": {**dict(plan.old), planted.path: planted.old},
        "watched": [*plan.watched, planted.path],
        "constants": dict(plan.constants),
        "modules": list(plan.modules),
        "seed": plan.seed,
    }
