"""The `surefire` runner. The project's Maven or Gradle command builds and runs the tests and writes JUnit XML.

If a test file does not compile, the build tool runs nothing. Therefore our program removes the files that the compiler
reports and runs the command again. Each removed test fails with the compiler's message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from prd2pr.languages.compiled.runner import make_program
from prd2pr.languages.generic.runner import FILE_SEPARATOR, make_no_canary, read_junit_results
from prd2pr.languages.java.build_errors import classify_failure, read_build_errors
from prd2pr.languages.java.declared_tests import list_classes, read_package_name
from prd2pr.languages.report_lines import parse_report_lines
from prd2pr.languages.runner_kinds import (
    BrokenFile,
    FinishedTest,
    ProgramOutput,
    ProgramResults,
    RunnerContext,
    RunnerKind,
    RunnerProgram,
)


def make_programs(context: RunnerContext, files: tuple[str, ...]) -> tuple[RunnerProgram, ...]:
    """Return one program for all files, because build tools do not take single files."""
    order = {
        "command": [*context.stack.command, *context.arguments],
        "results": context.stack.results,
        "files": sorted(map(context.stack.to_stack_path, context.texts)),
    }
    return make_program(context, files, "build_tests.py", order)


def read_results(output: ProgramOutput, context: RunnerContext) -> ProgramResults:
    facts, problems = parse_report_lines(output)
    broken = tuple(
        each for fact in facts if fact.get("event") == "broken" for each in _find_broken_files(fact, context)
    )
    ended = next((fact for fact in facts if fact.get("event") == "end"), None)
    if ended is None:
        return ProgramResults(broken=broken, problems=problems)
    texts = [str(text) for text in ended["texts"]]
    lost = {each.path for each in broken}
    if not texts and lost == set(context.texts):
        return ProgramResults(broken=broken, problems=problems)  # no test file was left to run
    junit_output = ProgramOutput(
        RunnerProgram(()), FILE_SEPARATOR.join(texts), "", printed=str(ended["output"]), status=int(ended["status"])
    )
    results = read_junit_results(junit_output, context)
    found = tuple(_locate_test(each, context) for each in results.ended)
    requested = set(output.program.files)
    return replace(
        results,
        ended=tuple(each for each in found if each.path in requested or each.path not in context.texts),
        broken=broken,
        finished=frozenset() if results.problems and not results.ended else frozenset(requested - lost),
        problems=(*problems, *results.problems),
    )


def _find_broken_files(fact: dict[str, Any], context: RunnerContext) -> Iterator[BrokenFile]:
    for local in fact["files"]:
        path = context.stack.to_repository_path(str(local))
        for thrown in read_build_errors(str(fact["output"]), path, context.texts.get(path, "")):
            yield BrokenFile(path, thrown)


def _locate_test(ended: FinishedTest, context: RunnerContext) -> FinishedTest:
    """Find the file of a test. Its name may differ from the class, and Gradle appends `()` to names."""
    titles = tuple(title.removesuffix("()") for title in ended.titles)
    if ended.path in context.texts:
        return replace(ended, titles=titles)
    package, _, name = ended.path.replace("/", ".").rpartition(".")
    name = name.partition("$")[0]
    found = [
        path
        for path, text in context.texts.items()
        if read_package_name(text) == package and name in list_classes(text)
    ]
    return replace(ended, path=found[0] if found else ended.path, titles=titles)


SUREFIRE = RunnerKind(
    "surefire",
    "",
    (),
    make_programs,
    read_results,
    make_no_canary,
    classify_failure,
    status_with_failures=None,
    home="programs",
)
