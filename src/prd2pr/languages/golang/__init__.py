"""Go: parsing with tree-sitter, checks of tests and source, mutation, and the `go test` runner.

Offers `LANGUAGE` and `runner.GO`. May import the shared modules of `prd2pr.languages`, not other languages.
"""

from __future__ import annotations

from prd2pr.languages.base import Language
from prd2pr.languages.golang.declared_tests import read_tests
from prd2pr.languages.golang.expectations import EXPECTATIONS
from prd2pr.languages.golang.files import ENDINGS, is_test_file, name_module
from prd2pr.languages.golang.functions import list_signatures
from prd2pr.languages.golang.manifest import check_manifest
from prd2pr.languages.golang.return_values import FUNCTIONS
from prd2pr.languages.golang.source_rules import RULES as SOURCE_RULES
from prd2pr.languages.golang.test_rules import RULES as TEST_RULES

LANGUAGE = Language(
    name="go",
    file_endings=ENDINGS,
    is_test_file=is_test_file,
    read_tests=read_tests,
    check_tests=TEST_RULES.check,
    check_source=SOURCE_RULES.check,
    list_signatures=list_signatures,
    make_knock_outs=FUNCTIONS.make_knock_outs,
    make_wrong_expectations=EXPECTATIONS.make_wrong,
    measure_source=FUNCTIONS.measure_source,
    normalize_program=FUNCTIONS.normalize_program,
    name_module=name_module,
    make_mutants=FUNCTIONS.make_mutants,
    replace_return_values=FUNCTIONS.replace_return_values,
    check_manifest=check_manifest,
)
