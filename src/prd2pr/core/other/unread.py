"""A language that nobody reads yet: its tests are run, and no more is said of them than the run tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prd2pr.core.bite.plan import Fault
from prd2pr.core.evidence import Fact, PathKind, Signature
from prd2pr.core.other.language import Language, SourceContext, TestContext, TestFile
from prd2pr.core.paths import classify_path


def _is_test_file(path: str) -> bool:
    return classify_path(path) is PathKind.TEST


def _tests(_: str, __: str) -> TestFile:
    return TestFile()


def _test_facts(_: str, __: str, ___: TestContext) -> Iterable[Fact]:
    return ()


def _source_facts(_: str, __: str, ___: str, ____: SourceContext) -> Iterable[Fact]:
    return ()


def _signatures(_: str, __: str) -> tuple[Signature, ...]:
    return ()


def _knock_outs(_: str, __: str, ___: str) -> tuple[Fault, ...]:
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
    endings=("",),
    is_test_file=_is_test_file,
    tests=_tests,
    test_facts=_test_facts,
    source_facts=_source_facts,
    signatures=_signatures,
    knock_outs=_knock_outs,
    wrong_expectations=_wrong_expectations,
    measure=_measure,
    tokens=_tokens,
    module=_module,
)
