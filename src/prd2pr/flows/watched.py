"""A model with a watch beside it: how long each call took, and which ones came to nothing, for the log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prd2pr.errors import ModelProblem
from prd2pr.ports import Clock, Model, Purpose, Reply, Request

ANSWERED = ("end", "tool_use")  # a reply that was cut off or declined is no success


@dataclass
class Watched:
    """Implements `ports.Model`. One for each talk: talks may be held at once."""

    name: str
    model: Model
    clock: Clock
    failed: Callable[[Purpose, ModelProblem, int], None]
    milliseconds: int = 0  # of the last call

    def reply(self, request: Request) -> Reply:
        began = self.clock.monotonic()
        try:
            return self.model.reply(request)
        except ModelProblem as problem:
            self.failed(request.purpose, problem, self._since(began))
            raise
        finally:
            self.milliseconds = self._since(began)

    def _since(self, began: float) -> int:
        return round((self.clock.monotonic() - began) * 1000)
