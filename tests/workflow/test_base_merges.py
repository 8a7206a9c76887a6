"""A clean merge of the base is distinguished from an edited one, and the test suite has to pass on it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from prd2pr.domain.evidence import Failure, FailureKind, Outcome, RunReport, TestResult
from prd2pr.state.git import Git
from prd2pr.verification.merged_suite import find_merge_breakage
from prd2pr.workflow.commits.base_merges import is_base_merge, list_base_merges


def test_base_merge_is_exactly_the_merge_made_by_git(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        return subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    def commit(name: str) -> None:
        (tmp_path / name).write_text(f"{name}\n")
        git("add", "-A")
        git("commit", "-q", "-m", name)

    git("init", "-q", "-b", "main")
    commit("start")
    git("switch", "-q", "-c", "work")
    commit("built")
    git("switch", "-q", "main")
    commit("went-on")
    git("switch", "-q", "-c", "side")
    commit("elsewhere")
    git("switch", "-q", "work")
    git("merge", "-q", "--no-edit", "main")
    git("tag", "pure")
    git("merge", "-q", "--no-edit", "side")
    git("tag", "of-another")
    git("reset", "-q", "--hard", "pure~1")
    git("merge", "-q", "--no-commit", "--no-ff", "main")
    commit("slipped-in")
    git("tag", "evil")
    with Git.open(tmp_path) as repo:
        main = repo.rev("main")
        found = {name: is_base_merge(repo, repo.commit_info(name), main) for name in ("pure", "of-another", "evil")}
        assert found == {"pure": True, "of-another": False, "evil": False}
        assert not is_base_merge(repo, repo.commit_info("side"), main), "no merge at all"


def test_living_docs_conflicts_may_be_resolved_in_a_base_merge(tmp_path: Path) -> None:
    def git(*words: str, check: bool = True) -> None:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=check, capture_output=True)

    def commit(**files: str) -> None:
        for name, text in files.items():
            (tmp_path / f"{name}.md").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "x")

    git("init", "-q", "-b", "main")
    commit(start="x")
    git("switch", "-q", "-c", "work")
    commit(TRACE="ours\n", ROADMAP="ours\n")
    git("switch", "-q", "main")
    commit(TRACE="theirs\n")
    git("switch", "-q", "work")
    git("merge", "-q", "main", check=False)
    commit(TRACE="both\n")
    git("tag", "settled")
    git("reset", "-q", "--hard", "settled~1")
    git("merge", "-q", "main", check=False)
    commit(TRACE="both\n", start="written into\n")
    git("tag", "evil")
    git("switch", "-q", "main")
    commit(ROADMAP="theirs\n")
    git("switch", "-q", "-C", "work", "settled")
    git("merge", "-q", "main", check=False)
    commit(ROADMAP="both\n")
    git("tag", "other-document")
    docs = frozenset({"TRACE.md"})
    with Git.open(tmp_path) as repo:
        main = repo.rev("main")
        commits = {name: repo.commit_info(name) for name in ("settled", "evil", "other-document")}
        found = {name: is_base_merge(repo, each, main, docs) for name, each in commits.items()}
        assert found == {"settled": True, "evil": False, "other-document": False}
        assert not is_base_merge(repo, commits["settled"], main), "without living docs nothing may be settled by hand"


def test_consecutive_merges_are_checked_together_and_may_not_add_own_state(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    def commit(name: str) -> None:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
        git("add", "-A")
        git("commit", "-q", "-m", name)

    def take_in(name: str) -> None:
        """Add a file to the base and merge it."""
        git("switch", "-q", "main")
        commit(name)
        git("switch", "-q", "work")
        git("merge", "-q", "--no-edit", "main")
        git("tag", name.rpartition("/")[2])

    git("init", "-q", "-b", "main")
    commit("start")
    git("switch", "-q", "-c", "work")
    commit(".orch-state/prds/calc/status.json")
    take_in("one")
    commit(".orch-state/prds/calc/note.json")
    take_in(".orch-state/prds/other/two")
    commit("by-hand")
    take_in("three")
    take_in(".orch-state/prds/calc/four")
    with Git.open(tmp_path) as repo:
        main = repo.rev("main")
        found = {}
        for name in ("one", "two", "three", "four"):
            found[name] = [repo.rev(merge.sha) for merge in list_base_merges(repo, repo.commit_info(name), main)]
        one, two, three = (repo.rev(name) for name in ("one", "two", "three"))
    assert found == {"one": [one], "two": [one, two], "three": [three], "four": []}


def run_report(problems: tuple[str, ...] = (), errors: tuple[Failure, ...] = (), **outcomes: Outcome) -> RunReport:
    results = tuple(TestResult(id=name, outcome=outcome) for name, outcome in outcomes.items())
    return RunReport(code_tree="", command=(), tools={}, results=results, problems=problems, collect_errors=errors)


def test_tests_that_passed_on_either_side_must_pass_on_the_merge() -> None:
    ours, theirs = run_report(a="passed", gone="passed", bad="failed"), run_report(a="passed", b="passed", bad="failed")
    assert find_merge_breakage((ours, theirs), run_report(a="passed", b="passed", bad="failed")) == ()
    assert find_merge_breakage((ours, theirs), run_report(a="passed", b="failed")) == ("b failed",)
    assert find_merge_breakage((ours, theirs), run_report(a="skipped", b="passed")) == ("a skipped",)
    assert find_merge_breakage((ours, theirs), run_report(("no canary",), a="passed")) == ("no canary",)
    lost = Failure(kind=FailureKind.COLLECTION, stage="collect", path="tests/test_a.py")
    assert find_merge_breakage((ours,), run_report(errors=(lost,), b="passed")) == (
        "tests/test_a.py cannot be collected",
    )
    red = run_report(errors=(lost,))  # as after RED: it imports code that does not exist yet
    assert find_merge_breakage((red, ours), run_report(errors=(lost,), a="passed", b="passed")) == ()
    held = run_report(**{"tests/test_a.py::test_a": "passed"})
    assert find_merge_breakage((red, held), run_report(errors=(lost,), b="passed")) == (
        "tests/test_a.py cannot be collected",
    )
    assert find_merge_breakage((ours,), run_report()) == ("no test was collected",)
