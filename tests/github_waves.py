"""The jobs of the workflow with `story_jobs`, run one by one by the real program: plan, one per story, integrate.

    run = run_wave(world)     # the oldest pending event, as the workflow that `init` writes would handle it
    run.stories               # which story jobs there were

The workflow file itself (outputs, matrix, conditions) is tested in tests/act. Here each job can be skipped, ended or
repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fakes.github.events import Event
from github_runner import Acted
from github_world import GitHubWorld
from parallel_world import answers, prd

CONFIG = "approval: none\nstory_jobs: {jobs}\ngates: {{mutation_ratio: null}}\n"
ONLY_CONTENTS = {"contents": "write"}
THREE_WAVES = {4: (1,), 5: (2,), 6: (3,), 7: (4, 5), 8: (6,)}

Around = Callable[[str, Callable[..., Acted]], Acted | None]


def run_job(_: str, job: Callable[..., Acted]) -> Acted | None:
    return job()


@dataclass
class WaveRun:
    """One run of the workflow."""

    planned: Acted
    jobs: dict[str, Acted | None] = field(default_factory=dict)
    integrated: Acted | None = None

    @property
    def stories(self) -> list[str]:
        return list(self.jobs)


def push_stories(world: GitHubWorld, count: int, needs: Mapping[int, tuple[int, ...]] | None = None, jobs: int = 8,
            more: str = "") -> GitHubWorld:  # fmt: skip
    """Push a PRD with that many stories."""
    world.answers_of_model = answers(count, dict(needs or {}))
    world.push({".prd2pr.yml": CONFIG.format(jobs=jobs) + more}, by="ada")
    world.pending.clear()
    world.push_prd("prds/calc.md", prd(count))
    return world


def run_wave(world: GitHubWorld, event: Event | None = None, around: Around = run_job) -> WaveRun:
    """`around` gets each job (a story, or `integrate`) and may skip it, end it or do something before it."""
    event = event or world.pending.pop(0)
    run = WaveRun(world.act(event, env={"PRD2PR_MODE": "plan"}))
    wave = run.planned.outputs.get("wave", "")
    if not wave:
        return run
    of_run = {"GITHUB_RUN_ID": run_id(run.planned), "PRD2PR_PRD": run.planned.outputs["prd"]}
    for row in json.loads(wave):
        run.jobs[row["story"]] = around(row["story"], partial(story_job, world, event, row, of_run))
    last = {**of_run, "PRD2PR_MODE": "integrate", "PRD2PR_WAVE": wave}
    run.integrated = around("integrate", partial(world.act, event, env=last))
    return run


def story_job(
    world: GitHubWorld, event: Event, row: Mapping[str, str], of_run: Mapping[str, str], **more: Any
) -> Acted:
    token = world.fake.actions_token(world.name, ONLY_CONTENTS)
    told = {"PRD2PR_MODE": "story", "PRD2PR_STORY": row["story"], "PRD2PR_SHARE": row["share"], "GITHUB_TOKEN": token}
    return world.act(event, env={**of_run, **told}, **more)


def run_id(acted: Acted) -> str:
    return str(9000 + int(acted.workspace.parent.name.removeprefix("job-")))


def settle_waves(world: GitHubWorld, around: Iterable[Around] = ()) -> list[WaveRun]:
    """Run the workflow until no event is left."""
    runs: list[WaveRun] = []
    ways = iter(around)
    while world.pending:
        assert len(runs) < 12, "still busy"
        runs.append(run_wave(world, around=next(ways, run_job)))
    return runs


def code_of(world: GitHubWorld) -> dict[str, str]:
    """Every file of the PRD's branch that must be the same in two runs.

    Left out: records, the settings (with the path of a transcript, or the number of jobs), and the two living docs that
    name commits and times.
    """
    rows = str(world.bare.git("ls-tree", "-r", world.branch)).splitlines()
    files = {line.partition("\t")[2]: line.split()[2] for line in rows}
    left_out = (".orch-state/", ".prd2pr.yml", "docs/TRACE.md", "docs/ESTIMATES.md")
    return {name: blob for name, blob in files.items() if not name.startswith(left_out)}
