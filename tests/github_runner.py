"""What a GitHub runner does around one job's step: a fresh checkout, the environment, the files for outputs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import warm_starts
from fakes.github.events import Event
from fakes.github.fake import FakeGitHub
from fakes.github.faults import Calls, DropBefore, Fault
from fakes.github.state import Repository

PATIENCE = 240.0  # seconds
FIRST_RUN = 9000


@dataclass(frozen=True)
class Ending:
    """Where the run is ended: at its n-th call (from 1; pushes and fetches count), before or after its effect."""

    call: int
    when: Literal["before", "after"] = "before"
    by: signal.Signals = signal.SIGKILL
    route: str = "*"  # count only these calls


@dataclass(frozen=True)
class Acted:
    event: Event
    status: int
    out: str
    err: str
    outputs: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    workspace: Path = Path()

    @property
    def output(self) -> str:
        return self.out + self.err


@dataclass
class Runner:
    """Runs the real program as a job's step would, on its own clone."""

    root: Path
    fake: FakeGitHub
    repository: Repository
    jobs: int = 0

    def run(
        self, event: Event, env: Mapping[str, str], *, command: tuple[str, ...] = (), ending: Ending | None = None,
        timeout: float = PATIENCE, cold: bool = False,
    ) -> Acted:  # fmt: skip
        """`cold`: a new process instead of a fork, for tests of the process itself."""
        self.jobs += 1
        run = FIRST_RUN + self.jobs
        self.repository.at_work.add(run)
        try:
            return self._run(event, env, run, command=command, ending=ending, timeout=timeout, cold=cold)
        finally:
            self.repository.at_work.discard(run)

    def _run(
        self, event: Event, env: Mapping[str, str], run: int, *, command: tuple[str, ...], ending: Ending | None,
        timeout: float, cold: bool,
    ) -> Acted:  # fmt: skip
        job = self.root / f"job-{run - FIRST_RUN}"
        workspace = self._checkout(job, event)
        files = {name: job / name for name in ("output", "summary", "event.json", "env", "path")}
        for path in files.values():
            path.touch()
        files["event.json"].write_text(json.dumps(event.payload), encoding="utf-8")
        whole = {**self._environment(job, event, run), **env}
        if not (command or ending or cold) and warm_starts.can_serve(whole):
            ended = warm_starts.run(("action",), workspace, whole, timeout)
            status, out, err = ended.status, ended.out, ended.err + ("" if ended.in_time else too_long(timeout))
        else:
            argv = command or (sys.executable, "-m", "prd2pr", "action")
            status, out, err = self._execute(argv, workspace, whole, ending, timeout)
        # A run that was ended may leave an output half written.
        outputs = read_outputs(files["output"].read_text(encoding="utf-8")) if ending is None else {}
        return Acted(event, status, out, err, outputs, files["summary"].read_text(encoding="utf-8"), workspace)

    def _checkout(self, job: Path, event: Event) -> Path:
        """As actions/checkout does with `fetch-depth: 0` and `persist-credentials: false`: the default branch."""
        workspace = job / "workspace"
        workspace.parent.mkdir(parents=True)
        bare, branch = self.fake.bare(self.repository), self.repository.default_branch
        bare.git("clone", "-q", "--branch", branch, str(bare.path), str(workspace))
        address = f"{self.fake.server_url}/{self.repository.full_name}"
        bare.git("-C", str(workspace), "remote", "set-url", "origin", address)
        return workspace

    def _environment(self, job: Path, event: Event, run: int) -> dict[str, str]:
        home = job / "home"
        home.mkdir()
        (job / "temp").mkdir()
        name = self.repository.full_name
        return {
            "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "CI": "true",
            "GIT_CONFIG_NOSYSTEM": "1", "GITHUB_ACTIONS": "true", "GITHUB_ACTOR": event.actor,
            "GITHUB_EVENT_NAME": event.name, "GITHUB_EVENT_PATH": str(job / "event.json"),
            "GITHUB_REPOSITORY": name, "GITHUB_REPOSITORY_OWNER": self.repository.owner,
            "GITHUB_API_URL": self.fake.api_url, "GITHUB_SERVER_URL": self.fake.server_url,
            "GITHUB_GRAPHQL_URL": f"{self.fake.api_url}/graphql", "GITHUB_OUTPUT": str(job / "output"),
            "GITHUB_STEP_SUMMARY": str(job / "summary"), "GITHUB_ENV": str(job / "env"),
            "GITHUB_PATH": str(job / "path"), "GITHUB_WORKSPACE": str(job / "workspace"),
            "GITHUB_RUN_ID": str(run), "GITHUB_RUN_NUMBER": str(run - FIRST_RUN), "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_REF": event.ref, "GITHUB_SHA": event.sha, "GITHUB_JOB": "work", "GITHUB_WORKFLOW": "prd2pr",
            "GITHUB_WORKFLOW_REF": f"{name}/.github/workflows/prd2pr.yml@refs/heads/{self.repository.default_branch}",
            "RUNNER_TEMP": str(job / "temp"), "RUNNER_OS": "Linux",
        }  # fmt: skip

    def _execute(
        self, argv: tuple[str, ...], workspace: Path, env: Mapping[str, str], ending: Ending | None, timeout: float
    ) -> tuple[int, str, str]:
        started, process = threading.Event(), list[subprocess.Popen[str]]()

        def end() -> None:
            started.wait()
            os.killpg(process[0].pid, (ending or Ending(0)).by)
            if ending and ending.by == signal.SIGKILL:
                process[0].wait()  # it must be gone before the call continues

        route = ending.route if ending else "*"
        scripted = [self.fake.faults.add(fault, route, skip=at) for fault, at in _faults(ending, end)]
        process.append(
            subprocess.Popen(
                argv, cwd=workspace, env=dict(env), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL, start_new_session=True,
            )
        )  # fmt: skip
        started.set()
        try:
            out, err = process[0].communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process[0].pid, signal.SIGKILL)
            out, err = process[0].communicate()
            err += too_long(timeout)
        for each in scripted:
            self.fake.faults.scripted.remove(each)
        return process[0].returncode, out, err


def too_long(timeout: float) -> str:
    return f"\nended by the runner after {timeout} seconds\n"


def _faults(ending: Ending | None, end: Callable[[], None]) -> list[tuple[Fault, int]]:
    if ending is None:
        return []
    if ending.when == "after":
        return [(Calls(after=end), ending.call - 1)]
    # A killed run has never made its call; a run that is only asked to stop waits for its answer.
    dropped: list[tuple[Fault, int]] = [(DropBefore(), ending.call - 1)] if ending.by == signal.SIGKILL else []
    return [(Calls(before=end), ending.call - 1), *dropped]


def read_outputs(text: str) -> dict[str, str]:
    """`name=value` lines, and values between delimiters, as the runner reads them."""
    outputs: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, mark, delimiter = line.partition("<<")
        if mark and "=" not in name:
            value = []
            for inner in lines:
                if inner == delimiter:
                    break
                value.append(inner)
            else:
                raise ValueError(f"the output {name} has no end: {delimiter}")
            outputs[name] = "\n".join(value)
        elif line:
            name, equals, word = line.partition("=")
            if not equals:
                raise ValueError(f"not an output: {line!r}")
            outputs[name] = word
    return outputs
