"""Story branches merged into the PRD's branch: what is proved about a merge; every forged one is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from parallel_world import STEP, breaking_answers, start_parallel_world
from prd2pr.domain.evidence import RunReport, TestResult
from prd2pr.proof.undone_steps import CannotUndo, UndoPlan, plan_undo
from prd2pr.proof.verify import Verifier, count_intact_commits
from prd2pr.reports.pull_request import add_patches, read_step_commits
from prd2pr.state.commit_message import JoinRef
from prd2pr.state.git import Git
from prd2pr.verification.commit_check import CommitCheck, all_proved
from prd2pr.verification.merged_suite import find_tests_lost_by_join
from prd2pr.workflow.commits.hand_edits import find_hand_edit
from prd2pr.workflow.interfaces import BranchWriter
from prd2pr.workflow.merges import Join, NotJoinable, commit_join, find_join, is_exact_join, plan_join
from prd2pr.workflow.parallel.merge_queue import IntegrationBase, StoryIntegration
from prd2pr.workflow.parallel.story_branches import (
    finish_left_over_stories,
    integrate_story,
    list_story_branches,
    work_on_story,
)
from prd2pr.workflow.parallel.story_session import make_story_session
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.session import Session
from world import World
from world_session import session_of

BACKLOG = ".orch-state/prds/calc/backlog.json"


@dataclass(frozen=True)
class Joined:
    """Three stories from one plan: the first integrated directly, the second merged, the third ready on its branch."""

    world: World
    session: Session
    plan: str
    first: str  # the PRD's head with calc-1
    second: str  # the last step of calc-2 on its branch
    join: str
    head: str  # with calc-2 integrated
    third: str  # the last step of calc-3 on its branch

    @property
    def git(self) -> Git:
        return self.session.git

    def verified(self, head: str) -> list[CommitCheck]:
        gathering = self.session.services.gathering
        verifier = Verifier(self.git, gathering, self.session.constraints.gate_policy, lambda _: None)
        return verifier.verify(self.git.rev("main"), head)

    def forged(self, tree: str = "", parents: tuple[str, ...] = (), like: str = "") -> str:
        info = self.git.commit_info(like or self.join)
        message = f"{info.subject}\n\n{info.body}"
        return self.git.commit(tree or self.git.tree(info.sha), parents or info.parents, message, info.at)

    def refused(self, forged: str) -> str:
        """The findings about a forged merge, which must not be proved."""
        (found,) = (each for each in self.verified(forged) if each.commit == forged)
        assert found.join
        assert found.mark == "REFUTED"
        assert not found.proved
        assert [each.code for each in found.errors] == ["VER109"]
        return found.errors[0].message

    def has_other_content(self, forged: str) -> bool:
        """Whether a forged merge is refused since it is not what git makes of its parents."""
        return "differs from the merge of its parents" in self.refused(forged)

    def has_foreign_step(self, forged: str) -> bool:
        """Whether a forged merge is refused since a commit on the story's branch is not a step of the story."""
        found = find_join(self.git, self.git.commit_info(forged))
        return isinstance(found, NotJoinable) and found.foreign and found.reason in self.refused(forged)

    def with_step(self, tip: str, files: dict[str, bytes]) -> str:
        """An additional commit on a story's branch, without a step."""
        return self.git.commit(self.git.edit_tree(self.git.tree(tip), files), [tip], "by hand")


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    world = start_parallel_world(tmp_path_factory.mktemp("joins"))
    with session_of(world) as session:
        git = session.git
        plan = run_prd(session, 1).head
        done = [work_on_story(session, f"calc-{n}") for n in (1, 2, 3)]
        assert [each.ready for each in done] == [True, True, True], done
        first, second = (integrate_story(session, each.story, each.session) for each in done[:2])
        assert (first.outcome, first.joined, second.outcome, second.joined) == ("integrated", False, "integrated", True)
        join = git.commit_info(second.head).parents[0]
        assert list_story_branches(session) == ("calc-3",), "what is in has no branch any more"
        yield Joined(world, session, plan, first.head, done[1].head, join, second.head, done[2].head)


# --- valid merges -----------------------------------------------------------------------------------------------------


def test_merge_and_its_steps_are_proved_from_the_commits_alone(joined: Joined) -> None:
    found = joined.verified(joined.head)
    assert all_proved(found)
    assert [each.step.rpartition("calc/")[2] or "join" for each in found] == [
        *("plan/1", "calc-1/1", "calc-1/2", "calc-1/3", "calc-1/4", "calc-1/5"),
        *("calc-2/1", "calc-2/2", "calc-2/3", "calc-2/4", "join", "calc-2/5"),
    ]
    assert joined.git.commit_info(joined.join).parents == (joined.first, joined.second)


def test_repeated_merge_is_the_same_commit(joined: Joined) -> None:
    join = plan_join(joined.git, JoinRef("calc", "calc-2"), joined.first, joined.second)
    assert isinstance(join, Join)
    assert commit_join(joined.git, join) == joined.join


def test_merge_is_not_a_human_commit(joined: Joined) -> None:
    git, main = joined.git, joined.git.rev("main")
    assert is_exact_join(git, git.commit_info(joined.join))
    assert find_hand_edit(git, main, joined.head) is None
    assert count_intact_commits(git, main, joined.head) == (12, 12)
    steps, unclaimed_commits = read_step_commits(git, main, joined.head, "calc")
    assert [each.join for each in unclaimed_commits] == [True]
    assert {key for key in steps if key[0] == "calc-2"} == {("calc-2", n) for n in range(1, 6)}
    shown = add_patches(git, {"calc-2"}, steps, frozenset())
    assert "def cut(a)" in shown["calc-2", 3].patch, "the story's own commit, with its own change"


def test_integration_can_be_undone_but_nothing_before_the_merge(joined: Joined) -> None:
    found = plan_undo(joined.session.store, joined.head, "calc-2")
    assert isinstance(found, UndoPlan)
    assert (found.step.phase.value, found.tree) == ("integrated", joined.git.code_tree(joined.join))
    assert isinstance(plan_undo(joined.session.store, joined.head, "calc-1"), CannotUndo), "calc-2 is built upon it"
    behind = plan_undo(joined.session.store, joined.join, "calc-2")
    assert isinstance(behind, CannotUndo)
    assert "after its merge" in behind.reason


# --- forged -----------------------------------------------------------------------------------------------------------


def test_line_of_code_in_neither_parent(joined: Joined) -> None:
    tree = joined.git.edit_tree(
        joined.git.tree(joined.join), {"src/calc/signs.py": b"def negate(number):\n    return 1\n"}
    )
    assert joined.has_other_content(joined.forged(tree))


def test_new_code_file(joined: Joined) -> None:
    tree = joined.git.edit_tree(joined.git.tree(joined.join), {"src/calc/more.py": b"MORE = 1\n"})
    assert joined.has_other_content(joined.forged(tree))


def test_code_of_one_side_only(joined: Joined) -> None:
    tree = joined.git.join_state(joined.git.code_tree(joined.first), joined.join)
    assert joined.has_other_content(joined.forged(tree))


@pytest.mark.parametrize("path", [".orch-state/prds/calc/more.json", ".orch-state/memory/lessons/mine.json"])
def test_state_file_written_by_no_step(joined: Joined, path: str) -> None:
    tree = joined.git.edit_tree(joined.git.tree(joined.join), {path: b"{}\n"})
    assert joined.has_other_content(joined.forged(tree))


def test_other_story_marked_done(joined: Joined) -> None:
    backlog = json.loads(joined.git.read(joined.join, BACKLOG) or b"")
    backlog["stories"][2]["status"] = "done"
    tree = joined.git.edit_tree(joined.git.tree(joined.join), {BACKLOG: json.dumps(backlog).encode()})
    assert joined.has_other_content(joined.forged(tree))


def test_foreign_commit_on_the_story_branch(joined: Joined) -> None:
    foreign = joined.with_step(joined.second, {"src/calc/signs.py": b"def negate(number):\n    return 0 - number\n"})
    tree = joined.git.edit_tree(
        joined.git.tree(joined.join), {"src/calc/signs.py": b"def negate(number):\n    return 0 - number\n"}
    )
    forged = joined.forged(tree, (joined.first, foreign))
    assert joined.has_foreign_step(forged)
    brought = {each.commit: each for each in joined.verified(forged)}
    assert all(brought[sha].unproven for sha in (foreign, joined.second)), "what it brings in is unproven, all of it"


def test_steps_of_another_story_under_its_name(joined: Joined) -> None:
    forged = joined.forged(parents=(joined.first, joined.third))
    assert joined.has_foreign_step(forged)


def test_branch_not_based_on_the_prd_branch(joined: Joined) -> None:
    """calc-3 is based on a commit that is only on calc-2's branch."""
    git, moved = joined.git, joined.git.commit_info(joined.second).parents[0]
    for commit in git.log(f"{joined.plan}..{joined.third}"):
        message = f"{commit.subject}\n\n{commit.body}"
        moved = git.commit(git.tree(commit.sha), [moved], message, commit.at)
    forged = joined.forged(parents=(joined.head, moved), like=joined_third(joined))
    assert "does not start at a commit of the PRD's branch" in joined.refused(forged)


def joined_third(joined: Joined) -> str:
    join = plan_join(joined.git, JoinRef("calc", "calc-3"), joined.head, joined.third)
    assert isinstance(join, Join)
    made = commit_join(joined.git, join)
    assert isinstance(made, str)
    return made


def test_swapped_parents(joined: Joined) -> None:
    assert joined.has_foreign_step(joined.forged(parents=(joined.second, joined.first)))


def test_second_merge_of_the_same_steps(joined: Joined) -> None:
    assert "is already part of " in joined.refused(joined.forged(parents=(joined.head, joined.second)))


def test_merge_of_a_finished_story(joined: Joined) -> None:
    """The same story, built a second time from before its integration and merged afterwards."""
    git, tip = joined.git, joined.plan
    for commit in git.log(f"{joined.plan}..{joined.second}"):
        tip = git.commit(git.tree(commit.sha), [tip], f"{commit.subject}\n\n{commit.body}", "2031-01-01T00:00:00Z")
    assert tip != joined.second
    forged = joined.forged(git.tree(joined.head), (joined.head, tip))
    assert "calc-2 is now done " in joined.refused(forged)


def test_story_whose_plan_has_changed(joined: Joined) -> None:
    """The criteria on the PRD's branch have changed since the story was started."""
    git = joined.git
    backlog = json.loads(git.read(joined.head, BACKLOG) or b"")
    backlog["stories"][2]["criteria"][0]["text"] = "4 gives 9"
    changed = git.commit(
        git.edit_tree(git.tree(joined.head), {BACKLOG: json.dumps(backlog).encode()}), [joined.head], "x"
    )
    forged = joined.forged(parents=(changed, joined.third), like=joined_third(joined))
    assert "the plan of calc-3 has changed since" in joined.refused(forged)


def test_step_that_claims_to_be_a_merge(joined: Joined) -> None:
    forged = joined.forged(parents=(joined.first,))
    assert "two parents" in joined.refused(forged)


@pytest.mark.slow
def test_test_that_passed_on_one_side_fails_on_the_merge(joined: Joined) -> None:
    """A clean merge whose sides are incompatible: only the tests show it."""
    git = joined.git
    broken = {"src/calc/__init__.py": b'"""A calculator."""\nimport sys\nsys.modules["calc.double_it"] = None\n'}
    head = git.commit(git.edit_tree(git.tree(joined.head), broken), [joined.head], "by hand")
    join = plan_join(git, JoinRef("calc", "calc-3"), head, joined.third)
    assert isinstance(join, Join)
    made = commit_join(git, join)
    assert isinstance(made, str)
    assert is_exact_join(git, git.commit_info(made))
    assert "test_calc_3_double" in joined.refused(made)


def test_merge_that_breaks_a_test_is_dropped(tmp_path: Path) -> None:
    world = start_parallel_world(tmp_path, 2)
    world.write({"src/calc/signs.py": STEP})
    world.commit("a number that both stories use")
    world.answers |= breaking_answers()
    with session_of(world) as session:
        run_prd(session, 1)
        done = [work_on_story(session, f"calc-{n}") for n in (1, 2)]
        assert [each.ready for each in done] == [True, True], done
        first, second = (integrate_story(session, each.story, each.session) for each in done)
    assert (first.outcome, second.outcome, second.head) == ("integrated", "again", first.head)
    assert "tests fail after merging" in second.reason
    assert world.show("src/calc/signs.py") == STEP.strip()


@pytest.mark.slow
def test_test_removed_by_neither_side_is_not_run_on_the_merge(joined: Joined) -> None:
    """It does not fail: it is no longer collected, although its file exists."""
    git = joined.git
    hidden = {"conftest.py": b'collect_ignore_glob = ["tests/tdd/calc-3/*"]\n'}
    head = git.commit(git.edit_tree(git.tree(joined.head), hidden), [joined.head], "by hand")
    join = plan_join(git, JoinRef("calc", "calc-3"), head, joined.third)
    assert isinstance(join, Join)
    made = commit_join(git, join)
    assert isinstance(made, str)
    assert "test_puts_through_double is no longer " in joined.refused(made)


def test_only_tests_removed_by_a_side_may_be_missing() -> None:
    def ran(*passed: str) -> RunReport:
        results = tuple(TestResult(id=name, outcome="passed", seconds=0.1) for name in passed)
        return RunReport(code_tree="t", command=("pytest",), tools={}, results=results, exit_status=0)

    left = ran("old", "moved")
    assert find_tests_lost_by_join(left, ran("old", "moved", "a"), ran("old", "b"), ran("old", "a", "b")) == ()
    assert find_tests_lost_by_join(
        left, ran("old", "moved", "a"), ran("old", "moved", "b"), ran("old", "moved", "b")
    ) == ("a is no longer run",)
    (lost,) = find_tests_lost_by_join(left, ran("moved"), ran("old", "moved"), ran("old"))
    assert lost.startswith("moved ")


def test_merge_without_the_trailer_is_an_ordinary_merge(joined: Joined) -> None:
    info = joined.git.commit_info(joined.join)
    merge = joined.git.commit(info.tree, info.parents, info.subject, info.at)
    found = {each.commit: each for each in joined.verified(merge)}
    assert found[merge].unproven
    assert found[joined.second].unproven


def test_merge_claims_no_other_step(joined: Joined) -> None:
    info, step = joined.git.commit_info(joined.join), joined.git.commit_info(joined.head)
    both = f"{info.subject}\n\n{step.body.strip()}\nTdd-Join: calc/calc-2"
    merge = joined.git.commit(info.tree, info.parents, both, info.at)
    (found,) = (each for each in joined.verified(merge) if each.commit == merge)
    assert found.unproven


def test_suite_of_the_merge_starts_early_only_if_runs_are_isolated(
    joined: Joined, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The suites of both sides may be running at the same time."""
    begun: list[bool] = []
    monkeypatch.setattr(joined.session.services.runner, "begin", lambda _, in_parallel=False: begun.append(in_parallel))
    own = make_story_session(joined.session, "calc-3")
    base = StoryIntegration.at_heads(joined.session, own, "calc-3", "").find_base()
    assert isinstance(base, IntegrationBase)
    assert base.join is not None
    assert begun == [True]


# --- people -----------------------------------------------------------------------------------------------------------


def test_human_commit_on_a_story_branch_is_not_discarded(joined: Joined) -> None:
    git, branch = joined.git, "prd2pr-stories/calc/calc-3"
    git.set_branch(branch, joined.with_step(joined.third, {"notes.md": b"mine\n"}))
    brought = integrate_story(joined.session, "calc-3")
    assert (brought.outcome, brought.head) == ("waiting", joined.head)
    assert "is not a step of that story" in brought.reason
    assert git.branch_head(branch) is not None
    git.set_branch(branch, joined.third)


@dataclass(frozen=True)
class CommitDuringMove:
    """Simulates a commit on a story's branch right before prd2pr moves the PRD's branch."""

    inner: BranchWriter
    git: Git
    branch: str
    commit: str

    def move(self, branch: str, new: str, old: str | None) -> str:
        self.git.set_branch(self.branch, self.commit)
        return self.inner.move(branch, new, old)


@dataclass
class RecordingListener:
    notes: list[str] = field(default_factory=list)

    def say(self, kind: str, **facts: object) -> None:
        if kind == "note":
            self.notes.append(str(facts["text"]))


@pytest.mark.slow
def test_human_commit_during_integration_is_kept_on_another_branch(joined: Joined) -> None:
    git, branch, heard = joined.git, "prd2pr-stories/calc/calc-3", RecordingListener()
    by_hand = joined.with_step(joined.third, {"notes.md": b"meanwhile\n"})
    writer = CommitDuringMove(joined.session.services.writer, git, branch, by_hand)
    session = replace(joined.session, services=replace(joined.session.services, writer=writer), progress=heard)
    brought = integrate_story(session, "calc-3")
    assert brought.outcome == "integrated"
    ref = f"refs/prd2pr/aside/calc/calc-3/{by_hand[:12]}"
    assert git.rev(ref) == by_hand
    assert not git.is_ancestor(by_hand, brought.head)
    (told,) = (note for note in heard.notes if ref in note)
    assert told.startswith(f"a commit was added to {branch} while it was merged into prd2pr/calc")
    assert list_story_branches(session) == ()

    # The run was killed before its cleanup, so the branch still exists: it is removed once, and its commits are kept.
    git.set_branch(branch, later := joined.with_step(by_hand, {"notes.md": b"later\n"}))
    assert finish_left_over_stories(session).stop is None
    assert list_story_branches(session) == ()
    assert git.rev(f"refs/prd2pr/aside/calc/calc-3/{later[:12]}") == later
    git.set_branch("prd2pr/calc", joined.head)
    git.set_branch(branch, joined.third)


def test_halt_on_the_prd_branch_stops_parallel_stories(joined: Joined) -> None:
    git, status = joined.git, ".orch-state/prds/calc/status.json"
    told = json.loads(git.read(joined.head, status) or b"")
    halted = git.edit_tree(git.tree(joined.head), {status: json.dumps({**told, "halted": True}).encode()})
    git.set_branch("prd2pr/calc", git.commit(halted, [joined.head], "x"))
    worked = work_on_story(joined.session, "calc-3")
    git.set_branch("prd2pr/calc", joined.head)
    assert (worked.ready, worked.stop.outcome, worked.stop.next) == (False, "paused", "prd2pr command /tdd resume")
