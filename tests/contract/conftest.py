"""GitHub's description, prepared once; if it cannot be fetched, the tests that need it are skipped with a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.graphql_schema import GraphqlContract
from contract.graphql_schema import prepare as prepare_graphql
from contract.openapi import Contract, Unavailable, prepare, skip_loudly
from contract.tour import fake_with_branch
from fakes.github import FakeGitHub
from fakes.github.handler import ROUTES


@pytest.fixture(scope="session")
def contract() -> Contract:
    try:
        return prepare([f"{route.method} {route.template}" for route in ROUTES])
    except Unavailable as reason:
        skip_loudly(f"GitHub's OpenAPI description is not here, so the fake is NOT checked against it: {reason}")


@pytest.fixture(scope="session")
def graphql() -> GraphqlContract:
    try:
        return prepare_graphql()
    except Unavailable as reason:
        skip_loudly(f"GitHub's GraphQL schema is not here, so the fake is NOT checked against it: {reason}")


@pytest.fixture
def fake(tmp_path: Path) -> FakeGitHub:
    return fake_with_branch(tmp_path / "github")
