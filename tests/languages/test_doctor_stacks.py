"""What `prd2pr doctor` shows about a project's stacks, for any content of its files."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from languages.mono_world import MonoWorld, mono_world
from languages.test_setup import repository
from prd2pr.cli.context import find_stacks, find_toolchain, read_config
from prd2pr.cli.doctor.stack_checks import format_tool, inspect_stacks, list_stack_checks, run_unconfigured_checks
from prd2pr.cli.verbs.doctor import run_stacks_check
from prd2pr.domain.stack import Stack
from prd2pr.errors import RunnerMissing, SetupProblem
from prd2pr.state.git import Git

VITEST = json.dumps({"name": "web", "scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "4"}})


def doctor_output(world: MonoWorld) -> list[str]:
    git = Git.open(world.repo)
    return [
        f"{check.mark}: {check.found}" for check in list_stack_checks(inspect_stacks(git, read_config(git, "HEAD")))
    ]


def test_each_stack_is_shown_with_root_set_up_and_missing_checks(tmp_path: Path) -> None:
    files = {"web/package.json": VITEST, "web/package-lock.json": "{}", **{f"web/src/{n}.ts": "" for n in range(3)}}
    service, web = doctor_output(mono_world(tmp_path, files=files))
    assert service.startswith("ok: python by pytest in service/, ")
    assert "not checked" not in service
    assert "typescript by vitest in web/" in web
    assert "set up by npm: npm ci --ignore-scripts" in web
    assert "stubs before the code" in web


@pytest.mark.slow
def test_json_has_every_stack(tmp_path: Path) -> None:
    done = mono_world(tmp_path).program("doctor", "--json")
    service, web = done.json["stacks"]
    assert (service["language"], service["root"], service["not_checked"]) == ("python", "service", [])
    assert (web["runner"], web["root"], web["story_tests"]) == ("node:test", "web", "web/tests/tdd")
    assert "other circumstances" in web["not_checked"]


def test_missing_tools_are_named_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world, found = mono_world(tmp_path), shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **more: None if name == "node" else found(name, **more))
    git = Git.open(world.repo)
    _, web = list_stack_checks(inspect_stacks(git, read_config(git, "HEAD")))
    assert web.mark == "warning"
    assert "`node` is not installed" in web.found
    assert "install node" in web.remedy


@pytest.mark.parametrize(
    "manifest",
    [
        "{" * 200_000,
        '{"a":' * 100_000,
        "not json at all",
        "[]",
        '"vitest"',
        '{"scripts": ["test"], "dependencies": "vitest", "devDependencies": 3}',
        '{"scripts": {"test": {"vitest": 1}}}',
        '{"scripts": {"test": "node --test --import \\ud800"}}',
        json.dumps({"name": "x" * 10_000_000}),
    ],
)
def test_hostile_manifests_cause_no_error(tmp_path: Path, manifest: str) -> None:
    lines = doctor_output(mono_world(tmp_path, files={"web/package.json": manifest}))
    assert lines[0].startswith("ok: python by pytest in service/")


def test_linked_manifests_and_unusual_names_are_ignored(tmp_path: Path) -> None:
    world = mono_world(tmp_path)
    (tmp_path / "outside.json").write_text(VITEST)
    (world.repo / "web/package.json").unlink()
    (world.repo / "web/package.json").symlink_to(tmp_path / "outside.json")
    world.write({"odd\nname/package.json": VITEST, "odd\nname/a.test.js": ""})
    world.commit("hostile")
    (service,) = doctor_output(world)
    assert service.startswith("ok: python by pytest in service/")


@pytest.mark.parametrize("manifest", ['{"name": "x"}', '{"name": "x", "scripts": {"test": "mocha"}}'])
def test_package_without_a_known_runner_is_not_python(tmp_path: Path, manifest: str) -> None:
    world = MonoWorld(tmp_path)
    world.write({"package.json": manifest, "src/a.ts": "export const a = 1;\n"})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    git = Git.open(world.repo)
    with pytest.raises(SetupProblem, match="without a test runner") as problem:
        find_stacks(git, read_config(git, "HEAD"), "HEAD")
    assert problem.value.where == "package.json"
    assert "`node --test`" in problem.value.remedy


def test_default_stack_is_reported_as_the_default(tmp_path: Path) -> None:
    world = MonoWorld(tmp_path)
    world.write({"README.md": "hello\n"})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    git = Git.open(world.repo)
    assert run_stacks_check(git, read_config(git, "HEAD")).found.startswith("python, pytest, the default")


def test_unreadable_manifest_is_reported(tmp_path: Path) -> None:
    world = mono_world(tmp_path, files={"web/package.json": '{"name": "web",,}', "web/a.test.js": ""})
    git = Git.open(world.repo)
    (check,) = run_unconfigured_checks(git, read_config(git, "HEAD"))
    assert check.mark == "wrong"
    assert check.found.startswith("web/package.json ") and "JSON object" in check.found
    world.write({"web/package.json": "{}"})
    world.commit("mended")
    assert not list(run_unconfigured_checks(git, read_config(git, "HEAD")))


def test_unknown_language_gets_a_hint_about_generic_runners(tmp_path: Path) -> None:
    git = repository(tmp_path / "ruby", {"Gemfile": "", "lib/a.rb": "", "README.md": ""})
    check = run_stacks_check(git, read_config(git, "HEAD"))
    assert check.mark == "warning"
    assert "JUnit XML or TAP" in check.remedy
    git = repository(tmp_path / "empty", {"README.md": ""})
    assert run_stacks_check(git, read_config(git, "HEAD")).mark == "ok"


def test_no_tool_is_named_twice() -> None:
    assert format_tool("go", "go version go1.27.3 linux/amd64") == "go version go1.27.3 linux/amd64"
    assert format_tool("cargo", "cargo 1.95.0") == "cargo 1.95.0"
    assert format_tool("node", "20.20.2") == "node 20.20.2"
    assert format_tool("sh", "") == "sh"


def test_tool_next_to_prd2pr_is_found_without_an_activated_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/some-runner").write_text("#!/bin/sh\n")
    (tmp_path / "bin/some-runner").chmod(0o755)
    stack = Stack("any", "tap", command=("some-runner", "{file}"))
    with pytest.raises(RunnerMissing):
        find_toolchain(stack)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert find_toolchain(stack).path.startswith(f"{tmp_path}/bin")
