"""Detection of a repository's stacks from its files."""

from __future__ import annotations

import json

import pytest

from prd2pr.config import list_configured_stacks
from prd2pr.config_file import load_config
from prd2pr.domain.records import Phase
from prd2pr.domain.stack import PYTHON, Stack, find_stack
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.languages.capabilities import LAYERS, RUNNERS, list_unchecked_layers
from prd2pr.languages.project.detection import detect_project_stacks


def manifest(**keys: object) -> str:
    return json.dumps(keys)


def detect(*paths: str, **manifests: str) -> list[tuple[str, str, str]]:
    texts = {name.replace("__", "/").replace("package", "package.json"): text for name, text in manifests.items()}
    return [(each.language, each.runner, each.root) for each in detect_project_stacks([*paths, *texts], texts)]


def test_repository_without_any_hint_is_python() -> None:
    assert detect("README.md") == [("python", "pytest", ".")]
    assert detect("src/shop/cart.py", "tests/test_cart.py") == [("python", "pytest", ".")]


@pytest.mark.parametrize(
    ("keys", "runner"),
    [
        ({"scripts": {"test": "node --test"}}, "node:test"),
        ({"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "4"}}, "vitest"),
        ({"devDependencies": {"jest": "30"}}, "jest"),
        ({"scripts": {"test": "NODE_OPTIONS=--experimental-vm-modules jest"}}, "jest"),
        ({}, "node:test"),
    ],
)
def test_runner_is_taken_from_the_manifest(keys: dict[str, object], runner: str) -> None:
    assert detect("src/cart.js", package=manifest(**keys)) == [("javascript", runner, ".")]


def test_manifest_without_tests_or_code_is_no_stack() -> None:
    assert detect("src/shop.py", package=manifest(name="docs")) == [("python", "pytest", ".")]
    assert detect("index.js", package=manifest(scripts={"test": "make check"})) == [("python", "pytest", ".")]


def test_a_few_scripts_in_python_do_not_make_a_stack() -> None:
    assert detect("src/a.js", "scripts/release.py", package=manifest(scripts={"test": "node --test"})) == [
        ("javascript", "node:test", ".")
    ]


def test_several_stacks_have_roots() -> None:
    stacks = detect(
        "pyproject.toml", "api/app.py", "web/src/a.ts", "web/tsconfig.json", "web/node_modules/x/package.json",
        web__package=manifest(devDependencies={"vitest": "4"}),
    )  # fmt: skip
    assert stacks == [("python", "pytest", "."), ("typescript", "vitest", "web")]


def test_template_projects_are_no_stacks() -> None:
    inside = {"templates__demo__package": manifest(scripts={"test": "node --test"})}
    assert detect("pyproject.toml", "templates/demo/a.js", **inside) == [("python", "pytest", ".")]


def test_set_up_follows_the_lock_file() -> None:
    text = manifest(devDependencies={"vitest": "4"})
    (plain,) = detect_project_stacks(["package.json", "a.js"], {"package.json": text})
    (locked,) = detect_project_stacks(["package.json", "package-lock.json", "a.js"], {"package.json": text})
    (other,) = detect_project_stacks(["package.json", "pnpm-lock.yaml", "a.js"], {"package.json": text})
    assert plain.setup[0][:2] == ("npm", "install")
    assert locked.setup[0][:2] == ("npm", "ci")
    assert locked.manifests == ("package.json", "package-lock.json")
    assert other.package_manager == "pnpm"
    assert "--ignore-scripts" in locked.setup[0]


def test_members_of_a_workspace_are_installed_at_its_root() -> None:
    root = manifest(workspaces=["packages/*", "!packages/old"], devDependencies={"vitest": "4"})
    texts = {"package.json": root, "packages/web/package.json": manifest(name="web"),
             "packages/lib/package.json": manifest(name="lib", scripts={"test": "node --test"}),
             "packages/old/package.json": manifest(name="old", scripts={"test": "node --test"})}  # fmt: skip
    paths = [*texts, "package-lock.json", "packages/web/a.js", "packages/lib/a.js", "packages/old/a.js"]
    stacks = {stack.root: stack for stack in detect_project_stacks(paths, texts)}
    assert {root: stack.runner for root, stack in stacks.items()} == {
        "packages/lib": "node:test", "packages/web": "vitest", "packages/old": "node:test",
    }  # fmt: skip
    read = ("packages/lib/package.json", "packages/web/package.json", "package.json", "package-lock.json")
    assert stacks["packages/web"].manifests == stacks["packages/lib"].manifests == read
    assert stacks["packages/web"].setup[0][:2] == ("npm", "ci")
    assert stacks["packages/old"].setup == ()


@pytest.mark.parametrize(
    "written",
    [
        'packages:\n  - "packages/*"\n  - "!packages/legacy"\n',
        "# members\npackages: # of it\n- packages/*\n# not this one\n\n- '!packages/legacy'\ncatalog:\n  - no\n",
        'packages: ["packages/*", "!packages/legacy"]\n',
    ],
)
def test_package_excluded_by_pnpm_is_a_separate_project(written: str) -> None:
    jest = manifest(devDependencies={"jest": "30"})
    packages = {f"packages/{name}/package.json": jest for name in ("a", "legacy")}
    texts = {"package.json": "{}", "pnpm-workspace.yaml": written, **packages}
    files = ["pnpm-lock.yaml", "packages/a/a.js", "packages/legacy/l.js"]
    member, legacy = detect_project_stacks([*texts, *files], texts)
    assert member.manifests == ("packages/a/package.json", "package.json", "pnpm-lock.yaml")
    assert (legacy.root, legacy.manifests) == ("packages/legacy", ("packages/legacy/package.json",))  # by itself


@pytest.mark.parametrize(
    ("named", "beside", "options"),
    [
        ("yarn@1.22.22", (), ("--frozen-lockfile", "--ignore-scripts")),
        ("", (), ("--frozen-lockfile", "--ignore-scripts")),
        ("yarn@4.9.2", (), ("--immutable", "--mode=skip-build")),
        ("", (".yarnrc.yml",), ("--immutable", "--mode=skip-build")),
    ],
)
def test_yarn_options_depend_on_its_version(named: str, beside: tuple[str, ...], options: tuple[str, ...]) -> None:
    texts = {"package.json": manifest(packageManager=named, devDependencies={"jest": "30"})}
    (stack,) = detect_project_stacks([*texts, "yarn.lock", "a.js", *beside], texts)
    assert stack.package_manager == "yarn"
    assert stack.setup == (("yarn", "install", *options),)


def test_pnpm_lists_members_in_its_own_file() -> None:
    texts = {"package.json": manifest(private=True), "web/package.json": manifest(devDependencies={"jest": "30"})}
    (web,) = detect_project_stacks([*texts, "pnpm-workspace.yaml", "pnpm-lock.yaml", "web/a.js"], texts)
    assert (web.root, web.manifests[-1], web.setup[0][0]) == ("web", "pnpm-lock.yaml", "pnpm")


def test_loader_options_of_the_script_are_kept() -> None:
    script = "node --import tsx --test"
    (stack,) = detect_project_stacks(["package.json", "a.ts"], {"package.json": manifest(scripts={"test": script})})
    assert stack.options == ("--import", "tsx")


def test_a_step_belongs_to_the_stack_of_its_paths() -> None:
    web = Stack("typescript", "vitest", "web")
    stacks = (PYTHON, web)
    assert find_stack(["web/src/a.ts", "web/README.md"], stacks, ENDINGS) is web
    assert find_stack(["api/app.py"], stacks, ENDINGS) is PYTHON
    assert find_stack([], stacks, ENDINGS) is PYTHON
    assert find_stack(["web/build.py"], stacks, ENDINGS) is PYTHON


def test_stacks_can_be_configured() -> None:
    config = load_config("stacks:\n  - runner: vitest\n    root: web\n    language: typescript\n  - runner: pytest\n")
    assert list_configured_stacks(config) == (Stack("typescript", "vitest", "web"), PYTHON)
    assert list_configured_stacks(load_config("language: python\n")) == (PYTHON,)
    assert list_configured_stacks(load_config("")) == ()


def test_layers_are_unique_and_python_has_all() -> None:
    assert len({layer.name for layer in LAYERS}) == len(LAYERS)
    assert not any(list_unchecked_layers("pytest", phase) for phase in Phase)
    assert all(set(layer.runners) <= set(RUNNERS) for layer in LAYERS)
    assert "canaries" in list_unchecked_layers("junit", Phase.GREEN)
