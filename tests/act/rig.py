"""Runs the workflow that `init` wrote, with `action.yml`, by nektos/act on this host, against the fake GitHub.

    source = action_source(tmp_path)                     # prd2pr as it would be installed from this commit
    set_up(source, world, config="approval: none\\n")     # `prd2pr init`, committed to the default branch
    world.comment(1, "/tdd next", by="wendy")
    done = run_workflow(source, world, world.pending.pop(0))

The workflow is taken from the default branch, as GitHub does. Third-party actions are replaced by stubs; no address but
loopback can be reached. What act does not support: the filters under `on:`, concurrency groups, token permissions.
The last is emulated: the token has what the workflow gives to its worker, and no more.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from fakes.github.events import Event
from fakes.github.fake import FakeGitHub
from prd2pr.build_info import get_build_commit
from prd2pr.github.setup.workflow_file import SHARED_PATH

ROOT = Path(__file__).parents[2]
STUB_ACTIONS = Path(__file__).parent / "stub_actions"
WORKFLOW = ".github/workflows/prd2pr.yml"
ACT = Path(sys.executable).with_name("act")
NOWHERE = "http://127.0.0.1:9"  # the discard port: nothing beyond loopback answers
NOTE_PID = (
    "import os, pathlib\n"
    "story = os.environ.get('PRD2PR_STORY')\n"
    "if story:\n    pathlib.Path({place!r}, story).write_text(str(os.getpid()))\n"
)
IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


class Hosted(Protocol):
    """A repository on the fake GitHub, served at `url`."""

    fake: FakeGitHub
    url: str
    name: str  # owner/name


@dataclass(frozen=True)
class ActionSource:
    """What `uses: prd2pr/prd2pr@COMMIT` provides, and the same prd2pr on the PATH: nothing has to be installed."""

    path: Path
    commit: str

    @property
    def program(self) -> Path:
        return self.path / "bin" / "prd2pr"

    @property
    def pids(self) -> Path:
        """One file per story whose job is or was running: its process id, for a test that wants to kill it."""
        return self.path / "pids"


@dataclass(frozen=True)
class ActResult:
    status: int
    output: str  # what the steps printed
    outputs: dict[str, str]  # of the last step of ours that ran, gate or work
    summary: str
    # id -> success or failure; missing if it did not start. A story's job is under its story.
    jobs: dict[str, str] = field(default_factory=dict)
    log: str = ""  # of act itself, for a failing test


def action_source(directory: Path) -> ActionSource:
    """A copy: concurrent edits of this checkout do not change what is tested, and act copies few files."""
    place = directory / "action-source"
    for name in ("action.yml", "constraints.txt", "pyproject.toml"):
        place.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, place / name)
    for name in ("action", "check", "src", "templates", "toolchains"):
        shutil.copytree(ROOT / name, place / name)
    commit = get_build_commit() or "0" * 40
    shared = place / SHARED_PATH
    shared.parent.mkdir(parents=True)
    shared.write_text(resolve_own_paths((ROOT / SHARED_PATH).read_text(encoding="utf-8"), commit), encoding="utf-8")
    (place / "src/prd2pr/built_from.txt").write_text(commit + "\n", encoding="ascii")
    source = ActionSource(place, commit)
    source.program.parent.mkdir()
    source.pids.mkdir()
    source.program.write_text(
        f"#!{sys.executable} -I\nimport sys\nsys.path.insert(0, {str(place / 'src')!r})\n"
        "from prd2pr.cli.main import main\n"
        f"{NOTE_PID.format(place=str(place / 'pids'))}"
        "sys.exit(main())\n",
        encoding="utf-8",
    )
    source.program.chmod(0o755)
    return source


def resolve_own_paths(workflow: str, commit: str) -> str:
    """Name the repository and the commit where the file says `$/`, as GitHub does before a job starts."""
    return re.sub(r"uses: \$/(\S+)", rf"uses: prd2pr/prd2pr/\1@{commit}", workflow)


def set_up(source: ActionSource, world: Hosted, config: str = "", options: tuple[str, ...] = ()) -> None:
    """`prd2pr init` in a clone, with its own configuration, pushed to the default branch."""
    bare = bare_of(world)
    with tempfile.TemporaryDirectory() as scratch:
        git(scratch, "clone", "-q", str(bare), ".")
        Path(scratch, WORKFLOW).unlink(missing_ok=True)  # a foreign file, which `init` would keep
        # The scripted answers are those of separate roles.
        strategy = "" if "strategy:" in config else "strategy: strict\n"
        Path(scratch, ".prd2pr.yml").write_text(f"{config}{strategy}", encoding="utf-8")
        subprocess.run([str(source.program), "init", "--repo", scratch, *options], check=True, capture_output=True)
        git(scratch, "add", "-A")
        git(scratch, *IDENTITY, "commit", "-qm", "Set prd2pr up")
        git(scratch, "push", "-q", "origin", "HEAD")


def run_workflow(
    source: ActionSource, world: Hosted, event: Event, env: dict[str, str] | None = None, timeout: float = 280
) -> ActResult:
    with tempfile.TemporaryDirectory(prefix="act-") as scratch:
        place = Path(scratch)
        checkout = place / "checkout"
        git(scratch, "clone", "-q", str(bare_of(world)), str(checkout))
        workflow = yaml.safe_load((checkout / WORKFLOW).read_text(encoding="utf-8"))
        payload = place / "event.json"
        payload.write_text(json.dumps(event.payload), encoding="utf-8")
        command = [str(ACT), event.name, "-C", str(checkout), "-W", WORKFLOW, "-e", str(payload), *fixed_options(place)]
        jobs = jobs_of(source, workflow)
        command += [word for option in action_paths(source, workflow, jobs) for word in ("--local-repository", option)]
        command += ["-s", f"GITHUB_TOKEN={token_for(world, jobs)}"]
        run_env = {**job_environment(source, world), **(env or {})}
        command += [word for name, value in run_env.items() for word in ("--env", f"{name}={value}")]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout, env=host_environment(source, place)
        )
    return read_result(done.returncode, done.stdout, done.stderr)


def fixed_options(place: Path) -> list[str]:
    return [
        "-P", "ubuntu-latest=-self-hosted", "--pull=false", "--action-offline-mode", "--no-cache-server",
        "--no-skip-checkout", "--json", "--action-cache-path", str(place / "cache"),
    ]  # fmt: skip


def jobs_of(source: ActionSource, workflow: dict[str, Any]) -> dict[str, Any]:
    """The workflow's own jobs, or those of the shared workflow that it calls."""
    called = [job["uses"] for job in workflow["jobs"].values() if "uses" in job]
    if called:
        assert called == [f"prd2pr/prd2pr/{SHARED_PATH}@{source.commit}"]
        workflow = yaml.safe_load((source.path / SHARED_PATH).read_text(encoding="utf-8"))
    return dict(workflow["jobs"])


def action_paths(source: ActionSource, workflow: dict[str, Any], jobs: dict[str, Any]) -> list[str]:
    """Every action that is used, at exactly the ref that is pinned. An action without a stub fails."""
    toolchains = yaml.safe_load((source.path / "toolchains/action.yml").read_text(encoding="utf-8"))
    steps = [*toolchains["runs"]["steps"], *(step for job in jobs.values() for step in job["steps"])]
    used = {step["uses"] for step in steps if "uses" in step}
    used |= {job["uses"] for job in workflow["jobs"].values() if "uses" in job}
    found = {}
    for uses in sorted(used):
        name, _, pin = uses.partition("@")
        owner, repository, *_ = name.split("/")
        ours = (owner, repository) == ("prd2pr", "prd2pr")
        stub = STUB_ACTIONS / repository
        assert ours or stub.is_dir(), f"there is no stub for {uses}"
        found[f"{owner}/{repository}@{pin}"] = source.path if ours else stub
    return [f"{uses}={place}" for uses, place in found.items()]


def token_for(world: Hosted, jobs: dict[str, Any]) -> str:
    granted = jobs["work"]["permissions"]
    return world.fake.actions_token(world.name, {name.replace("-", "_"): how for name, how in granted.items()})


def job_environment(source: ActionSource, world: Hosted) -> dict[str, str]:
    """What a runner sets and act does not know of this repository."""
    branch = default_branch(world)
    return {
        "GITHUB_REPOSITORY": world.name,
        "GITHUB_API_URL": world.url,
        "GITHUB_SERVER_URL": world.url,
        "GITHUB_GRAPHQL_URL": f"{world.url}/graphql",
        "GITHUB_WORKFLOW_REF": f"{world.name}/{WORKFLOW}@refs/heads/{branch}",
        "GITHUB_RUN_ID": str(world.fake.new_id()),
        "PYTHON_DIRECTORY": str(Path(sys.executable).parent),
        "PRD2PR_DIRECTORY": str(source.program.parent),
        "http_proxy": NOWHERE,
        "https_proxy": NOWHERE,
        "no_proxy": "127.0.0.1,localhost",
    }


def host_environment(source: ActionSource, place: Path) -> dict[str, str]:
    home = place / "home"
    home.mkdir()
    return {"PATH": f"{source.program.parent}:{os.environ['PATH']}", "HOME": str(home), "LANG": "C.UTF-8"}


def read_result(status: int, out: str, err: str) -> ActResult:
    output: list[str] = []
    outputs: dict[str, dict[str, str]] = {}
    summaries: dict[tuple[str, ...], str] = {}
    jobs: dict[str, str] = {}
    for line in out.splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        job, step = said.get("jobID", ""), tuple(said.get("stepID", ()))
        if said.get("raw_output"):
            output.append(said["msg"])
        if said.get("command") == "set-output" and len(step) == 1 and said["arg"]:
            outputs.setdefault(job, {})[said["name"]] = said["arg"]
        if said.get("command") == "summary" and len(step) == 1:
            summaries[(job, *step)] = said["content"]
        if "jobResult" in said:
            jobs[(said.get("matrix") or {}).get("story", job)] = said["jobResult"]
    last = outputs.get("integrate") or outputs.get("work") or outputs.get("gate") or {}
    return ActResult(status, "".join(output), last, "".join(summaries.values()), jobs, out + err)


def bare_of(world: Hosted) -> Path:
    return world.fake.bare(world.fake.repo(world.name)).path


def default_branch(world: Hosted) -> str:
    return world.fake.repo(world.name).default_branch


def git(where: str | Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(where), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
