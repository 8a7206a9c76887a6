"""Memory queries on records with known answers."""

from __future__ import annotations

import json

import pytest

from memories import AT, NOW, Library, estimate, failure, note, pattern, usage
from prd2pr.domain.decision import Decision
from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.memory_records import ComplexitySnapshot, FileMeasure
from prd2pr.domain.records import (
    REPLAY_OF,
    Backlog,
    Cycle,
    Phase,
    Prd,
    ProjectState,
    RunRecord,
    Status,
    Step,
    Story,
    Transition,
)
from prd2pr.memory.queries import (
    compute_complexity_trends,
    compute_correction_factor,
    find_relevant,
    find_scope_creep,
    find_similar_failures,
    find_similar_patterns,
    find_stale_docs,
    rank_slow_agents,
)
from prd2pr.memory.retention import RetentionPolicy
from prd2pr.memory.search_terms import count_text_tokens, extract_search_words, stem_word
from prd2pr.state.codec import encode_document

PAYMENTS = failure(
    "f-2",
    feature="Card payments",
    approach="Own form that sends the number to the bank",
    why_failed="The audit does not allow card numbers on our servers",
    lesson="Let the provider show the form",
)
ROUNDING = failure(
    "f-3",
    feature="Redeem points at checkout",
    approach="Points as float",
    why_failed="Sums were wrong by a cent",
    lesson="Count points as whole numbers",
)


# --- similar failures -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Notify customers in the browser by a websocket", "f-1"),
        ("As a customer I want to pay by card", "f-2"),
        ("Redeeming of loyalty points", "f-3"),
        ("PROVIDER", "f-2"),
    ],
)
def test_the_nearest_failure_comes_first(library, text, first):
    library.add(failure("f-1"), PAYMENTS, ROUNDING)
    with library.index() as index:
        found = find_similar_failures(index, text)
    assert found[0].id == first
    assert found[0].by == "words"


@pytest.mark.parametrize(
    "text", ["", "   ", "the and of with", "zebra", '"', "NEAR(", "a* OR b", "x" * 100_000, "'; DROP"]
)
def test_irrelevant_texts_find_nothing(library, text):
    library.add(failure("f-1"))
    with library.index() as index:
        assert find_similar_failures(index, text) == ()
        assert not find_relevant(index, text, 500)


def test_ties_are_ordered_newest_first_then_by_name(library):
    same = [failure(name, at=f"2026-11-0{day}T00:00:00Z") for name, day in [("b", 1), ("a", 1), ("c", 2)]]
    library.add(*same)
    with library.index() as index:
        assert [each.id for each in find_similar_failures(index, "websocket")] == ["c", "a", "b"]
        assert [each.id for each in find_similar_failures(index, "websocket", limit=2)] == ["c", "a"]
        index.rebuild()
        assert [each.id for each in find_similar_failures(index, "websocket")] == ["c", "a", "b"]


def test_inflected_words_match():
    assert stem_word("notifications") == stem_word("notification") == "notific"
    assert "notifying".startswith(stem_word("notify"))
    assert stem_word("scaling") == stem_word("scaled") == stem_word("scales") == "scal"
    assert extract_search_words("The user's points, and POINTS of a user: 2 of 2026") == ("point", "2026")


# --- memory shown to roles --------------------------------------------------------------------------------------------


def test_relevant_memory_is_capped_and_alternates_failures_and_patterns(library):
    library.add(
        *(failure(f"f-{n}", feature=f"Redeem points, take {n}", lesson="Round money once") for n in range(4)),
        *(pattern(f"p-{n}", name=f"Round money {n}") for n in range(4)),
        usage("u-1", 80, of="p-0"),
        usage("u-2", 100, of="p-0"),
    )
    text = "Redeem points at the checkout, and round the money"
    with library.index() as index:
        whole = find_relevant(index, text, 10_000)
        assert len(whole.failures) == 4 and len(whole.patterns) == 4
        assert whole.patterns[0].used == 2 and whole.patterns[0].compliance == 90
        one = count_text_tokens(whole.failures[0].line()) + count_text_tokens(whole.patterns[0].line())
        some = find_relevant(index, text, one + 5)
        assert (len(some.failures), len(some.patterns)) == (1, 1)
        assert some.tokens <= one + 5
        assert not find_relevant(index, text, 3)


def test_one_common_word_is_not_enough_for_relevance(library):
    library.add(failure("f-1"), pattern())
    with library.index() as index:
        assert not find_relevant(index, "A new process for sending letters to suppliers", 1000)
        assert find_relevant(index, "Connections between processes", 1000).failures


def test_patterns_are_found_by_topic(library):
    library.add(pattern(), pattern("p-2", name="Errors", description="Errors name file and remedy", example=""))
    with library.index() as index:
        (found,) = find_similar_patterns(index, "amounts of money are rounded")
    assert (found.id, found.used, found.compliance) == ("p-1", 0, None)


# --- planned and actual ----------------------------------------------------------------------------------------------


def test_the_correction_factor_is_the_mean_of_the_last_ninety_days(library):
    library.add(
        estimate("e-1", 3, 5),
        estimate("e-2", 4, 4, story="shop-2"),
        estimate("nothing-planned", 0, 9, story="shop-3"),
        estimate("old", 1, 100, story="shop-4", at="2026-08-01T00:00:00Z"),
        estimate("later", 1, 100, story="shop-5", at="2026-12-01T00:00:00Z"),
    )
    with library.index() as index:
        found = compute_correction_factor(index, NOW)
        assert found.sessions == round((5 / 3 + 1) / 2, 3)
        assert found.minutes == round((25 / 30 + 20 / 40) / 2, 3)
        assert (found.estimates, found.timed, found.days) == (2, 2, 90)
        assert compute_correction_factor(index, "2027-06-01T00:00:00Z").sessions is None


def test_single_absurd_record_is_ignored(library):
    library.add(
        estimate("e-1", 4, 4),
        estimate("minute", 4, 4, story="shop-2", estimated_minutes=1e-300, actual_minutes=1e9),
        estimate("year", 4, 4000, story="shop-3", estimated_minutes=1, actual_minutes=500_000),
        estimate("nothing", 4, 0, story="shop-4", actual_minutes=0),
    )
    with library.index() as index:
        found = compute_correction_factor(index, NOW)
    assert (found.sessions, found.minutes) == (1.0, 0.5)
    assert (found.estimates, found.timed) == (2, 1)


def test_last_record_of_a_repeated_story_counts(library):
    library.add(estimate("first", 4, 40, at="2026-10-30T00:00:00Z"), estimate("again", 4, 8))
    with library.index() as index:
        found = compute_correction_factor(index, NOW)
    assert (found.sessions, found.minutes, found.estimates) == (2.0, 1.0, 1)


def test_replayed_minutes_are_ignored_but_sessions_count(library):
    run = RunRecord(id="r-1", started_at=AT, model=f"{REPLAY_OF}demo")
    library.put({".orch-state/prds/demo/runs/r-1.json": encode_document(run)})
    library.add(estimate("real", 4, 4), estimate("fast", 4, 12, prd="demo", story="demo-1", actual_minutes=1))
    with library.index() as index:
        found = compute_correction_factor(index, NOW)
    assert (found.sessions, found.minutes) == (2.0, 0.5)
    assert (found.estimates, found.timed) == (2, 1)


def prd_files(prd: str, stories: int, steps: int, *, added: int = 0, ended: str = "") -> dict[str, bytes | None]:
    """A PRD with this many stories, some added by people, and this many steps."""
    root = f".orch-state/prds/{prd}"
    listed = tuple(Story(id=f"{prd}-{n}", epic="E1", title=f"Story {n}") for n in range(1, stories + added + 1))
    at = ended or "2026-11-01T12:00:00Z"
    moves = (Transition(at=at, by="ada", command="feedback", before="SPRINT_REVIEW", after="IDLE"),) if ended else ()
    state = ProjectState.IDLE if ended else ProjectState.SPRINT_ACTIVE
    made = tuple(Step(n=n, phase=Phase.GREEN, at=at, code_tree="t", evidence="sha256:0") for n in range(1, steps + 1))
    talk = Step(n=steps + 1, phase=Phase.NOTE, at=at, code_tree="t", evidence="sha256:0", note="blocked")
    decision = Decision(command="backlog add_story", by="ada", at=at, added=listed[stories:])
    evidence = Evidence(
        phase=Phase.NOTE, prd=prd, story="plan", step=2, base_tree="t", head_tree="t", decision=decision
    )
    return {
        f"{root}/prd.json": encode_document(Prd(id=prd, title=f"The {prd}", path=f"prds/{prd}.md")),
        f"{root}/status.json": encode_document(Status(state=state, transitions=moves)),
        f"{root}/backlog.json": encode_document(Backlog(stories=listed)),
        f"{root}/tdd/cycles/{prd}-1.json": encode_document(Cycle(story=f"{prd}-1", steps=(*made, talk))),
        f"{root}/tdd/evidence/plan/2-note.json": encode_document(
            Proof(evidence=evidence, verdict=Verdict(phase=Phase.NOTE, accepted=True))
        ),
        f"{root}/runs/r-{prd}.json": encode_document(RunRecord(id=f"r-{prd}", started_at=at, ended_at=at)),
    }


def test_scope_creep_means_over_half_more_than_planned(library):
    library.put(
        {
            **prd_files("even", 1, 5),
            **prd_files("full", 1, 7),
            **prd_files("more", 1, 8),
            **prd_files("grown", 2, 16, added=3),
        }
    )
    with library.index() as index:
        found = find_scope_creep(index, NOW)
        assert [(each.id, each.planned_steps, each.actual_steps, each.ratio) for each in found] == [
            ("grown", 10, 16, 1.6),
            ("more", 5, 8, 1.6),
        ]
        assert found[0].added_stories == ("grown-3", "grown-4", "grown-5")
        assert found[0].feature_request == "The grown"
        assert [each.id for each in find_scope_creep(index, NOW, times=1.2)] == ["grown", "more", "full"]


def test_finished_pipelines_are_omitted_after_their_retention(library):
    library.put(prd_files("done", 1, 8, ended="2026-05-01T00:00:00Z"))
    with library.index() as index:
        assert len(find_scope_creep(index, NOW)) == 1
        assert find_scope_creep(index, "2027-05-02T00:00:00Z") == ()
        assert len(find_scope_creep(index, "2027-05-02T00:00:00Z", RetentionPolicy(pipelines_days=999))) == 1


# --- documentation, roles, code ---------------------------------------------------------------------------------------


def test_stale_docs_are_expired_notes_not_refreshed_since(library):
    library.add(
        note("fastapi", "0.115.0", "2026-10-01T00:00:00Z", "2026-10-08T00:00:00Z"),
        note("jinja2", "3.1", "2026-09-01T00:00:00Z", "2026-09-08T00:00:00Z"),
        note("pydantic", "2.10", "2026-11-15T00:00:00Z", "2026-11-22T00:00:00Z"),
        note("rich", "13", "2026-10-01T00:00:00Z", "2026-10-08T00:00:00Z"),
        note("rich", "13", "2026-11-14T00:00:00Z", "2026-11-21T00:00:00Z"),
    )
    with library.index() as index:
        assert [(each.library, each.version) for each in find_stale_docs(index, NOW)] == [
            ("jinja2", "3.1"),
            ("fastapi", "0.115.0"),
        ]


def line(role: str, milliseconds: int | None, at: str = "2026-11-01T00:00:00Z", *, success: bool = True) -> str:
    told = {"at": at, "kind": "call", "purpose": f"shop-1/red/{role}/1/1", "success": success}
    return json.dumps({**told, **({} if milliseconds is None else {"duration_ms": milliseconds})})


def test_slow_agents_are_found_from_measured_calls(library):
    lines = [
        line("builder", 900),
        line("builder", 300, success=False),
        line("tester", 100),
        line("tester", None),
        line("architect", 9000, "2026-01-01T00:00:00Z"),
        json.dumps({"at": NOW, "kind": "crossed", "story": "shop-1", "phase": "red"}),
    ]
    library.put({".orch-state/logs/run-1.jsonl": "\n".join(lines).encode()})
    with library.index() as index:
        found = [
            (each.agent, each.calls, each.average_ms, each.slowest_ms, each.failed)
            for each in rank_slow_agents(index, NOW)
        ]
    assert found == [("builder", 2, 600, 900, 1), ("tester", 1, 100, 100, 0)]


def snapshot(day: int, **complexity: float) -> ComplexitySnapshot:
    files = tuple(
        FileMeasure(path=f"src/{name}.py", lines=10, functions=1, dependencies=0, complexity=value)
        for name, value in complexity.items()
    )
    at = f"2026-10-{day:02}T00:00:00Z"
    return ComplexitySnapshot(id=f"c-{day}", prd="shop", story=f"shop-{day}", at=at, files=files)


def test_a_file_that_grows_too_fast_is_flagged(library):
    library.add(
        snapshot(1, points=1, fee=10, once=3),
        snapshot(2, points=10, fee=9),
        *(snapshot(day, points=10 + day) for day in (3, 4, 5)),
        snapshot(6, points=16, fee=8, empty=0),
        snapshot(7, empty=1),
    )
    with library.index() as index:
        found = compute_complexity_trends(index)
        assert [(each.path, each.growth, each.flagged) for each in found] == [
            ("src/points.py", 1.6, True),
            ("src/empty.py", 1.0, False),
            ("src/fee.py", 0.8, False),
        ]
        assert (found[0].snapshots, found[0].before, found[0].now) == (5, 10, 16)
        assert [each.path for each in compute_complexity_trends(index, "src/fee.py")] == ["src/fee.py"]
        assert compute_complexity_trends(index, "src/nowhere.py") == ()


def test_an_empty_memory_answers_every_question(library: Library) -> None:
    with library.index() as index:
        assert find_similar_failures(index, "anything") == ()
        assert compute_correction_factor(index, NOW).sessions is None
        for question in (find_scope_creep, find_stale_docs, rank_slow_agents):
            assert question(index, NOW) == ()
        assert compute_complexity_trends(index) == ()
