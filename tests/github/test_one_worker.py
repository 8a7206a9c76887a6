"""One run works on a PRD at a time: who only asks or looks pays for nothing that another one is doing."""

from __future__ import annotations

import json
import threading

import pytest

from fakes.github.faults import Calls, Refused

PUSH = "POST */git-receive-pack"
SHORT = {"PRD2PR_MAX_MINUTES": "0.001"}  # one phase, then another run goes on


def beside(world, event, *, skip: int, env=None):
    """The oldest pending run, and another one from its beginning to its end while the first one is at a push."""
    first, others = world.pending.pop(0), []

    def hold() -> None:
        run = threading.Thread(target=lambda: others.append(world.act(event, env=env)))
        run.start()
        run.join()

    world.fake.faults.add(Calls(before=hold), PUSH, skip=skip)
    acted = world.act(first, env=env)
    assert world.fake.faults.unmet == []
    return acted, others[0]


@pytest.mark.parametrize("second", ["question", "schedule"])
def test_a_question_or_the_schedule_does_not_work_beside_a_run_that_does(started, second):
    tracking = next(row.number for row in started.repo.issues.values() if "prd2pr:tracking:" in (row.body or ""))
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    event = started.tick() if second == "schedule" else None
    if event is None:
        started.comment(tracking, "/state", by="tria")
        event = started.pending[-1]
    started.pending.remove(event)
    first, other = beside(started, event, skip=1)
    assert (first.status, first.outputs["outcome"]) == (0, "done"), first.output + other.output
    assert (other.status, other.outputs["outcome"]) == (0, "nothing-to-do"), first.output + other.output
    pushes = [call for call in started.fake.calls if call.path.endswith("git-receive-pack") and call.method == "POST"]
    assert "refused" not in first.out and started.phases().count("design(calc-1)") == 1
    assert (len(started.answers()), started.pending) == (1 if second == "question" else 0, [])
    assert pushes and "moved meanwhile" not in first.output + other.output


def test_where_the_host_does_not_say_who_is_at_work_the_schedule_goes_on(started):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(env=SHORT)
    started.pending.clear()  # the run that was to go on was pushed out of its queue
    started.fake.faults.add(Refused(403, "Resource not accessible by integration"), "GET */workflows/*/runs*")
    started.tick()
    acted = started.act()
    assert "cannot find out whether another run is active" in acted.out
    assert (acted.status, started.phases()[-1]) == (0, "integrated(calc-1)"), acted.output


def test_a_question_has_an_order_followed_by_another_run(started):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(env=SHORT)
    started.pending.clear()  # the run that was to go on was pushed out of its queue
    phases = started.phases()
    started.comment(started.pull().number, "/state", by="tria")
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert (started.phases(), len(started.pending)) == (phases, 1)
    assert started.act().status == 0
    assert started.phases()[-1] == "integrated(calc-1)"


def test_who_loses_a_race_to_another_run_leaves_the_work_to_it_and_tells_what_it_spent(started):
    lines = [json.loads(line) for line in started.transcript().read_text().splitlines()]
    for line in lines[1:]:
        line["usage"] = {"input_tokens": 1000}
    (started.root / "spending.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    env = {"PRD2PR_MODEL": f"replay:{started.root / 'spending.jsonl'}", **SHORT}
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(env=env)
    (again,) = started.pending
    first, other = beside(started, again, skip=0, env=env)
    assert other.outputs["outcome"] == "deadline", other.output
    assert (first.status, first.outputs["outcome"]) == (0, "nothing-to-do"), first.output
    assert "another run is working on it" in first.out
    assert started.phases()[-2:] == ["red(calc-1)", "note(calc-1)"]
    assert "spent without a step" in started.bare.git("log", "-1", "--format=%B", started.branch)
