"""Line coverage and the run of the built program: observed at integration, in the evidence, and shown."""

from __future__ import annotations

import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from branch_stage import stage_of
from prd2pr.domain.records import LineCoverage, Phase
from prd2pr.github.messages.query_replies import MetricsReply
from prd2pr.github.messages.rendering import render_reply
from prd2pr.reports.pull_request import build_pull_request_view
from prd2pr.reports.rendering import render_page
from prd2pr.workflow.phases.observations import find_new_lines
from world import World

APART = Path(sys.prefix) / "apart"
PROGRAM = {"src/calc/__main__.py": 'import sys\nprint("calc starts")\nprint(sys.stdin.read() or "no input")\n'}


@pytest.fixture(scope="module")
def python() -> Iterator[Path]:
    """An interpreter with pytest and coverage.py, which is not installed for the other tests."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)  # other users must be able to read it, as the sandbox's user
        venv.create(place, symlinks=True)
        target = place / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
        (target / "apart.pth").write_text(f"{sysconfig.get_path('purelib')}\n{APART}\n", encoding="utf-8")
        yield place / "bin" / "python"


@pytest.mark.slow
def test_coverage_and_output_are_evidence_and_shown(tmp_path: Path, python: Path) -> None:
    settings = f"test:\n  python: {python}\nsmoke:\n  command: [python, src/calc/__main__.py]\n"
    world = World(tmp_path, cold=True).start({".prd2pr.yml": settings, **PROGRAM})
    result = world.run()
    assert result.status == 0, result.err
    with stage_of(world) as stage:
        cycle = stage.state.cycle("calc-2")
        assert cycle is not None
        step = cycle.steps[-1]
        proof = stage.state.proof("calc-2", step.n, Phase.INTEGRATED)
        assert proof is not None
        measured = proof.evidence.line_coverage
        # three functions with two statements each; the program has three that no test executes
        assert measured == LineCoverage(
            tool=measured.tool, statements=9, executed=6, story_statements=2, story_executed=2
        )
        assert measured.tool.startswith("coverage 7.")
        assert cycle.line_coverage == measured
        smoke = proof.evidence.smoke
        assert smoke is not None
        assert (smoke.exit_status, smoke.output, smoke.problem) == (0, "calc starts\nno input\n", "")
        answer = stage.give("/tdd metrics").answer
        assert isinstance(answer, MetricsReply)
        assert [(story, each.share, each.own) for story, each in answer.coverage] == [
            ("calc-1", "57.1%", "2 of 2"),
            ("calc-2", "66.6%", "2 of 2"),
        ]
        assert "| calc-2 | 66.6% of 9 | 2 of 2 |" in render_reply(answer)
        page = render_page(build_pull_request_view(stage.session.store, world.branch, stage.session.constraints.limits))
    assert "Line coverage: 66.6% of 9 statements, 57.1% before; 2 of 2 of the story's own" in page.replace("&#39;", "'")
    assert "calc starts\nno input" in page
    assert "`python src/calc/__main__.py` exited with status 0" in page.replace("<code>", "`").replace("</code>", "`")
    assert world.verify(f"main..{world.branch}", "--json").json["all_proved"]


@pytest.mark.slow
def test_failed_program_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    settings = "smoke:\n  command: [sh, -c, 'echo no database >&2; exit 3']\ntest:\n  coverage: false\n"
    world = World(tmp_path).start({".prd2pr.yml": settings})
    result = world.run()
    assert result.status == 0
    assert "exited with status 3" in result.err + result.out
    assert world.verify(f"main..{world.branch}", "--json").json["all_proved"]


def test_new_lines_are_numbered_in_the_new_file() -> None:
    assert find_new_lines("a\nb\nc\n", "a\nx\nb\nc\ny\n") == {2, 5}
    assert find_new_lines("", "a\nb\n") == {1, 2}
    assert find_new_lines("a\n", "") == frozenset()
