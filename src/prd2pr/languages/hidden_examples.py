"""Hidden examples: tests of the same criteria that the builder does not see before GREEN is judged.

They follow the same rules as the other tests. Until GREEN, only the `held_out` record of the evidence mentions them, so
that prompts, pages and comments made from the evidence cannot reveal them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase

from prd2pr.domain.evidence import Change, Coverage, Evidence, HiddenExamplesEvidence, PathKind, RunSummary, TestResult
from prd2pr.domain.paths import TDD_ROOT, get_story_test_root
from prd2pr.domain.records import HiddenExampleFile, Phase
from prd2pr.languages.python.rules.test_code.test_file import find_tests_by_criterion
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

HIDDEN_EXAMPLE_PATTERNS = (
    "test_*_held_out.py",
    "*_held_out.test.*",
    "*_held_out.spec.*",
    "*_held_out_test.go",
    "*_held_out.rs",
)


def is_hidden_example(path: str, story: str) -> bool:
    """Return whether the file name marks the test as a hidden example of the story."""
    return bool(get_story_test_root(path, story)) and has_hidden_example_name(path)


def has_hidden_example_name(path: str) -> bool:
    """Return whether the file name marks a hidden example, regardless of its directory."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in HIDDEN_EXAMPLE_PATTERNS)


def get_hidden_example_path(file: HiddenExampleFile, story: str, root: str) -> str:
    """Return the path below `root` where an example is stored.

    For a stack in a subdirectory of the repository, this contains the example's whole path.
    """
    return f"{root}/{file.path.removeprefix(f'{TDD_ROOT}/{story}/')}"


def get_original_example_path(stored: str, story: str) -> str:
    """Return the original path of a stored example."""
    return stored if get_story_test_root(stored, story) else f"{TDD_ROOT}/{story}/{stored}"


def cover_criteria(
    texts: Mapping[str, str], paths: Iterable[str], criteria: tuple[str, ...], naming: TestNaming = DEFAULT_NAMING
) -> tuple[Coverage, ...]:
    """Return which hidden examples cover which criterion, leaving out criteria without examples."""
    named: dict[str, list[str]] = {criterion: [] for criterion in criteria}
    for path in sorted(paths):
        for criterion, tests in find_tests_by_criterion(path, texts.get(path, ""), criteria, naming).items():
            named[criterion] += tests
    return tuple(Coverage(criterion=criterion, tests=tuple(tests)) for criterion, tests in named.items() if tests)


# --- RED: stored separately, judged together --------------------------------------------------------------------------


def separate_hidden_examples(
    evidence: Evidence, files: tuple[HiddenExampleFile, ...], criteria: tuple[Coverage, ...]
) -> Evidence:
    """Move all data about hidden examples from RED's evidence to the `held_out` record."""
    paths = frozenset(file.path for file in files)

    def is_hidden(test: str) -> bool:
        return test.partition("::")[0] in paths

    head, repeat, comparison = evidence.head_run, evidence.repeat_run, evidence.comparison
    record = HiddenExamplesEvidence(
        files=files,
        tests=tuple(filter(is_hidden, evidence.story_tests)),
        criteria=criteria,
        results=tuple(result for result in _list_known_results(head) if is_hidden(result.id)),
        repeated=tuple(result for result in _list_known_results(repeat) if is_hidden(result.id)),
        collect_errors=tuple(each for each in (head.collect_errors if head else ()) if each.path in paths),
        declared=tuple(filter(is_hidden, evidence.declared)),
        uncollected=tuple(filter(is_hidden, evidence.uncollected)),
        facts=tuple(fact for fact in evidence.facts if fact.path in paths),
        subject_lines={path: lines for path, lines in evidence.subject_lines.items() if path in paths},
    )
    return evidence.model_copy(
        update={
            "held_out": record,
            "changes": tuple(change for change in evidence.changes if change.path not in paths),
            "story_tests": _exclude_hidden(evidence.story_tests, is_hidden),
            "declared": _exclude_hidden(evidence.declared, is_hidden),
            "uncollected": _exclude_hidden(evidence.uncollected, is_hidden),
            "facts": tuple(fact for fact in evidence.facts if fact.path not in paths),
            "coverage": _filter_coverage(evidence.coverage, is_hidden),
            "subject_lines": {path: lines for path, lines in evidence.subject_lines.items() if path not in paths},
            "comparison": comparison
            and comparison.model_copy(update={"appeared": _exclude_hidden(comparison.appeared, is_hidden)}),
            "head_run": head and _remove_from_run(head, paths, is_hidden),
            "repeat_run": repeat and _remove_from_run(repeat, paths, is_hidden),
        }
    )


def merge_hidden_examples(evidence: Evidence) -> Evidence:
    """Return RED's evidence with the hidden examples included, so that every rule sees all tests.

    The coverage of criteria is not merged, because each criterion must be named by a test that the builder sees.
    """
    hidden = evidence.held_out
    if hidden is None or not hidden.files:
        return evidence
    added_changes = (_make_added_change(file) for file in hidden.files)
    head, repeat = evidence.head_run, evidence.repeat_run
    return evidence.model_copy(
        update={
            "changes": (*evidence.changes, *added_changes),
            "story_tests": tuple(sorted((*evidence.story_tests, *hidden.tests))),
            "declared": (*evidence.declared, *hidden.declared),
            "uncollected": (*evidence.uncollected, *hidden.uncollected),
            "facts": (*evidence.facts, *hidden.facts),
            "subject_lines": {**evidence.subject_lines, **hidden.subject_lines},
            "head_run": head and _add_to_run(head, hidden.results, hidden),
            "repeat_run": repeat and _add_to_run(repeat, hidden.repeated, None),
        }
    )


def _make_added_change(file: HiddenExampleFile) -> Change:
    return Change(path=file.path, status="added", kind=PathKind.TEST, new_blob=file.blob, new_mode="100644")


def _list_known_results(run: RunSummary | None) -> tuple[TestResult, ...]:
    return (*run.story, *run.others_not_passed) if run else ()


def _exclude_hidden(tests: tuple[str, ...], is_hidden: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(test for test in tests if not is_hidden(test))


def _filter_coverage(
    coverage: tuple[Coverage, ...] | None, is_hidden: Callable[[str], bool]
) -> tuple[Coverage, ...] | None:
    if coverage is None:
        return None
    return tuple(each.model_copy(update={"tests": _exclude_hidden(each.tests, is_hidden)}) for each in coverage)


def _remove_from_run(run: RunSummary, paths: frozenset[str], is_hidden: Callable[[str], bool]) -> RunSummary:
    """Remove hidden examples from the lists of a run, or keep only them. The counts remain those of the whole run."""
    return run.model_copy(
        update={
            "story": tuple(result for result in run.story if not is_hidden(result.id)),
            "others_not_passed": tuple(result for result in run.others_not_passed if not is_hidden(result.id)),
            "collect_errors": tuple(failure for failure in run.collect_errors if failure.path not in paths),
        }
    )


def _add_to_run(run: RunSummary, results: tuple[TestResult, ...], hidden: HiddenExamplesEvidence | None) -> RunSummary:
    errors = (*run.collect_errors, *hidden.collect_errors) if hidden else run.collect_errors
    return run.model_copy(update={"story": (*run.story, *results), "collect_errors": errors})


# --- GREEN: judged, and visible from then on --------------------------------------------------------------------------


def reveal_hidden_examples(
    evidence: Evidence, files: tuple[HiddenExampleFile, ...], criteria: tuple[Coverage, ...]
) -> Evidence:
    """Record which of the story's tests in GREEN's evidence are hidden examples."""
    paths = frozenset(file.path for file in files)
    results = tuple(
        result for result in _list_known_results(evidence.head_run) if result.id.partition("::")[0] in paths
    )
    tests = tuple(test for test in evidence.story_tests if test.partition("::")[0] in paths)
    return evidence.model_copy(
        update={"held_out": HiddenExamplesEvidence(files=files, tests=tests, criteria=criteria, results=results)}
    )


def describe_hidden_examples(evidence: Evidence) -> str:
    """Describe the hidden examples in a sentence. Return an empty string if the evidence does not record them."""
    hidden = evidence.held_out
    if hidden is None:
        return ""
    dropped = f" Dropped: {len(hidden.dropped)}." if hidden.dropped else ""
    if not hidden.files:
        return f"Hidden examples: none.{dropped}"
    if evidence.phase is Phase.RED:
        return f"Hidden from the builder: {len(hidden.results)} more, which must fail now and pass in GREEN.{dropped}"
    passed = sum(result.outcome == "passed" for result in hidden.results)
    return f"Hidden examples, which the builder did not see: {passed} of {len(hidden.results)} pass.{dropped}"
