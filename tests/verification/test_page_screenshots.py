"""Screenshots of pages: taken in the sandbox and read from it as untrusted files."""

from __future__ import annotations

import shutil
import socket
import struct
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pictures import png
from prd2pr.sandbox.detection import find_sandbox
from prd2pr.state.screenshots import MAX_IMAGE_BYTES, find_image_problem
from prd2pr.verification.program.camera import BROWSERS, SandboxCamera
from prd2pr.verification.program.checkout import ProgramSandbox
from prd2pr.verification.program.pages import PageRequest, Screenshots

PAGE = "<!doctype html><title>Points</title><h1>41 points</h1>"


def export(_: str, directory: Path, __: Mapping[str, str]) -> None:
    directory.mkdir(parents=True)
    (directory / "index.html").write_text(PAGE, encoding="utf-8")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def request(*command: str, paths: tuple[str, ...] = ("/",), ready: int = 20) -> PageRequest:
    port = free_port()
    serves = command or ("python3", "-m", "http.server", str(port), "--bind", "127.0.0.1")
    return PageRequest("tree", serves, f"http://127.0.0.1:{port}", paths, ready)


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake Chromium, outside any sandbox: copies `picture` to the requested path."""
    place, picture = tmp_path / "bin", tmp_path / "picture.png"
    place.mkdir()
    picture.write_bytes(png())
    program = place / "chromium"
    program.write_text(
        f"#!{sys.executable}\n"
        "import shutil, sys\n"
        "file = next(word.split('=', 1)[1] for word in sys.argv if word.startswith('--screenshot='))\n"
        f"shutil.copy({str(picture)!r}, file)\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    return program


def bare() -> SandboxCamera:
    return SandboxCamera(ProgramSandbox(export, lambda: Path(sys.executable), sandboxed=False))


def test_one_screenshot_per_path(browser: Path) -> None:
    assert browser.exists()
    seen = bare().take(request(paths=("/", "/index.html")))
    assert seen == Screenshots((("/", png()), ("/index.html", png())))


def test_missing_browser_is_noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    seen = bare().take(request())
    assert seen.taken == ()
    assert "Chromium or Chrome is not installed" in seen.note


@pytest.mark.parametrize(
    ("command", "told"),
    [(("false",), "the page's command exited with status 1"), (("no-such-program",), "cannot be started"),
     (("sleep", "60"), "nothing answers at 127.0.0.1")],
)  # fmt: skip
def test_page_that_is_not_served_is_noted(browser: Path, command: tuple[str, ...], told: str) -> None:
    assert browser.exists()
    seen = bare().take(request(*command, ready=1))
    assert seen.taken == ()
    assert told in seen.note


def test_symlink_instead_of_a_screenshot_is_not_followed(browser: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(png(3, 3))
    text = browser.read_text(encoding="utf-8")
    browser.write_text(text.replace("shutil.copy(", f"__import__('os').symlink({str(secret)!r}, file) #"))
    seen = bare().take(request())
    assert seen.taken == ()
    assert "no screenshot was written" in seen.note


def test_invalid_image_is_not_kept(browser: Path) -> None:
    picture = browser.parent.parent / "picture.png"
    picture.write_bytes(png() + b"\0" * MAX_IMAGE_BYTES)
    seen = bare().take(request())
    assert seen.taken == ()
    assert "the limit is 400,000" in seen.note
    assert "PNG" in find_image_problem(b"GIF89a")
    assert find_image_problem(png(9000, 1)) == "it is 9000 by 1 pixels"
    assert find_image_problem(png()) == ""


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="this machine has no Chromium or Chrome")
def test_real_browser_renders_a_real_page_in_the_sandbox() -> None:
    camera = SandboxCamera(ProgramSandbox(export, lambda: Path(sys.executable)))
    seen = camera.take(request())
    if "none is available here" in seen.note:
        pytest.skip("this machine gives no sandbox")
    assert seen.note == ""
    ((path, data),) = seen.taken
    assert path == "/"
    assert find_image_problem(data) == ""
    assert struct.unpack(">II", data[16:24]) == (1280, 800)
    assert len(data) > 3000, "something is written on it"


@pytest.mark.skipif(find_sandbox(Path(sys.executable)).privilege is None, reason="this machine gives no sandbox")
def test_the_program_that_takes_them_is_visible_in_the_sandbox(browser: Path) -> None:
    """Also if the project's interpreter is not that of prd2pr. The fake browser is not visible there."""
    assert browser.exists()
    camera = SandboxCamera(ProgramSandbox(export, lambda: Path(sys.executable).resolve()))
    seen = camera.take(request())
    assert seen.taken == ()
    assert "browser.py" not in seen.note
    assert "chromium" in seen.note
