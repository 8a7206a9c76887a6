"""A finished branch is merged on GitHub in each of the three ways, and the result is proved from a fresh clone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fakes.github import FakeGitHub
from fakes.github.bare import Bare
from fakes.github.on_pulls import MergeMethod, merge_pull, open_pull
from world import World

NAME, NUMBER = "octo/calc", 1
SOURCE = "src/calc/sums.py"


class Hub:
    """A repository on the fake GitHub with the finished branch and its pull request."""

    def __init__(self, root: Path, finished: World) -> None:
        self.root = root
        self.fake = FakeGitHub(root / "github")
        self.repo = self.fake.add_repository(NAME, {"ada": "admin"})
        self.bare: Bare = self.fake.bare(self.repo)
        finished.git("push", "-q", str(self.bare.path), "main", finished.branch)
        self.head = finished.git("rev-parse", finished.branch)
        self.line = f"Tdd-Archive: calc/{NUMBER} {self.head}"
        row = open_pull(self.fake, self.repo, "ada", "A small calculator", "", finished.branch, "main")
        assert row.number == NUMBER

    def archive(self) -> None:
        self.bare.git("update-ref", f"refs/prd2pr/archive/calc/{NUMBER}", self.head)

    def lose_pull(self) -> None:
        """A repository that was moved to another host has no refs of pull requests."""
        self.bare.delete(f"refs/pull/{NUMBER}/head")

    def commit(self, files: dict[str, str], message: str = "Meanwhile") -> str:
        """A commit of a person on main."""
        return self._write(files, [self.bare.heads()["main"]], message)

    def tamper(self, files: dict[str, str]) -> str:
        """Change files in the last commit of main, which keeps its message."""
        facts = self.bare.commit(self.bare.heads()["main"])
        return self._write(files, list(facts.parents), facts.message)

    def _write(self, files: dict[str, str], parents: list[str], message: str) -> str:
        old = self.bare.heads()["main"]
        entries = [(path, "100644", self.bare.write_blob(text.encode())) for path, text in files.items()]
        who = ("ada", "ada@example.org", "2026-01-04T00:00:00Z")
        made = self.bare.write_commit(self.bare.write_tree(old, entries), parents, f"{message}\n", who, who)
        self.bare.move("refs/heads/main", made, old)
        return made

    def merge(self, method: MergeMethod, message: str = "") -> str:
        with self.fake.lock:
            made = merge_pull(self.fake, self.repo, NUMBER, "ada", method=method, message=message)
        self.bare.delete("refs/heads/prd2pr/calc")
        return made

    def clone(self) -> World:
        here = World(self.root / "clone")
        here.root.mkdir()
        self.bare.git("clone", "-q", "--no-local", str(self.bare.path), str(here.repo))
        return here


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("finished")).start()
    assert world.run().status == 0
    return world


@pytest.fixture
def hub(finished: World, tmp_path: Path) -> Hub:
    return Hub(tmp_path, finished)


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
def test_each_method_keeps_the_proof(hub: Hub, method: MergeMethod) -> None:
    made = hub.merge(method)
    shown = hub.clone().verify("--pr", str(NUMBER), "--json")
    assert shown.status == 0, shown.out + shown.err
    merge = shown.json["merge"]
    assert merge["commit"] == made
    assert merge["method"].startswith(method)
    assert (merge["head"], merge["proved"], merge["base_moved"]) == (hub.head, True, False)
    assert shown.json["total"]["proved"] == shown.json["total"]["commits"] > 6


@pytest.mark.parametrize("method", ["squash", "rebase", "merge"])
def test_code_that_was_changed_while_merging_is_refused(hub: Hub, method: MergeMethod) -> None:
    hub.merge(method)
    made = hub.tamper(
        {SOURCE: "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return 2 * a\n\n\nBACKDOOR = 1\n"}
    )
    shown = hub.clone().verify("--pr", str(NUMBER))
    assert shown.status == 1, shown.out + shown.err
    assert f"REFUTED     {made[:10]}" in shown.out
    assert f"VER301 {SOURCE}" in shown.out
    assert "the merge is NOT proved" in shown.out


@pytest.mark.parametrize("method", ["squash", "rebase"])
def test_a_base_that_moved_is_covered_by_the_whole_suite(hub: Hub, method: MergeMethod) -> None:
    hub.commit({"src/calc/names.py": "NAME = 'calc'\n"})
    hub.merge(method)
    shown = hub.clone().verify("--pr", str(NUMBER))
    assert shown.status == 0, shown.out + shown.err
    assert "the base had moved" in shown.out
    assert "not on this combination" in shown.out
    assert "the whole suite was run on the merged tree" in shown.out


def test_a_test_that_fails_only_after_the_merge_is_found(hub: Hub) -> None:
    text = "import importlib.util\n\n\ndef test_no_sums():\n    assert importlib.util.find_spec('calc.sums') is None\n"
    hub.commit({"tests/test_no_sums.py": text})
    hub.merge("squash")
    shown = hub.clone().verify("--pr", str(NUMBER))
    assert shown.status == 1, shown.out + shown.err
    assert "VER302: tests/test_no_sums.py::test_no_sums failed" in shown.out


def test_the_merged_commit_names_the_archive(hub: Hub) -> None:
    hub.archive()
    hub.lose_pull()
    made = hub.merge("squash", f"A small calculator\n\n`{hub.line}`\n\nCo-authored-by: Max <max@example.org>\n")
    hub.commit({"README.md": "# Calc\n"})
    here = hub.clone()
    for name in (made, "main"):
        shown = here.verify(name, "--json")
        assert shown.status == 0, shown.out + shown.err
        assert shown.json["merge"]["commit"] == made
    assert shown.json["all_proved"]


def test_a_squash_without_the_line_is_found_by_its_number(hub: Hub) -> None:
    made = hub.merge("squash")
    shown = hub.clone().verify("main")
    assert shown.status == 0, shown.out + shown.err
    assert f"proved      {made[:10]}  squash of {hub.head[:10]}" in shown.out


def test_a_lost_archive_is_no_verdict(hub: Hub) -> None:
    hub.lose_pull()
    hub.merge("squash", f"A small calculator\n\n{hub.line}\n")
    shown = hub.clone().verify("main")
    assert shown.status == 2, shown.out + shown.err
    assert f"git fetch origin refs/prd2pr/archive/calc/{NUMBER}" in shown.err


def test_a_local_squash_is_proved_from_the_local_archive(finished: World, tmp_path: Path) -> None:
    shutil.copytree(finished.root, tmp_path / "copy", symlinks=True)
    here = World(tmp_path / "copy")
    head = here.git("rev-parse", here.branch)
    assert here.git("rev-parse", "refs/prd2pr/archive/calc/local") == head
    line = f"Tdd-Archive: calc/local {head}"
    assert line in (here.repo / ".git/prd2pr/pr/calc.html").read_text(encoding="utf-8")
    here.git("merge", "-q", "--squash", here.branch)
    here.git("commit", "-qm", f"A small calculator\n\n{line}")
    here.git("branch", "-q", "-D", here.branch)
    shown = here.verify("main")
    assert shown.status == 0, shown.out + shown.err
    assert "the merge is proved" in shown.out


def test_the_merged_tree_is_attested(hub: Hub, tmp_path: Path) -> None:
    made = hub.merge("squash")
    here = hub.clone()
    assert here.verify("--pr", str(NUMBER), "--attest", str(tmp_path / "made")).status == 0
    path = tmp_path / "made" / f"merge-{made[:10]}.intoto.json"
    statement = json.loads(path.read_text(encoding="utf-8"))
    assert statement["subject"][0]["digest"] == {"gitCommit": made}
    assert here.verify("--pr", str(NUMBER), "--statements", str(tmp_path / "made")).status == 0
    statement["subject"][1]["digest"]["gitTree"] = "0" * 40
    path.write_text(json.dumps(statement), encoding="utf-8")
    shown = here.verify("--pr", str(NUMBER), "--statements", str(tmp_path / "made"))
    assert shown.status == 1
    assert "VER201" in shown.out


def test_an_open_pull_request_is_proved_without_a_merge(hub: Hub) -> None:
    shown = hub.clone().verify("--pr", str(NUMBER))
    assert shown.status == 0, shown.out + shown.err
    assert "is not merged here" in shown.out
