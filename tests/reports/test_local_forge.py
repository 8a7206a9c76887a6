from __future__ import annotations

import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from prd2pr.errors import SetupProblem, UsageProblem
from prd2pr.reports.forge import Forge, PullRequest
from prd2pr.reports.local_forge import LocalForge

PULL = PullRequest(
    title="Loyalty points", body="**3 of 5**\n", head="prd2pr/loyalty", base="main", page="<!doctype html>"
)


def test_writes_the_page_and_the_body(tmp_path: Path) -> None:
    forge: Forge = LocalForge(tmp_path / "prd2pr")
    assert forge.publish(PULL) == str(tmp_path / "prd2pr/pr/loyalty.html")
    assert (tmp_path / "prd2pr/pr/loyalty.html").read_text() == "<!doctype html>"
    assert (tmp_path / "prd2pr/pr/loyalty.md").read_text() == "**3 of 5**\n"


def test_without_a_page_the_body_path_is_reported(tmp_path: Path) -> None:
    assert LocalForge(tmp_path).publish(replace(PULL, page="")) == str(tmp_path / "pr/loyalty.md")


def test_publishing_twice_changes_nothing(tmp_path: Path) -> None:
    forge = LocalForge(tmp_path)
    page = Path(forge.publish(PULL))
    before = page.stat()
    assert forge.publish(PULL) == str(page)
    after = page.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_an_update_replaces_the_page(tmp_path: Path) -> None:
    forge = LocalForge(tmp_path)
    forge.publish(PULL)
    page = Path(forge.publish(replace(PULL, page="<!doctype html><p>more")))
    assert page.read_text() == "<!doctype html><p>more"


def test_leftovers_of_a_killed_run_are_harmless(tmp_path: Path) -> None:
    (tmp_path / "pr").mkdir()
    (tmp_path / "pr/.loyalty.html.unfinished").write_text("half a pa")
    LocalForge(tmp_path).publish(PULL)
    assert sorted(path.name for path in (tmp_path / "pr").iterdir()) == ["loyalty.html", "loyalty.md"]


def test_a_full_disk_leaves_the_old_page(tmp_path: Path) -> None:
    """A file size limit simulates a full disk: the write fails midway."""
    forge = LocalForge(tmp_path)
    page = Path(forge.publish(PULL))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(SetupProblem) as caught:
            forge.publish(replace(PULL, page="x" * 5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert page.read_text() == "<!doctype html>"
    assert "same command" in caught.value.remedy


@pytest.mark.parametrize("head", ["prd2pr/..", "prd2pr/", "prd2pr/.hidden", "prd2pr/a\nb", ""])
def test_branch_that_is_no_valid_file_name_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(UsageProblem):
        LocalForge(tmp_path).publish(replace(PULL, head=head))
    assert list(tmp_path.iterdir()) == []


def test_lone_surrogates_are_written_as_question_marks(tmp_path: Path) -> None:
    page = Path(LocalForge(tmp_path).publish(replace(PULL, page="caf\udce9")))
    assert page.read_text(encoding="utf-8") == "caf?"
