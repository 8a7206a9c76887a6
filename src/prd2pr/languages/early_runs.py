"""A test run that starts early, while a model works or another run is in progress."""

from __future__ import annotations

import threading
from collections.abc import Callable

from prd2pr.domain.evidence import RunReport


class EarlyRun:
    """A test run in its own thread. `report` waits for the result; `cancel` stops a run that is not needed."""

    def __init__(self, run: Callable[[threading.Event], RunReport]) -> None:
        """Start the run. `run` must return early once its event is set."""
        self._run = run
        self._cancelled = threading.Event()
        self._result: RunReport | BaseException | None = None
        self._thread = threading.Thread(target=self._execute)
        self._thread.start()

    def _execute(self) -> None:
        try:
            self._result = self._run(self._cancelled)
        except Exception as problem:  # noqa: BLE001 raised by `report`
            self._result = problem

    def report(self) -> RunReport:
        self._thread.join()
        if isinstance(self._result, RunReport):
            return self._result
        raise self._result or RuntimeError("the thread of a test run was interrupted")

    def cancel(self) -> None:
        self._cancelled.set()
        self._thread.join()
