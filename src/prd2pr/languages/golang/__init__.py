"""Go: parsing with tree-sitter, checks of tests and source, mutation, and the `go test` runner.

Provides `LANGUAGE` and `runner.GO`. May import the shared modules of `prd2pr.languages`, but no other language.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.languages.golang.declared_tests import read_tests
from prd2pr.languages.golang.expectations import EXPECTATIONS
from prd2pr.languages.golang.files import ENDINGS, is_test_file, name_module
from prd2pr.languages.golang.functions import list_signatures
from prd2pr.languages.golang.manifest import check_manifest
from prd2pr.languages.golang.return_values import FUNCTIONS
from prd2pr.languages.golang.source_rules import RULES as SOURCE_RULES
from prd2pr.languages.golang.subject import find_subject_functions
from prd2pr.languages.golang.test_rules import RULES as TEST_RULES

LANGUAGE = replace(
    FUNCTIONS.make_language("go", ENDINGS, is_test_file, name_module),
    read_tests=read_tests,
    check_tests=TEST_RULES.check,
    check_source=SOURCE_RULES.check,
    list_signatures=list_signatures,
    make_wrong_expectations=EXPECTATIONS.make_wrong,
    find_subject_functions=find_subject_functions,
    check_manifest=check_manifest,
)
