"""The commands as a person and as a program sees them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from prd2pr.agents.token_usage import build_token_report, format_token_report
from prd2pr.cli import local_run
from prd2pr.cli.context import open_context
from prd2pr.cli.dispatch import build_parser, report_bug, report_error
from prd2pr.cli.table import COMMANDS
from prd2pr.config import Config
from prd2pr.config_file import load_config
from prd2pr.errors import InputInvalid, PrdInvalid, SetupProblem, TokenMissing
from prd2pr.github.client.tokens import read_token_config
from world import World


@pytest.fixture(scope="module")
def designed(tmp_path_factory) -> World:
    """A PRD whose first story is designed."""
    world = World(tmp_path_factory.mktemp("begun")).start()
    assert world.run("--max-steps", "2").status == 1
    return world


def test_plan_shows_stories_and_estimate_and_writes_nothing(world):
    before = world.git("for-each-ref"), world.git("status", "--porcelain")
    done = world.program("plan", "prds/calc.md", "--model", f"replay:{world.transcript()}")
    assert done.status == 0, done.err
    assert "calc-1  Add two numbers  [feature, FR-1]" in done.out
    assert "calc-2  Double a number  [feature, FR-2]  after calc-1" in done.out
    assert "est." in done.out and "Nothing was committed." in done.out
    assert (world.git("for-each-ref"), world.git("status", "--porcelain")) == before


def test_plan_as_json(world):
    done = world.program("plan", "prds/calc.md", "--model", f"replay:{world.transcript()}", "--json")
    assert [story["id"] for story in done.json["stories"]] == ["calc-1", "calc-2"]
    assert done.json["estimate"]["tokens_low"] > 0
    assert done.json["requirements"] == ["FR-1", "FR-2"]


@pytest.mark.slow
def test_status_names_the_next_step(designed):
    done = designed.program("status")
    assert "calc-1 is waiting for red" in done.out
    assert "Next: prd2pr next prds/calc.md" in done.out
    (prd,) = designed.program("status", "--json").json["prds"]
    assert (prd["prd"], prd["done"], prd["state"]) == ("calc", 0, "SPRINT_ACTIVE")
    assert [story["status"] for story in prd["stories"]] == ["in_progress", "backlog"]


def test_status_of_a_repository_without_prds(world):
    done = world.program("status")
    assert done.status == 0
    assert "prd2pr run" in done.out
    assert world.program("status", "nothing").status == 2


@pytest.mark.slow
def test_logs_are_read_from_head_without_a_prd_branch(designed, tmp_path):
    designed.git("clone", "-q", str(designed.repo), str(tmp_path / "clone"))
    designed.git("-C", str(tmp_path / "clone"), "switch", "-q", "-c", "mine", f"origin/{designed.branch}")
    told = designed.program("logs", "--repo", str(tmp_path / "clone"))
    assert told.status == 0 and told.out == designed.program("logs").out


def test_logs_show_token_usage(designed):
    done = designed.program("logs", "--tokens")
    assert done.status == 0
    told = designed.program("logs", "--tokens", "--json").json
    assert set(told["roles"]) == {"planner", "architect"}
    assert list(told["stories"]) == ["calc", "calc-1"]
    parts = told["parts_estimated"]
    assert all(f"\n{name} " in done.out for name in (*told["roles"], *told["stories"], *parts)), done.out
    assert {"tools", "system", "map", "PRD", "story", "step"} <= set(parts)
    assert all(part["fresh"] > 0 for part in parts.values()), "a transcript counts nothing: four characters are a token"
    none = format_token_report(build_token_report([]))
    assert designed.program("logs", "--tokens", "--story", "calc-2").out.splitlines() == none


def test_logs_show_calls_and_passed_gates(designed):
    done = designed.program("logs")
    assert "call" in done.out and "calc-1/design/architect/1/1" in done.out
    lines = designed.program("logs", "--json").json["lines"]
    assert {line["kind"] for line in lines} == {"call", "crossed"}
    assert designed.program("logs", "--story", "calc-2").out == "No run is recorded yet.\n"


@pytest.mark.parametrize("code", ["RED104", "grn201", "VER101", "ERR401", "PLN101"])
def test_explain_knows_every_kind_of_code(world, code):
    done = world.program("explain", code)
    assert done.status == 0
    assert done.out.startswith(code.upper())


def test_explain_of_an_unknown_code_suggests_another(world):
    done = world.program("explain", "RED14")
    assert done.status == 2
    assert "RED104" in done.err


def test_schema_is_the_committed_one(world, request):
    committed = (request.config.rootpath / "docs/prd2pr.schema.json").read_text(encoding="utf-8")
    assert world.program("schema").out == committed


def test_init_writes_once_and_keeps_existing_files(world):
    (world.repo / ".prd2pr.yml").write_text("# mine\n")
    first = world.program("init")
    assert first.status == 0
    assert (world.repo / ".prd2pr.yml").read_text() == "# mine\n"
    workflow = (world.repo / ".github/workflows/prd2pr.yml").read_text()
    assert "${{ secrets.ANTHROPIC_API_KEY }}" in workflow
    assert "LOOK HERE" not in first.out
    assert world.program("init").out.count("kept") == 6


def test_init_names_the_model_and_the_existing_prd(world):
    found = world.program("init").out
    assert f"Model: {Config().models.default}\n" in found and "choose another with --model" in found
    assert "prd2pr plan prds/calc.md" in found and "copy prds/_template.md" not in found
    (world.repo / "prds/calc.md").unlink()
    assert "copy prds/_template.md" in world.program("init").out


def test_init_on_a_feature_branch_targets_its_base_and_says_so(world):
    world.git("switch", "-q", "-c", "add-prd2pr")
    done = world.program("init")
    workflow = (world.repo / ".github/workflows/prd2pr.yml").read_text()
    assert 'branches: ["main"]' in workflow and "add-prd2pr" not in workflow
    assert "NOTE: the workflow is written for the branch main" in done.out
    assert "git remote set-head origin --auto" in done.out


def test_init_writes_a_valid_config_and_a_valid_prd(world):
    world.program("init")
    assert load_config((world.repo / ".prd2pr.yml").read_text()).prds == Config().prds
    world.commit("init")
    done = world.program("plan", "prds/_template.md", "--model", f"replay:{world.transcript()}")
    assert "my-feature" in done.err, "config and PRD were read; only the transcript has no answer for it"
    assert done.status == 1


def test_doctor_reports_problems_and_remedies(world):
    done = world.program("doctor", env={"ANTHROPIC_API_KEY": ""})
    assert done.status == 1
    assert "ANTHROPIC_API_KEY" in done.out
    well = world.program("doctor", "--json", env={"PRD2PR_MODEL": f"replay:{world.transcript()}"})
    assert well.status == 0, well.out
    assert {check["name"] for check in well.json["checks"] if check["mark"] == "ok"} >= {"repository", "tests", "model"}


@pytest.mark.parametrize("arguments", [("gate", "green"), ("gate", "blue", "--base", "HEAD"), ("nonsense",), ("run",)])
def test_an_invalid_call_exits_with_2(world, arguments):
    done = world.program(*arguments)
    assert done.status == 2
    assert "Traceback" not in done.err


HOSTILE = "line 3 says:\n::stop-commands::x\r::add-mask::a ##[error]boo \x1b[31mred\u202e"


def test_quoted_text_in_an_error_triggers_nothing_in_a_job_log(monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    report_error(PrdInvalid(HOSTILE, where="prds/a.md", remedy=HOSTILE))
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        report_bug(["run"])
    said = capsys.readouterr()
    assert "boo" in said.err and "stop-commands" in said.err
    for bad in ("##[", "\x1b", "\r", "\u202e"):
        assert bad not in said.err
    assert not [line for line in said.err.splitlines() if line.lstrip().startswith("::")]
    (annotation,) = said.out.splitlines()
    assert annotation.startswith("::error file=prds/a.md")


def test_gate_on_an_unknown_revision_could_not_judge(world):
    done = world.program("gate", "green", "--base", "mian", "--head", "HEAD")
    assert done.status == 2
    assert "did you mean main" in done.err


def test_gate_json_has_the_documented_form(world):
    world.write({"src/calc/sums.py": "def add(a, b):\n    return a + b\n"})
    world.commit("code without a test")
    done = world.program("gate", "green", "--base", "HEAD~1", "--json")
    assert done.status == 1
    assert done.json["verdict"] == "refused"
    assert done.json["phase"] == "green"
    assert all(set(finding) == {"code", "severity", "message", "path", "test"} for finding in done.json["findings"])
    run = {"collected", "passed", "failed", "errors", "skipped", "seconds", "sandbox", "honest"}
    assert set(done.json["run"]) == run


def test_a_relevant_event_is_not_ignored_silently(world, tmp_path):
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"schedule": "17 */6 * * *"}))
    env = {"GITHUB_EVENT_NAME": "schedule", "GITHUB_EVENT_PATH": str(event), "GITHUB_REPOSITORY": "octo/calc"}
    done = world.program("action", env={**env, "GITHUB_ACTIONS": "true"})
    with pytest.raises(TokenMissing) as missing:
        read_token_config({})
    assert done.status == missing.value.exit_status == 1
    assert done.err.splitlines() == missing.value.lines()
    assert done.out.startswith(f"::error title=prd2pr::{missing.value.what}")


def test_without_a_command_the_help_is_shown(world):
    done = world.program()
    assert done.status == 0
    assert all(command.name in done.out for command in COMMANDS)


def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(world):
    done = world.program("verfy")
    assert done.status == 2
    assert "prd2pr verify" in done.err
    assert world.program("nonsense").status == 2


def test_a_failed_run_waits_for_its_background_import(world, monkeypatch):
    """The interpreter must not shut down while a thread imports: that prints a traceback after the clean error."""
    events: list[str] = []

    def import_slowly() -> None:
        time.sleep(0.2)
        events.append("imported")

    def fail(*_: object) -> None:
        raise InputInvalid("two PRDs have this id")

    monkeypatch.setattr(local_run, "preload_publishing", import_slowly)
    monkeypatch.setattr(local_run, "run_sequentially", fail)
    options = build_parser().parse_args(["run", "prds/calc.md", "--repo", str(world.repo), "--model", "command:cat"])
    with pytest.raises(InputInvalid, match="two PRDs"):
        local_run.run_and_publish(
            options, 1, open_context(str(world.repo), str(world.repo / "prds/calc.md"), many=False)
        )
    assert events == ["imported"]


def test_the_configured_base_branch_is_the_base_of_local_runs(tmp_path: Path) -> None:
    world = World(tmp_path).start({".prd2pr.yml": "base_branch: develop\n"})
    with pytest.raises(SetupProblem, match="develop does not exist"):
        open_context(str(world.repo), None, many=False)
    base = world.git("rev-parse", "main")
    world.git("branch", "develop", base)
    world.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    repository = open_context(str(world.repo), None, many=False).repository
    assert (repository.base_branch, repository.base_commit) == ("develop", base)
