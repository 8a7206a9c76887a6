"""What GitHub receives: refs, and the authors of commits."""

from __future__ import annotations

from github_world import GitHubWorld
from world import PRD

FORMAT = "--format=%an <%ae>|%cn|%(trailers:key=Assisted-by,valueonly,separator=%x2C)"


def test_commits_are_the_accounts_own(tmp_path):
    with GitHubWorld(tmp_path) as world:
        world.push_prd("prds/calc.md", PRD)
        assert world.act().status == 0
        address = "41898282+github-actions[bot]@users.noreply.127.0.0.1"  # on github.com: users.noreply.github.com
        line = f"github-actions[bot] <{address}>|github-actions[bot]|replay"
        assert world.bare.git("log", "-1", FORMAT, world.branch) == line
