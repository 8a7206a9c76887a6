"""The short form of the battery on the code host; `make hub-kill-battery` takes every point of the three flows.

It also shows that the battery can fail: with a bug planted in a copy of the program, it does.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kill.hub_battery import Course, after_kill, kill_for_real, kill_repeatedly, record_course
from kill.hub_flows import ONE_PHASE, SHORT, Flow
from kill.hub_moments import Moment
from kill.hub_program import Planted, copied_program

SEED = 5
REAL_KILLS = 2


@pytest.fixture(scope="module")
def it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    root = tmp_path_factory.mktemp("course")
    with record_course(SHORT, root, copied_program(root)) as made:
        yield made


def one_per_route(it: Course) -> list[Moment]:
    """As few moments as cover a point before or after a call of each route, with little left to do."""
    missing = {point.route for point in it.points}
    chosen = []
    while missing:
        best = max(it.moments, key=lambda each: (len(missing & routes(each)), -left_to_do(it, each)))
        chosen.append(best)
        missing -= routes(best)
    return chosen


def routes(moment: Moment) -> set[str]:
    return {point.route for point in moment.points}


def left_to_do(it: Course, moment: Moment) -> int:
    """Commits that the turn has still to make."""
    head = dict(moment.refs).get(f"refs/heads/{it.world.branch}", "main")
    ended = it.turns[moment.points[0].turn].ended.steps
    return len(ended) - int(it.world.bare.git("rev-list", "--count", f"main..{head}"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_killed_at_any_route_is_completed_by_the_next_one(it, tmp_path):
    chosen = one_per_route(it)
    assert len({route for moment in chosen for route in routes(moment)}) > 20
    found = {str(moment.points[0]): after_kill(it, moment, tmp_path / str(n)) for n, moment in enumerate(chosen)}
    assert {where: differences for where, differences in found.items() if differences} == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_real_kill_leaves_the_recorded_state(it, tmp_path):
    for number, point in enumerate(random.Random(SEED).sample(it.points, REAL_KILLS)):
        assert kill_for_real(it, point, tmp_path / str(number)) == [], str(point)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_repeated_kills_duplicate_nothing(it, tmp_path):
    assert kill_repeatedly(it, 0, SEED, tmp_path / "row", kills=3) == []


# --- bugs that it must find -------------------------------------------------------------------------------------------

NO_LOOK = Planted(
    "github/client/comments.py",
    "return look() or look() or drop_duplicate_comments(api, ours, api.create_or_find(call, look, read), marker)",
    "return api.create_or_find(call, look, read)",
)
# The cursor moves in its own commit, before the phase that was requested.
HEARD_FIRST = Planted(
    "workflow/run.py",
    "    started = session.clock.monotonic()\n    prewarm_suite(session, position, phase)\n",
    """    if session.log.branch_writes.pending is not None:
        from prd2pr.workflow.commits.notes import WorkNote, commit_work_note

        head, _ = commit_work_note(session, position, WorkNote("heard", position.cycle, position.code_tree))
        state = session.store.load(head)
        story = next(each for each in state.backlog.stories if each.id == position.story.id)
        position = load_position(session, head, state, story)
    started = session.clock.monotonic()
    prewarm_suite(session, position, phase)
""",
)


def found_by(flow: Flow, planted: Planted, root: Path, *, turn: int, after: str, nth: int) -> list[str]:
    """What the battery reports for a kill after the n-th such call of the turn."""
    flow = replace(flow, turns=flow.turns[: turn + 1])
    with record_course(flow, root, copied_program(root, [planted])) as it:
        points = [point for point in it.points if (point.turn, point.when) == (turn, "after") and after in point.route]
        moment = next(each for each in it.moments if points[nth] in each.points)
        return after_kill(it, moment, root / "after")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_duplicated_comment_is_found(tmp_path):
    """The plan's comment is posted last."""
    posted = "POST /repos/{owner}/{repo}/issues/{number}/comments"
    found = found_by(SHORT, NO_LOOK, tmp_path, turn=0, after=posted, nth=-1)
    assert [each.partition(" by ")[0] for each in found] == ["one too many: plan under 2"], found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_lost_command_is_found(tmp_path):
    """The first push of the turn is the cursor's, the second one the phase's."""
    found = found_by(ONE_PHASE, HEARD_FIRST, tmp_path, turn=2, after="git-receive-pack", nth=0)
    assert any("'design(calc-1): Add two numbers'] became" in each for each in found), found
