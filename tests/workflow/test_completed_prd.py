"""A complete PRD leaves its records to the history; people and later PRDs go on from it as from any other branch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_two_prds_merged import built, prd_text

from branch_stage import stage_of
from prd2pr.memory.index import MemoryIndex
from prd2pr.server.disk_reader import DiskReader
from prd2pr.state.git import Git
from world import COMPLETION, PLAN, PRD, World, designed, say, submit, write

CALC = "prd2pr/calc"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> World:
    made = World(tmp_path_factory.mktemp("finished")).start()
    assert made.run().status == 0
    assert made.subjects()[-1] == COMPLETION
    return made


REBASE = ("rebase",)


def clone(world: World, root: Path, *options: str) -> World:
    """A clone with only what the branches of the repository contain."""
    made = World(root, world.answers)
    made.root.mkdir()
    world.git("clone", "-q", "--no-local", *options, str(world.repo), str(made.repo))
    return made


def merge_and_forget(finished: World, root: Path, *how: str, archived: bool = True) -> World:
    """A clone of a repository in which the branch was merged and deleted."""
    merged = clone(finished, root / "merged")
    if archived:
        merged.git("fetch", "-q", "origin", "refs/prd2pr/archive/*:refs/prd2pr/archive/*")
    if how != REBASE:
        merged.git("merge", "-q", *how, f"origin/{CALC}")
    if "--squash" in how:
        merged.commit("A small calculator (#1)")
    if how == REBASE:
        merged.git("commit", "-q", "--allow-empty", "-m", "Work of others")
        merged.git("cherry-pick", "--keep-redundant-commits", f"main~1..origin/{CALC}")
    merged.git("update-ref", "-d", f"refs/remotes/origin/{CALC}")
    return clone(merged, root / "clone")


def build_triples(world: World) -> None:
    world.answers = built("triples", "triple", "a * 3", of_six=18)
    world.write({"prds/triples.md": prd_text("triples", "A number can be tripled."), ".prd2pr.yml": "profile: quick\n"})
    world.commit("Another PRD")
    done = world.program("run", "prds/triples.md", "--model", f"replay:{world.transcript()}")
    assert done.status == 0, done.out + done.err


HOW = {"squash": ("--squash",), "merge": ("--no-ff", "--no-edit"), "rebase": REBASE}
SLOW = [pytest.param(how, marks=pytest.mark.slow) for how in ("merge", "rebase")]


@pytest.mark.parametrize("how", ["squash", *SLOW])
def test_next_prd_keeps_the_rows_of_a_merged_one(finished: World, tmp_path: Path, how: str) -> None:
    """Also if a squash left the records of the first PRD behind: they are fetched from the archive."""
    here = merge_and_forget(finished, tmp_path, *HOW[how])
    for name in ("TRACE", "CHANGELOG"):
        assert here.show(f"docs/{name}.md", "main") == finished.show(f"docs/{name}.md")
    assert here.program("docs", "--check").out == "Current: 7 of 7 documents.\n"
    build_triples(here)
    for name in ("TRACE", "CHANGELOG"):
        before, after = (here.show(f"docs/{name}.md", rev).splitlines() for rev in ("main", "prd2pr/triples"))
        assert set(before) < set(after), name
    fresh = clone(here, tmp_path / "fresh")
    fresh.git("branch", "-q", "prd2pr/triples", "origin/prd2pr/triples")
    fresh.git("fetch", "-q", str(finished.repo), "refs/prd2pr/archive/*:refs/prd2pr/archive/*")
    verified = fresh.verify("prd2pr/triples", "--json")
    assert verified.status == 0, verified.out
    assert verified.json["total"]["steps"] == 6


def test_next_prd_leaves_the_documents_if_records_are_missing(finished: World, tmp_path: Path) -> None:
    """No document loses what it says about the first PRD, and the steps are proved, also where the records are."""
    here = merge_and_forget(finished, tmp_path, "--squash", archived=False)
    checked = here.program("docs", "--check")
    assert checked.status == 1
    assert "git fetch origin 'refs/prd2pr/archive/*:refs/prd2pr/archive/*'" in checked.out
    before = here.git("rev-parse", "main:docs")
    build_triples(here)
    assert here.git("rev-parse", "prd2pr/triples:docs") == before
    assert here.verify("prd2pr/triples", "--json").json["all_proved"]
    here.git("fetch", "-q", str(finished.repo), "refs/prd2pr/archive/*:refs/prd2pr/archive/*")
    assert here.verify("prd2pr/triples", "--json").json["all_proved"]
    here.git("switch", "-q", "prd2pr/triples")
    assert here.program("docs", "--write").status == 0
    written = (here.repo / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "(`calc-2`)" in written
    assert "(`triples-1`)" in written


def test_changed_documents_are_not_judged_without_the_records(finished: World, tmp_path: Path) -> None:
    here = merge_and_forget(finished, tmp_path, "--squash")
    build_triples(here)
    lost = World(tmp_path / "lost")
    lost.root.mkdir()
    here.git("clone", "-q", "--no-local", str(here.repo), str(lost.repo))
    lost.git("branch", "-q", "prd2pr/triples", "origin/prd2pr/triples")
    lost.git("remote", "remove", "origin")
    lost.git("gc", "-q", "--prune=now")
    verified = lost.verify("prd2pr/triples")
    assert verified.status == 2, verified.out + verified.err
    assert "git fetch origin 'refs/prd2pr/archive/*:refs/prd2pr/archive/*'" in verified.err


def test_verbs_name_the_command_that_fetches_missing_records(finished: World, tmp_path: Path) -> None:
    here = merge_and_forget(finished, tmp_path, "--squash", archived=False)
    remedy = "git fetch origin 'refs/prd2pr/archive/*:refs/prd2pr/archive/*'"
    for arguments in (("logs", "calc"), ("evidence", "calc/calc-1/3")):
        missing = here.program(*arguments)
        assert missing.status == 1, arguments
        assert remedy in missing.err, arguments
    for arguments in (("query", "trace", "FR-1"), ("query", "--sql", "SELECT * FROM cycles")):
        missing = here.program(*arguments)
        assert missing.status == 0, arguments
        assert remedy in missing.err, arguments
    remembered = here.program("query", "--sql", "SELECT story FROM estimates ORDER BY story", "--json").json["rows"]
    assert remembered == [["calc-1"], ["calc-2"]], "memory is in the tree"


def test_verbs_read_a_squashed_prd(finished: World, tmp_path: Path) -> None:
    here = merge_and_forget(finished, tmp_path, "--squash")
    traced = here.program("query", "trace", "FR-1", "--json")
    assert traced.status == 0, traced.err
    assert [row["verdict"] for row in traced.json["rows"]] == ["proven"]
    assert "calc-2 integrated passed" in here.program("logs", "calc").out
    assert here.program("evidence", "calc-1/3").out == finished.program("evidence", "calc-1/3").out
    assert here.program("query", "--sql", "SELECT count(*) FROM cycles", "--json").json["rows"] == [[2]]


def test_verbs_read_a_complete_branch(finished: World, tmp_path: Path) -> None:
    here = clone(finished, tmp_path / "clone")
    here.git("branch", "-q", CALC, f"origin/{CALC}")
    assert "2 of 2 stories integrated" in here.program("status", "calc").out
    assert here.verify(CALC, "--json").json["all_proved"]


@pytest.mark.parametrize(
    ("step", "phase", "verdict"),
    [("calc-1/3", "green", "accepted"), ("calc/calc-2/2", "red", "accepted"), ("plan/1", "plan", "accepted")],
)
def test_evidence_of_a_packed_prd(finished: World, step: str, phase: str, verdict: str) -> None:
    shown = finished.program("evidence", step)
    assert shown.status == 0, shown.err
    assert len(shown.out.splitlines()) <= 40
    summary = json.loads(shown.out)
    assert (summary["phase"], summary["verdict"]) == (phase, verdict)
    whole = finished.program("evidence", step, "--json").json
    assert whole["evidence"]["phase"] == phase
    assert whole["evidence"]["head_tree"] == summary["head_tree"]


@pytest.mark.parametrize("step", ["calc-9/1", "calc-1/99", "plan/9", "other/calc-1/1"])
def test_evidence_of_an_unknown_step_is_refused(finished: World, step: str) -> None:
    refused = finished.program("evidence", step)
    assert refused.status == 2
    assert refused.out == ""


@pytest.mark.parametrize("step", ["calc-1", "calc-1/x", "a/b/c/1", "/1", "../../x/1", "", "calc-1/" + "9" * 5000])
def test_text_that_is_no_step_is_refused(finished: World, step: str) -> None:
    assert finished.program("evidence", step).status == 2


def test_summaries_have_at_most_40_lines(finished: World) -> None:
    shas = finished.git("log", "--format=%H", f"main..{CALC}").split()
    seen = 0
    for sha in shas:
        for path in finished.git("ls-tree", "-r", "--name-only", sha, ".orch-state").splitlines():
            if path.endswith("summary.json") or ("/tdd/evidence/" in path and path.endswith(".json")):
                seen += 1
                assert finished.git("show", f"{sha}:{path}").count("\n") < 40, path
    assert seen > len(shas)


def test_memory_reads_packed_records(finished: World) -> None:
    with Git.open(finished.repo) as git, MemoryIndex.open(git, CALC, code=False) as index:
        assert index.rows("SELECT count(*) FROM cycles") == [(2,)]


def test_dashboard_shows_a_squashed_prd(finished: World, tmp_path: Path) -> None:
    here = merge_and_forget(finished, tmp_path, "--squash")
    with DiskReader({"octo/calc": finished.repo}) as reader:
        before = reader.story("octo/calc", "calc-1")
    with DiskReader({"octo/calc": here.repo}) as reader:
        board, story = reader.project("octo/calc"), reader.story("octo/calc", "calc-1")
    assert before is not None
    assert "killed" in before.bite
    assert story is not None
    assert (story.bite, story.tests) == (before.bite, before.tests)
    assert board is not None
    assert [(prd.id, prd.stories, prd.proven) for prd in board.project.prds] == [("calc", 2, 2)]
    assert story.outcome == "done"


@pytest.mark.parametrize("archived", [True, False])
def test_shallow_clone(finished: World, tmp_path: Path, archived: bool) -> None:
    """The records are in the commit before, which a clone with one commit fetches from the archive."""
    merged = merge_and_forget(finished, tmp_path, "--squash", archived=archived)
    here = World(tmp_path / "shallow")
    here.root.mkdir()
    merged.git("clone", "-q", "--depth", "1", f"file://{tmp_path}/merged/repo", str(here.repo))
    assert (here.program("docs", "--check").status == 0) is archived
    shown = here.program("evidence", "calc-1/3")
    assert (shown.status == 0) is archived, shown.err
    assert ("git fetch --unshallow" in shown.err) is not archived


# --- work after the completion ----------------------------------------------------------------------------------------


def on_branch(finished: World, root: Path) -> World:
    here = clone(finished, root)
    here.git("branch", "-q", CALC, f"origin/{CALC}")
    return here


@pytest.mark.parametrize(
    ("command", "after"), [('/request_changes "Also subtract"', "BACKLOG_READY"), ("/feedback fine", "IDLE")]
)
def test_decision_after_the_completion(finished: World, tmp_path: Path, command: str, after: str) -> None:
    here = on_branch(finished, tmp_path / "clone")
    with stage_of(here) as stage:
        before = stage.head
        assert stage.state.is_complete
        stage.give(command)
        assert (stage.state.status.state, stage.state.is_complete) == (after, False)
        assert stage.state.backlog.stories[:2] == stage.session.store.load(before).backlog.stories
        assert here.verify(f"{before}..{stage.head}", "--json").json["all_proved"]


@pytest.mark.parametrize("command", ["/tdd undo calc-2", "/tdd start calc-1", "/tdd abort calc-1", "/skip_task calc-1"])
def test_refused_command_leaves_the_records_packed(finished: World, tmp_path: Path, command: str) -> None:
    with stage_of(on_branch(finished, tmp_path / "clone")) as stage:
        before = stage.head
        stage.give(command)
        assert stage.head == before


SUBTRACT = {
    **PLAN["stories"][0], "key": "S1", "epic": "", "title": "Subtract", "requirements": ["FR-3"],
    "interface": "subtract(a, b)", "criteria": [{"text": "3 minus 1 is 2", "example": "subtract(3, 1) == 2"}],
}  # fmt: skip
RED_SUBTRACT = '''from calc.sums import subtract


def test_subtracts():
    """calc-3.c1"""
    assert subtract(3, 1) == 2
    assert subtract(1, 5) == -4
'''


@pytest.mark.slow
def test_changed_prd_is_completed_again(finished: World, tmp_path: Path) -> None:
    here = on_branch(finished, tmp_path / "clone")
    code = finished.show("src/calc/sums.py")
    here.answers = {
        "calc/plan-2/planner/1/1": say({"epics": [], "stories": [SUBTRACT], "questions": [], "assumptions": []}),
        "calc-3/design/architect/1/1": designed("calc.sums.subtract"),
        "calc-3/red/tester/1/1": write("tests/tdd/calc-3/test_calc_3_subtract.py", RED_SUBTRACT),
        "calc-3/green/builder/1/1": write("src/calc/sums.py", f"{code}\n\n\ndef subtract(a, b):\n    return a - b\n"),
        "calc-3/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }
    here.write({"prds/calc.md": f"{PRD}- **FR-3** A number can be subtracted.\n"})
    done = here.run()
    assert done.status == 0, done.out + done.err
    assert [number for number, subject in enumerate(here.subjects()) if subject == COMPLETION] == [9, 17]
    verified = here.verify(CALC, "--json")
    assert verified.json["all_proved"]
    assert verified.json["total"]["steps"] == 18
    assert here.program("evidence", "calc-1/3").out == finished.program("evidence", "calc-1/3").out


@pytest.mark.slow
def test_killed_before_the_completion_completes_in_the_next_run(finished: World, tmp_path: Path) -> None:
    here = on_branch(finished, tmp_path / "clone")
    here.git("update-ref", f"refs/heads/{CALC}", f"{CALC}^")
    for _ in range(2):
        assert here.run().status == 0
        assert here.subjects() == finished.subjects()
    assert here.verify(CALC, "--json").json["all_proved"]


@pytest.mark.slow
def test_squash_in_the_middle_of_a_story(finished: World, tmp_path: Path) -> None:
    """The next branch goes on from the story's last step, whose evidence is in the tree."""
    merged = clone(finished, tmp_path / "merged")
    merged.git("merge", "-q", "--squash", merged.git("log", "--format=%H", "--grep", "green(calc-2)", f"origin/{CALC}"))
    merged.commit("A part (#1)")
    merged.git("update-ref", "-d", f"refs/remotes/origin/{CALC}")
    here = clone(merged, tmp_path / "clone")
    done = here.run()
    assert done.status == 0, done.out + done.err
    assert here.subjects() == ["integrated(calc-2): Double a number", COMPLETION]
    assert here.verify(CALC, "--json").json["all_proved"]
    assert here.show("docs/TRACE.md") == finished.show("docs/TRACE.md")


def test_review_at_the_terminal_leaves_the_records_packed(finished: World, tmp_path: Path) -> None:
    here = on_branch(finished, tmp_path / "clone")
    done = here.program("command", "/feedback", "fine", "--prd", "calc")
    assert done.status == 0, done.err
    assert here.subjects()[-2:] == ["note(plan): /feedback by Ada: fine", COMPLETION]
    assert here.verify(CALC, "--json").json["all_proved"]
