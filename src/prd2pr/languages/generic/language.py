"""A language without a parser: its tests are run, and nothing else is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prd2pr.domain.evidence import Fact, PathKind, Signature
from prd2pr.domain.paths import classify_path
from prd2pr.languages.base import Language, ParsedTestFile, SourceContext, TestContext
from prd2pr.languages.mutation_plan import Fault


def _is_test_file(path: str) -> bool:
    return classify_path(path) is PathKind.TEST


def _tests(_: str, __: str) -> ParsedTestFile:
    return ParsedTestFile()


def _test_facts(_: str, __: str, ___: TestContext) -> Iterable[Fact]:
    return ()


def _source_facts(_: str, __: str, ___: str, ____: SourceContext) -> Iterable[Fact]:
    return ()


def _signatures(_: str, __: str) -> tuple[Signature, ...]:
    return ()


def _make_no_faults(_: str, __: str, ___: str) -> tuple[Fault, ...]:
    return ()


def _wrong_expectations(_: str, __: str) -> tuple[Fault, ...]:
    return ()


def _measure(texts: Mapping[str, str]) -> dict[str, int]:
    return {"lines": sum(len([line for line in text.splitlines() if line.strip()]) for text in texts.values())}


def _tokens(_: str, text: str) -> str:
    return " ".join(text.split())


def _module(path: str) -> str:
    return path.rpartition(".")[0].replace("/", ".")


LANGUAGE = Language(
    name="any",
    file_endings=("",),
    is_test_file=_is_test_file,
    read_tests=_tests,
    check_tests=_test_facts,
    check_source=_source_facts,
    list_signatures=_signatures,
    make_knock_outs=_make_no_faults,
    make_wrong_expectations=_wrong_expectations,
    measure_source=_measure,
    normalize_program=_tokens,
    name_module=_module,
)
