"""The parts of Go's standard library that a project imports are built once, outside the sandbox."""

from __future__ import annotations

from pathlib import Path

from prd2pr.domain.stack import Stack
from prd2pr.languages.golang.standard_library import build_standard_library
from prd2pr.languages.project.toolchain import SYSTEM_PATH, Toolchain, locate_toolchain
from prd2pr.languages.registry import get_runner_kind

STACK = Stack("go", "go test")
FILE = 'package a\n\nimport "fmt"\nimport str "strings"\nimport (\n\t_ "net/http"\n\t"example.com/x/strconv"\n)\n'


def recording_go(place: Path) -> Toolchain:
    """A fake Go that records its build arguments and environment."""
    for name in ("bin", "src/fmt", "src/strings", "src/net/http", "src/sort"):
        (place / name).mkdir(parents=True)
    program = place / "bin/go"
    program.write_text('#!/bin/sh\necho "$@" >> "$GOCACHE/../asked"\nenv | sort > "$GOCACHE/../around"\n')
    program.chmod(0o755)
    return Toolchain("go", "go version go1.27", SYSTEM_PATH, root=place)


def test_imported_packages_are_built_once_and_extended(tmp_path: Path) -> None:
    tools, kept, checkout = recording_go(tmp_path / "go"), tmp_path / "kept", tmp_path / "checkout"
    (checkout / "vendor/example.com/x").mkdir(parents=True)
    (checkout / "a.go").write_text(FILE)
    cache = build_standard_library(checkout, kept, tools, STACK)
    build_standard_library(checkout, kept, tools, STACK)
    (first,) = (cache.parent / "asked").read_text().splitlines()
    assert {"fmt", "strings", "net/http", "testing"} <= set(first.split())
    assert "x/strconv" not in first
    (checkout / "vendor/example.com/x/x.go").write_text('package x\n\nimport "sort"\n')
    assert build_standard_library(checkout, kept, tools, STACK) == cache
    _, second = (cache.parent / "asked").read_text().splitlines()
    assert set(second.split()) == {*first.split(), "sort"}


def test_user_settings_have_no_influence(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-toolexec=/somewhere/else")
    tools = recording_go(tmp_path / "go")
    (tmp_path / "checkout").mkdir()
    cache = build_standard_library(tmp_path / "checkout", tmp_path / "kept", tools, STACK)
    around = (cache.parent / "around").read_text().splitlines()
    assert "GOENV=off" in around
    assert "GOFLAGS=" in around


def test_go_wrapper_script_leads_to_the_real_binary(tmp_path: Path, monkeypatch) -> None:
    """As installed by pip and asdf. Only the real binary is visible in the sandbox."""
    real, script = tmp_path / "real", tmp_path / "shims/go"
    (real / "bin").mkdir(parents=True)
    (real / "bin/go").write_text("#!/bin/sh\necho go version go1.27 real\n")
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\necho {real}\n")
    for each in (real / "bin/go", script):
        each.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{SYSTEM_PATH}")
    tools = locate_toolchain(get_runner_kind("go test"), STACK)
    assert (tools.root, tools.readable_paths, tools.version) == (real, (real,), "go version go1.27 real")
    assert tools.path.split(":")[0] == str(real / "bin")


def test_slow_machine_builds_a_part_and_continues(tmp_path: Path, monkeypatch) -> None:
    """The run builds the missing packages itself; the next run continues with the rest."""
    tools = recording_go(tmp_path / "go")
    (tmp_path / "go/bin/go").write_text('#!/bin/sh\necho "$@" >> "$GOCACHE/../asked"\nexec tail -f /dev/null\n')
    (tmp_path / "checkout").mkdir()
    monkeypatch.setattr("prd2pr.languages.golang.standard_library.INSTALL_SECONDS", 0.3)
    for _ in range(2):
        cache = build_standard_library(tmp_path / "checkout", tmp_path / "kept", tools, STACK)
    assert len((cache.parent / "asked").read_text().splitlines()) == 2
