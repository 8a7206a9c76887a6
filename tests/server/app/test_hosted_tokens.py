"""The repositories of the App's installations, read with tokens that permit nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from fakes.github import FakeGitHub, serve
from fakes.github.jwt import new_key_pair
from prd2pr.errors import HubProblem
from prd2pr.github.setup.app_permissions import READ_ACCESS, get_requested_permissions
from prd2pr.server.projection.mirrors import update_mirror
from prd2pr.server.projection.repositories import HostedRepositories
from prd2pr.server.settings import ServerSettings
from prd2pr.state.git import Git

WHO = ("Ada", "ada@example.com", "2026-01-01T00:00:00Z")


def test_each_is_listed_and_can_be_read_with_its_own_token(tmp_path: Path) -> None:
    fake = FakeGitHub(tmp_path / "github")
    private, public = new_key_pair()
    for name in ("octo/calc", "octo/shop"):
        bare = fake.bare(fake.add_repository(name))
        tree = bare.write_tree(None, [("README.md", "100644", bare.write_blob(name.encode()))])
        bare.git("update-ref", "refs/heads/main", bare.write_commit(tree, [], "x\n", WHO, WHO))
    app = fake.add_app("builder", "octo", public)
    fake.install(app, ["octo/calc", "octo/shop"], get_requested_permissions())
    with serve(fake) as url:
        settings = ServerSettings(
            app_id=str(app.id), app_private_key=SecretStr(private), github_api_url=url, github_url=url
        )
        with HostedRepositories(settings) as hosted:
            found = {each.name: each for each in hosted()}
            assert list(found) == ["octo/calc", "octo/shop"] and found["octo/calc"].default_branch == "main"
            token = fake.state.tokens[found["octo/calc"].token()]
            assert (token.repositories, token.permissions) == (["octo/calc"], dict(READ_ACCESS))
            with Git.open(update_mirror(found["octo/shop"], tmp_path / "mirrors")) as git:
                assert git.read("main", "README.md") == b"octo/shop"
            fake.state.installations.clear()
            assert hosted() == ()
            fake.state.apps.clear()
            with pytest.raises(HubProblem):
                hosted()
    assert fake.violations == []
