"""Screenshots in the commit that integrates a story: named by its evidence, shown, and ignored by the gates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from branch_stage import Stage, stage_of
from pictures import png
from prd2pr.domain.records import Phase
from prd2pr.proof.claims.commits import check_records
from prd2pr.proof.verify import load_claim
from prd2pr.reports.pull_request import build_pull_request_view
from prd2pr.reports.rendering import render_page
from prd2pr.state.commit_message import read_step
from prd2pr.state.screenshots import compute_image_digest
from prd2pr.verification.program.pages import PageRequest, Screenshots
from world import World

CONFIG = 'page:\n  command: [serve]\n  paths: ["/", "/sums"]\n  when: ["src/calc/*"]\n'
FILE = ".orch-state/prds/calc/pages/calc-1/1.png"


@dataclass
class Camera:
    screenshots: Screenshots
    asked: PageRequest | None = None

    def take(self, request: PageRequest) -> Screenshots:
        self.asked = request
        return self.screenshots


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage_of(World(tmp_path_factory.mktemp("pages")).start({".prd2pr.yml": CONFIG})) as made:
        made.step()
        made.give("/approve")
        made.step(3)
        made.keep("green")
        yield made


@pytest.fixture
def stage(staged: Stage) -> Stage:
    staged.back_to("green")
    return staged


def integrate(stage: Stage, screenshots: Screenshots) -> Camera:
    camera = Camera(screenshots)
    stage.session = replace(stage.session, services=replace(stage.session.services, camera=camera))
    stage.step()
    return camera


@pytest.mark.slow
def test_screenshots_are_in_the_commit_and_named_by_the_evidence(stage: Stage) -> None:
    camera = integrate(stage, Screenshots((("/", png()), ("/sums", png(3, 3)))))
    assert camera.asked is not None
    assert (camera.asked.command, camera.asked.paths) == (("serve",), ("/", "/sums"))
    assert camera.asked.code_tree == stage.session.git.code_tree(stage.head), "as the story leaves it"
    assert stage.state.read_bytes(FILE) == png()
    step = stage.state.cycle("calc-1").steps[-1]
    proof = stage.state.proof("calc-1", step.n, Phase.INTEGRATED)
    assert [(each.path, each.digest) for each in proof.evidence.pages] == [
        ("/", compute_image_digest(png())),
        ("/sums", compute_image_digest(png(3, 3))),
    ]
    assert stage.wrong() == []
    assert stage.world.verify(f"main..{stage.session.target.branch}", "--json").json["all_proved"]


@pytest.mark.slow
def test_page_shows_screenshots_and_may_load_nothing_else(stage: Stage) -> None:
    integrate(stage, Screenshots((("/", png()),)))
    session = stage.session
    html = render_page(build_pull_request_view(session.store, session.target.branch, session.constraints.limits))
    assert 'src="data:image/png;base64,iVBOR' in html
    assert "img-src data:; base-uri 'none'" in html
    stage.back_to("green")
    assert "img-src" not in render_page(
        build_pull_request_view(session.store, session.target.branch, session.constraints.limits)
    )


@pytest.mark.slow
def test_missing_screenshot_does_not_prevent_integration(stage: Stage) -> None:
    integrate(stage, Screenshots(note="no picture of the page: there is no Chromium"))
    assert stage.state.backlog.stories[0].status == "done"
    assert stage.state.list_paths(".orch-state/prds/calc/pages") == ()
    assert stage.wrong() == []


def test_story_that_does_not_touch_the_page_needs_no_screenshot(stage: Stage) -> None:
    config = stage.session.config
    elsewhere = config.model_copy(update={"page": config.page.model_copy(update={"when": ("web/**",)})})
    stage.session, kept = replace(stage.session, config=elsewhere), stage.session
    camera = integrate(stage, Screenshots((("/", png()),)))
    stage.session = kept
    assert camera.asked is None


def test_replaced_screenshot_is_detected(stage: Stage) -> None:
    integrate(stage, Screenshots((("/", png()),)))
    git = stage.session.git
    info = git.commit_info(stage.head)
    step = read_step(info.trailers)
    assert step is not None

    def wrong(updates: dict[str, bytes | None]) -> list[str]:
        tree = git.edit_tree(git.tree(stage.head), updates)
        forged = git.commit_info(git.commit(tree, list(info.parents), f"{info.subject}\n\n{info.body}", None))
        claim = load_claim(git, replace(forged, trailers=info.trailers), step)
        return [each.message for each in check_records(claim)]

    assert wrong({}) == []
    replaced, removed = wrong({FILE: png(4, 4)}), wrong({FILE: None})
    assert replaced == removed == ["the screenshot differs from the digest in the evidence"]
    assert wrong({FILE.replace("1.png", "2.png"): png()}) == ["this step may not change this state file"]
