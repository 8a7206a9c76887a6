"""The gates on hand-made evidence: each rule alone, and above all missing evidence."""

from __future__ import annotations

from typing import Any

import pytest

from prd2pr.domain.evidence import (
    Change,
    Comparison,
    Coverage,
    Evidence,
    Fact,
    Failure,
    FailureKind,
    LockedFile,
    PathKind,
    RunSummary,
    Signature,
    TestResult,
)
from prd2pr.domain.records import NOTHING_TO_REFACTOR, Phase, PlannedSymbol, format_untested_note
from prd2pr.domain.results.differential import AFTER_STEP_PREFIX, BehaviorDifference, DifferentialResult, UncoveredLine
from prd2pr.domain.results.isolation import PROTECTIONS, format_sandbox
from prd2pr.domain.results.mutation import MutantResult, MutationResult
from prd2pr.domain.results.removal import Removal
from prd2pr.languages.python.rules.test_code.misspelt_imports import is_misspelling
from prd2pr.verification.gates.failure_reason import find_wrong_reason
from prd2pr.verification.verdict import GATES, GatePolicy

DEFAULTS = GatePolicy()
TEST = "tests/tdd/s-1/test_a.py::test_a"
PATH = "tests/tdd/s-1/test_a.py"
SANDBOX = format_sandbox("namespaces", PROTECTIONS)
MISSING = Failure(kind=FailureKind.MISSING_SYMBOL, stage="collect", exception="ImportError", missing="shop.points.earn")
ASSERTION = Failure(kind=FailureKind.ASSERTION, stage="call", exception="AssertionError", path=PATH, line=5)


def result(outcome: str = "failed", failure: Failure | None = ASSERTION, name: str = TEST) -> TestResult:
    return TestResult(id=name, outcome=outcome, failure=None if outcome == "passed" else failure)


def run(*story: TestResult, **more: Any) -> RunSummary:
    facts: dict[str, Any] = {
        "collected": 5, "passed": 4, "failed": 1, "errors": 0, "skipped": 0, "seconds": 1, "exit_status": 1,
        "sandbox": SANDBOX, "honest": True, "story": story,
    }  # fmt: skip
    return RunSummary(**{**facts, **more})


def change(path: str, kind: PathKind, **more: Any) -> Change:
    return Change(**{"path": path, "status": "added", "kind": kind, "new_blob": "1", "new_mode": "100644", **more})


def red(**more: Any) -> Evidence:
    facts: dict[str, Any] = {
        "phase": Phase.RED, "story": "s-1", "changes": (change(PATH, PathKind.TEST),), "declared": (TEST,),
        "story_tests": (TEST,), "planned": (PlannedSymbol(name="shop.points.earn"),), "comparison": Comparison(),
        "base_run": run(), "head_run": run(result()), "repeat_run": run(result()),
    }  # fmt: skip
    return Evidence(**{**facts, **more})


def green(**more: Any) -> Evidence:
    facts: dict[str, Any] = {
        "phase": Phase.GREEN, "story": "s-1", "changes": (change("src/shop/points.py", PathKind.SOURCE),),
        "locked": (LockedFile(path=PATH, expected="1", actual="1"),), "story_tests": (TEST,),
        "comparison": Comparison(), "base_run": run(result()), "head_run": run(result("passed")),
        "bite": MutationResult(),
    }  # fmt: skip
    return Evidence(**{**facts, **more})


def refactor(**more: Any) -> Evidence:
    measures = {"before": {"lines": 9, "complexity_sum": 4}, "after": {"lines": 8, "complexity_sum": 4}}
    return green(
        **{
            "phase": Phase.REFACTOR,
            "base_run": run(result("passed")),
            "improvement": measures,
            "parity": DifferentialResult(),
            **more,
        }
    )


def integrated(**more: Any) -> Evidence:
    home = "tests/unit/s-1/test_a.py"
    moved = (
        change(PATH, PathKind.TEST, status="deleted", old_blob="b", new_blob="", new_mode=""),
        change(home, PathKind.TEST, new_blob="b"),
    )
    there = f"{home}::test_a"
    facts: dict[str, Any] = {
        "phase": Phase.INTEGRATED, "changes": moved, "story_tests": (there,),
        "locked": (LockedFile(path=home, expected="b", actual="b"),), "head_run": run(result("passed", name=there)),
    }  # fmt: skip
    return green(**{**facts, **more})


def codes(evidence: Evidence, policy: GatePolicy = DEFAULTS) -> set[str]:
    verdict = GATES[evidence.phase](evidence, policy)
    assert verdict.accepted
    return {finding.code for finding in verdict.findings}


def errors(evidence: Evidence, policy: GatePolicy = DEFAULTS) -> set[str]:
    verdict = GATES[evidence.phase](evidence, policy)
    assert verdict.accepted is not bool(verdict.errors)
    return {finding.code for finding in verdict.errors}


@pytest.mark.parametrize("make", [red, green, refactor, integrated])
class TestEveryGate:
    def test_accepts_complete_evidence(self, make: Any) -> None:
        assert errors(make()) == set()

    @pytest.mark.parametrize(
        ("lacks", "code"),
        [
            ({"head_run": None}, "RUN102"),
            ({"base_run": None}, "RUN105"),
            ({"comparison": None}, "RUN105"),
            ({"base_run": run(honest=False, problems=("canary",))}, "RUN101"),
        ],
    )
    def test_never_accepts_incomplete_evidence(self, make: Any, lacks: dict[str, Any], code: str) -> None:
        assert code in errors(make(**lacks))

    @pytest.mark.parametrize(
        ("more", "code"),
        [
            ({"honest": False, "problems": ("the canary passed",)}, "RUN101"),
            ({"honest": False}, "RUN101"),
            ({"exit_status": None}, "RUN106"),
        ],
    )
    def test_never_accepts_a_dishonest_run(self, make: Any, more: dict[str, Any], code: str) -> None:
        whole = make()
        assert code in errors(whole.model_copy(update={"head_run": whole.head_run.model_copy(update=more)}))

    def test_warns_without_a_sandbox_and_refuses_where_one_is_required(self, make: Any) -> None:
        whole = make()
        bare = whole.model_copy(update={"head_run": whole.head_run.model_copy(update={"sandbox": "none"})})
        verdict = GATES[bare.phase](bare, GatePolicy())
        assert (verdict.accepted, [each.code for each in verdict.findings]) == (True, ["RUN104"])
        assert errors(bare, GatePolicy(require_sandbox=True)) == {"RUN103"}

    def test_refuses_links_submodules_and_modes(self, make: Any) -> None:
        for more in (
            {"new_mode": "120000"},
            {"new_mode": "160000"},
            {"status": "type_changed"},
            {"status": "mode_changed"},
        ):
            whole = make()
            odd = change("src/shop/x", PathKind.SOURCE if make is not red else PathKind.TEST, **more)
            found = errors(whole.model_copy(update={"changes": (*whole.changes, odd)}))
            assert found & {"RED106", "GRN104", "RFC104", "INT104"}

    def test_refuses_regressions_and_lost_tests(self, make: Any) -> None:
        broke = Comparison(regressed=("tests/test_old.py::test_x",))
        lost = Comparison(vanished=("tests/test_old.py::test_x",))
        fewer = Comparison(collected_before=9, collected_after=8)
        assert errors(make(comparison=broke)) & {"RED503", "GRN304", "RFC304", "INT304"}
        assert errors(make(comparison=lost)) & {"RED504", "GRN305", "RFC305", "INT305"}
        assert errors(make(comparison=fewer)) & {"RED504", "GRN305", "RFC305", "INT305"}

    def test_no_policy_weakens_a_locked_finding(self, make: Any) -> None:
        for severity in ("off", "warning"):
            policy = GatePolicy(severities={"RUN102": severity, "RUN105": severity})
            assert errors(make(head_run=None), policy)


# --- RED --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (PathKind.SOURCE, "RED101"),
        (PathKind.OTHER, "RED101"),
        (PathKind.TEST_CONFIG, "RED102"),
        (PathKind.MANIFEST, "RED102"),
        (PathKind.CI, "RED102"),
        (PathKind.STATE, "RED103"),
        (PathKind.PROTECTED, "RED103"),
    ],
)
def test_red_touches_tests_only(kind: PathKind, code: str) -> None:
    assert errors(red(changes=(change(PATH, PathKind.TEST), change("x", kind)))) == {code}


@pytest.mark.parametrize(
    ("outcome", "failure", "code"),
    [
        ("passed", None, "RED105"),
        ("skipped", None, "RED204"),
        ("xfailed", None, "RED204"),
        ("xpassed", None, "RED204"),
        ("failed", None, "RED204"),
        ("error", Failure(kind=FailureKind.FIXTURE, stage="setup"), "RED303"),
        ("error", Failure(kind=FailureKind.ASSERTION, stage="teardown"), "RED309"),
        ("error", Failure(kind=FailureKind.COLLECTION, stage="collect"), "RED205"),
        ("failed", Failure(kind=FailureKind.COLLECTION, stage="call", message="an async test"), "RED206"),
        ("failed", Failure(kind=FailureKind.EXPLICIT, stage="call"), "RED306"),
        ("failed", Failure(kind=FailureKind.TIMEOUT, stage="call"), "RED305"),
        ("error", Failure(kind=FailureKind.IMPORT, stage="collect"), "RED308"),
    ],
)
def test_red_requires_a_failure_of_the_right_kind(outcome: str, failure: Failure | None, code: str) -> None:
    seen = run(result(outcome, failure))
    assert errors(red(head_run=seen, repeat_run=seen)) == {code}


def test_red_with_passing_tests() -> None:
    other = f"{PATH}::test_b"
    seen = run(result(), result("passed", name=other))
    assert errors(red(story_tests=(TEST, other), head_run=seen, repeat_run=seen)) == {"RED104"}


def test_red_without_tests_or_with_tests_not_run() -> None:
    assert errors(red(story_tests=(), head_run=run())) == {"RED201"}
    assert errors(red(head_run=run(), repeat_run=run())) == {"RED204"}
    assert errors(red(uncollected=(TEST,))) == {"RED202"}
    assert errors(red(declared=(TEST, TEST))) == {"RED203"}


def test_red_names_every_criterion() -> None:
    covered, open_ = Coverage(criterion="s-1.c1", tests=(TEST,)), Coverage(criterion="s-1.c2")
    assert errors(red(coverage=(covered,))) == set()
    assert errors(red(coverage=(covered, open_))) == {"RED210"}


def test_red_must_be_repeatable() -> None:
    assert errors(red(repeat_run=None)) == {"RED507"}
    assert errors(red(repeat_run=run(result("passed")))) == {"RED501"}
    assert errors(red(repeat_run=run(result("error", MISSING)))) == {"RED501"}
    assert errors(red(repeat_run=run())) == {"RED501"}


def test_red_is_not_a_pre_existing_failure() -> None:
    assert errors(red(base_run=run(result()))) == {"RED502"}
    assert errors(red(base_run=run(result("error", MISSING)))) == set()


def test_uncollectable_file() -> None:
    broken = Failure(kind=FailureKind.SYNTAX, stage="collect", path=PATH, line=3)
    assert errors(red(story_tests=(), declared=(), head_run=run(collect_errors=(broken,)))) == {"RED301"}


def test_facts_become_findings_of_their_gate() -> None:
    fact = Fact(code="RED401", path=PATH, line=3, test=TEST, message="asserts nothing")
    assert errors(red(facts=(fact,))) == {"RED401"}
    assert errors(red(facts=(fact,)), GatePolicy(severities={"RED401": "warning"})) == set()
    assert errors(green(facts=(Fact(code="GRN405", path="src/x.py"),))) == {"GRN405"}
    assert errors(green(facts=(Fact(code="GRN402", path="src/x.py"),))) == set()
    assert errors(green(facts=(Fact(code="GRN402", path="src/x.py"),)), GatePolicy(severities={"GRN402": "error"})) == {
        "GRN402"
    }


# --- the right reason -------------------------------------------------------------------------------------------------


def missing(name: str, exception: str = "ImportError", **more: Any) -> Failure:
    return Failure(
        **{"kind": FailureKind.MISSING_SYMBOL, "stage": "collect", "exception": exception, "missing": name, **more}
    )


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("shop.points.earn", True),
        ("shop.points", True),
        ("shop", True),
        ("shop.points.earn.rate", True),
        ("shop.earn", True),
        ("shop.pionts", False),
        ("shop.points.earned", False),
        ("requests", False),
        ("points", False),
    ],
)
def test_missing_name_must_be_planned(name: str, *, right: bool) -> None:
    wrong = find_wrong_reason(missing(name), red())
    assert (wrong is None) is right
    assert right or (wrong is not None and wrong[0] == "RED302")


@pytest.mark.parametrize(
    ("name", "flat", "right"),
    [
        ("shop.points", False, True),
        ("shop.cart.Basket", False, True),
        ("shop.carts", False, True),
        ("shop.catr", False, False),
        ("shop.cart.Catr", False, False),
        ("loyalty", False, False),
        ("loyalty", True, True),
        ("pandas", True, False),
        ("tomllib", True, False),
        ("shpo.points", True, False),
    ],
)
def test_without_a_design_a_missing_name_belongs_to_the_project(name: str, *, flat: bool, right: bool) -> None:
    known = ("shop", "shop.cart", "shop.cart.Cart")
    evidence = red(planned=None, project_modules=("shop",), project_names=known, flat_layout=flat)
    assert (find_wrong_reason(missing(name), evidence) is None) is right


def test_missing_name_unused_by_the_tests_is_no_reason() -> None:
    evidence = red(planned=None, project_modules=(), flat_layout=True, called=("calc.add",))
    assert find_wrong_reason(missing("calc"), evidence) is None
    assert find_wrong_reason(missing("frobnicator"), evidence) is not None


def exception(name: str, path: str, line: int = 5, message: str = "", **more: Any) -> Failure:
    return Failure(
        **{
            "kind": FailureKind.EXCEPTION,
            "stage": "call",
            "exception": name,
            "path": path,
            "line": line,
            "message": message,
            **more,
        }
    )


def test_exception_counts_if_raised_by_the_subject() -> None:
    assert find_wrong_reason(exception("KeyError", "src/shop/points.py"), red()) is None
    code, message = find_wrong_reason(exception("KeyError", PATH), red()) or ("", "")
    assert code == "RED307" and message.endswith(": KeyError")
    assert find_wrong_reason(exception("KeyError", PATH), red(subject_lines={PATH: (5,)})) is None
    assert find_wrong_reason(exception("KeyError", ""), red()) is not None
    told = "earn() got an unexpected keyword argument 'rate'"
    assert find_wrong_reason(exception("TypeError", PATH, message=told), red()) is None
    assert (
        find_wrong_reason(
            exception("TypeError", PATH, message="sorted() got an unexpected keyword argument 'x'"), red()
        )
        is not None
    )


def test_not_implemented_counts_only_from_the_subject() -> None:
    kind = FailureKind.NOT_IMPLEMENTED
    assert find_wrong_reason(exception("NotImplementedError", "src/shop/points.py", kind=kind), red()) is None
    assert find_wrong_reason(exception("NotImplementedError", PATH, kind=kind), red()) is not None


def test_undefined_name_in_the_test_is_a_test_bug() -> None:
    undefined = missing("earn", "NameError", stage="call", path=PATH)
    assert find_wrong_reason(undefined, red()) is not None


@pytest.mark.parametrize(
    ("written", "meant", "slip"),
    [
        ("catr", "cart", True),
        ("pionts", "points", True),
        ("poits", "points", True),
        ("pointts", "points", True),
        ("puints", "points", True),
        ("points", "point", False),
        ("learn", "earn", False),
        ("earned", "earn", False),
        ("step2", "step1", False),
        ("sub", "sum", False),
        ("cart", "cart", False),
        ("read_tsv", "read_csv", False),
        ("to_xhtml", "to_html", False),
        ("read_pionts", "read_points", True),
    ],
)
def test_typos(written: str, meant: str, *, slip: bool) -> None:
    assert is_misspelling(written, meant) is slip


# --- GREEN ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (PathKind.TEST_CONFIG, "GRN101"),
        (PathKind.CI, "GRN101"),
        (PathKind.MANIFEST, "GRN102"),
        (PathKind.STATE, "GRN103"),
        (PathKind.PROTECTED, "GRN103"),
        (PathKind.TEST, "GRN105"),
        (PathKind.OTHER, "GRN106"),
    ],
)
def test_green_touches_source_only(kind: PathKind, code: str) -> None:
    source = change("src/shop/points.py", PathKind.SOURCE)
    assert errors(green(changes=(source, change("x", kind)))) == {code}


def test_green_may_touch_docs_and_if_allowed_manifests() -> None:
    source = change("src/shop/points.py", PathKind.SOURCE)
    manifest, docs = change("requirements.txt", PathKind.MANIFEST), change("README.md", PathKind.DOCS)
    assert errors(green(changes=(source, manifest, docs)), GatePolicy(allow_manifest=True)) == set()


def test_green_keeps_its_tests_locked() -> None:
    edited = LockedFile(path=PATH, expected="1", actual="2", detail="line 14 `== 90` became `>= 0`")
    gone = LockedFile(path=PATH, expected="1", actual="")
    assert errors(green(locked=(edited,))) == {"GRN201"}
    assert errors(green(locked=(gone,))) == {"GRN202"}
    assert errors(green(locked=())) == {"GRN203"}
    verdict = GATES[Phase.GREEN](green(locked=(edited,)), GatePolicy())
    assert verdict.errors[0].message.endswith(": line 14 `== 90` became `>= 0`")


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("failed", "GRN302"), ("error", "GRN302"), ("skipped", "GRN303"), ("xfailed", "GRN303"), ("xpassed", "GRN303")],
)
def test_green_requires_passed_and_nothing_else(outcome: str, code: str) -> None:
    assert errors(green(head_run=run(result(outcome)))) == {code}


def test_green_needs_tests_that_were_red() -> None:
    assert errors(green(story_tests=())) == {"GRN306"}
    assert errors(green(head_run=run())) == {"GRN303"}
    assert errors(green(base_run=run(result("passed")))) == {"GRN307"}
    assert errors(green(changes=())) == {"GRN108"}


def test_cases_unknown_in_red_all_count() -> None:
    cases = [result("passed", name=f"{TEST}[{n}]") for n in (1, 2)]
    assert errors(green(head_run=run(*cases))) == set()
    assert errors(green(head_run=run(cases[0], result(name=f"{TEST}[2]")))) == {"GRN302"}


# --- REFACTOR ---------------------------------------------------------------------------------------------------------


def test_refactor_improves_a_metric_or_reports_nothing_to_do() -> None:
    same = {"before": {"lines": 9}, "after": {"lines": 9}}
    worse = {"before": {"lines": 9}, "after": {"lines": 14}}
    named = {"before": {"lines": 9, "complexity_sum": 4, "functions": 1}}
    named["after"] = {"lines": 12, "complexity_sum": 5, "functions": 2}
    assert errors(refactor(improvement=worse)) == {"RFC404"}
    assert errors(refactor(improvement={**named, "after": {**named["after"], "functions": 1}})) == {"RFC404"}
    assert errors(refactor(improvement=named)) == set()
    assert errors(refactor(improvement={**same, "comment_only": True})) == {"RFC403"}
    assert errors(refactor(improvement={})) == {"RFC407"}
    assert errors(refactor(improvement={"before": {}, "after": {}})) == {"RFC407"}
    assert errors(refactor(changes=())) == {"RFC406"}
    assert errors(refactor(changes=(), note=NOTHING_TO_REFACTOR)) == set()
    verdict = GATES[Phase.REFACTOR](refactor(improvement=same), GatePolicy())
    assert (verdict.accepted, [each.code for each in verdict.findings]) == (True, ["RFC408"])


def signature(name: str, text: str, path: str = "src/shop/points.py") -> Signature:
    return Signature(name=name, text=text, path=path)


def test_refactor_keeps_public_signatures() -> None:
    before = (signature("shop.points.earn", "(amount)"),)
    moved = (signature("shop.points.earn", "-> shop.rules.earn"), signature("shop.rules.earn", "(amount)"))
    changed = (signature("shop.points.earn", "-> shop.rules.earn"), signature("shop.rules.earn", "(a, b)"))
    assert errors(refactor(signatures_before=before, signatures_after=before)) == set()
    assert errors(refactor(signatures_before=before, signatures_after=moved)) == set()
    assert errors(refactor(signatures_before=before, signatures_after=changed)) == {"RFC401"}
    assert errors(refactor(signatures_before=before)) == {"RFC401"}
    assert errors(refactor(signatures_before=before, signatures_after=(signature("shop.points.earn", "(a, b)"),))) == {
        "RFC401"
    }
    imported = (signature("shop.points.sqrt", "-> math.sqrt"),)
    exported = (signature("shop.earn", "-> shop.points.earn", "src/shop/__init__.py"),)
    assert errors(refactor(signatures_before=imported)) == set()
    assert errors(refactor(signatures_before=exported)) == {"RFC401"}


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("value 2", "value 2", True),
        ("value 2", "value 3", False),
        ("value 2", "value", True),
        ("attribute 3", "attribute 4", False),
        ("attribute 3", None, True),
        ("value 3", None, False),
        ("class()", "class(Exception)", False),
        ("class(ValueError)", "class(KeyError)", False),
        ("class(ValueError)", "class()", False),
        ("class(ValueError)", "class(ShopError)", True),
        ("class()", "class(Shape)", True),
        ("class(Shape)", "class()", True),
    ],
)
def test_refactor_keeps_values_and_kinds(before: str, after: str | None, *, same: bool) -> None:
    now = (signature("shop.points.X", after),) if after else ()
    found = errors(refactor(signatures_before=(signature("shop.points.X", before),), signatures_after=now))
    assert found == (set() if same else {"RFC401"})


def test_refactor_keeps_the_outcome_of_every_call() -> None:
    grave = BehaviorDifference(
        function="a.f", path="a.py", given="f(9)", before="0", after="1", origin="near", grave=True
    )
    told = grave.model_copy(update={"grave": False, "origin": "odd"})
    new = UncoveredLine(path="a.py", line=3, function="f", what="return 0")
    assert errors(refactor(parity=DifferentialResult(differences=(grave,)))) == {"RFC411"}
    assert codes(refactor(parity=DifferentialResult(differences=(told,)))) == {"RFC412"}
    assert errors(refactor(parity=DifferentialResult(unrun=(new,)))) == {"RFC413"}
    assert codes(refactor(parity=DifferentialResult(unrun=(new,), partial=True))) == {"RFC416"}
    assert codes(refactor(parity=None)) == {"RFC414"}
    assert codes(refactor(parity=DifferentialResult(problems=("restless",)))) == {"RFC414"}
    assert errors(refactor(parity=DifferentialResult(problems=(f"{AFTER_STEP_PREFIX}restless",)))) == {"RFC415"}
    assert codes(refactor(parity=None), GatePolicy(compare=False)) == set()


def test_refactor_may_remove_dead_code_with_its_tests_as_a_warning() -> None:
    old = "tests/test_old.py"
    gone: dict[str, Any] = {
        "changes": (
            change("src/shop/old.py", PathKind.SOURCE, status="deleted"),
            change(old, PathKind.TEST, status="deleted"),
        ),
        "comparison": Comparison(collected_before=3, collected_after=1, vanished=(f"{old}::t[1]", f"{old}::t[2]")),
        "signatures_before": (Signature(name="shop.old.f", text="(a)"),),
    }
    dead = Removal(symbols=("shop.old.f",), tests=(f"{old}::t",), files=(old,))
    assert codes(refactor(**gone, removal=dead)) == {"RFC417"}
    assert errors(refactor(**gone)) == {"RFC202", "RFC305", "RFC401"}
    alive = dead.model_copy(update={"objections": ("it is used",)})
    assert errors(refactor(**gone, removal=alive)) == {"RFC202", "RFC305", "RFC401", "RFC418"}
    more = gone["comparison"].model_copy(update={"vanished": (f"{old}::t[1]", "tests/test_new.py::t")})
    assert errors(refactor(**{**gone, "comparison": more}, removal=dead)) == {"RFC305"}
    other = (*gone["changes"], change("tests/test_new.py", PathKind.TEST, status="deleted"))
    assert errors(refactor(**{**gone, "changes": other}, removal=dead)) == {"RFC202"}


def test_refactor_needs_tests_that_cover_the_behaviour() -> None:
    assert errors(refactor(story_tests=(), locked=(), head_run=run(passed=0))) == {"RFC306"}
    assert errors(refactor(head_run=run(result()))) == {"RFC302"}
    assert errors(refactor(head_run=run(result("skipped")))) == {"RFC303"}
    assert errors(refactor(facts=(Fact(code="RFC405", path="x"), Fact(code="GRN403", path="x")))) == {
        "RFC405",
        "GRN403",
    }


# --- INTEGRATED -------------------------------------------------------------------------------------------------------


def test_integrated_only_moves_files() -> None:
    whole = integrated()
    gone, there = whole.changes
    assert errors(integrated(changes=(gone,))) == {"INT103"}
    assert errors(integrated(changes=(gone, there.model_copy(update={"new_blob": "c"})))) == {"INT102"}
    assert errors(integrated(changes=(*whole.changes, change("src/x.py", PathKind.SOURCE)))) == {"INT101"}
    assert errors(integrated(changes=(*whole.changes, change("README.md", PathKind.DOCS)))) == {"INT101"}
    assert errors(integrated(changes=(), story_tests=(TEST,), head_run=run(result("passed")))) == {"INT103"}


def test_integrated_may_write_living_docs_as_plain_files_in_their_directory() -> None:
    moved, doc = integrated().changes, change("docs/ROUTING.md", PathKind.DOCS, new_blob="d", new_mode="100644")

    def seen(rendered: dict[str, str], by: str = "", **more: Any) -> Evidence:
        changes = (*moved, doc.model_copy(update=more))
        return integrated(changes=changes, living_docs=rendered, docs_made_by=by)

    def found(rendered: dict[str, str] | None = None, **more: Any) -> set[str]:
        return errors(seen({"docs/ROUTING.md": "d"} if rendered is None else rendered, **more))

    assert found() == set()
    assert found(status="modified", old_blob="c", old_mode="100644") == set()
    assert found(rendered={}) == {"INT101"}, "switched off, or evidence of an older version"
    assert found(rendered={"docs/ROUTING.md": "e"}) == {"INT105"}, "not the bytes that are rendered"
    verdict = GATES[Phase.INTEGRATED](seen({"docs/ROUTING.md": "d"}, by="0.9.0"), GatePolicy())
    assert verdict.accepted and [each.code for each in verdict.findings] == ["INT106"]
    assert found(path="docs/OTHER.md") == {"INT101"}
    assert found(status="deleted", new_blob="", new_mode="", old_blob="c", old_mode="100644") == {"INT101"}
    assert found(new_mode="100755") >= {"INT101"}
    assert found(status="modified", old_blob="c", old_mode="100755") >= {"INT101"}
    assert found(status="type_changed", old_mode="120000") >= {"INT101"}
    assert found(new_mode="120000") >= {"INT104"}
    for kind in set(PathKind) - {PathKind.DOCS, PathKind.OTHER, PathKind.SOURCE}:
        assert found(kind=kind) >= {"INT101"}, kind


def test_integrated_tests_pass_at_their_new_path() -> None:
    there = integrated().story_tests[0]
    assert errors(integrated(head_run=run())) == {"INT303"}
    assert errors(integrated(head_run=run(result(name=there)))) == {"INT302"}
    assert errors(integrated(head_run=run(result("skipped", name=there)))) == {"INT303"}
    assert errors(integrated(comparison=Comparison(vanished=(TEST,)))) == set()


def test_story_without_tests_is_marked() -> None:
    nothing = {"changes": (), "story_tests": (), "locked": ()}
    assert errors(integrated(**nothing)) == {"INT306"}
    assert errors(integrated(**nothing, note=format_untested_note("docs"))) == {"INT306"}
    assert errors(integrated(**nothing, kind="docs")) == set()


class TestMutation:
    """Mutants and their outcomes."""

    def test_missing_measurement_is_an_error(self) -> None:
        assert errors(green(bite=None)) == {"GRN504"}
        assert errors(green(bite=MutationResult(problems=("restless",)))) == {"GRN504"}

    def test_function_without_killed_mutants(self) -> None:
        assert errors(green(bite=MutationResult(knock_outs=(mutant("survived"),)))) == {"GRN301"}
        assert errors(green(bite=MutationResult(knock_outs=(mutant("killed"), mutant("timeout"))))) == set()

    def test_any_expected_value_passes(self) -> None:
        assert errors(green(bite=MutationResult(perturbations=(mutant("survived"),)))) == {"GRN503"}

    @pytest.mark.parametrize(("killed", "survived", "expected"), [(1, 4, {"GRN501"}), (2, 3, set()), (1, 3, set())])
    def test_required_share_of_killed_mutants(self, killed: int, survived: int, expected: set[str]) -> None:
        bite = MutationResult(mutants=(*[mutant("killed")] * killed, *[mutant("survived")] * survived))
        assert errors(green(bite=bite)) == expected
        assert errors(green(bite=bite), GatePolicy(mutation_ratio=None)) == set()

    def test_survivors_are_named(self) -> None:
        verdict = GATES[Phase.GREEN](green(bite=MutationResult(mutants=(mutant("survived"),))), DEFAULTS)
        (found,) = [each for each in verdict.findings if each.code == "GRN502"]
        assert (found.path, found.line, found.severity) == ("src/a.py", 3, "warning")
        assert "`a` → `b`" in found.message

    def test_survivors_that_other_tests_detect_are_not_named(self) -> None:
        detected = mutant("survived").model_copy(update={"elsewhere": "tests/test_b.py::test_b"})
        verdict = GATES[Phase.GREEN](green(bite=MutationResult(mutants=(detected,))), DEFAULTS)
        assert not [each for each in verdict.findings if each.code == "GRN502"]
        assert errors(green(bite=MutationResult(mutants=(mutant("killed"), *[detected] * 4)))) == {"GRN501"}

    def test_the_best_three_survivors_of_a_function_are_shown(self) -> None:
        changes = ('`"text"` → `"~"`', "`return False` → `return None`", "`a` → `b`", "`<` → `<=`", "`1` → `2`")
        survivors = tuple(mutant("survived").model_copy(update={"change": change}) for change in changes)
        verdict = GATES[Phase.GREEN](green(bite=MutationResult(mutants=survivors)), GatePolicy(mutation_ratio=None))
        found = [each.message for each in verdict.findings if each.code == "GRN502"]
        assert len(found) == 3
        assert all("no test of this story" in message and "text" not in message for message in found)
        assert [message for message in found if "and 2 more in" in message]

    def test_stories_without_tests_need_no_mutation(self) -> None:
        assert "GRN504" not in errors(green(kind="docs", bite=None))

    def test_refactoring_keeps_the_killed_mutants(self) -> None:
        good = MutationResult(
            mutants=(*[mutant("killed")] * 9, mutant("survived")),
            knock_outs=(mutant("killed"),),
        )
        worse = MutationResult(mutants=(*[mutant("killed")] * 6, *[mutant("survived")] * 4))
        other = MutationResult(mutants=(*[mutant("killed")] * 4, *[mutant("survived")] * 2))
        assert errors(refactor(bite=other, bite_before=good)) == set()
        lost = MutationResult(knock_outs=(mutant("survived"),))
        assert errors(refactor(bite=good, bite_before=good)) == set()
        assert errors(refactor(bite=worse, bite_before=good)) == {"RFC409"}
        assert errors(refactor(bite=lost, bite_before=good)) == {"RFC409"}
        same = MutantResult(id="x", path="a.py", line=1, function="f", change="`a + b` → `a - b`", outcome="killed")
        missed = same.model_copy(update={"id": "y", "line": 9, "outcome": "survived"})
        assert errors(
            refactor(bite=MutationResult(mutants=(missed,)), bite_before=MutationResult(mutants=(same,)))
        ) == {"RFC409"}
        twice = MutationResult(mutants=(same, missed.model_copy(update={"id": "z"})))
        assert errors(refactor(bite=MutationResult(mutants=(missed,)), bite_before=twice)) == set()
        assert errors(refactor(bite=MutationResult(problems=("restless",)), bite_before=good)) == {"RFC409"}
        assert errors(refactor(bite=good, bite_before=worse)) == set()
        assert errors(refactor(bite=None, bite_before=None)) == set()


def mutant(outcome: Any) -> MutantResult:
    return MutantResult(id=outcome, path="src/a.py", line=3, function="f", change="`a` → `b`", outcome=outcome)
