"""Installers run without the secrets of this process, and their settings come from the base commit."""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from textwrap import dedent

import pytest

from languages.test_setup import PROJECT, repository
from prd2pr.cli.context import open_runner
from prd2pr.config import Config
from prd2pr.domain.stack import Stack
from prd2pr.errors import SetupProblem
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.project.installation import Installer, build_installer_environment
from prd2pr.languages.test_runner import RunRequest
from prd2pr.sandbox.detection import _list_visible_paths, find_sandbox
from prd2pr.sandbox.interpreter import find_installed_interpreter

CANARY = "canary-5f1c0e7a"
SECRETS = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "PRD2PR_APP_PRIVATE_KEY", "NPM_TOKEN"),
    *("AWS_SECRET_ACCESS_KEY", "MY_DATABASE_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "SSH_AUTH_SOCK", "NODE_OPTIONS"),
)
# An installer that follows an attacker's instructions: it collects everything that it can read.
THIEF = """
    import json, os, pathlib, sys
    loot, notes = {{}}, {{}}
    def read(path):
        try:
            loot[str(path)] = pathlib.Path(path).read_bytes().decode("latin-1")
        except OSError:
            pass
    for path in {files!r}:
        read(path)
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        read(process / "environ")
        read(process / "cmdline")
    for path in {targets!r}:
        try:
            with open(path, "a") as file:
                file.write("written by an installer")
            notes[path] = "written"
        except OSError as error:
            notes[path] = str(error)
    here = pathlib.Path("node_modules")
    here.mkdir()
    (here / "loot.json").write_text(json.dumps([loot, dict(os.environ), notes]))
"""

isolated = pytest.mark.skipif(find_sandbox(Path(sys.executable)).privilege is None, reason="NO SANDBOX ON THIS MACHINE")


def install(script: str, place: Path, installer: Installer | None = None) -> Path:
    command = (sys.executable, "-c", dedent(script))
    return Dependencies(place, installer).prepare(Stack(runner="vitest", setup=(command,)), {"package.json": b"{}"})


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Secrets in variables and files, and the paths of the files."""
    for name in SECRETS:
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("PIP_INDEX_URL", f"https://ada:{CANARY}@registry.example/simple")
    monkeypatch.setenv("HTTPS_PROXY", "")
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    files = [home / name for name in (".npmrc", ".netrc", ".ssh/id", ".cargo/credentials.toml", "repo/.git/config")]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(CANARY)
        path.chmod(0o644)
    return [*map(str, files), f"/proc/{os.getpid()}/environ"]


def steal(secrets: list[str], place: Path, installer: Installer) -> tuple[dict[str, str], dict[str, str], str]:
    made = install(THIEF.format(files=secrets, targets=secrets[:1]), place, installer)
    loot, environment, notes = json.loads((made / "node_modules" / "loot.json").read_text())
    return loot, environment, notes[secrets[0]]


@isolated
def test_an_installer_reads_no_secret_and_writes_nowhere_else(secrets: list[str], tmp_path: Path) -> None:
    loot, environment, note = steal(secrets, tmp_path / "kept", Installer())
    assert CANARY not in json.dumps([loot, environment])
    assert environment["HOME"] not in (os.environ["HOME"], str(Path.home()))
    assert note != "written"
    assert Path(secrets[0]).read_text() == CANARY


def test_without_a_sandbox_an_installer_gets_no_secret_either(secrets: list[str], tmp_path: Path) -> None:
    """It could still read files and memory of this user; the environment and the home directory are its own."""
    loot, environment, _ = steal(secrets, tmp_path / "kept", Installer(sandboxed=False))
    assert CANARY not in json.dumps(environment)
    assert loot[secrets[0]] == CANARY, "the thief works"


@isolated
def test_named_variables_and_their_files_reach_the_installer(secrets: list[str], tmp_path: Path) -> None:
    os.environ["NPM_CONFIG_USERCONFIG"] = secrets[0]
    try:
        installer = Installer(variables=("NPM_TOKEN", "NPM_CONFIG_USERCONFIG"))
        loot, environment, note = steal(secrets, tmp_path / "kept", installer)
    finally:
        del os.environ["NPM_CONFIG_USERCONFIG"]
    assert environment["NPM_TOKEN"] == loot[secrets[0]] == CANARY
    assert [path for path in loot if path in secrets] == [secrets[0]]
    assert note != "written"


@isolated
def test_an_installer_has_the_network(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].sendall(b"package"), daemon=True).start()
        port = server.getsockname()[1]
        script = f"""
            import pathlib, socket
            pathlib.Path("node_modules").mkdir()
            text = socket.create_connection(("127.0.0.1", {port}), 10).recv(99)
            pathlib.Path("node_modules/it").write_bytes(text)
        """
        assert (install(script, tmp_path / "kept") / "node_modules" / "it").read_bytes() == b"package"


def test_only_known_variables_without_credentials_are_kept() -> None:
    given = {
        "PATH": "/bin", "PIP_INDEX_URL": "https://mirror.example/simple", "npm_config_registry": "https://a:b@c/",
        "HTTPS_PROXY": "http://proxy:3128", "LD_PRELOAD": "/x.so", "PYTHONPATH": "/y", "GITHUB_ENV": "/z", "FOO": "1",
    }  # fmt: skip
    kept = build_installer_environment(given)
    assert {name for name in given if name in kept} == {"PATH", "PIP_INDEX_URL", "HTTPS_PROXY"}
    assert build_installer_environment(given, ("FOO", "missing"))["FOO"] == "1"


def test_settings_of_installers_come_from_the_base_commit(tmp_path: Path) -> None:
    """A story's `.yarnrc.yml` could send a registry's token elsewhere."""
    base = {"web/.npmrc": b"registry=https://good.example/\n"}
    stack = Stack(
        runner="vitest", root="web",
        setup=((sys.executable, "-c", "import os; os.makedirs('node_modules'); print(os.listdir())"),),
        manifests=("web/package.json", "web/.npmrc"),
    )  # fmt: skip
    checkout = tmp_path / "checkout"
    (checkout / "web").mkdir(parents=True)
    for name in ("package.json", ".npmrc", ".yarnrc.yml", "pnpm-workspace.yaml", ".pnpmfile.cjs", "bunfig.toml"):
        (checkout / "web" / name).write_text("{}")
    kept = Dependencies(tmp_path / "kept", read_base=base.get)
    (place,) = kept.list_readable_paths(stack, checkout)
    given = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file() and path.stat().st_size}
    assert given == {"package.json": b"{}", ".npmrc": base["web/.npmrc"]}


# --- the interpreter that a set-up makes ------------------------------------------------------------------------------


@isolated
@pytest.mark.slow
def test_an_interpreter_of_the_set_up_runs_in_the_sandbox_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set-up, or a package that it installs, can replace the interpreter or add code to its start."""
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    note = outside / "note"
    evil = f"import os; os.access({str(outside)!r}, os.W_OK) and open({str(note)!r}, 'w').close()\n"
    fill = f"""
import pathlib, sys
place = next(pathlib.Path(".venv/lib").iterdir()) / "site-packages"
(place / "tea.py").write_text("PRICE = 3\\n")
(place / "here.pth").write_text("\\n".join(path for path in sys.path if path.endswith("-packages")))
(place / "evil.pth").write_text({evil!r})
"""
    (tmp_path / "repo").mkdir()
    git = repository(tmp_path / "repo", PROJECT)
    commands = (f"{sys.executable} -m venv --without-pip .venv", f"{sys.executable} -c {shlex.quote(fill)}")
    runner = open_runner(git, Config(setup=commands), "main", cached=False)
    report = runner.run(RunRequest(git.code_tree("main")))
    assert [result.outcome for result in report.results] == ["passed"]
    assert not note.exists()
    (python,) = (git.private / "cache" / "dependencies").glob("*/.venv/bin/python")
    subprocess.run([str(python), "-c", ""], check=True)
    assert note.exists(), "outside the sandbox it would have been executed"


@isolated
def test_an_interpreter_of_the_set_up_shows_the_tests_nothing_more(tmp_path: Path) -> None:
    """It answers with paths that the tests must then be able to read."""
    secret = tmp_path / "secret" / "deep"
    secret.mkdir(parents=True)
    liar = f"""
import pathlib
program = '''#!/bin/sh
while [ $# -gt 1 ]; do shift; done
mark=$(printf "%s" "$1" | sed -n "s/^print('\\\\(.*\\\\)')$/\\\\1/p")
echo "$mark"
echo /bin/sh
echo "['{secret}', '/', '/root']"
echo "['{secret}', '/etc/..']"
echo "CPython 3.11.0"
'''
place = pathlib.Path(".venv/bin/python")
place.parent.mkdir(parents=True)
place.write_text(program)
place.chmod(0o755)
pathlib.Path("link").symlink_to({str(secret)!r})
"""
    (tmp_path / "repo").mkdir()
    git = repository(tmp_path / "repo", PROJECT)
    command = f"{sys.executable} -c {shlex.quote(liar)}"
    with suppress(SetupProblem):
        open_runner(git, Config(setup=(command,)), "main", cached=False)
    (python,) = (git.private / "cache" / "dependencies").glob("*/.venv/bin/python")
    assert find_installed_interpreter(python) is not None
    shown = _list_visible_paths(python)
    assert str(python.parents[2]) in shown
    assert not [path for path in shown if Path(path).is_relative_to(secret.parent) or path in ("/", "/root")]


def list_programs(*names: str) -> Installer:
    return Installer(programs=(os.path.realpath(sys.executable), *names))


@isolated
def test_an_installer_starts_only_listed_programs_and_what_it_installs(tmp_path: Path) -> None:
    python = os.path.realpath(sys.executable)
    script = """
        import json, subprocess
        from pathlib import Path

        def attempt(*argv):
            try:
                return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
            except OSError as error:
                return type(error).__name__

        Path("node_modules/own").mkdir(parents=True)
        Path("node_modules/own/tool").write_text(f"#!{python}\\nprint('installed')\\n")
        Path("node_modules/own/tool").chmod(0o755)
        found = [attempt("/bin/echo", "hello"), attempt("node_modules/own/tool")]
        Path("node_modules/found.json").write_text(json.dumps(found))
    """.replace("{python}", python)

    def find_started(place: Path, installer: Installer) -> list[str]:
        stack = Stack(runner="vitest", setup=((python, "-c", dedent(script)),))
        made = Dependencies(place, installer).prepare(stack, {"package.json": b"{}"})
        found: list[str] = json.loads((made / "node_modules" / "found.json").read_text())
        return found

    assert find_started(tmp_path / "free", Installer()) == ["hello", "installed"]
    assert find_started(tmp_path / "listed", list_programs()) == ["FileNotFoundError", "installed"]


@isolated
def test_an_unlisted_installer_is_refused(tmp_path: Path) -> None:
    stack = Stack(runner="vitest", setup=(("sh", "-c", "mkdir node_modules"),))
    with pytest.raises(SetupProblem, match=r"^`sh` ") as refused:
        Dependencies(tmp_path, list_programs()).prepare(stack, {"package.json": b"{}"})
    assert "`permissions: programs:`" in refused.value.remedy


@isolated
def test_a_virtual_environment_is_made_with_only_python_on_the_list(tmp_path: Path) -> None:
    python = os.path.realpath(sys.executable)
    setup = ((python, "-m", "venv", ".venv"), (".venv/bin/python", "-m", "pip", "--version"))
    made = Dependencies(tmp_path, list_programs()).prepare(Stack(runner="pytest", setup=setup), {})
    assert (made / ".venv" / "bin" / "python").exists()
