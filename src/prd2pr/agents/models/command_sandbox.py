"""Run the program of a `command:` worker in the sandbox, where it can start only the listed programs."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from prd2pr.domain.results.isolation import list_missing_protections
from prd2pr.errors import ModelMissing
from prd2pr.languages.project.installation import list_machine_tools, list_named_files
from prd2pr.sandbox import detection
from prd2pr.sandbox.child_process import PipeEnds
from prd2pr.sandbox.cleanup import remove_tree
from prd2pr.sandbox.programs import find_program_rules, is_listed


@dataclass(frozen=True)
class CommandSandbox:
    """The sandbox of one worker. `programs` are those that it may start; None means all.

    The worker has the machine's network, since it calls a model, but none of the user's files: HOME is empty.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    readable: Mapping[str, str]  # variables whose values may name files
    programs: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not (found := detection.find_sandbox(Path(sys.executable))).is_complete:
            missing = ", ".join(list_missing_protections(found.protections))
            raise ModelMissing(
                f"The permissions of this worker need a complete sandbox, which this machine does not offer: {missing}",
                where=self.name,
                remedy="`prd2pr doctor` says why. `permissions: {mode: acceptAll}` without `programs` runs workers "
                "without a sandbox.",
            )
        if self.programs is not None and not is_listed(self.argv[0], find_program_rules(self.programs, self._search)):
            raise ModelMissing(
                f"{Path(self.argv[0]).name} is not one of the programs that may be started",
                where=self.name,
                remedy="Add it to `permissions: programs:` in .prd2pr.yml of the base branch.",
            )

    @property
    def _search(self) -> str:
        return self.env.get("PATH", "")

    def run(
        self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes], workspace: Path, timeout: float
    ) -> tuple[int | None, str]:
        """Return the program's status, or None after the time limit, and a complaint of the sandbox."""
        sandbox = detection.find_sandbox(Path(sys.executable))
        user = detection.choose_user(sandbox.privilege)
        scratch = Path(tempfile.mkdtemp(prefix="prd2pr-worker-")).resolve()
        home, temporary = scratch / "home", scratch / "tmp"
        workspace = workspace.resolve()
        writable = (workspace, home, temporary)
        environment = {**self.env, "HOME": str(home), "TMPDIR": str(temporary)}
        rules = None if self.programs is None else find_program_rules(self.programs, self._search)
        try:
            scratch.chmod(0o755)
            home.mkdir()
            temporary.mkdir()
            detection.change_owner(user, writable, sandbox.privilege)
            places = detection.SandboxPaths(scratch, writable, home, workspace, tuple(self._list_readable()))
            child = detection.start_test_process(
                sandbox,
                Path(sys.executable),
                self.argv,
                environment,
                places,
                user=user,
                seconds=round(timeout),
                ends=PipeEnds(stdin.fileno(), stdout.fileno(), stderr.fileno()),
                network=True,
                programs=rules,
                separate_errors=True,
            )
            child.wait(timeout)
            status = child.poll()
            child.end()
        finally:
            detection.change_owner(os.getuid(), (workspace,), sandbox.privilege)
            remove_tree(scratch)
        return status, child.complaint

    def _list_readable(self) -> Sequence[Path]:
        words = [Path(word) for word in self.argv if Path(word).is_absolute() and Path(word).is_file()]
        return [*list_machine_tools(), *list_named_files(self.readable), *words]
