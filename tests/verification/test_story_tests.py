from __future__ import annotations

import pytest

from prd2pr.domain.evidence import Failure, FailureKind, Outcome, RunReport, TestResult
from prd2pr.domain.test_runs import (
    compare_base_with_head,
    expand_test_ids,
    find_unavailable_cases,
    map_moved_id,
    strip_test_parameters,
    summarize_run,
)
from prd2pr.verification.codebase import describe_first_difference
from prd2pr.verification.story_tests import (
    UnprovedTests,
    drop_earlier_failures,
    find_red_tests,
    find_replaced_examples,
    find_stopped_examples,
    find_unproved_tests,
)


def report(**outcomes: Outcome) -> RunReport:
    """`a=…` is the result of `tests/t.py::a`."""
    results = tuple(TestResult(id=f"tests/t.py::{name}", outcome=outcome) for name, outcome in outcomes.items())
    return RunReport(code_tree="t", command=("pytest",), tools={"python": "3"}, results=results, exit_status=1)


def test_summary_keeps_story_tests_and_other_failures() -> None:
    made = report(a="passed", b="failed", c="error", d="skipped", e="xfailed", f="xpassed", g="passed")
    summary = summarize_run(made, ["tests/t.py::a", "tests/t.py::b", "tests/t.py::nowhere"])
    assert (summary.collected, summary.passed, summary.failed, summary.errors, summary.skipped) == (7, 2, 2, 1, 2)
    assert [result.id[-1] for result in summary.story] == ["a", "b"]
    assert [result.id[-1] for result in summary.others_not_passed] == ["c", "d", "e", "f"]
    assert summary.honest


def test_digest_depends_on_ids_only() -> None:
    assert (
        summarize_run(report(a="passed", b="failed"), []).ids_digest
        == summarize_run(report(b="passed", a="error"), []).ids_digest
    )
    assert summarize_run(report(a="passed"), []).ids_digest != summarize_run(report(b="passed"), []).ids_digest


def test_comparison() -> None:
    base = report(a="passed", b="passed", c="passed", d="failed", e="passed", x="xfailed")
    head = report(a="passed", b="failed", c="skipped", d="failed", f="passed", x="passed")
    comparison = compare_base_with_head(base, head)
    assert [test[-1] for test in comparison.regressed] == ["b"]
    assert [test[-1] for test in comparison.vanished] == ["c", "e"]
    assert [test[-1] for test in comparison.appeared] == ["f"]
    assert (comparison.collected_before, comparison.collected_after) == (6, 6)


def test_an_error_is_a_regression_and_a_moved_file_is_not() -> None:
    base, head = report(a="passed", b="passed"), report(a="error", b="xpassed")
    assert [test[-1] for test in compare_base_with_head(base, head).regressed] == ["a", "b"]
    there = {"tests/t.py": "tests/unit/t.py"}
    assert compare_base_with_head(base, report(), there).vanished == ("tests/unit/t.py::a", "tests/unit/t.py::b")
    assert map_moved_id("tests/t.py::T::a[x/y::z]", there) == "tests/unit/t.py::T::a[x/y::z]"


def test_id_without_parameters_matches_all_its_cases() -> None:
    made = report(**{"a[1]": "passed", "a[2]": "failed", "b": "passed"})
    asked = ["tests/t.py::a", "tests/t.py::b", "tests/t.py::gone", "tests/t.py::a[1]"]
    assert expand_test_ids(asked, made) == ("tests/t.py::a[1]", "tests/t.py::a[2]", "tests/t.py::b", "tests/t.py::gone")
    assert strip_test_parameters("tests/t[1].py::T::a[x[0]]") == "tests/t[1].py::T::a"


MISSING = Failure(kind=FailureKind.MISSING_SYMBOL, stage="collect", missing="shop.new")


def test_tests_covered_by_red() -> None:
    old = "import shop\ndef test_kept(): assert shop.a\ndef test_edited(): assert shop.b\n"
    new = "import shop.new\ndef test_kept(): assert shop.a\ndef test_edited(): assert shop.c\ndef test_new(): ...\n"
    base = report(test_kept="passed", test_edited="passed")
    stopped = report(test_kept="error", test_edited="error", test_new="error")
    head = stopped.model_copy(
        update={"results": tuple(each.model_copy(update={"failure": MISSING}) for each in stopped.results)}
    )
    found = find_red_tests({"tests/t.py": old}, {"tests/t.py": new}, base, head)
    assert [test.rpartition("::")[2] for test in found.fresh] == ["test_edited", "test_new"]
    assert [test.rpartition("::")[2] for test in found.carried] == ["test_kept"]


def test_additional_case_of_an_existing_test_is_new() -> None:
    base = report(**{"test_a[1]": "passed"})
    found = find_red_tests({}, {}, base, report(**{"test_a[1]": "passed", "test_a[2]": "failed"}))
    assert found.fresh == ("tests/t.py::test_a[2]",)


def test_unchanged_examples_are_not_covered_by_red() -> None:
    row = "import pytest\n@pytest.mark.parametrize('n', [{}])\ndef test_a(n): assert n\n"
    base = report(**{"test_a[1]": "passed", "test_a[2]": "passed"})
    head = report(**{"test_a[1]": "passed", "test_a[2]": "failed", "test_a[3]": "failed"})
    found = find_red_tests({"tests/t.py": row.format("1, 2")}, {"tests/t.py": row.format("1, 2, 3")}, base, head)
    assert [test[-3:] for test in found.fresh] == ["[2]", "[3]"]


def test_example_may_be_replaced_by_a_failing_one() -> None:
    base = report(**{"a[1]": "passed", "a[2]": "passed", "b[1]": "passed", "c": "passed"})
    head = report(**{"a[1]": "passed", "a[3]": "failed", "b[2]": "passed"})
    vanished = ["tests/t.py::a[2]", "tests/t.py::b[1]", "tests/t.py::c"]
    assert find_replaced_examples(vanished, base, head) == {"tests/t.py::a[2]"}


def test_examples_of_an_unimportable_file_are_not_lost() -> None:
    row = "{}import pytest\n@pytest.mark.parametrize('n', [{}])\ndef test_a(n): assert n\n"
    head = report(test_a="error")
    head = head.model_copy(update={"results": (head.results[0].model_copy(update={"failure": MISSING}),)})
    gone, old = ["tests/t.py::test_a[1]"], {"tests/t.py": row.format("", "1, 2")}
    assert find_stopped_examples(gone, old, {"tests/t.py": row.format("import shop.new\n", "1, 2, 3")}, head) == {*gone}
    assert find_stopped_examples(gone, old, {"tests/t.py": row.format("import shop.new\n", "2")}, head) == frozenset()
    assert find_stopped_examples(gone, old, old, report(test_a="error")) == frozenset()


def test_a_case_whose_backend_was_never_available_is_left_out() -> None:
    base = report(**{"test_a[fast-1]": "skipped", "test_a[fast-2]": "skipped", "test_a[slow-1]": "passed"})
    head = report(**{"test_b[fast]": "skipped", "test_b[slow]": "failed", "test_c[fast]": "skipped"})
    asked = [result.id for result in head.results]
    assert find_unavailable_cases(asked, head, base) == {"tests/t.py::test_b[fast]"}
    assert find_red_tests({}, {}, base, head).fresh == ("tests/t.py::test_b[slow]", "tests/t.py::test_c[fast]")


def test_a_case_that_could_run_before_is_not_left_out() -> None:
    head = report(**{"test_b[fast]": "skipped", "test_b[slow]": "failed"})
    ran = report(**{"test_a[fast]": "passed", "test_z[fast]": "skipped"})
    assert not find_unavailable_cases([result.id for result in head.results], head, ran)
    assert not find_unavailable_cases([result.id for result in head.results], head, report(test_a="passed"))


def test_existing_tests_that_use_changed_code_are_carried() -> None:
    wrong = Failure(kind=FailureKind.ASSERTION, stage="call")
    base, head = report(a="passed", b="passed", c="failed"), report(a="failed", b="failed", c="failed")
    head = head.model_copy(
        update={"results": tuple(each.model_copy(update={"failure": wrong}) for each in head.results)}
    )
    found = find_red_tests({}, {}, base, head, {"tests/t.py::a", "tests/t.py::c"})
    assert (found.fresh, found.carried) == ((), ("tests/t.py::a",))


def test_tests_covered_by_a_human_green() -> None:
    base = report(a="passed", b="failed", c="skipped", d="error")
    everything = ("tests/t.py::b", "tests/t.py::d")
    assert find_unproved_tests(base, {}, {"tests/t.py": ""}, more=False) == UnprovedTests(everything, ())
    assert find_unproved_tests(base, {}, {"tests/other.py": ""}, more=False) == UnprovedTests(everything, ())
    assert find_unproved_tests(base, {}, {"tests/other.py": ""}, more=True) == UnprovedTests((), everything)
    assert find_unproved_tests(report(a="passed"), {}, {"tests/t.py": ""}, more=False) == UnprovedTests((), ())


def test_pre_existing_failure_in_the_file_is_not_claimed() -> None:
    old = "def test_old(): assert f(1)\n"
    base = report(test_old="failed", test_new="failed")
    found = find_unproved_tests(
        base, {"tests/t.py": old}, {"tests/t.py": old + "def test_new(): assert g(1)\n"}, more=False
    )
    assert found == UnprovedTests(("tests/t.py::test_new",), ("tests/t.py::test_old",))
    assert drop_earlier_failures(found.doubtful, report(test_old="failed")) == ()
    assert drop_earlier_failures(found.doubtful, report(test_old="passed")) == found.doubtful


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("a\nassert f(1) == 90\n", "a\nassert f(1) >= 0\n", "line 2 `== 90` became `>= 0`"),
        ("a\n", "a\nb\n", "line 2 `b` was added"),
        ("a\nb\nc\n", "a\nc\n", "line 2 `b` was removed"),
        ("a\n", "a\r\n", "only line ends or the end of the file differ"),
        ("a\nb\nc\n", "x\nb\ny\n", "line 1 `a` became `x`, and 1 more"),
        ("a\0", "b", "2 bytes became 1"),
        ("x = 'a'\n", "x = 'b'  # noqa\n", "line 1 `'a'` became `'b' # noqa`"),
    ],
)
def test_one_line_summary_of_a_changed_file(old: str, new: str, told: str) -> None:
    assert describe_first_difference(old.encode(), new.encode()) == told
