"""Stories side by side on GitHub: waves of story jobs, brought together by the job after them.

Whatever becomes of a job, the branches say what is missing, and the next run does that and nothing twice.
"""

from __future__ import annotations

import json

import pytest

from github_runner import Ending
from github_waves import code_of, run_wave, settled, started, story_job

pytestmark = pytest.mark.slow

OWN = "prd2pr-stories/calc/"


def made(world) -> list[str]:
    """Every commit's subject, without its title; those of stories' own branches too."""
    log = str(world.bare.git("log", "--format=%s", f"main..{world.branch}")).splitlines()
    return [subject.partition(":")[0] for subject in log]


def own_branches(world) -> list[str]:
    return sorted(name.removeprefix(OWN) for name in world.bare.heads() if name.startswith(OWN))


def expect_all_done(world, count: int, verify) -> None:
    phases = made(world)
    for n in range(1, count + 1):
        for phase in ("red", "green", "integrated"):
            assert phases.count(f"{phase}(calc-{n})") == 1, phases
    assert own_branches(world) == [] and world.pending == []
    assert f"{count} of {count} stories proven" in world.pull().body
    verify(world)


def test_what_two_jobs_make_is_brought_together_and_shown(new):
    world = started(new(), 3, {3: (1,)})
    (run,) = settled(world)
    assert run.stories == ["calc-1", "calc-2"]
    assert run.planned.outputs["outcome"] == "handed-on" and run.integrated.outputs["outcome"] == "done"
    assert [job.outputs["outcome"] for job in run.jobs.values()] == ["done", "done"]
    assert world.phases()[-1] == "integrated(calc-3)" and own_branches(world) == []
    shown = {check.name for check in world.checks() if check.conclusion == "success"}
    gates = {f"prd2pr / {phase}(calc-{n})" for n in (1, 2, 3) for phase in ("red", "green", "integrated")}
    assert gates <= shown
    assert "3 of 3 stories proven" in world.pull().body and "2 stories in parallel" not in world.pull().body
    alone = started(new(), 3, {3: (1,)}, jobs=1)
    assert alone.act().outputs["outcome"] == "done"
    assert code_of(world) == code_of(alone), "as one job makes it, one story after the other"


def test_commits_made_by_the_api_are_joined_as_well(new, verify):
    world = started(new(), 2, more="commit: api\n")
    (run,) = settled(world)
    assert run.integrated.outputs["outcome"] == "done", run.integrated.output
    expect_all_done(world, 2, verify)
    joins = str(world.bare.git("log", "--merges", "--format=%H", f"main..{world.branch}")).split()
    assert len(joins) == 1 and joins[0] in world.repo.signed


@pytest.mark.parametrize("call", [9, 12, 15])
def test_a_story_job_that_is_killed_anywhere_loses_and_doubles_nothing(new, verify, call):
    world = started(new(), 2)
    settled(world, [lambda name, job: job(ending=Ending(call)) if name == "calc-2" else job()])
    expect_all_done(world, 2, verify)


@pytest.mark.parametrize("call", [12, 20, 28, 40])
def test_an_integrating_job_that_is_killed_anywhere_loses_and_doubles_nothing(new, verify, call):
    world = started(new(), 2)
    run_wave(world, around=lambda name, job: job(ending=Ending(call, "after")) if name == "integrate" else job())
    world.tick()
    settled(world)
    expect_all_done(world, 2, verify)


def test_jobs_that_were_lost_are_made_good_by_the_next_wave(new):
    world = started(new(), 3)
    first, second = settled(world, [lambda name, job: None if name in ("calc-2", "calc-3") else job()])
    assert (first.stories, second.stories) == (["calc-1", "calc-2", "calc-3"], ["calc-2", "calc-3"])
    assert first.integrated.outputs["outcome"] == "handed-on" and second.integrated.outputs["outcome"] == "done"
    assert sorted(phase for phase in made(world) if phase.startswith("integrated")) == [
        f"integrated(calc-{n})" for n in (1, 2, 3)
    ]


def test_where_no_job_got_any_further_nothing_is_started_again_by_itself(new):
    world = started(new(), 2)
    (run,) = settled(world, [lambda name, job: job() if name == "integrate" else None])
    assert "no story job of this run made progress" in run.integrated.out
    assert world.pending == [] and world.repo.dispatches == []


def test_an_integrating_job_that_was_lost_is_made_good_by_the_schedule(new):
    world = started(new(), 2)
    run_wave(world, around=lambda name, job: None if name == "integrate" else job())
    assert own_branches(world) == ["calc-1", "calc-2"] and world.pending == []
    world.tick()
    (run,) = settled(world)
    assert run.stories == [] and run.planned.outputs["outcome"] == "done", run.planned.output
    assert own_branches(world) == [] and made(world).count("join(calc-2)") == 1


@pytest.mark.parametrize("way_out", ["pushed again", "deleted"])
def test_a_step_that_was_rewritten_on_a_storys_own_branch_is_not_joined(new, verify, way_out):
    world = started(new(), 2)
    run_wave(world, around=lambda name, job: None if name == "integrate" else job())
    branch = f"{OWN}calc-1"
    before = world.bare.heads()

    def amend(checkout, git):
        """GREEN with one file more, and what came after it on top of that."""
        tip, green = (git("log", "-1", "--format=%H", *more).strip() for more in ((), ("--grep=^green",)))
        git("checkout", "-q", "--detach", green)
        (checkout / "src/calc/more.py").write_text("def more():\n    return 1\n")
        git("add", "-A")
        git("commit", "-q", "--amend", "--no-edit")
        git("rebase", "-q", "--onto", "HEAD", green, tip)

    world.by_git(amend, "wendy", branch=branch)
    world.pending.clear()
    world.tick()
    (run,) = settled(world)
    assert (run.stories, run.planned.outputs["outcome"]) == ([], "error"), run.planned.output
    assert world.bare.heads()[world.branch] == before[world.branch], "nothing was built on it"
    assert f"Nothing is built on {branch}: steps were rewritten" in world.status_comment().body
    assert f"Push {branch} as it was before, or delete it" in world.status_comment().body

    if way_out == "pushed again":
        world.by_git(lambda _, git: git("reset", "-q", "--hard", before[branch]), "ada", branch=branch)
    else:
        world.delete_branch(branch, "ada")
    world.pending.clear()
    world.tick()
    settled(world)
    expect_all_done(world, 2, verify)


def test_a_wave_that_is_started_twice_does_nothing_twice(new):
    world = started(new(), 2)
    twin = world.dispatch(prd="calc")
    world.pending.remove(twin)
    others = []

    def beside(name, job):
        if name == "calc-1":
            others.append(run_wave(world, twin))  # from its beginning to its end
        return job()

    first = run_wave(world, around=beside)
    assert others[0].stories == first.stories == ["calc-1", "calc-2"]
    assert [job.outputs["outcome"] for job in first.jobs.values()] == ["nothing-to-do"] * 2, first.jobs
    assert made(world).count("red(calc-1)") == made(world).count("integrated(calc-2)") == 1
    assert own_branches(world) == [] and world.pending == []


def test_what_another_run_is_at_work_on_is_left_to_it(new):
    world = started(new(), 2)
    world.repo.at_work.add(4711)
    world.repo.jobs[4711] = ["Work", "Story calc-1", "Story calc-2"]
    run = run_wave(world)
    assert run.stories == [] and "another run is working on calc-1, calc-2" in run.planned.out
    world.repo.jobs[4711] = ["Story calc-1"]
    assert run_wave(world, world.dispatch(prd="calc")).stories == ["calc-2"]


def test_a_pause_is_heeded_by_jobs_that_are_under_way(new):
    world = started(new(), 2)

    def paused(name, job):
        if name == "calc-2":
            world.comment(world.pull().number, "/tdd pause", by="wendy")
            acted = world.act(env={"PRD2PR_MODE": "plan"})
            assert acted.status == 0 and not acted.outputs["wave"], acted.output
        return job()

    run = run_wave(world, around=paused)
    assert run.jobs["calc-2"].outputs["outcome"] == "nothing-to-do", run.jobs["calc-2"].output
    assert "halted" in run.jobs["calc-2"].out and world.pending == []
    assert own_branches(world) == ["calc-1"], "neither integrated nor lost"
    world.comment(world.pull().number, "/tdd next", by="wendy")
    refused = world.act(env={"PRD2PR_MODE": "plan"})
    assert "`calc-1` is worked on in parallel" in world.answers()[-1].body, refused.output
    world.comment(world.pull().number, "/tdd resume", by="wendy")
    settled(world)
    assert made(world).count("green(calc-1)") == made(world).count("integrated(calc-2)") == 1
    assert own_branches(world) == [] and "2 of 2 stories" in world.pull().body


def test_a_story_that_is_taken_out_of_the_plan_meanwhile_is_not_integrated(new):
    world = started(new(), 3)

    def removed(name, job):
        if name == "integrate":
            world.comment(world.pull().number, '/backlog remove calc-2 "not needed"', by="wendy")
        return job()

    run_wave(world, around=removed)
    world.pending.clear()
    assert "integrated(calc-2)" not in made(world) and own_branches(world) == []
    assert [name for name in world.bare.refs() if name.startswith("refs/prd2pr/aside/calc/calc-2/")], "kept aside"
    assert made(world).count("integrated(calc-3)") == 1


def test_a_job_without_money_says_so_and_the_next_wave_waits_for_a_person(new):
    world = started(new(), 2)

    def poor(name, job):
        if name == "integrate":
            return job()
        row = {"story": name, "share": json.dumps({"tokens": 0})}
        acted = story_job(world, event, row, {"PRD2PR_PRD": "calc"})
        assert (acted.status, acted.outputs["outcome"]) == (1, "budget"), acted.output
        return acted

    event = world.pending[0]
    run = run_wave(world, around=poor)
    assert world.repo.dispatches == [] and run.integrated.outputs["outcome"] == "waiting", run.integrated.output


def test_one_job_finishes_what_several_have_begun(new):
    world = started(new(), 2)
    run_wave(world, around=lambda name, job: job() if name == "calc-1" else None)
    assert own_branches(world) == ["calc-1"]
    world.tick()
    acted = world.act()  # mode work, as an older workflow has it
    assert acted.outputs["outcome"] == "done", acted.output
    assert own_branches(world) == [] and made(world).count("red(calc-1)") == 1
