"""One run works on a PRD at a time; queries and the schedule do not repeat its work."""

from __future__ import annotations

import json
import threading

import pytest

from fakes.github.faults import Calls, Refused
from prd2pr.domain.costs.budget import SPENT_NOTE

PUSH = "POST */git-receive-pack"
SHORT = {"PRD2PR_MAX_MINUTES": "0.001"}  # one phase per run, then another run continues


def run_both(world, event, *, skip: int, env=None):
    """Run the oldest pending event, and a second one from start to end while the first is pushing."""
    first, others = world.pending.pop(0), []

    def hold() -> None:
        run = threading.Thread(target=lambda: others.append(world.act(event, env=env)))
        run.start()
        run.join()

    world.fake.faults.add(Calls(before=hold), PUSH, skip=skip)
    acted = world.act(first, env=env)
    assert world.fake.faults.unmet == []
    return acted, others[0]


@pytest.mark.slow
@pytest.mark.parametrize("second", ["question", "schedule"])
def test_a_query_or_the_schedule_does_not_work_beside_an_active_run(started, second):
    tracking = next(row.number for row in started.repo.issues.values() if "prd2pr:tracking:" in (row.body or ""))
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    event = started.tick() if second == "schedule" else None
    if event is None:
        started.comment(tracking, "/state", by="tria")
        event = started.pending[-1]
    started.pending.remove(event)
    first, other = run_both(started, event, skip=1)
    assert (first.status, first.outputs["outcome"]) == (0, "done"), first.output + other.output
    assert (other.status, other.outputs["outcome"]) == (0, "nothing-to-do"), first.output + other.output
    pushes = [call for call in started.fake.calls if call.path.endswith("git-receive-pack") and call.method == "POST"]
    assert "refused" not in first.out and started.phases().count("design(calc-1)") == 1
    assert (len(started.answers()), started.pending) == (1 if second == "question" else 0, [])
    assert pushes and "moved meanwhile" not in first.output + other.output


@pytest.mark.slow
def test_the_schedule_continues_when_active_runs_cannot_be_listed(started):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(env=SHORT)
    started.pending.clear()  # the continuation was dropped from the queue
    started.fake.faults.add(Refused(403, "Resource not accessible by integration"), "GET */workflows/*/runs*")
    started.tick()
    acted = started.act()
    assert "cannot find out whether another run is active" in acted.out
    assert (acted.status, started.phases()[-1]) == (0, "integrated(calc-1)"), acted.output


@pytest.mark.slow
def test_a_query_starts_another_run_for_a_pending_order(started):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(env=SHORT)
    started.pending.clear()  # the continuation was dropped from the queue
    phases = started.phases()
    started.comment(started.pull().number, "/state", by="tria")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert (started.phases(), len(started.pending)) == (phases, 1)
    assert started.act().status == 0
    assert started.phases()[-1] == "integrated(calc-1)"


@pytest.mark.slow
def test_the_loser_of_a_race_stops_and_records_its_spending(started):
    lines = [json.loads(line) for line in started.transcript().read_text().splitlines()]
    for line in lines[1:]:
        line["usage"] = {"input_tokens": 1000}
    (started.root / "spending.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    env = {"PRD2PR_MODEL": f"replay:{started.root / 'spending.jsonl'}", **SHORT}
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(env=env)
    (again,) = started.pending
    first, other = run_both(started, again, skip=0, env=env)
    assert other.outputs["outcome"] == "deadline", other.output
    assert (first.status, first.outputs["outcome"]) == (0, "nothing-to-do"), first.output
    assert "another run is working on it" in first.out
    assert started.held_phases() == ["red(calc-1)", "note(calc-1)"]
    assert SPENT_NOTE in started.bare.git("log", "-1", "--format=%B", started.held())
