"""Go: parsing with tree-sitter, checks of tests and source, mutation, and the `go test` runner.

Offers `LANGUAGE` and `runner.GO`. May import the shared modules of `prd2pr.languages`, not other languages.
"""

from __future__ import annotations

from prd2pr.languages.base import Language
from prd2pr.languages.golang.declared_tests import read_tests
from prd2pr.languages.golang.expectations import make_wrong_expectations
from prd2pr.languages.golang.files import ENDINGS, is_test_file, name_module
from prd2pr.languages.golang.functions import list_signatures, make_knock_outs, measure_source, normalize_program
from prd2pr.languages.golang.manifest import check_manifest
from prd2pr.languages.golang.mutants import make_mutants
from prd2pr.languages.golang.return_values import replace_return_values
from prd2pr.languages.golang.source_rules import check_source
from prd2pr.languages.golang.test_rules import check_tests

LANGUAGE = Language(
    name="go",
    file_endings=ENDINGS,
    is_test_file=is_test_file,
    read_tests=read_tests,
    check_tests=check_tests,
    check_source=check_source,
    list_signatures=list_signatures,
    make_knock_outs=make_knock_outs,
    make_wrong_expectations=make_wrong_expectations,
    measure_source=measure_source,
    normalize_program=normalize_program,
    name_module=name_module,
    make_mutants=make_mutants,
    replace_return_values=replace_return_values,
    check_manifest=check_manifest,
)
