"""What the entry points import at the start."""

from __future__ import annotations

import subprocess
import sys


def test_an_ignored_event_imports_no_library(tmp_path):
    event = tmp_path / "event.json"
    event.write_text('{"action": "created", "comment": {"body": "thanks"}}')
    code = (
        "import sys; from prd2pr.cli.main import main; status = main(['action']);"
        "heavy = {'pydantic', 'yaml', 'jinja2', 'rich', 'anthropic', 'argparse', 'subprocess'} & set(sys.modules);"
        "print(status, sorted(heavy))"
    )
    env = {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(event)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    said, ended = done.stdout.splitlines()
    assert said.startswith("prd2pr: nothing to do: ")
    assert ended == "0 []"


def test_run_loads_the_workflow_while_the_first_test_run_is_in_progress():
    code = "import sys, prd2pr.cli.verbs.run; print(*(name for name in sys.modules if name.startswith('prd2pr.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.split(".")[1] for name in done.stdout.split()}
    assert "cli" in packages
    assert not {"workflow", "agents", "views", "reports", "livingdocs"} & packages
