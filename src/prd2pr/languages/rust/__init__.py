"""Rust: parsing with tree-sitter, checks of tests and source, mutation, and the `cargo test` runner.

Offers `LANGUAGE` and `runner.CARGO`. May import the shared modules of `prd2pr.languages`, not other languages.
"""

from __future__ import annotations

from prd2pr.languages.base import Language
from prd2pr.languages.rust.assertions import find_asserting_functions
from prd2pr.languages.rust.declared_tests import read_tests
from prd2pr.languages.rust.expectations import EXPECTATIONS
from prd2pr.languages.rust.files import ENDINGS, is_test_file, name_module
from prd2pr.languages.rust.functions import list_signatures
from prd2pr.languages.rust.manifest import check_manifest, find_test_directories, make_release_edits
from prd2pr.languages.rust.return_values import FUNCTIONS
from prd2pr.languages.rust.source_rules import RULES as SOURCE_RULES
from prd2pr.languages.rust.test_rules import RULES as TEST_RULES

LANGUAGE = Language(
    name="rust",
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
    make_release_edits=make_release_edits,
    find_test_directories=find_test_directories,
    find_asserting_functions=find_asserting_functions,
    check_manifest=check_manifest,
)
