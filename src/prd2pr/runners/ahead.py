"""A run that is begun before anybody asks for it: while a model thinks, or while another run goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

from prd2pr.core.evidence import RunReport


class RunAhead:
    """In a thread of its own. Whoever asks for the run waits for it; what nobody asks for is given up."""

    def __init__(self, run: Callable[[threading.Event], RunReport]) -> None:
        """`run` ends early, with whatever it has, once the event that it is given is set."""
        self._run = run
        self._given_up = threading.Event()
        self._ended: RunReport | BaseException | None = None
        self._thread = threading.Thread(target=self._go)
        self._thread.start()

    def _go(self) -> None:
        try:
            self._ended = self._run(self._given_up)
        except Exception as problem:  # noqa: BLE001 raised where the run is asked for
            self._ended = problem

    def report(self) -> RunReport:
        self._thread.join()
        if isinstance(self._ended, RunReport):
            return self._ended
        raise self._ended or RuntimeError("the thread of a test run was cut off")

    def give_up(self) -> None:
        self._given_up.set()
        self._thread.join()
