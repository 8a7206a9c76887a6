"""Parallel stories on GitHub: waves of story jobs, integrated by the job after them.

Whatever happens to a job, the branches show what is missing, and the next run does exactly that.
"""

from __future__ import annotations

import json

import pytest

from github_runner import Ending
from github_waves import code_of, push_stories, run_wave, settle_waves, story_job

OWN = "prd2pr-stories/calc/"


def commit_subjects(world) -> list[str]:
    """Every commit's subject without its title, including those of story branches."""
    log = str(world.bare.git("log", "--format=%s", f"main..{world.branch}")).splitlines()
    return [subject.partition(":")[0] for subject in log]


def story_branches(world) -> list[str]:
    return sorted(name.removeprefix(OWN) for name in world.bare.heads() if name.startswith(OWN))


def expect_all_done(world, count: int, verify) -> None:
    phases = commit_subjects(world)
    for n in range(1, count + 1):
        for phase in ("red", "green", "integrated"):
            assert phases.count(f"{phase}(calc-{n})") == 1, phases
    assert story_branches(world) == [] and world.pending == []
    assert f"{count} of {count} stories done" in world.pull().body
    verify(world)


@pytest.mark.slow
def test_work_of_two_jobs_is_integrated_and_shown(new):
    world = push_stories(new(), 3, {3: (1,)})
    (run,) = settle_waves(world)
    assert run.stories == ["calc-1", "calc-2"]
    assert run.planned.outputs["outcome"] == "handed-on" and run.integrated.outputs["outcome"] == "done"
    assert [job.outputs["outcome"] for job in run.jobs.values()] == ["done", "done"]
    assert world.phases()[-1] == "integrated(calc-3)" and story_branches(world) == []
    shown = {check.name for check in world.checks() if check.conclusion == "success"}
    gates = {f"prd2pr / {phase}(calc-{n})" for n in (1, 2, 3) for phase in ("red", "green", "integrated")}
    assert gates <= shown
    assert "3 of 3 stories done" in world.pull().body and "2 stories in parallel" not in world.pull().body
    alone = push_stories(new(), 3, {3: (1,)}, jobs=1)
    assert alone.act().outputs["outcome"] == "done"
    assert code_of(world) == code_of(alone), "as one job makes it, one story after the other"


@pytest.mark.slow
def test_commits_made_by_the_api_are_integrated_too(new, verify):
    world = push_stories(new(), 2, more="commit: api\n")
    (run,) = settle_waves(world)
    assert run.integrated.outputs["outcome"] == "done", run.integrated.output
    expect_all_done(world, 2, verify)
    joins = str(world.bare.git("log", "--merges", "--format=%H", f"main..{world.branch}")).split()
    assert len(joins) == 1 and joins[0] in world.repo.signed


@pytest.mark.slow
@pytest.mark.parametrize("call", [9, 12, 15])
def test_a_killed_story_job_loses_and_duplicates_nothing(new, verify, call):
    world = push_stories(new(), 2)
    settle_waves(world, [lambda name, job: job(ending=Ending(call)) if name == "calc-2" else job()])
    expect_all_done(world, 2, verify)


@pytest.mark.slow
@pytest.mark.parametrize("call", [12, 20, 28, 40])
def test_a_killed_integration_job_loses_and_duplicates_nothing(new, verify, call):
    world = push_stories(new(), 2)
    run_wave(world, around=lambda name, job: job(ending=Ending(call, "after")) if name == "integrate" else job())
    world.tick()
    settle_waves(world)
    expect_all_done(world, 2, verify)


@pytest.mark.slow
def test_lost_jobs_are_repeated_by_the_next_wave(new):
    world = push_stories(new(), 3)
    first, second = settle_waves(world, [lambda name, job: None if name in ("calc-2", "calc-3") else job()])
    assert (first.stories, second.stories) == (["calc-1", "calc-2", "calc-3"], ["calc-2", "calc-3"])
    assert first.integrated.outputs["outcome"] == "handed-on" and second.integrated.outputs["outcome"] == "done"
    assert sorted(phase for phase in commit_subjects(world) if phase.startswith("integrated")) == [
        f"integrated(calc-{n})" for n in (1, 2, 3)
    ]


def test_no_new_wave_starts_when_no_job_made_progress(new):
    world = push_stories(new(), 2)
    (run,) = settle_waves(world, [lambda name, job: job() if name == "integrate" else None])
    assert "no story job of this run made progress" in run.integrated.out
    assert world.pending == [] and world.repo.dispatches == []


@pytest.mark.slow
def test_a_lost_integration_job_is_repeated_by_the_schedule(new):
    world = push_stories(new(), 2)
    run_wave(world, around=lambda name, job: None if name == "integrate" else job())
    assert story_branches(world) == ["calc-1", "calc-2"] and world.pending == []
    world.tick()
    (run,) = settle_waves(world)
    assert run.stories == [] and run.planned.outputs["outcome"] == "done", run.planned.output
    assert story_branches(world) == [] and commit_subjects(world).count("join(calc-2)") == 1


@pytest.mark.slow
@pytest.mark.parametrize("way_out", ["pushed again", "deleted"])
def test_a_rewritten_step_on_a_story_branch_is_not_integrated(new, verify, way_out):
    world = push_stories(new(), 2)
    run_wave(world, around=lambda name, job: None if name == "integrate" else job())
    branch = f"{OWN}calc-1"
    before = world.bare.heads()

    def amend(checkout, git):
        """Amend GREEN with another file, and rebase the later commits on it."""
        tip, green = (git("log", "-1", "--format=%H", *more).strip() for more in ((), ("--grep=^green",)))
        git("checkout", "-q", "--detach", green)
        (checkout / "src/calc/more.py").write_text("def more():\n    return 1\n")
        git("add", "-A")
        git("commit", "-q", "--amend", "--no-edit")
        git("rebase", "-q", "--onto", "HEAD", green, tip)

    world.by_git(amend, "wendy", branch=branch)
    world.pending.clear()
    world.tick()
    (run,) = settle_waves(world)
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
    settle_waves(world)
    expect_all_done(world, 2, verify)


@pytest.mark.slow
def test_a_wave_started_twice_does_nothing_twice(new):
    world = push_stories(new(), 2)
    twin = world.dispatch(prd="calc")
    world.pending.remove(twin)
    others = []

    def beside(name, job):
        if name == "calc-1":
            others.append(run_wave(world, twin))  # from start to end
        return job()

    first = run_wave(world, around=beside)
    assert others[0].stories == first.stories == ["calc-1", "calc-2"]
    assert [job.outputs["outcome"] for job in first.jobs.values()] == ["nothing-to-do"] * 2, first.jobs
    assert commit_subjects(world).count("red(calc-1)") == commit_subjects(world).count("integrated(calc-2)") == 1
    assert story_branches(world) == [] and world.pending == []


@pytest.mark.slow
def test_work_of_another_active_run_is_left_to_it(new):
    world = push_stories(new(), 2)
    world.repo.at_work.add(4711)
    world.repo.jobs[4711] = ["prd2pr / Work", "prd2pr / Story calc-1", "Story calc-2"]
    run = run_wave(world)
    assert run.stories == [] and "working on calc-1, calc-2" in run.planned.out
    world.repo.jobs[4711] = ["Story calc-1"]
    assert run_wave(world, world.dispatch(prd="calc")).stories == ["calc-2"]


@pytest.mark.slow
def test_a_pause_is_respected_by_running_jobs(new):
    world = push_stories(new(), 2)

    def paused(name, job):
        if name == "calc-2":
            world.comment(world.pull().number, "/tdd pause", by="wendy")
            acted = world.act(env={"PRD2PR_MODE": "plan"})
            assert acted.status == 0 and not acted.outputs["wave"], acted.output
        return job()

    run = run_wave(world, around=paused)
    assert run.jobs["calc-2"].outputs["outcome"] == "nothing-to-do", run.jobs["calc-2"].output
    assert "halted" in run.jobs["calc-2"].out and world.pending == []
    assert story_branches(world) == ["calc-1"], "neither integrated nor lost"
    world.comment(world.pull().number, "/tdd next", by="wendy")
    refused = world.act(env={"PRD2PR_MODE": "plan"})
    assert "`calc-1` is worked on in parallel" in world.answers()[-1].body, refused.output
    world.comment(world.pull().number, "/tdd resume", by="wendy")
    settle_waves(world)
    assert commit_subjects(world).count("green(calc-1)") == commit_subjects(world).count("integrated(calc-2)") == 1
    assert story_branches(world) == [] and "2 of 2 stories" in world.pull().body


@pytest.mark.slow
def test_a_story_removed_meanwhile_is_not_integrated(new):
    world = push_stories(new(), 3)

    def removed(name, job):
        if name == "integrate":
            world.comment(world.pull().number, '/backlog remove calc-2 "not needed"', by="wendy")
        return job()

    run_wave(world, around=removed)
    world.pending.clear()
    assert "integrated(calc-2)" not in commit_subjects(world) and story_branches(world) == []
    assert [name for name in world.bare.refs() if name.startswith("refs/prd2pr/aside/calc/calc-2/")], "kept aside"
    assert commit_subjects(world).count("integrated(calc-3)") == 1


@pytest.mark.slow
def test_a_job_without_budget_says_so_and_the_next_wave_waits_for_a_person(new):
    world = push_stories(new(), 2)

    def without_budget(name, job):
        if name == "integrate":
            return job()
        row = {"story": name, "share": json.dumps({"tokens": 0})}
        acted = story_job(world, event, row, {"PRD2PR_PRD": "calc"})
        assert (acted.status, acted.outputs["outcome"]) == (1, "budget"), acted.output
        return acted

    event = world.pending[0]
    run = run_wave(world, around=without_budget)
    assert world.repo.dispatches == [] and run.integrated.outputs["outcome"] == "waiting", run.integrated.output


@pytest.mark.slow
def test_one_job_finishes_what_several_started(new):
    world = push_stories(new(), 2)
    run_wave(world, around=lambda name, job: job() if name == "calc-1" else None)
    assert story_branches(world) == ["calc-1"]
    world.tick()
    acted = world.act()  # mode work, as in an older workflow file
    assert acted.outputs["outcome"] == "done", acted.output
    assert story_branches(world) == [] and commit_subjects(world).count("red(calc-1)") == 1
