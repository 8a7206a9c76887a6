"""JavaScript and TypeScript: parsing with tree-sitter, checks of tests and source, mutation, and three runners.

Provides `LANGUAGE`, and `NODE`, `VITEST` and `JEST` in the runner modules. May import the shared modules of
`prd2pr.languages`, but no other language.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.languages.javascript.declared_tests import read_tests
from prd2pr.languages.javascript.expectations import EXPECTATIONS
from prd2pr.languages.javascript.files import ENDINGS, is_test_file, name_module
from prd2pr.languages.javascript.functions import list_signatures
from prd2pr.languages.javascript.manifest import check_manifest
from prd2pr.languages.javascript.return_values import FUNCTIONS
from prd2pr.languages.javascript.source_rules import RULES as SOURCE_RULES
from prd2pr.languages.javascript.test_rules import RULES as TEST_RULES

LANGUAGE = replace(
    FUNCTIONS.make_language("javascript", ENDINGS, is_test_file, name_module),
    read_tests=read_tests,
    check_tests=TEST_RULES.check,
    check_source=SOURCE_RULES.check,
    list_signatures=list_signatures,
    make_wrong_expectations=EXPECTATIONS.make_wrong,
    check_manifest=check_manifest,
)
