"""Rust: parsing with tree-sitter, checks of tests and source, mutation, and the `cargo test` runner.

Provides `LANGUAGE` and `runner.CARGO`. May import the shared modules of `prd2pr.languages`, but no other language.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.languages.rust.assertions import find_asserting_functions
from prd2pr.languages.rust.declared_tests import read_tests
from prd2pr.languages.rust.expectations import EXPECTATIONS
from prd2pr.languages.rust.files import ENDINGS, is_test_file, name_module
from prd2pr.languages.rust.functions import list_signatures
from prd2pr.languages.rust.manifest import check_manifest, find_test_directories, make_release_edits
from prd2pr.languages.rust.return_values import FUNCTIONS
from prd2pr.languages.rust.source_rules import RULES as SOURCE_RULES
from prd2pr.languages.rust.subject import find_subject_functions
from prd2pr.languages.rust.test_rules import RULES as TEST_RULES

LANGUAGE = replace(
    FUNCTIONS.make_language("rust", ENDINGS, is_test_file, name_module),
    read_tests=read_tests,
    check_tests=TEST_RULES.check,
    check_source=SOURCE_RULES.check,
    list_signatures=list_signatures,
    make_wrong_expectations=EXPECTATIONS.make_wrong,
    make_release_edits=make_release_edits,
    find_test_directories=find_test_directories,
    find_asserting_functions=find_asserting_functions,
    find_subject_functions=find_subject_functions,
    check_manifest=check_manifest,
)
