"""Held-out examples: tests of the same criteria that the programmer is not shown before GREEN is judged.

They are judged by the same rules as the other tests. Until then nothing but the `held_out` record of the evidence is
about them, so that whatever is made of evidence (prompts, pages, comments) cannot tell of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from prd2pr.core.evidence import Change, Coverage, Evidence, HeldOutEvidence, PathKind, RunSummary, TestResult
from prd2pr.core.paths import TDD_ROOT, story_place
from prd2pr.core.records import HeldOutFile, Phase
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts import criteria_named

NAMES = ("test_*_held_out.py", "*_held_out.test.*", "*_held_out.spec.*", "*_held_out_test.go", "*_held_out.rs")


def is_held_out(path: str, story: str) -> bool:
    """By its name: the test author says so by where it writes."""
    name = path.rpartition("/")[2]
    return bool(story_place(path, story)) and any(fnmatchcase(name, pattern) for pattern in NAMES)


def place(file: HeldOutFile, story: str, root: str) -> str:
    """Where the text of an example waits, under `root`. Of a stack below the repository's root, its whole path."""
    return f"{root}/{file.path.removeprefix(f'{TDD_ROOT}/{story}/')}"


def placed(waiting: str, story: str) -> str:
    """The other way round: the path of an example from where it waits."""
    return waiting if story_place(waiting, story) else f"{TDD_ROOT}/{story}/{waiting}"


def named_criteria(
    texts: Mapping[str, str], paths: Iterable[str], criteria: tuple[str, ...], naming: TestNaming = USUAL
) -> tuple[Coverage, ...]:
    """Which held-out examples are about which criterion; those that have none are left out."""
    named: dict[str, list[str]] = {criterion: [] for criterion in criteria}
    for path in sorted(paths):
        for criterion, tests in criteria_named(path, texts.get(path, ""), criteria, naming).items():
            named[criterion] += tests
    return tuple(Coverage(criterion=criterion, tests=tuple(tests)) for criterion, tests in named.items() if tests)


# --- RED: kept apart, and judged together -----------------------------------------------------------------------------


def set_apart(evidence: Evidence, files: tuple[HeldOutFile, ...], criteria: tuple[Coverage, ...]) -> Evidence:
    """The evidence of RED with all that is about held-out examples in their own record."""
    paths = frozenset(file.path for file in files)

    def about(test: str) -> bool:
        return test.partition("::")[0] in paths

    head, repeat, compared = evidence.head_run, evidence.repeat_run, evidence.comparison
    record = HeldOutEvidence(
        files=files,
        tests=tuple(filter(about, evidence.story_tests)),
        criteria=criteria,
        results=tuple(result for result in _known(head) if about(result.id)),
        repeated=tuple(result for result in _known(repeat) if about(result.id)),
        collect_errors=tuple(each for each in (head.collect_errors if head else ()) if each.path in paths),
        declared=tuple(filter(about, evidence.declared)),
        uncollected=tuple(filter(about, evidence.uncollected)),
        facts=tuple(fact for fact in evidence.facts if fact.path in paths),
        subject_lines={path: lines for path, lines in evidence.subject_lines.items() if path in paths},
    )
    return evidence.model_copy(
        update={
            "held_out": record,
            "changes": tuple(change for change in evidence.changes if change.path not in paths),
            "story_tests": _without(evidence.story_tests, about),
            "declared": _without(evidence.declared, about),
            "uncollected": _without(evidence.uncollected, about),
            "facts": tuple(fact for fact in evidence.facts if fact.path not in paths),
            "coverage": _covered(evidence.coverage, about),
            "subject_lines": {path: lines for path, lines in evidence.subject_lines.items() if path not in paths},
            "comparison": compared and compared.model_copy(update={"appeared": _without(compared.appeared, about)}),
            "head_run": head and _run_without(head, paths, about),
            "repeat_run": repeat and _run_without(repeat, paths, about),
        }
    )


def judged_together(evidence: Evidence) -> Evidence:
    """RED's evidence as if nothing were held out, so that every rule sees all tests.

    Except for the criteria: each must be named by a test that the programmer sees.
    """
    held = evidence.held_out
    if held is None or not held.files:
        return evidence
    added = (_added(file) for file in held.files)
    head, repeat = evidence.head_run, evidence.repeat_run
    return evidence.model_copy(
        update={
            "changes": (*evidence.changes, *added),
            "story_tests": tuple(sorted((*evidence.story_tests, *held.tests))),
            "declared": (*evidence.declared, *held.declared),
            "uncollected": (*evidence.uncollected, *held.uncollected),
            "facts": (*evidence.facts, *held.facts),
            "subject_lines": {**evidence.subject_lines, **held.subject_lines},
            "head_run": head and _run_with(head, held.results, held),
            "repeat_run": repeat and _run_with(repeat, held.repeated, None),
        }
    )


def _added(file: HeldOutFile) -> Change:
    return Change(path=file.path, status="added", kind=PathKind.TEST, new_blob=file.blob, new_mode="100644")


def _known(run: RunSummary | None) -> tuple[TestResult, ...]:
    return (*run.story, *run.others_not_passed) if run else ()


def _without(tests: tuple[str, ...], about: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(test for test in tests if not about(test))


def _covered(coverage: tuple[Coverage, ...] | None, about: Callable[[str], bool]) -> tuple[Coverage, ...] | None:
    if coverage is None:
        return None
    return tuple(each.model_copy(update={"tests": _without(each.tests, about)}) for each in coverage)


def _run_without(run: RunSummary, paths: frozenset[str], about: Callable[[str], bool]) -> RunSummary:
    """Its counts are those of the run as it was; what is listed is not about these files."""
    return run.model_copy(
        update={
            "story": tuple(result for result in run.story if not about(result.id)),
            "others_not_passed": tuple(result for result in run.others_not_passed if not about(result.id)),
            "collect_errors": tuple(failure for failure in run.collect_errors if failure.path not in paths),
        }
    )


def _run_with(run: RunSummary, results: tuple[TestResult, ...], held: HeldOutEvidence | None) -> RunSummary:
    errors = (*run.collect_errors, *held.collect_errors) if held else run.collect_errors
    return run.model_copy(update={"story": (*run.story, *results), "collect_errors": errors})


# --- GREEN: judged, and open from then on -----------------------------------------------------------------------------


def opened(evidence: Evidence, files: tuple[HeldOutFile, ...], criteria: tuple[Coverage, ...]) -> Evidence:
    """GREEN's evidence has the examples among the story's tests, and says here which they were."""
    paths = frozenset(file.path for file in files)
    results = tuple(result for result in _known(evidence.head_run) if result.id.partition("::")[0] in paths)
    tests = tuple(test for test in evidence.story_tests if test.partition("::")[0] in paths)
    return evidence.model_copy(
        update={"held_out": HeldOutEvidence(files=files, tests=tests, criteria=criteria, results=results)}
    )


def held_out_words(evidence: Evidence) -> str:
    """For people: what is held out, or what came of it. Empty where it was not looked at."""
    held = evidence.held_out
    if held is None:
        return ""
    if not held.files:
        return "Held-out examples: none."
    if evidence.phase is Phase.RED:
        return f"Held out from the programmer: {len(held.results)} more, which must fail now and pass in GREEN."
    passed = sum(result.outcome == "passed" for result in held.results)
    return f"Held-out examples, which the programmer was not shown: {passed} of {len(held.results)} pass."
