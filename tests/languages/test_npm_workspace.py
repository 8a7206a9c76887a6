"""An npm workspace: installed at its root by the real npm; tests run in a package, and packages find each other."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from prd2pr.languages.project.dependencies import MODULES, Dependencies, link_modules
from prd2pr.languages.project.detection import detect_project_stacks
from prd2pr.languages.runner import LanguageRunner
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.git import Git

SCRIPT = {"test": "node --test"}
FILES = {
    "package.json": json.dumps({"private": True, "workspaces": ["packages/*"]}),
    "packages/lib/package.json": json.dumps(
        {"name": "@shop/lib", "version": "1.0.0", "type": "module", "exports": "./main.js", "scripts": SCRIPT}
    ),
    "packages/lib/main.js": "export const two = () => 2;\n",
    "packages/web/package.json": json.dumps(
        {"name": "web", "version": "1.0.0", "type": "module", "scripts": SCRIPT, "dependencies": {"@shop/lib": "1.0.0"}}
    ),
    "packages/web/tests/web.test.js": (
        'import { test } from "node:test";\nimport assert from "node:assert/strict";\n'
        'import { two } from "@shop/lib";\n\ntest("two", () => {\n  assert.equal(two(), 2);\n});\n'
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED: npm is not installed")
def test_package_uses_the_sibling_from_the_checkout(tmp_path: Path) -> None:
    """No registry is needed: all packages are in the workspace."""
    web = next(stack for stack in detect_project_stacks(FILES, FILES) if stack.root == "packages/web")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    git = Git.open(tmp_path)
    runner = LanguageRunner(git.export, web, Dependencies(tmp_path / "kept"))
    for text, outcome in ((FILES["packages/lib/main.js"], "passed"), ("export const two = () => 3;\n", "failed")):
        files = {**FILES, "packages/lib/main.js": text}
        tree = git.edit_tree(git.empty_tree, {path: data.encode() for path, data in files.items()})
        report = runner.run(RunRequest(tree))
        assert report.honest, report.problems
        assert [(each.id, each.outcome) for each in report.results] == [
            ("packages/web/tests/web.test.js::two", outcome)
        ]


def test_package_finds_its_own_version_before_the_root_version(tmp_path: Path) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    for name in (f"{MODULES}/a", f"{MODULES}/b", f"web/{MODULES}/a", "lib"):
        (installed / name).mkdir(parents=True)
    (installed / MODULES / "lib").symlink_to("../lib")
    (home / "web").mkdir(parents=True)
    (home / "lib").mkdir()
    link_modules(installed, home, ["web", "lib"])
    modules = home / "web" / MODULES
    assert (modules / "a").resolve() == installed / "web" / MODULES / "a"
    assert (modules / "b").resolve() == installed / MODULES / "b"
    assert (modules / "lib").resolve() == home / "lib"
    assert (home / MODULES / "a").resolve() == installed / MODULES / "a"
