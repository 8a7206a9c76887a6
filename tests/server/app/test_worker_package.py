"""The example package of docs/examples/worker-plugin, really installed, does a phase that the gate accepts."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from world import GREEN_ADD, World

PACKAGE = Path(__file__).parents[3] / "docs/examples/worker-plugin"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that sees the libraries of this one, and has the package installed."""
    place = tmp_path_factory.mktemp("worker") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    made = place / "bin/python"
    [site] = place.glob("lib/python*/site-packages")
    (site / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "--no-index")
    pip = [sys.executable, "-m", "pip", "--python", made, "install", *quiet, PACKAGE]
    subprocess.run(pip, check=True, env={**os.environ, "PIP_NO_CACHE_DIR": "1"}, cwd=place)
    return made


def run(python: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-m", *arguments], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_its_own_test_passes(python: Path, tmp_path: Path) -> None:
    done = run(python, "pytest", "-q", "-p", "no:cacheprovider", str(PACKAGE / "tests"), cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(".. "), done.stdout + done.stderr


@pytest.mark.slow
def test_it_does_the_green_phase(python: Path, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.start()
    settings = f"models:\n  default: 'replay:{world.transcript()}'\n  roles: {{builder: 'plugin:shelf:../shelf'}}\n"
    world.write({".prd2pr.yml": settings})
    world.commit("A worker of another package writes the code")
    world.run("--max-steps", "3")
    assert world.phases()[-1] == "red(calc-1)"
    missing = run(python, "prd2pr", "run", "prds/calc.md", "--max-steps", "1", cwd=world.repo)
    assert "the directory does not exist" in missing.stderr and missing.returncode == 1, missing.stdout
    lies = tmp_path / "shelf/calc-1/green/src/calc"
    lies.mkdir(parents=True)
    (lies / "sums.py").write_text(GREEN_ADD)
    done = run(python, "prd2pr", "run", "prds/calc.md", "--max-steps", "1", cwd=world.repo)
    assert world.phases()[-1] == "green(calc-1)", done.stdout + done.stderr
    assert world.show("src/calc/sums.py") == GREEN_ADD.strip()
    assert "shelf" in run(python, "prd2pr", "logs", "calc", cwd=world.repo).stdout
