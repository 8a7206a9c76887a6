from __future__ import annotations

import pytest

from prd2pr.agents.prompts import read_line_length


@pytest.mark.parametrize(
    ("path", "text", "length"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 120\n[tool.black]\nline-length = 88\n", 120),
        ("pyproject.toml", "[tool.black]\nline-length = 99\n", 99),
        ("ruff.toml", "line-length = 110\n", 110),
        ("setup.cfg", "[flake8]\nmax-line-length = 100\n", 100),
        (".flake8", "[flake8]\nmax-line-length: 90\n", 90),
        ("pyproject.toml", "[project]\nname = 'x'\n", None),
        ("pyproject.toml", "[tool.ruff\nline-length = 120\n", None),
        ("pyproject.toml", "[tool.ruff]\nline-length = 'long'\n", None),
        ("pyproject.toml", "tool = 3\n", None),
        ("setup.cfg", "[flake8]\nmax-line-length = wide\n", None),
        ("tox.ini", "no section\n", None),
        ("README.md", "line-length = 80\n", None),
    ],
)
def test_only_the_projects_own_setting_counts(path: str, text: str, length: int | None) -> None:
    assert read_line_length({path: text}) == length
