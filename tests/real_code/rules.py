"""Apply all static rules to the files of many packages: no rule may crash, and few may report anything.

python tests/real_code/rules.py [--cache DIR] [--show CODE] [PACKAGE …]

Without names, the packages of `packages.py`. Their tests are judged as if they were new, their modules as if GREEN had
added them.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prd2pr.domain.evidence import Fact
from prd2pr.languages.python.pytest_settings import PYTEST_CONFIG_FILES, read_pytest_settings
from prd2pr.languages.python.rules.source_code.source_file import check_source_file
from prd2pr.languages.python.rules.test_code.contradictions import check_conflicting_tests
from prd2pr.languages.python.rules.test_code.existing_helpers import check_existing_helpers
from prd2pr.languages.python.rules.test_code.misspelt_imports import check_misspelt_imports
from prd2pr.languages.python.rules.test_code.test_file import check_test_file, find_declared_tests
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.languages.python.test_model.module import FactContext
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming, read_test_naming
from prd2pr.languages.rule_isolation import CRASH_CODES, collect_facts
from prd2pr.verification.findings import FINDINGS
from real_code.bench import CACHE, SKIPPED, is_test_path
from real_code.packages import PACKAGES, STATIC_PACKAGES, fetch

TARGET = 12.0  # findings that refuse, for each 1,000 tests
NO_ASSERTION = "RED401"  # not counted: packages have tests and benchmarks that only show that nothing raises


@dataclass
class Count:
    """The tests, functions and facts of some packages."""

    tests: int = 0
    functions: int = 0
    files: int = 0
    facts: list[tuple[str, Fact]] = field(default_factory=list)  # with the package

    def add(self, other: Count) -> None:
        self.tests += other.tests
        self.functions += other.functions
        self.files += other.files
        self.facts += other.facts

    @property
    def crashes(self) -> list[tuple[str, Fact]]:
        return [(name, fact) for name, fact in self.facts if fact.code in CRASH_CODES]


def read_texts(root: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if SKIPPED.isdisjoint(name.split("/")) and path.is_file():
            texts[name] = path.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")
    return texts


def read_naming(root: Path) -> TestNaming:
    """Return how the package names its tests."""
    files = [root / name for name in PYTEST_CONFIG_FILES]
    texts = {file.name: file.read_text("utf-8", errors="replace") for file in files if file.is_file()}
    return read_test_naming(read_pytest_settings(texts))


def check_package(name: str, texts: Mapping[str, str], naming: TestNaming = DEFAULT_NAMING) -> Count:
    """Apply the rules for tests to all tests, and the rules for source code to all modules."""
    found = {path: text for path, text in texts.items() if is_test_path(path)}
    sources = {path: text for path, text in texts.items() if path not in found}
    modules = {path: text for path, text in found.items() if naming.is_module(path)}
    tests = {path: text for path, text in found.items() if path in modules or not path.endswith("tests.py")}
    support = {path: text for path, text in tests.items() if path not in modules}
    own = {get_module_name(path).partition(".")[0] for path in sources}
    declared = [test for path, text in modules.items() for test in find_declared_tests(path, text, naming)]
    context = FactContext(project_modules=frozenset(own), support=support, sources=sources, naming=naming)
    facts = [fact for path, text in tests.items() for fact in check_test_file(path, text, context)]
    facts += collect_facts(check_existing_helpers, {}, tests, frozenset(declared), naming=naming)
    facts += collect_facts(check_conflicting_tests, tests, tuple(declared), frozenset(own), naming)
    facts += collect_facts(check_misspelt_imports, tests, {}, sources, frozenset(own), ())
    for path, text in sources.items():
        facts += check_source_file(path, None, text, FactContext(project_modules=frozenset(own), sources=sources))
    functions = sum(map(_count_functions, sources.values()))
    return Count(len(declared), functions, len(texts), [(name, fact) for fact in facts])


def _count_functions(text: str) -> int:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return 0
    return sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in ast.walk(tree))


def print_table(count: Count) -> None:
    print(f"{count.files} files, {count.tests} tests, {count.functions} functions of source code")
    codes = Counter(fact.code for _, fact in count.facts)
    print(f"{'finding':10}{'severity':10}{'times':>8}{'per 1,000':>12}")
    for code, times in sorted(codes.items()):
        whole = count.functions if code.startswith("GRN") else count.tests
        print(f"{code:10}{_get_severity(code):10}{times:>8}{1000 * times / max(whole, 1):>12.1f}")


def _get_severity(code: str) -> str:
    kind = FINDINGS.get(code)
    return kind.severity if kind else "?"


def count_refusals(facts: Iterable[tuple[str, Fact]]) -> Iterator[str]:
    codes = (fact.code for _, fact in facts if fact.code.startswith("RED") and fact.code != NO_ASSERTION)
    return (code for code in codes if _get_severity(code) == "error")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", help="names; all without")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--show", default="", help="print the facts with this code, or ALL")
    options = parser.parse_args()
    total = Count()
    for package in (*PACKAGES, *STATIC_PACKAGES):
        if options.packages and package.name not in options.packages:
            continue
        try:
            root = fetch(package, options.cache)
            found = check_package(package.id, read_texts(root), read_naming(root))
        except (OSError, LookupError) as problem:
            print(f"{package.id}: left out: {problem}", flush=True)
            continue
        for name, fact in found.facts:
            if fact.code in CRASH_CODES or options.show in {fact.code, "ALL"}:
                print(f"{name} {fact.path}:{fact.line} {fact.code} {fact.message}", flush=True)
        print(f"{package.id}: {found.tests} tests, {sum(1 for _ in count_refusals(found.facts))} findings", flush=True)
        total.add(found)
    failed = len(total.crashes)
    print_table(total)
    refusals = 1000 * sum(1 for _ in count_refusals(total.facts)) / max(total.tests, 1)
    print(
        f"findings that refuse, without {NO_ASSERTION}: {refusals:.1f} per 1,000 tests (target: at most {TARGET:.0f})"
    )
    print(f"crashes: {failed}")
    return 1 if failed or refusals > TARGET else 0


if __name__ == "__main__":
    sys.exit(main())
