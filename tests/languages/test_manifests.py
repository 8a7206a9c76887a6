"""Manifests may change only for dependencies, and only if the policy allows it."""

from __future__ import annotations

import json

import pytest

from prd2pr.domain.stack import PYTHON, Stack
from prd2pr.languages.project.manifests import describe_other_changes, list_manifests

PACKAGE = {"name": "web", "scripts": {"test": "vitest"}, "dependencies": {"tea": "1"}, "jest": {"bail": 1}}
CARGO = '[package]\nname = "shop"\n\n[dependencies]\ntea = "1"\n'
GO = (
    "module shop\n\ngo 1.21\n\nrequire (\n\ttea.example/tea v1.0.0\n)\n\nrequire milk.example/milk v1.0.0 // indirect\n"
)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("web/package.json", json.dumps(PACKAGE), json.dumps({**PACKAGE, "devDependencies": {"milk": "2"}})),
        ("Cargo.toml", CARGO, CARGO + 'milk = "2"\n\n[dev-dependencies]\nsugar = "1"\n'),
        ("Cargo.toml", CARGO, CARGO + "\n[target.'cfg(unix)'.dependencies]\nnix = \"1\"\n"),
        ("go.mod", GO, GO.replace("tea v1.0.0", "tea v1.2.0") + "\nrequire sugar.example/sugar v1.0.0\n"),
        ("package-lock.json", "{}", '{"packages": {}}'),
    ],
)
def test_only_dependencies_may_change(path: str, before: str, after: str) -> None:
    assert not describe_other_changes(path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("package.json", PACKAGE, {**PACKAGE, "scripts": {"test": "true"}}, "changes `scripts`"),
        ("package.json", PACKAGE, {**PACKAGE, "jest": {"testMatch": []}, "type": "module"}, "changes `jest`, `type`"),
        ("package.json", {}, PACKAGE, "changes `jest`, `name`, `scripts`"),
        ("package.json", PACKAGE, "not json", "cannot be read"),
        ("package.json", PACKAGE, "[" * 100_000, "cannot be read"),
        ("Cargo.toml", CARGO, CARGO.replace("[dep", "[lib]\ntest = false\n\n[dep"), "changes `lib`"),
        ("Cargo.toml", CARGO, CARGO + '\n[patch.crates-io]\ntea = { path = "fake" }\n', "changes `patch`"),
        ("go.mod", GO, GO + "\nreplace tea.example/tea => ./fake\n", "changes `replace`"),
    ],
)
def test_other_manifest_fields_may_not_change(path: str, before: object, after: object, said: str) -> None:
    texts = [each if isinstance(each, str) else json.dumps(each) for each in (before, after)]
    assert describe_other_changes(path, *texts) == said


def test_set_up_reads_the_manifests_of_its_root() -> None:
    paths = [
        "pyproject.toml",
        "uv.lock",
        "requirements/dev.txt",
        "src/app.py",
        "tests/requirements.txt",
        "web/package.json",
    ]
    assert list_manifests(paths, PYTHON) == ("pyproject.toml", "requirements/dev.txt", "uv.lock")
    assert list_manifests(paths, Stack(root="web")) == ("web/package.json",)
