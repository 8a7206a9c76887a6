"""The import contracts, and an entry point that imports no library for an ignored event."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

from importlinter.cli import lint_imports
from shape import read_shape

# Method → the modules that may call it. Everyone else uses a BranchWriter, which moves by compare-and-swap.
BRANCH_WRITES = {
    "update_branch": {"cli/wiring.py", "state/git.py"},
    "set_branch": {
        "github/branch_writer.py",
        "server/projection/mirrors.py",
        "server/work/local_runs.py",
        "state/git.py",
    },
    "delete_branch": {"state/git.py", "workflow/parallel/merge_queue.py"},
    "push": {"github/branch_writer.py"},
    "push_ref": {"github/jobs/wave_scheduler.py"},
}


def test_the_import_contract_holds(monkeypatch, request):
    monkeypatch.chdir(request.config.rootpath)
    assert lint_imports(no_cache=True) == 0


def test_only_the_branch_writers_move_branches():
    callers: dict[str, set[str]] = {name: set() for name in BRANCH_WRITES}
    for module in read_shape().modules:
        for node in module.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in callers:
                callers[node.func.attr].add(module.path)
    assert callers == BRANCH_WRITES


def test_packages_say_truly_what_they_may_import():
    """`May import ...` in a top-level package names the other top-level packages that it imports: all, and no others.

    The modules beside the packages (`errors`, `config`, `templating` ...) are not named.
    """
    modules = read_shape().modules
    packages = {each.package: each for each in modules if each.is_package and each.package.count("/") == 0}
    del packages["."]
    stated = {name: read_stated_imports(ast.get_docstring(each.tree) or "") for name, each in packages.items()}
    found: dict[str, set[str]] = {name: set() for name in packages}
    for module in modules:
        own = module.path.partition("/")[0]
        if own in packages:
            names = {name.split(".")[1] for name in module.imports if name.startswith("prd2pr.")}
            found[own] |= (names & packages.keys()) - {own}
    assert stated == found


def read_stated_imports(docstring: str) -> set[str] | None:
    """Read the packages from the sentence; None: there is no such sentence."""
    sentence = re.search(r"^May import (no other package|[^.]+)\.", docstring, re.MULTILINE)
    return set(re.findall(r"`(\w+)`", sentence[1])) if sentence else None


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
