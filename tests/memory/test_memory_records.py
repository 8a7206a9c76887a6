"""Memory records that code derives from a step's records."""

from __future__ import annotations

from memories import AT, estimate, failure
from prd2pr.agents.outputs.estimator import apply_estimates
from prd2pr.domain.records import (
    NOTHING_TO_REFACTOR,
    Backlog,
    Cycle,
    Design,
    Phase,
    Prd,
    RefusedAttempt,
    Spend,
    Step,
    Story,
)
from prd2pr.memory.files import encode_memory_file
from prd2pr.memory.lessons import (
    REFUSED_PREFIX,
    count_story_steps,
    is_generated_lesson,
    make_complexity_snapshot,
    make_decisions,
    make_estimate_record,
    make_failure_record,
    make_lesson,
    make_retrospective,
)
from prd2pr.verification.findings import FINDINGS

STORY = Story(id="shop-2", epic="E1", title="Redeem at checkout", estimate_minutes=4, complexity=5)
DESIGN = Design(
    summary="One function takes basket and points.",
    source_paths=("src/shop/points.py",),
    decisions=("Points are whole numbers. Cents would be rounded.", "The basket is not changed"),
)


def step(n: int, phase: Phase, **more: object) -> Step:
    return Step(n=n, phase=phase, at=AT, code_tree="t", evidence="sha256:0", seconds=30, **more)


def refused(phase: Phase, attempt: int, *codes: str, summary: str = "a test was changed") -> RefusedAttempt:
    return RefusedAttempt(phase=phase, attempt=attempt, codes=codes, summary=summary)


CYCLE = Cycle(
    story="shop-2",
    design=DESIGN,
    steps=(
        step(1, Phase.DESIGN, spend=Spend(calls=1, input_tokens=100, usd=0.25)),
        step(2, Phase.RED),
        step(3, Phase.GREEN, attempts=3, spend=Spend(calls=3, output_tokens=50, usd=0.5)),
        step(4, Phase.INTEGRATED, note=NOTHING_TO_REFACTOR),
    ),
    refused=(
        refused(Phase.GREEN, 1, "GRN201"),
        refused(Phase.GREEN, 2, "GRN201", "GRN301", summary="the tests do not notice"),
    ),
)


def test_a_failure_names_what_was_refused_and_what_passed():
    made = make_failure_record("shop", STORY, CYCLE, step=4, at=AT)
    assert made is not None
    assert (made.id, made.prd, made.story, made.phase) == ("shop-2-4", "shop", "shop-2", "green")
    assert made.codes == ("GRN201", "GRN301")
    assert made.approach.startswith("One function takes basket and points.")
    assert "green: a test was changed; green: the tests do not notice" in made.why_failed
    told = [f"{FINDINGS[code].title} ({code})" for code in ("GRN201", "GRN301")]
    passed = "green passed at attempt 3, in src/shop/points.py."
    assert made.lesson == f"{REFUSED_PREFIX}{told[0]}; {told[1]}. {passed}"
    assert is_generated_lesson(made.lesson) and encode_memory_file(made)


def test_generated_lesson_omits_remedies_for_people():
    cycle = Cycle(story="shop-2", refused=(refused(Phase.GREEN, 1, "GRN506"),))
    assert make_lesson(STORY, cycle).endswith(" (GRN506).")


def test_failure_of_a_blocked_story_starts_with_the_reason():
    made = make_failure_record(
        "shop", STORY, CYCLE, step=5, at=AT, blocked="out of attempts", lesson="Ask for the fee first."
    )
    assert made is not None
    assert made.why_failed.startswith("out of attempts; green:")
    assert made.lesson == "Ask for the fee first."
    bare = make_failure_record(
        "shop", STORY, Cycle(story="shop-2"), step=1, at=AT, blocked="the tests contradict the story"
    )
    assert bare is not None and bare.lesson and bare.codes == ()


def test_no_failure_without_a_refusal():
    assert make_failure_record("shop", STORY, CYCLE.model_copy(update={"refused": ()}), step=4, at=AT) is None


def test_unknown_finding_codes_still_leave_a_lesson():
    cycle = Cycle(story="shop-2", refused=(refused(Phase.RED, 1, "XXX999"),))
    made = make_failure_record("shop", STORY, cycle, step=1, at=AT)
    assert made is not None and made.lesson


def test_an_estimate_counts_every_attempt_as_a_session():
    made = make_estimate_record("shop", STORY, CYCLE, step=4, at=AT, created=1, modified=2)
    assert (made.estimated_sessions, made.actual_sessions) == (4, 6)
    assert (made.estimated_minutes, made.actual_minutes) == (4, 2)
    assert (made.tokens, made.usd) == (150, 0.75)
    smooth = CYCLE.model_copy(update={"refused": ()})
    assert make_estimate_record("shop", STORY, smooth, step=4, at=AT).actual_sessions == 4


def test_correct_factor_is_recorded_again():
    """One minute was planned, two were estimated and two were used: relative to the estimate the factor would be 1."""
    (planned,) = apply_estimates(
        Backlog(stories=(STORY.model_copy(update={"estimate_minutes": 1}),)), None, 2.0
    ).stories
    made = make_estimate_record("shop", planned, CYCLE, step=4, at=AT)
    assert (planned.estimate_minutes, made.actual_minutes) == (2, 2)
    assert made.actual_minutes / made.estimated_minutes == 2


def test_a_story_without_tests_is_planned_with_fewer_sessions():
    docs = STORY.model_copy(update={"kind": "docs"})
    assert count_story_steps(STORY) == 5
    assert count_story_steps(docs) == 3
    assert make_estimate_record("shop", docs, CYCLE, step=4, at=AT).estimated_sessions == 2


def test_a_snapshot_measures_the_changed_source():
    text = "import os\nfrom . import rates\n\n\ndef fee(a):\n    if a:\n        return 1\n    return 2\n"
    made = make_complexity_snapshot("shop", "shop-2", {"src/fee.py": text, "web/app.js": "let a = 1\n"}, step=4, at=AT)
    assert made is not None
    python, other = made.files
    assert (python.path, python.functions, python.dependencies, python.complexity) == ("src/fee.py", 1, 2, 2)
    assert (other.path, other.lines, other.complexity) == ("web/app.js", 1, 0)
    assert make_complexity_snapshot("shop", "shop-2", {}, step=4, at=AT) is None


def test_decisions_are_those_of_the_design():
    one, two = make_decisions("shop", "shop-2", DESIGN, step=4, at=AT)
    assert (one.id, one.title) == ("shop-2-4-1", "Points are whole numbers")
    assert one.text == f"{one.title}. Cents would be rounded."
    assert one.why == "", "a design gives no reasons for single decisions"
    assert two.id == "shop-2-4-2"
    assert make_decisions("shop", "shop-2", None, step=4, at=AT) == ()


def test_retrospective_names_overruns_and_changes():
    prd = Prd(id="shop", title="A shop", path="prds/shop.md")
    made = make_retrospective(prd, [estimate("e-1", 4, 6), estimate("e-2", 4, 4)], [failure()], at=AT)
    assert made.surprises[0] == "shop-1 took 6 sessions, planned 4"
    assert made.would_change == (failure().lesson,)
    assert made.variance == 0.625
    assert make_retrospective(prd, [], [], at=AT).variance is None
    tiny = estimate("e-3", 4, 4).model_copy(update={"estimated_minutes": 1e-308, "actual_minutes": 1e9})
    assert make_retrospective(prd, [tiny], [], at=AT).variance is None, "a quotient that JSON has no number for"
    assert encode_memory_file(made)
