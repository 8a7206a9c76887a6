"""The workflow that `init` writes with `story_jobs`, run by act: waves of story jobs, and their results."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from act.rig import ActionSource, ActResult, run_workflow, set_up
from act.test_end_to_end import verified
from fakes.github.events import dispatch_event
from fakes.github.faults import Calls
from github_waves import THREE_WAVES, code_of
from github_world import GitHubWorld
from parallel_world import answers, prd

CONFIG = 'approval: none\nstory_jobs: 8\nmodels: {{default: "replay:{transcript}", strong: "replay:{transcript}"}}\n'
PUSH = "POST */git-receive-pack"


def ready(source: ActionSource, world: GitHubWorld, count: int, needs: dict[int, tuple[int, ...]]) -> None:
    world.answers_of_model = answers(count, needs)
    set_up(source, world, CONFIG.format(transcript=world.transcript()))
    world.push_prd("prds/calc.md", prd(count))


def run_all(source: ActionSource, world: GitHubWorld) -> list[ActResult]:
    """The push, then every run that our runs have requested."""
    runs = [run_workflow(source, world, world.pending.pop(0), timeout=580)]
    seen = 0
    while len(world.repo.dispatches) > seen:
        (row,) = world.repo.dispatches[seen:]  # one after the other: nothing is started twice
        seen += 1
        assert len(runs) < 8, "still busy"
        runs.append(run_workflow(source, world, dispatch_event(world.fake, world.repo, row), timeout=580))
    return runs


def stories_in(run: ActResult) -> list[str]:
    return sorted(name for name in run.jobs if name.startswith("calc-"))


def kill_after_red(source: ActionSource, world: GitHubWorld, story: str) -> list[int]:
    """Kill the story's job right after its RED was pushed; the result tells when that has happened."""
    killed: list[int] = []

    def look() -> None:
        branch = f"prd2pr-stories/calc/{story}"
        if killed or branch not in world.bare.heads():
            return
        if str(world.bare.git("log", "-1", "--format=%s", branch)).startswith(f"red({story})"):
            killed.append(int((source.pids / story).read_text()))
            os.kill(killed[0], signal.SIGKILL)

    world.fake.faults.add(Calls(after=look), PUSH, times=10_000)
    return killed


@pytest.mark.slow
def test_two_stories_in_one_job_each(source, world, tmp_path):
    ready(source, world, 2, {})
    (run,) = run_all(source, world)
    assert run.jobs == dict.fromkeys(("gate", "work", "calc-1", "calc-2", "integrate"), "success"), run.output
    assert (run.outputs["outcome"], run.outputs["branch"]) == ("done", "prd2pr/calc"), run.output
    assert sorted(world.bare.heads()) == ["main", "prd2pr/calc"], "the stories' own branches are gone"
    assert "2 of 2 stories done" in world.pull().body
    verified(world, "prd2pr/calc", tmp_path)


@pytest.mark.slow
def test_eight_stories_in_three_waves_with_one_job_killed(source, world, tmp_path):
    ready(source, world, 8, THREE_WAVES)
    killed = kill_after_red(source, world, "calc-2")
    runs = run_all(source, world)
    assert killed, "the job was under way"
    assert runs[0].jobs["calc-2"] == "failure" and "integrated  tests/unit/calc-1" in runs[0].output, runs[0].output
    # The killed one continues from its RED in the next wave, and what depends on it comes a wave later. The last
    # remaining story gets no job of its own.
    assert [stories_in(run) for run in runs] == [
        ["calc-1", "calc-2", "calc-3"],
        ["calc-2", "calc-4", "calc-6"],
        ["calc-5", "calc-8"],
    ]
    made = str(world.bare.git("log", "--format=%s", f"main..{world.branch}")).splitlines()
    assert [subject for subject in made if made.count(subject) > 1] == []
    assert sorted(world.bare.heads()) == ["main", "prd2pr/calc"], "the stories' own branches are gone"
    assert "8 of 8 stories done" in world.pull().body
    verified(world, "prd2pr/calc", tmp_path)
    assert code_of(world) == run_serially(source, tmp_path / "alone")


def run_serially(source: ActionSource, root: Path) -> dict[str, str]:
    """The same repository, PRD and answers, in one job: without a mode, no story jobs are used."""
    root.mkdir()
    with GitHubWorld(root) as world:
        ready(source, world, 8, THREE_WAVES)
        (acted,) = world.settle(timeout=580)
        assert acted.outputs["outcome"] == "done", acted.output
        return code_of(world)
