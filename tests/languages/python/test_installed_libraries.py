"""What an installed library says about itself, read from its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd2pr.languages.python.installed_libraries import describe_installed_library


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    files = {
        "fancy/__init__.py": '"""Fancy calls."""\nfrom .core import send\ndef connect(host, port=80): pass\n',
        "fancy/CHANGELOG.md": "## 3.0\nconnect() needs a host.\n",
        "fancy_calls-3.1.dist-info/METADATA": "Name: fancy-calls\nVersion: 3.1\nSummary: Calls\n",
    }
    record = "".join(f"{name},,\n" for name in files)
    for name, text in {**files, "fancy_calls-3.1.dist-info/RECORD": record}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_version_docstring_names_and_changes_are_read(packages: Path) -> None:
    assert (
        describe_installed_library("Fancy_Calls", [packages]).splitlines()
        == [
            "installed: fancy-calls 3.1",
            "summary: Calls",
            "`fancy`: Fancy calls.",
            "names of `fancy`: send, connect(host, port=80)",
            "latest changes: ## 3.0",
            "connect() needs a host.",
            "",
        ][:6]
    )
    assert describe_installed_library("absent", [packages]) == ""


def test_damaged_library_is_still_named(packages: Path) -> None:
    (packages / "fancy/__init__.py").write_text("def (", encoding="utf-8")
    (packages / "fancy/CHANGELOG.md").unlink()
    assert describe_installed_library("fancy-calls", [packages]).startswith("installed: fancy-calls 3.1")


def test_files_outside_the_library_are_not_read(packages: Path) -> None:
    (packages.parent / "CHANGELOG").write_text("a secret", encoding="utf-8")
    record = packages / "fancy_calls-3.1.dist-info/RECORD"
    record.write_text("../CHANGELOG,,\n", encoding="utf-8")
    assert "secret" not in describe_installed_library("fancy-calls", [packages])
