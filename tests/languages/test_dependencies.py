"""Dependencies are installed once, by one run at a time; a failed or killed install leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from prd2pr.domain.stack import Stack
from prd2pr.errors import SetupProblem
from prd2pr.languages.project.dependencies import COMPLETE_MARKER, KEEP_DAYS, Dependencies
from prd2pr.languages.project.installation import Installer

GIVEN = {"package.json": b"{}"}
FREE = Installer(sandboxed=False)  # so that a set-up can leave a note outside its directory


def stack_with(script: str, root: str = "web") -> Stack:
    """A stack whose set-up is a Python program instead of a package manager."""
    command = (sys.executable, "-c", textwrap.dedent(script))
    return Stack(
        language="javascript", runner="vitest", root=root, setup=(command,), manifests=(f"{root}/package.json",)
    )


COUNTING = """
    import pathlib, sys, time
    log = pathlib.Path({log!r})
    with log.open("a") as file: file.write("x")
    time.sleep(0.5)
    pathlib.Path("node_modules/tea").mkdir(parents=True)
"""


def test_dependencies_are_installed_once_per_manifest_version(tmp_path: Path) -> None:
    log = tmp_path / "log"
    stack, kept = stack_with(COUNTING.format(log=str(log))), Dependencies(tmp_path / "kept", FREE)
    first = kept.prepare(stack, GIVEN)
    assert kept.prepare(stack, GIVEN) == first
    assert kept.prepare(stack, {"package.json": b'{"dependencies": {}}'}) != first
    assert log.read_text() == "xx"


@pytest.mark.slow
def test_concurrent_runs_install_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    stack = stack_with(COUNTING.format(log=str(log)))
    program = (
        "import sys\nfrom pathlib import Path\nfrom prd2pr.domain.stack import Stack\n"
        "from prd2pr.languages.project.dependencies import Dependencies\n"
        f"stack = {stack!r}\n"
        "from prd2pr.languages.project.installation import Installer\n"
        f"print(Dependencies(Path({str(tmp_path / 'kept')!r}), {FREE!r}).prepare(stack, {GIVEN!r}))\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    places = {each.communicate(timeout=60)[0].strip() for each in both}
    assert [each.returncode for each in both] == [0, 0]
    assert len(places) == 1
    assert log.read_text() == "x"


@pytest.mark.slow
def test_killed_run_leaves_no_usable_result_and_its_installer_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    stack = stack_with(COUNTING.format(log=str(log)).replace("0.5", "1.5"))
    program = (
        "from pathlib import Path\nfrom prd2pr.domain.stack import Stack\n"
        "from prd2pr.languages.project.dependencies import Dependencies\n"
        "from prd2pr.languages.project.installation import Installer\n"
        f"Dependencies(Path({str(tmp_path / 'kept')!r}), {FREE!r}).prepare({stack!r}, {GIVEN!r})\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", program])
    while not log.exists():
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not list((tmp_path / "kept").glob(f"*/{COMPLETE_MARKER}"))
    place = Dependencies(tmp_path / "kept", FREE).prepare(
        stack, GIVEN
    )  # `mkdir` would fail if the first had created it
    assert (place / "node_modules" / "tea").is_dir()
    assert log.read_text() == "xx"


def test_failed_install_reports_what_where_and_remedy_and_is_not_cached(tmp_path: Path) -> None:
    wall = tmp_path / "wall"
    wall.touch()
    stack = stack_with(
        f"""
        import pathlib, sys
        pathlib.Path("node_modules").mkdir()
        if pathlib.Path({str(wall)!r}).exists():
            sys.exit("no such package: https://ada:secret@registry.example/tea")
        """
    )
    kept = Dependencies(tmp_path / "kept", FREE)
    with pytest.raises(SetupProblem) as failed:
        kept.prepare(stack, GIVEN)
    assert "javascript, vitest in web" in failed.value.what
    assert "no such package: https://registry.example/tea" in failed.value.what
    assert "\n" not in failed.value.what
    assert "web/package.json" in failed.value.where
    assert "fresh checkout" in failed.value.remedy
    wall.unlink()
    assert (kept.prepare(stack, GIVEN) / "node_modules").is_dir()


def test_missing_package_manager_is_named(tmp_path: Path) -> None:
    stack = Stack(language="javascript", runner="jest", setup=(("no-such-manager", "ci"),))
    with pytest.raises(SetupProblem, match="`no-such-manager` cannot be started"):
        Dependencies(tmp_path).prepare(stack, {})


def test_daemon_left_by_an_installer_is_not_awaited(tmp_path: Path) -> None:
    stack = stack_with("import subprocess; subprocess.Popen(['sleep', '600'])")
    began = time.monotonic()
    Dependencies(tmp_path).prepare(stack, GIVEN)
    assert time.monotonic() - began < 60


def test_checkout_gets_links_to_the_installation(tmp_path: Path) -> None:
    made = "pathlib.Path('node_modules/shared').mkdir(parents=True); pathlib.Path('generated').mkdir()"
    stack = stack_with(f"import pathlib; {made}")
    checkout = tmp_path / "checkout" / "web"
    (checkout / "node_modules" / "planted").mkdir(parents=True)
    (checkout / "generated").mkdir()
    (checkout / "package.json").write_text("{}")
    Dependencies(tmp_path / "kept").link(stack, tmp_path / "checkout")
    assert (checkout / "node_modules" / "shared").is_symlink()
    assert not (checkout / "node_modules").is_symlink()  # tools write to it
    assert not (checkout / "node_modules" / "planted").exists()
    assert not (checkout / "generated").is_symlink()  # the project has its own
    assert not (checkout / COMPLETE_MARKER).exists()


def test_installations_unused_for_a_month_are_removed(tmp_path: Path) -> None:
    stack, kept = stack_with("pass"), Dependencies(tmp_path)
    old = kept.prepare(stack, GIVEN)
    ago = time.time() - (KEEP_DAYS + 1) * 24 * 3600
    os.utime(old / COMPLETE_MARKER, (ago, ago))
    new = kept.prepare(stack, {"package.json": b"[]"})
    assert not old.exists()
    assert new.is_dir()
