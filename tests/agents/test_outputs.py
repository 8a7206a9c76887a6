"""How code processes roles' answers: verdicts, numbers, and additions to a plan."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prd2pr.agents.outputs import (
    added_criteria,
    debugger,
    deployment,
    designer,
    documentation,
    estimator,
    pattern_validator,
    research,
    retrospective,
    review,
    security,
    why,
)
from prd2pr.agents.outputs.briefing import PrePlanFindings, format_briefing
from prd2pr.agents.outputs.retrospective import StoryFacts
from prd2pr.agents.outputs.why import KnownFacts, WhyAnswer
from prd2pr.domain.memory_records import LibraryNote, SpikeRecord
from prd2pr.domain.records import Backlog, Criterion, Epic, Prd, Requirement, Story
from prd2pr.domain.remarks import collect_remarks
from prd2pr.domain.role_record import RoleRecord
from prd2pr.livingdocs import state
from prd2pr.memory.prompt_text import MEMORY_TOKEN_CAP, render_memory
from prd2pr.memory.similarity import RelevantMemory, SimilarFailure, SimilarPattern
from prd2pr.planning.plan import backlog_to_draft, check_plan

NOW = "2026-11-17T12:00:00Z"


def prd(text: str = "", **more: Any) -> Prd:
    return Prd(
        id="x", title="X", path="prds/x.md", text=text, requirements=(Requirement(id="FR-1", text="It works."),), **more
    )


def story(n: int, criteria: int = 2, **more: Any) -> Story:
    name = f"x-{n}"
    made = tuple(Criterion(id=f"{name}.c{i}", text=f"It does {i}.") for i in range(1, criteria + 1))
    return Story(id=name, epic="x-e1", title=f"Story {n}", criteria=made, requirements=("FR-1",), **more)


def backlog(*stories: Story) -> Backlog:
    return Backlog(epics=(Epic(id="x-e1", title="X"),), stories=stories)


# --- Why --------------------------------------------------------------------------------------------------------------

KNOWN = KnownFacts(
    paths=frozenset({"src/a.py"}),
    stories=frozenset({"old-1"}),
    failures=frozenset({"f1", "f2"}),
    decisions=frozenset({"d1"}),
    requirements=frozenset({"FR-1"}),
)
OVERLAP = {"what": "src/a.py", "share": "all", "evidence": "run()"}
MOST = {"what": "old-1", "share": "most", "evidence": "its criteria"}
CONFLICT = {"decision": "d1", "breaks": True, "why": "FR-1 wants floats"}
STRAIN = {"decision": "d1", "breaks": False, "why": "FR-1 is harder by it"}
FAILED = [{"id": name, "same_approach": True} for name in ("f1", "f2")]
OTHERWISE = [{**each, "difference": "there is a queue now"} for each in FAILED]
SURPLUS = {"requirement": "FR-1", "why": "nobody asked"}


def answer(**facts: Any) -> WhyAnswer:
    return WhyAnswer.model_validate_json(json.dumps({"purpose": "People can.", "reasoning": "Because.", **facts}))


@pytest.mark.parametrize(
    ("facts", "verdict", "rule"),
    [
        ({}, "proceed", "no rule objects"),
        ({"conflicts": [CONFLICT], "overlaps": [OVERLAP]}, "reject", "an active decision rules it out"),
        ({"failures": FAILED, "overlaps": [OVERLAP]}, "reject", "the same approach has failed twice or more"),
        ({"overlaps": [MOST, OVERLAP], "surplus": [SURPLUS]}, "merge_with_existing", "it already exists"),
        ({"failures": FAILED[:1], "overlaps": [MOST]}, "simplify", "the same approach has failed once"),
        ({"failures": OTHERWISE}, "proceed", "no rule objects"),
        ({"overlaps": [MOST], "surplus": [SURPLUS]}, "simplify", "most of it already exists"),
        ({"surplus": [SURPLUS], "conflicts": [STRAIN]}, "simplify", "a requirement exceeds the purpose"),
        ({"conflicts": [STRAIN]}, "simplify", "an active decision makes it harder"),
        ({"overlaps": [{**OVERLAP, "share": "part"}]}, "proceed", "no rule objects"),
    ],
)
def test_first_matching_rule_decides(facts: dict[str, Any], verdict: str, rule: str) -> None:
    ruling = why.rule_on_prd(why.drop_unsupported_facts(answer(**facts), KNOWN))
    assert (ruling.verdict, ruling.rule) == (verdict, rule)
    assert ruling.reason


def test_references_to_nothing_are_ignored() -> None:
    facts = {
        "overlaps": [{**OVERLAP, "what": "src/none.py"}],
        "failures": [{**each, "id": f"no-{each['id']}"} for each in FAILED],
        "conflicts": [{**CONFLICT, "decision": "d9"}],
        "surplus": [{**SURPLUS, "requirement": "FR-9"}],
    }
    assert why.rule_on_prd(answer(**facts)).verdict == "reject"
    assert why.rule_on_prd(why.drop_unsupported_facts(answer(**facts), KNOWN)).verdict == "proceed"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\nid: x\ndespite: we want it all the same\n---\n# X\n", "we want it all the same"),
        ('{"despite": "because of the law", "id": "x"}', ""),
        ('{\n  "despite": "because of the law",\n  "id": "x"\n}', "because of the law"),
        ("# X\n\nIt works despite: nothing.\n", ""),
        ("despite:\n", ""),
    ],
)
def test_person_can_override_the_rejection(text: str, reason: str) -> None:
    assert why.read_override_reason(text) == reason


# --- Research, Documentation ------------------------------------------------------------------------------------------


def researched(*unknowns: int) -> research.ResearchAnswer:
    way = {"name": "one", "how": "so", "gains": "much", "risks": "few"}
    return research.ResearchAnswer.model_validate(
        {
            "prior_art": ({"path": "src/a.py", "what": "run"}, {"path": "src/gone.py", "what": "no"}),
            "approaches": (way, {**way, "name": "two"}),
            "recommended": 2,
            "because": "smaller",
            "unknowns": tuple(
                {"question": f"Q{n}?", "why": "plan", "needs_experiment": bool(needs)}
                for n, needs in enumerate(unknowns)
            ),
        }
    )


def test_at_most_two_experiments_and_only_if_needed() -> None:
    asked = research.select_experiments(researched(0, 1, 1, 1))
    assert [each.question for each in asked] == ["Q1?", "Q2?"]


def test_prior_art_must_be_in_the_repository() -> None:
    found = research.drop_missing_prior_art(researched(), frozenset({"src/a.py"}))
    assert [each.path for each in found.prior_art] == ["src/a.py"]
    assert found.recommended_approach.name == "two"


MANIFESTS = {
    "pyproject.toml": '[project]\nname = "p"\ndependencies = ["Jinja2>=3.1 ; python_version > \'3\'", "rich[x]==13"]\n',
    "requirements-dev.txt": "# tools\n-r other.txt\npytest>=8  # runs\n\n",
    "docs/requirements.txt": "sphinx\n",
}


def test_libraries_are_declared_or_requested_named_ones_first() -> None:
    document = prd("Show it with rich.", dependencies=("`httpx` (>=0.28)", "Python 3.12"))
    found = documentation.find_libraries(document, MANIFESTS)
    assert [(each.name, each.wanted) for each in found] == [
        ("rich", "==13"), ("Jinja2", ">=3.1"), ("pytest", ">=8"), ("httpx", ">=0.28"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["[project", "project = 1\n", '[project]\ndependencies = "jinja2"\n', "[" * 5000])
def test_unreadable_manifest_declares_nothing(text: str) -> None:
    assert documentation.find_libraries(prd(), {"pyproject.toml": text}) == ()


def note(library: str, expires: str, at: str = "2026-11-10T00:00:00Z") -> LibraryNote:
    return LibraryNote(id="n", prd="x", at=at, library=library, version="1", content="c", expires_at=expires)


def test_library_note_expires() -> None:
    assert documentation.compute_expiry("2026-11-10T00:00:00Z", 7) == "2026-11-17T00:00:00Z"
    known = documentation.select_fresh_notes(
        [note("Jinja2", "2026-11-17T00:00:00Z"), note("rich", "2026-11-18T00:00:00Z")], NOW
    )
    found = documentation.find_undocumented_libraries(documentation.find_libraries(prd(), MANIFESTS), known)
    assert [each.name for each in found] == [
        "Jinja2", "pytest",
    ]  # fmt: skip


def test_unrequested_notes_are_dropped() -> None:
    given = documentation.DocumentationAnswer.model_validate(
        {"libraries": [{"library": name, "version": "1", "use": "u"} for name in ("JINJA2", "left-pad", "jinja2")]}
    )
    kept = documentation.keep_requested_libraries(given, (documentation.Library("jinja2", ""),))
    assert [each.library for each in kept.libraries] == ["jinja2"]


def test_briefing_is_short_with_the_most_important_first() -> None:
    way = why.rule_on_prd(answer(overlaps=[MOST]))
    spike = SpikeRecord(
        id="s", prd="x", at=NOW, feature="X", question="Q0?", approach="a", result="No.", viable=False, lessons="Do B."
    )
    found = PrePlanFindings(answer(), way, researched(1, 0), [note("rich", NOW)], [spike])
    lines = format_briefing(found).splitlines()
    assert lines[:2] == [
        "Purpose: People can.",
        "Plan less, because most of it already exists: old-1 already does most of it: its criteria",
    ]
    assert "Experiment: Q0? It does not work: No." in lines
    assert "Not known yet: Q1?" in lines
    assert not any(line == "Not known yet: Q0?" for line in lines), "it is known by now"
    assert len(format_briefing(found, limit=120)) < 200
    assert format_briefing(PrePlanFindings()) == ""


# --- additions to a plan ----------------------------------------------------------------------------------------------


def requested_criteria(name: str, *texts: str) -> list[added_criteria.RequestedCriterion]:
    return [
        added_criteria.RequestedCriterion(name, added_criteria.CriterionAnswer(text=text, example="e"))
        for text in texts
    ]


def test_a_required_test_becomes_a_criterion_of_its_story() -> None:
    after = added_criteria.add_requested_criteria(
        prd(), backlog(story(1), story(2)), requested_criteria("x-2", " It is\n safe. "), aspect="Safe"
    )
    assert [[each.id for each in s.criteria] for s in after.stories] == [
        ["x-1.c1", "x-1.c2"], ["x-2.c1", "x-2.c2", "x-2.c3"],
    ]  # fmt: skip
    assert after.stories[1].criteria[2] == Criterion(id="x-2.c3", text="It is safe.", example="e")


def test_existing_criterion_is_not_added_twice() -> None:
    before = backlog(story(1))
    assert added_criteria.add_requested_criteria(
        prd(), before, requested_criteria("x-1", "It  does 1.", "New.", "New."), aspect="Safe"
    ).stories[0].criteria[2:] == (Criterion(id="x-1.c3", text="New.", example="e"),)


@pytest.mark.parametrize("first", [story(1, criteria=4), story(1, criteria=0, kind="docs")])
def test_criterion_that_does_not_fit_becomes_a_follow_up_story(first: Story) -> None:
    before = backlog(first, story(2))
    after = added_criteria.add_requested_criteria(
        prd(), before, requested_criteria("x-1", "A.", "B.", "C."), aspect="Held safe"
    )
    assert [each.id for each in after.stories] == ["x-1", "x-3", "x-2"]
    added = after.stories[1]
    assert (added.title, added.kind, added.depends_on) == ("Held safe: Story 1", "feature", ("x-1",))
    assert len(added.criteria) + len(after.stories[0].criteria) == len(first.criteria) + 3
    assert check_plan(prd(), backlog_to_draft(after)) == ()


def test_additions_never_make_a_story_too_large() -> None:
    many = requested_criteria("x-1", *(f"Rule {n}." for n in range(30)))
    after = added_criteria.add_requested_criteria(prd(), backlog(story(1, criteria=5)), many, aspect="A" * 200)
    assert check_plan(prd(), backlog_to_draft(after)) == ()


def risks(*levels: str, name: str = "x-1") -> security.SecurityAnswer:
    made = [{"story": name, "what": f"{level} harm", "severity": level} for level in levels]
    return security.SecurityAnswer.model_validate({"risks": made, "summary": "s"})


def test_only_a_critical_risk_requires_a_person() -> None:
    assert security.format_security_verdict(risks()) == "clear"
    assert security.format_security_verdict(risks("low", "high", "medium")) == "high"
    assert security.format_security_question(risks("high")) == ""
    asking = risks("low", "critical")
    plan = backlog(story(1)).model_copy(update={"questions": ("Which one?", security.format_security_question(asking))})
    record = RoleRecord(role="security", at=NOW, verdict=security.format_security_verdict(asking))
    assert (
        security.find_security_question(plan, record)
        == "Security: should this be built despite a critical risk? x-1: critical harm"
    )
    assert security.find_security_question(plan, None) == ""
    assert security.find_security_question(plan, record.model_copy(update={"verdict": "high"})) == ""


def test_risk_for_an_unknown_story_is_an_error() -> None:
    (problem,) = security.find_security_problems(risks("low", name="x-9"), backlog(story(1)))
    assert "`x-9`" in problem
    assert security.find_security_problems(risks("low", name="x-1"), backlog(story(1))) == ()


def test_living_docs_read_the_role_answers() -> None:
    criterion = {"text": "Only numbers are added.", "example": ""}
    answer = security.SecurityAnswer.model_validate_json(
        json.dumps(
            {
                "risks": [
                    {
                        "story": "x-1",
                        "what": "Texts are added.",
                        "severity": "high",
                        "required_test": criterion,
                    }
                ],
                "summary": "s",
            }
        )
    )
    record = RoleRecord(role="security", at=NOW, output=answer.model_dump(mode="json")).model_dump(mode="json")
    (note,) = state.read_risks(record, "x")
    assert (note.about, note.risk, note.severity) == ("x-1", "Texts are added.", "high")
    assert note.required_test == "Only numbers are added."


def test_duplicate_failure_or_pattern_counts_once() -> None:
    twice = [{"id": "f-1", "same_approach": True}] * 2
    answer = why.WhyAnswer.model_validate({"purpose": "p", "reasoning": "r", "failures": twice})
    assert why.rule_on_prd(answer).verdict == "simplify"
    both = [*twice, {"id": "f-2", "same_approach": True}]
    ruling = why.rule_on_prd(answer.model_validate({"purpose": "p", "reasoning": "r", "failures": both}))
    assert (ruling.verdict, ruling.reason) == ("reject", "the same approach has failed before: f-1; f-2")
    judged = [{"pattern": "p-1", "followed": "wholly"}, *[{"pattern": "p-2", "followed": "not"}] * 3]
    found = pattern_validator.drop_unknown_patterns(
        pattern_validator.PatternAnswer.model_validate({"patterns": judged}), ["p-1", "p-2"]
    )
    assert pattern_validator.compute_compliance(found.patterns) == 50


# --- Estimator --------------------------------------------------------------------------------------------------------


def test_three_estimates_in_any_order_and_the_factor() -> None:
    assert (
        estimator.compute_three_point_estimate(10, 20, 60) == estimator.compute_three_point_estimate(60, 10, 20) == 25
    )
    given = estimator.EstimateAnswer.model_validate(
        {
            "stories": [
                {"story": "x-1", "optimistic": 10, "likely": 20, "pessimistic": 60, "complexity": 7},
                {"story": "x-9", "optimistic": 1, "likely": 1, "pessimistic": 1, "complexity": 1},
            ]
        }
    )
    before = backlog(story(1, estimate_minutes=5), story(2, estimate_minutes=8))
    after = estimator.apply_estimates(before, given, 2.0)
    assert [(each.estimate_minutes, each.complexity) for each in after.stories] == [(50, 7), (16, 3)]
    assert [each.guessed_minutes for each in after.stories] == [25, 8], "before the factor"
    assert estimator.apply_estimates(before, None, None) is before
    assert [each.estimate_minutes for each in estimator.apply_estimates(before, None, 0.01).stories] == [1, 1]


# --- Designer, Deployment ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "files", "has"),
    [
        ("A form of address is parsed.", ["src/a.py"], False),
        ("The form has a button.", ["src/a.py"], True),
        ("The form is shown.", ["src/a.py", "templates/a.html"], True),
        ("Numbers are added.", ["templates/a.html"], False),
        ("Build the UI.", ["app/x.tsx"], True),
    ],
)
def test_designer_is_called_for_user_interfaces(text: str, files: list[str], has: bool) -> None:
    assert designer.has_front_end(prd(text), files) is has


def test_design_notes_are_added_to_the_story() -> None:
    given = designer.DesignerAnswer.model_validate(
        {"slices": [{"story": name, "shows": "A list.", "states": ["empty"]} for name in ("x-1", "x-9")]}
    )
    plan = backlog(story(1, description="As a user."), story(2))
    kept = designer.drop_unknown_slices(given, plan)
    assert len(kept.slices) == 1
    told = designer.add_slice_hints(plan, kept).stories
    assert told[0].description == "As a user.\n\nWhat the user sees: A list. States: empty."
    assert told[1] == plan.stories[1]


@pytest.mark.parametrize(
    ("text", "files", "concerns"),
    [
        ("It is deployed daily.", [], True),
        ("Numbers are added.", ["deep/Dockerfile"], True),
        ("Numbers are added.", ["k8s/app.yaml"], True),
        ("Numbers are added.", ["infra/main.tf"], True),
        ("Numbers are added.", ["src/deployer.py", "docs/dockerfiles.md"], False),
    ],
)
def test_deployment_is_called_if_something_is_deployed(text: str, files: list[str], concerns: bool) -> None:
    assert deployment.concerns_deployment(prd(text), files) is concerns


# --- around a story ---------------------------------------------------------------------------------------------------


def test_root_cause_in_the_tests_leads_to_a_contradiction() -> None:
    facts = {"root_cause": "4 is not 5.", "do_instead": ["Count."], "lesson": "Count first."}
    of_code = debugger.format_debugger_advice(debugger.DebuggerAnswer.model_validate({**facts, "lies_in": "the code"}))
    of_tests = debugger.format_debugger_advice(
        debugger.DebuggerAnswer.model_validate({**facts, "lies_in": "the tests"})
    )
    assert "4 is not 5." in of_code and "1. Count." in of_code
    assert "contradiction" not in of_code
    assert "submit `contradiction`" in of_tests


def judged(**followed: str) -> pattern_validator.PatternAnswer:
    return pattern_validator.PatternAnswer.model_validate(
        {"patterns": [{"pattern": name, "followed": how} for name, how in followed.items()]}
    )


def test_compliance_score_is_computed_by_code() -> None:
    assert pattern_validator.compute_compliance(judged(a="wholly", b="mostly", c="partly", d="not").patterns) == 53.8
    assert pattern_validator.compute_compliance(judged(a="wholly", b="not applicable").patterns) == 100
    assert pattern_validator.format_pattern_verdict(judged(a="not applicable")) == "no pattern applies"
    assert pattern_validator.format_pattern_verdict(judged(a="not")) == "0 of 100"
    assert len(pattern_validator.drop_unknown_patterns(judged(a="not", z="wholly"), ["a"]).patterns) == 1


def test_conventions_are_split_into_rules() -> None:
    found = pattern_validator.extract_convention_rules(
        {
            ".orch-state/best-practices.md": "# Ours\n\n- One\n  and more\n* Two\n",
            ".orch-state/architecture.md": "# Title\n\nLayers go\ndown.\n\n\n",
        }
    )
    assert found == {"best-practices.1": "One and more", "best-practices.2": "Two", "architecture.1": "Layers go down."}


def reviewed(*criteria: tuple[str, bool, str]) -> review.ReviewAnswer:
    made = [{"criterion": name, "met": met, "evidence": "see", "level": level} for name, met, level in criteria]
    return review.ReviewAnswer.model_validate({"criteria": made, "summary": "s"})


def test_only_an_unmet_must_blocks() -> None:
    assert review.format_review_verdict(reviewed(("x-1.c1", True, "must"), ("x-1.c2", False, "should"))) == "met"
    wrong = reviewed(("x-1.c1", False, "must"), ("x-1.c2", False, "must"))
    assert review.format_review_verdict(wrong) == "not met"
    assert review.format_blocking_reason(wrong) == "Review: x-1.c1 is not met (and x-1.c2): see"


def test_review_covers_every_criterion_exactly_once() -> None:
    assert review.find_review_problems(reviewed(("x-1.c1", True, "must"), ("x-1.c2", True, "must")), story(1)) == ()
    wrong = reviewed(("x-1.c1", True, "must"), ("x-1.c1", False, "must"), ("x-9.c1", True, "must"))
    assert review.find_review_problems(wrong, story(1)) == (
        "`x-9.c1` is not a criterion of x-1",
        "`x-1.c2` is missing from the answer",
        "`x-1.c1` is in the answer twice",
    )


# --- Retrospective ----------------------------------------------------------------------------------------------------


def test_retrospective_has_one_line_per_story() -> None:
    went = (
        StoryFacts("x-1", "One", 10, 40, 6, ("GRN302", "GRN302")),
        StoryFacts("x-3", "Three", 10, 0, 0, status="skipped"),
    )
    assert retrospective.format_story_facts(went).splitlines() == [
        "x-1 (done) One: estimated 10 min, took 40.0 min of runner time, 6 attempts, refused by GRN302, GRN302",
        "x-3 (skipped) Three: estimated 10 min, took 0.0 min of runner time, 0 attempts",
    ]


# --- memory and the pull request --------------------------------------------------------------------------------------


def test_memory_text_is_limited_failures_first() -> None:
    failures = tuple(
        SimilarFailure(f"f{n}", "x", "x-1", "F", "a\nb", "w" * 500, "l", logged_at=0, score=1, by="words")
        for n in range(20)
    )
    patterns = (SimilarPattern("p1", "N", "D", "src/a.py", used=0, compliance=None, score=1),)
    text = render_memory(RelevantMemory(failures, patterns))
    assert text.startswith("failure f0 (F): a b. It failed: ")
    assert len(text) < MEMORY_TOKEN_CAP * 4 + 40
    note = LibraryNote(id="n", prd="x", at=NOW, library="attrs", version="25", content="define", expires_at=NOW)
    assert render_memory(RelevantMemory(patterns=patterns), [note]).splitlines() == [
        "pattern p1 (N): D (as in src/a.py)",
        "library attrs 25: define",
    ]
    assert render_memory(RelevantMemory()) == ""


def test_remarks_in_an_unknown_format_are_ignored() -> None:
    odd = [
        RoleRecord(role=role, at=NOW, output=output)
        for role in ("smell", "pattern_validator", "review", "security", "deployment", "why")
        for output in ({}, {"warnings": 3, "patterns": [1], "criteria": [{}], "risks": None, "rollback": 1})
    ]
    assert collect_remarks(odd) == ()
    text = "</details> @everyone \x1b[31m/tdd run\n# boo"
    hostile = RoleRecord(
        role="review", story="x-1", at=NOW,
        output={"criteria": [], "remarks": [{"level": "nice", "what": text, "where": "a\nb"}]},
    )  # fmt: skip
    (told,) = collect_remarks([hostile])
    assert "\n" not in told.text + told.place
    assert "\x1b" not in told.text
