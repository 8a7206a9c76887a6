"""Run a program of the project in a fresh checkout, in the same sandbox as the tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prd2pr.domain.evidence import SmokeRun
from prd2pr.domain.wording import clean_line, clip
from prd2pr.languages.python.runner.prewarmed_process import SYSTEM_PATH
from prd2pr.languages.test_runner import Export
from prd2pr.sandbox import detection
from prd2pr.sandbox.child_process import Child, DiskUse, PipeEnds
from prd2pr.sandbox.cleanup import remove_tree
from prd2pr.sandbox.interpreter import find_library_path
from prd2pr.sandbox.links import remove_external_links
from prd2pr.sandbox.process import ProcessRecord, StartedProcess

MAX_SMOKE_OUTPUT = 2000  # characters
ENV_PROGRAM = "/usr/bin/env"  # finds a program by its name, which the sandbox does not


@dataclass(frozen=True)
class ProgramSandbox:
    """The settings for running a program: export of trees, the project's interpreter, and use of a sandbox."""

    export: Export
    find_python: Callable[[], Path]
    sandboxed: bool = True

    @contextmanager
    def open_checkout(self, code_tree: str) -> Iterator[Checkout | None]:
        """Yield a fresh checkout that exists for the duration, or None if a sandbox is required and not available."""
        python = self.find_python()
        sandbox = detection.find_sandbox(python) if self.sandboxed else detection.NO_SANDBOX
        if self.sandboxed and sandbox.privilege is None:
            yield None
            return
        run = Path(tempfile.mkdtemp(prefix="prd2pr-program-")).resolve()
        try:
            run.chmod(0o755)
            self.export(code_tree, run / "checkout", {})
            remove_external_links(run / "checkout")
            for name in ("home", "out"):
                (run / name).mkdir()
            yield Checkout(run, python, sandbox)
        finally:
            remove_tree(run)


@dataclass(frozen=True)
class Checkout:
    run: Path
    python: Path
    sandbox: detection.Sandbox

    @property
    def home(self) -> Path:
        return self.run / "home"

    @property
    def out(self) -> Path:
        """The directory into which the program writes files that are read afterwards."""
        return self.run / "out"

    def execute(
        self, argv: Sequence[str], seconds: int, job: Mapping[str, Any] | None = None, *, readable: Sequence[Path] = ()
    ) -> ProcessRecord:
        """Run the program, with the job as JSON on its standard input or with an empty input.

        `readable` are the files of prd2pr that it needs.
        """
        directory = self.run / "checkout"
        writable = (directory, self.home, self.out)
        places = detection.SandboxPaths(self.run, writable, self.home, directory, tuple(readable))
        user = detection.choose_user(self.sandbox.privilege)
        detection.change_owner(user, places.writable, self.sandbox.privilege)
        environment = {
            "HOME": str(self.home),
            "PATH": f"{self.python.parent}:{SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp" if self.sandbox.privilege else str(self.home),  # noqa: S108 /tmp of the sandbox
            **find_library_path(self.python),
        }

        def begin(ends: PipeEnds) -> Child:
            return detection.start_test_process(
                self.sandbox, self.python, argv, environment, places, user=user, seconds=seconds, ends=ends
            )

        started = StartedProcess(begin)
        started.send(job)
        return started.follow(timeout_seconds=seconds, stall_seconds=seconds, full=DiskUse(places.writable).is_exceeded)


def run_smoke(programs: ProgramSandbox, code_tree: str, command: tuple[str, ...], seconds: int) -> SmokeRun:
    """Run the built program once and return its output and exit status."""
    with programs.open_checkout(code_tree) as checkout:
        if checkout is None:
            return SmokeRun(command=command, problem="not run: it runs only in a sandbox, and none is available here")
        record = checkout.execute((ENV_PROGRAM, *command), seconds)
    late = f"it did not finish within {seconds} s" if record.killed == "timed out" else ""
    return SmokeRun(
        command=command,
        exit_status=record.exit_status,
        output=clip(record.output.replace(str(checkout.run), ""), MAX_SMOKE_OUTPUT),
        problem=clip(clean_line(late or record.killed or record.complaint), 300),
    )
