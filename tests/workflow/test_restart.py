"""Conflicting stories: the later one restarts on the new base; if that fails, a person decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from parallel_world import conflicting_answers, start_parallel_world
from prd2pr.domain.records import Phase
from prd2pr.proof.verify import Verifier
from prd2pr.verification.commit_check import all_proved
from prd2pr.workflow.parallel.story_branches import integrate_story, list_story_branches, work_on_story
from prd2pr.workflow.run import run_prd
from prd2pr.workflow.session import Session
from world import World, submit, use
from world_session import session_of

SIGNS = "src/calc/signs.py"


def conflicting(root: Path) -> World:
    """calc-1 and calc-2 write to the same place in a file that is in neither plan."""
    world = start_parallel_world(root, 2)
    world.answers |= conflicting_answers(1, "add") | conflicting_answers(2, "cut")
    return world


def proved(session: Session) -> bool:
    verifier = Verifier(session.git, session.services.gathering, session.constraints.gate_policy, lambda _: None)
    return all_proved(verifier.verify(session.git.rev("main"), session.git.rev(session.target.branch)))


@pytest.mark.slow
def test_later_story_restarts_on_the_new_base_and_succeeds(tmp_path: Path) -> None:
    world = conflicting(tmp_path)
    with session_of(world) as session:
        git = session.git
        run_prd(session, 1)
        first, second = (work_on_story(session, f"calc-{n}") for n in (1, 2))
        assert integrate_story(session, "calc-1", first.session).outcome == "integrated"
        again = integrate_story(session, "calc-2", second.session)
        assert (again.outcome, again.head) == ("again", git.rev("prd2pr/calc"))
        assert "both branches changed the same lines" in again.reason
        aside = f"refs/prd2pr/aside/calc/calc-2/{second.head[:12]}"
        assert git.rev(aside) == second.head, "what was built is kept, beside all branches"

        state = session.store.load("prd2pr-stories/calc/calc-2")
        cycle, before = state.cycle("calc-2"), session.store.load(second.head).cycle("calc-2")
        assert cycle is not None
        assert before is not None
        (note,) = cycle.steps
        assert note.note.startswith("restarted: ")
        assert note.spend == sum((step.spend for step in before.steps[1:]), before.steps[0].spend), (
            "nothing is forgotten"
        )
        assert set(state.run_ids()) > set(session.store.load(again.head).run_ids()), "nor the runs that it took"

        world.answers.pop("calc-2/design/architect/1/1")
    with session_of(world) as session:
        worked = work_on_story(session, "calc-2")  # the design is kept, so no call for it
        assert worked.ready, worked.stop
        done = integrate_story(session, "calc-2", worked.session)
        assert (done.outcome, done.joined) == ("integrated", False)
        text = world.show(SIGNS)
        assert "def add(a)" in text
        assert "def cut(a)" in text
        assert list_story_branches(session) == ()
        assert proved(session)


@pytest.mark.slow
def test_clean_merge_with_failing_tests_restarts_too(tmp_path: Path) -> None:
    """calc-1 changes a function that calc-2's code calls: there is no merge conflict, but tests fail."""
    world = start_parallel_world(tmp_path, 2)
    renamed = use("edit_file", path=SIGNS, old="def negate(number):\n    return -number\n",
                  new="def negate(number):\n    return -number - (number > 9)\n")  # fmt: skip
    builds = use("write_file", path="src/calc/cut_it.py",
                 content="from calc.signs import negate\n\n\ndef cut(a):\n    return -negate(a) - 1\n")  # fmt: skip
    world.answers["calc-1/green/builder/1/1"].insert(0, renamed)
    world.answers["calc-2/green/builder/1/1"] = [builds, submit()]
    with session_of(world) as session:
        run_prd(session, 1)
        first, second = (work_on_story(session, f"calc-{n}") for n in (1, 2))
        assert first.ready, first.stop
        assert second.ready, second.stop
        assert integrate_story(session, "calc-1", first.session).outcome == "integrated"
        again = integrate_story(session, "calc-2", second.session)
        assert again.outcome == "again"
        assert "::test_" in again.reason, "the failing tests are named"


@pytest.mark.slow
def test_story_refused_twice_is_blocked_and_a_person_decides(tmp_path: Path) -> None:
    world = conflicting(tmp_path)
    with session_of(world) as session:
        git = session.git
        run_prd(session, 1)
        first, second = (work_on_story(session, f"calc-{n}") for n in (1, 2))
        integrate_story(session, "calc-1", first.session)
        assert integrate_story(session, "calc-2", second.session).outcome == "again"
        worked = work_on_story(session, "calc-2")
        assert worked.ready
        foreign = git.edit_tree(git.tree("prd2pr/calc"), {SIGNS: b"def negate(number):\n    return 0 - number\n"})
        git.set_branch("prd2pr/calc", git.commit(foreign, [git.rev("prd2pr/calc")], "by hand"))
        blocked = integrate_story(session, "calc-2", worked.session)
        assert blocked.outcome == "blocked"
        assert "joined with the other stories 2 times" in blocked.reason
        state = session.store.load(blocked.head)
        cycle = state.cycle("calc-2")
        assert cycle is not None
        assert [step.phase for step in cycle.steps] == [Phase.NOTE, Phase.NOTE]
        assert state.status.state.value == "BLOCKED"
        assert list_story_branches(session) == ()
