"""The program as it runs on GitHub: each of its calls is described by GitHub."""

from __future__ import annotations

from pathlib import Path

from contract.graphql_schema import GraphqlContract
from contract.openapi import Contract
from github_world import GitHubWorld
from world import PRD


def test_a_pushed_prd_becomes_a_plan_with_described_calls_only(
    contract: Contract, graphql: GraphqlContract, tmp_path: Path
) -> None:
    with GitHubWorld(tmp_path) as world:
        world.push_prd("prds/calc.md", PRD, by="ada")
        acted = world.act()
        assert acted.status == 0, acted.output
        assert world.pull().pull is not None
        assert world.fake.violations == []
        assert contract.problems(world.fake.exchanges) == []
        assert graphql.problems(world.fake.exchanges) == []
