"""The workflow of docs/check.md, run by act: the verdict on a pull request, with nothing but a checkout."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from act.rig import ACT, IDENTITY, NOWHERE, ROOT, ActionSource, fixed_options, git, host_environment

CHECKOUT = "actions/checkout@v4"


def read_documented_workflow(commit: str) -> str:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    (workflow,) = re.findall(r"```yaml\n(on: pull_request\n.*?)```", text, re.DOTALL)
    return str(workflow).replace("OWNER/prd2pr/check@v1", f"prd2pr/prd2pr/check@{commit}")


def make_checkout(place: Path, project: Path) -> Path:
    """Write a stand-in for actions/checkout that clones a local repository."""
    action = place / "checkout"
    action.mkdir()
    clone = f"find . -mindepth 1 -delete && git clone -q '{project}' ."
    steps = [{"shell": "bash", "run": clone}]
    inputs = {"fetch-depth": {"description": "Ignored", "required": True}}
    described = {"name": "checkout", "description": "A stand-in", "inputs": inputs}
    (action / "action.yml").write_text(json.dumps({**described, "runs": {"using": "composite", "steps": steps}}))
    return action


@pytest.mark.slow
def test_the_documented_workflow_refuses_source_without_tests(source: ActionSource, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".github/workflows").mkdir(parents=True)
    (project / ".github/workflows/check.yml").write_text(read_documented_workflow(source.commit))
    (project / "tool.py").write_text("def double(n):\n    return n + n\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, *IDENTITY, "commit", "-qm", "base")
    base = git(project, "rev-parse", "HEAD")
    (project / "tool.py").write_text("def double(n):\n    return 2 * n if n else 1\n")
    git(project, *IDENTITY, "commit", "-qam", "change")
    head = git(project, "rev-parse", "HEAD")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 1, "base": {"sha": base}, "head": {"sha": head}}}))
    command = [str(ACT), "pull_request", "-C", str(project), "-W", ".github/workflows/check.yml", "-e", str(event)]
    command += [*fixed_options(tmp_path), "--local-repository", f"{CHECKOUT}={make_checkout(tmp_path, project)}"]
    command += ["--local-repository", f"prd2pr/prd2pr@{source.commit}={source.path}"]
    for name, value in {
        "http_proxy": NOWHERE,
        "https_proxy": NOWHERE,
        "PRD2PR_DIRECTORY": source.program.parent,
    }.items():
        command += ["--env", f"{name}={value}"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=280, env=host_environment(source, tmp_path)
    )
    assert "CHK101 `double`" in done.stdout, done.stdout + done.stderr
    assert '"verdict"' in done.stdout and "refused" in done.stdout
    assert done.returncode == 1
