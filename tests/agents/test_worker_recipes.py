"""docs/workers/: the adapter for coding agents, and recipes that run as they are written, with a scripted model."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fakes.messages_api import MessagesApi
from prd2pr.agents.models.command import resolve_argv
from prd2pr.cli.wiring import make_model_selection
from prd2pr.config_file import load_config
from world import GREEN_ADD, GREEN_DOUBLE, RED_ADD, RED_DOUBLE, Blocks, World, use

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "bench" / "peers"
ADAPTER = ROOT / "docs" / "workers" / "agent.py"
AGENTS = (ROOT / "docs" / "workers" / "agents.md").read_text(encoding="utf-8")
TESTED = ("mini-swe-agent", "aider")


def read_recipe(agent: str) -> str:
    """Return the settings of the agent's section."""
    section = AGENTS.split(f"\n## {agent}\n")[1].split("\n## ")[0]
    found = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


# --- the adapter ------------------------------------------------------------------------------------------------------

FAKE = """
import json, os, pathlib, sys
seen = {"arguments": sys.argv[1:], "stdin": sys.stdin.read(), "git": os.path.isdir(".git")}
pathlib.Path(SEEN).write_text(json.dumps(seen))
pathlib.Path(".agent").mkdir()
pathlib.Path(".agent/history").write_text("x")
"""


class Adapter:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.workspace.mkdir()
        (self.workspace / ".gitignore").write_text("*.pyc\n", encoding="utf-8")

    def run(
        self, program: str, *arguments: str, git: bool = False, **request: object
    ) -> subprocess.CompletedProcess[str]:
        agent = self.root / "fake.py"
        agent.write_text(FAKE.replace("SEEN", repr(str(self.root / "seen"))) + program, encoding="utf-8")
        asked = {
            "system": [{"type": "text", "text": "The rules."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Write add()."}]}],
            "tools": [{"name": "submit", "input_schema": {"required": ["status", "explanation"]}}],
            "output_schema": None, "workspace": str(self.workspace), "writable": ["src/**"], **request,
        }  # fmt: skip
        command = [sys.executable, ADAPTER, *(["--git"] if git else []), sys.executable, agent, *arguments]
        return subprocess.run(
            command, cwd=self.workspace, input=json.dumps(asked), capture_output=True, text=True, check=False
        )

    def seen(self) -> dict[str, object]:
        return json.loads((self.root / "seen").read_text(encoding="utf-8"))

    def files(self) -> list[str]:
        return sorted(path.name for path in self.workspace.iterdir())


@pytest.fixture
def adapter(tmp_path: Path) -> Adapter:
    return Adapter(tmp_path)


def test_agent_gets_the_task_and_its_answer_is_the_reply(adapter: Adapter) -> None:
    done = adapter.run("pathlib.Path('new.py').touch(); pathlib.Path('PRD2PR_ANSWER.md').write_text(' Added. ')")
    assert json.loads(done.stdout) == {"content": "Added.", "usage": None}, done.stderr
    task = adapter.seen()["stdin"]
    assert all(text in task for text in ("The rules.", "Write add().", "- src/**", "PRD2PR_ANSWER.md", "contradiction"))
    assert adapter.files() == [".gitignore", "new.py"], "the answer and the agent's own files are no work"


def test_work_without_an_answer_is_done(adapter: Adapter) -> None:
    assert "no answer" in json.loads(adapter.run("").stdout)["content"]


@pytest.mark.parametrize("where", ["output_schema", "tools"])
def test_a_step_with_fields_asks_for_json(adapter: Adapter, where: str) -> None:
    schema = {"required": ["status", "summary"]}
    request: Mapping[str, object] = {
        "output_schema": {"output_schema": schema, "tools": [], "workspace": None},
        "tools": {"tools": [{"name": "submit", "input_schema": schema}]},
    }[where]
    done = adapter.run("""pathlib.Path('PRD2PR_ANSWER.md').write_text('{"summary": 1}')""", **request)
    assert json.loads(done.stdout)["content"] == '{"summary": 1}'
    assert json.dumps(schema) in adapter.seen()["stdin"]


def test_task_as_argument_or_file(adapter: Adapter) -> None:
    adapter.run("", "--task={prompt}", "{file}")
    task, file = adapter.seen()["arguments"]
    assert "Write add()." in task and file.endswith("task.md")
    assert adapter.seen()["stdin"] == ""
    long = [{"role": "user", "content": [{"type": "text", "text": "ä" * 150_000}]}]
    adapter.run("", "{prompt}", messages=long)
    assert "task.md to its end" in adapter.seen()["arguments"][0]


def test_git_lasts_as_long_as_the_agent(adapter: Adapter) -> None:
    adapter.run("", git=True)
    assert adapter.seen()["git"] is True
    assert adapter.files() == [".gitignore"]


def test_stated_cost_and_result_are_passed_on(adapter: Adapter) -> None:
    done = adapter.run("""print(json.dumps({"type": "result", "result": "Added.", "total_cost_usd": 0.25}))""")
    assert json.loads(done.stdout) == {"content": "Added.", "usage": {"usd": 0.25}}


def test_failure_of_the_agent_is_one_of_the_worker(adapter: Adapter) -> None:
    done = adapter.run("print('no key'); sys.exit(3)")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no key" in done.stderr
    assert adapter.files() == [".gitignore"]


@pytest.mark.parametrize("agent", ["Claude Code", "Codex", "Copilot CLI", "aider", "mini-swe-agent"])
def test_recipe_gives_tests_and_code_to_the_agent(agent: str) -> None:
    config = load_config(read_recipe(agent))
    models = make_model_selection(config)
    worker = models.select_model("fused")
    assert worker == models.select_model("programmer") == models.select_model("builder")
    assert models.select_model("planner") == "anthropic:claude-sonnet-5-5"
    assert resolve_argv(worker.removeprefix("command:"), dict(os.environ), ROOT)[0]


# --- the agents themselves --------------------------------------------------------------------------------------------

STORIES = (
    ("tests/tdd/calc-1/test_calc_1_add.py", RED_ADD, GREEN_ADD, ""),
    ("tests/tdd/calc-2/test_calc_2_double.py", RED_DOUBLE, GREEN_DOUBLE, GREEN_ADD),
)
SUMS = "src/calc/sums.py"


def answer_as_mini() -> list[Blocks]:
    def bash(command: str) -> Blocks:
        return [{"type": "text", "text": "Next."}, use("bash", command=command)]

    def work(test: str, red: str, code: str) -> str:
        files = {test: red, SUMS: code, "PRD2PR_ANSWER.md": "A plain function."}
        return "\n".join(f"mkdir -p $(dirname {path})\ncat <<'EOF' > {path}\n{text}EOF" for path, text in files.items())

    submitted = bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    return [each for test, red, code, _ in STORIES for each in (bash(work(test, red, code)), submitted)]


def answer_as_aider() -> list[Blocks]:
    def block(path: str, before: str, after: str) -> str:
        return f"{path}\n```\n<<<<<<< SEARCH\n{before}=======\n{after}>>>>>>> REPLACE\n```\n"

    def says(text: str) -> Blocks:
        return [{"type": "text", "text": text}]

    return [
        says("The tests, then the code.\n\n" + block(test, "", red) + block(SUMS, before, code))
        for test, red, code, before in STORIES
    ]  # files that the task names are in the chat already


SCRIPTS = {"mini-swe-agent": answer_as_mini, "aider": answer_as_aider}


@pytest.fixture(scope="session")
def installed_agents() -> str:
    """Install the agents once, as `make bench-peers` does, and return their programs' directories for PATH."""
    install = "import run; print(run.installed('mini-swe-agent', 'mcp'), run.installed('aider-chat'), sep=':')"
    environment = {**os.environ, "PYTHONPATH": f"{PEERS}:{ROOT / 'tests'}"}
    return subprocess.run(
        [sys.executable, "-c", install], env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.mark.slow
@pytest.mark.timeout(900)  # pip installs the agents the first time
@pytest.mark.parametrize("agent", TESTED)
def test_agent_builds_the_stories(tmp_path: Path, installed_agents: str, agent: str) -> None:
    world = World(tmp_path, cold=True)
    recipe = read_recipe(agent).replace("anthropic:claude-sonnet-5-5", f"replay:{world.root / 'transcript.jsonl'}")
    world.start({".prd2pr.yml": f"{recipe}strategy: conversation\ngates:\n  held_out: false\n"})
    (world.repo / "tools").mkdir()
    shutil.copy(ADAPTER, world.repo / "tools")
    world.commit("adapter")
    world.transcript()
    with MessagesApi(SCRIPTS[agent](), strict=False) as api:
        environment = {
            "PATH": f"{os.environ['PATH']}:{installed_agents}",
            "HOME": str(tmp_path),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_API_BASE": api.url,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "PRD2PR_COMMAND_ENV": "ANTHROPIC_API_KEY,ANTHROPIC_API_BASE,LITELLM_LOCAL_MODEL_COST_MAP,"
            "MSWEA_CONFIGURED,MSWEA_COST_TRACKING",
        }
        done = world.program("run", "prds/calc.md", env=environment)
    assert done.status == 0, done.out + done.err
    assert [phase for phase in world.phases() if "calc-2" in phase][-2:] == ["green(calc-2)", "integrated(calc-2)"]
    assert world.show(SUMS) == GREEN_DOUBLE.strip()
    assert "refused" not in done.out, done.out
    assert world.verify().status == 0
