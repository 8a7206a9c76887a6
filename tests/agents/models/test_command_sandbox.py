"""A `command:` worker under `permissions`: what the sandbox lets it do."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from model_requests import a_request

from prd2pr.agents.models.command import CommandModel
from prd2pr.config import Permissions
from prd2pr.errors import ModelMissing, ModelProblem
from prd2pr.sandbox.detection import find_sandbox

PYTHON = os.path.realpath(sys.executable)
SYSTEM = "/usr/local/bin:/usr/bin:/bin"
TRY = """
def attempt(*argv):
    try:
        done = subprocess.run(argv, capture_output=True, text=True)
    except OSError as error:
        return type(error).__name__
    return done.stdout.strip() or done.stderr.strip()[-200:]
"""

pytestmark = pytest.mark.skipif(
    not find_sandbox(Path(sys.executable)).is_complete, reason="this machine has no complete sandbox"
)


class Worker:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.workspace = directory / "workspace"
        self.workspace.mkdir()

    def model(self, program: str, permissions: Permissions, env: dict[str, str] | None = None) -> CommandModel:
        head = "import json, os, subprocess, sys\nfrom pathlib import Path\n" + TRY
        (self.directory / "worker.py").write_text(head + program, encoding="utf-8")
        environment = {"PATH": SYSTEM, "HOME": str(self.directory / "home"), **(env or {})}
        return CommandModel(
            f"{PYTHON} worker.py", env=environment, prices={}, timeout=30, cwd=self.directory, permissions=permissions
        )

    def say(self, program: str, permissions: Permissions, env: dict[str, str] | None = None) -> str:
        return self.model(program, permissions, env).reply(a_request(workspace=self.workspace)).text


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker(tmp_path)


EDITS = Permissions(mode="acceptEdits")
ONLY_PYTHON = Permissions(mode="acceptEdits", programs=(PYTHON,))


def test_it_edits_its_workspace_and_nothing_else(worker: Worker, tmp_path: Path) -> None:
    home, secret = tmp_path / "home", tmp_path / "secret.txt"
    home.mkdir()
    (home / "token").write_text("t0ken", encoding="utf-8")
    secret.write_text("s3cret", encoding="utf-8")
    said = worker.say(
        f"""
Path("new.py").write_text("answer = 42")
found = []
for path in {[str(secret), str(home / "token")]!r}:
    try:
        found.append(Path(path).read_text())
    except OSError as error:
        found.append(type(error).__name__)
try:
    Path({str(tmp_path / "outside.txt")!r}).write_text("x")
except OSError as error:
    found.append(type(error).__name__)
print(json.dumps({{"content": " ".join(found)}}))
print("to the log", file=sys.stderr)
""",
        EDITS,
    )
    assert said == "FileNotFoundError FileNotFoundError PermissionError"
    written = worker.workspace / "new.py"
    assert written.read_text(encoding="utf-8") == "answer = 42"
    assert written.stat().st_uid == os.getuid(), "the next step must be able to change the file"
    assert not (tmp_path / "outside.txt").exists()


def test_it_cannot_read_the_environment_of_prd2pr(worker: Worker) -> None:
    said = worker.say('print(sorted(name for name in os.listdir("/proc") if name.isdigit()))', EDITS)
    assert eval(said) == ["1", "2"]  # its own processes


def test_a_file_that_a_variable_names_can_be_read(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "login.json").write_text("logged in", encoding="utf-8")
    env = {"AGENT_LOGIN": str(tmp_path / "login.json"), "PRD2PR_COMMAND_ENV": "AGENT_LOGIN"}
    assert worker.say('print(Path(os.environ["AGENT_LOGIN"]).read_text())', EDITS, env) == "logged in"


def test_without_a_list_it_may_start_any_program(worker: Worker) -> None:
    assert worker.say('print(attempt("/bin/echo", "hello"))', EDITS) == "hello"


LOADER = """
import glob
loader = next(path for path in sorted(glob.glob("/lib64/ld-*") + glob.glob("/lib/ld-*")))
"""
COPY = """
import shutil
shutil.copy(sys.executable, "copy")
os.chmod("copy", 0o755)
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        pytest.param('print(attempt(sys.executable, "-c", "print(6 * 7)"))', "42", id="the listed program"),
        pytest.param('print(attempt("/bin/echo", "hello"))', "FileNotFoundError", id="another program"),
        pytest.param('print(attempt("echo", "hello"))', "FileNotFoundError", id="by name"),
        pytest.param('print(shutil.which("sh"))', "None", id="none is visible"),
        pytest.param(f'{COPY}print(attempt("./copy", "-V"))', "PermissionError", id="a file that it wrote"),
        pytest.param(
            f'{LOADER}print("cannot open" in attempt(loader, "/bin/echo", "hello"))', "True", id="through the loader"
        ),
        pytest.param(
            f'{LOADER}{COPY}print("failed to map" in attempt(loader, "./copy", "-V"))',
            "True",
            id="its own file, loaded",
        ),
    ],
)
def test_only_listed_programs_can_be_started(worker: Worker, program: str, said: str) -> None:
    assert worker.say(f"import shutil\n{program}", ONLY_PYTHON) == said


def test_a_program_outside_the_search_path_cannot_be_started(worker: Worker, tmp_path: Path) -> None:
    """As `/usr/lib/git-core/git-daemon`, or a Java below /usr/lib/jvm: visible, but not on the list."""
    tools = tmp_path / "tools"
    tools.mkdir()
    shutil.copy("/bin/echo", tools / "echo")
    env = {"TOOLS": str(tools), "PRD2PR_COMMAND_ENV": "TOOLS"}
    program = 'print(attempt(os.environ["TOOLS"] + "/echo", "hello"))'
    assert worker.say(program, EDITS, env) == "hello"
    assert worker.say(program, ONLY_PYTHON, env) == "PermissionError"


def test_a_script_may_start_its_interpreter(worker: Worker, tmp_path: Path) -> None:
    script = tmp_path / "agent"
    script.write_text("#!/bin/sh\necho from the script\n", encoding="utf-8")
    script.chmod(0o755)
    permissions = Permissions(programs=(str(script),))
    model = CommandModel(str(script), env={"PATH": SYSTEM}, prices={}, timeout=30, permissions=permissions)
    assert model.reply(a_request(workspace=worker.workspace)).text == "from the script"


def test_an_unlisted_worker_is_refused_when_it_is_opened(worker: Worker) -> None:
    with pytest.raises(ModelMissing, match="is not one of the programs that may be started") as refused:
        worker.model("", Permissions(programs=("git",)))
    assert "permissions: programs:" in refused.value.remedy


def test_output_and_time_limit_work_as_without_a_sandbox(worker: Worker) -> None:
    with pytest.raises(ModelProblem, match=r"ended with status 3\. Last output: no luck"):
        worker.say('print("no luck", file=sys.stderr); sys.exit(3)', EDITS)
    model = worker.model("import time; time.sleep(60)", EDITS)
    model._timeout = 0.5
    with pytest.raises(ModelProblem, match="no answer within"):
        model.reply(a_request(workspace=worker.workspace))
