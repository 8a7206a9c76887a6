"""RED and GREEN: check the hidden examples without revealing them in findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.domain.evidence import Evidence, FailureKind, Finding
from prd2pr.domain.records import DroppedExample
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_strict_error, define_warning
from prd2pr.domain.wording import count
from prd2pr.verification.gates.common import find_results, make_finding

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED212",
        "a hidden example names no criterion",
        "If a hidden example fails later, the builder is shown only its criterion.",
        bad="def test_earn_large_amount():   # in test_earn_held_out.py\n    assert earn(1234) == 246",
        good="def test_earn_large_amount():\n"
        '    """loyalty-1.c1: one point for five, in full fives"""\n'
        "    assert earn(1234) == 246",
        remedy='write the id into the docstring of the example: """loyalty-1.c1: …"""',
    ),
    define_strict_error(
        "GRN308",
        "a hidden example fails",
        "The tester wrote more examples of the same criteria and hid them from the builder. Code that "
        "returns only the answers of the visible tests fails here. The builder is shown only the criterion and "
        "the kind of failure, so that the rule is fixed and not the single case. When no attempt is left, a "
        "person sees the example and decides whether the code or the example is wrong.",
        bad="a hidden example fails: criterion loyalty-1.c2; it fails on an assertion",
        good="3 hidden examples pass",
        remedy="read the criterion again and implement it for every value. If no attempt is left and the example is "
        "wrong, undo RED with `/tdd undo`; the tester then writes it again.",
    ),
    define_warning(
        "GRN309",
        "there are no hidden examples",
        "The builder has seen every test that judges the code, so a lookup table of the expected values would "
        "pass. The other rules about the subject still apply.",
        bad="hidden examples: none",
        good="hidden examples: 3 pass",
        remedy="no action is needed; `gates.held_out: false` in .prd2pr.yml disables hidden examples.",
    ),
    define_warning(
        "GRN310",
        "a hidden example was dropped",
        "The example could not be used, a judge found that it contradicts the requirement, or the requirement does not "
        "say which result is right, which becomes a question. A dropped example does not refuse the code.",
        bad='hidden example dropped: loyalty-1.c2: wrong, since "what is left over earns nothing"',
        good="4 of 4 hidden examples pass",
        remedy="read the words that the judge quotes. If they do not show that the example is wrong, the code "
        "is wrong.",
    ),
    define_warning(
        "GRN311",
        "most hidden examples were dropped",
        "More than half of a story's hidden examples were dropped. The code may differ from what the PRD promises, in "
        "its names for instance, or the judge was too lenient.",
        bad="hidden examples: 3 of 4 dropped",
        good="hidden examples: 1 of 4 dropped",
        remedy="compare the story's code with its criteria; the dropped examples are listed with their reasons.",
    ),
)


RESULT_CODES = frozenset({"GRN302", "GRN303"})
CONCEALED = "concerns a hidden example"
FAILURE_DESCRIPTIONS = {
    FailureKind.ASSERTION: "on an assertion",
    FailureKind.MISSING_SYMBOL: "because a name does not exist",
    FailureKind.NOT_IMPLEMENTED: "because it is not implemented",
    FailureKind.TIMEOUT: "because it times out",
    FailureKind.EXIT: "because the process exits",
}


def check_criteria_named(evidence: Evidence) -> Iterator[Finding]:
    """Check in RED that each hidden example names a criterion. If it fails, the builder sees only the criterion."""
    held = evidence.held_out
    if held is None or evidence.coverage is None:
        return
    named = {test for each in held.criteria for test in each.tests}
    for test in dict.fromkeys(held.declared):
        if test not in named:
            message = "hidden example that names no criterion, so a failure could not be explained"
            yield make_finding("RED212", message, path=test.partition("::")[0], test=test)


def check_examples_given(evidence: Evidence) -> Iterator[Finding]:
    if evidence.held_out is not None and not evidence.held_out.files:
        yield make_finding("GRN309", "no hidden examples: the code was judged only by tests that its author has read")
    dropped = evidence.held_out.dropped if evidence.held_out else ()
    for each in dropped:
        yield make_finding("GRN310", f"hidden example dropped: {each.criterion}: {_explain_drop(each)}")
    used = len(evidence.held_out.tests) if evidence.held_out else 0
    if len(dropped) > used:
        given = count(len(dropped) + used, "hidden example")
        yield make_finding("GRN311", f"{len(dropped)} of {given} dropped: compare the code with its criteria")


def _explain_drop(dropped: DroppedExample) -> str:
    match dropped.why:
        case "wrong":
            return f'wrong, since "{dropped.quote}": {dropped.reason}'
        case "unclear":
            return f"the requirement is unclear: {dropped.question or dropped.reason}"
        case _:
            return dropped.reason


def concerns_hidden_examples(finding: Finding) -> bool:
    """Return whether a GREEN finding is only about hidden examples."""
    return finding.code == "GRN308" or finding.message == CONCEALED


def describe_hidden_failure(criterion: str, feedback: str) -> str:
    return f"a hidden example fails: criterion {criterion}{f': {feedback}' if feedback else ''}"


def hide_example_details(findings: Iterable[Finding], evidence: Evidence) -> Iterator[Finding]:
    """Reduce GREEN's findings about hidden examples to the criterion and the kind of failure."""
    paths = evidence.held_out.paths if evidence.held_out else frozenset()
    for each in findings:
        if each.path not in paths and not any(path in each.message for path in paths):
            yield each
        elif each.code in RESULT_CODES:
            yield _make_hidden_finding(each.test, evidence)
        else:
            yield make_finding(each.code, CONCEALED)


def _make_hidden_finding(test: str, evidence: Evidence) -> Finding:
    assert evidence.held_out is not None, "only called for hidden tests"
    about = [each.criterion for each in evidence.held_out.criteria if test.partition("[")[0] in each.tests]
    what = f"criterion {', '.join(about)}" if about else "it names no criterion"
    return make_finding("GRN308", f"a hidden example fails: {what}; {_describe_failure_kind(test, evidence)}")


def _describe_failure_kind(test: str, evidence: Evidence) -> str:
    failures = [result.failure for result in find_results(evidence.head_run, test) if result.failure]
    if not failures:
        return "it is not run"
    kind, exception = failures[0].kind, failures[0].exception
    return f"it fails {FAILURE_DESCRIPTIONS.get(kind, f'with {exception}' if exception else f'by its {kind.value}')}"
