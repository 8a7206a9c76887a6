"""Rust."""

from __future__ import annotations

from prd2pr.core.other.language import Language
from prd2pr.core.other.rust.answers import other_answers
from prd2pr.core.other.rust.assertions import asserting
from prd2pr.core.other.rust.declared import read_tests
from prd2pr.core.other.rust.expectations import wrong_expectations
from prd2pr.core.other.rust.files import ENDINGS, is_test_file, module_of
from prd2pr.core.other.rust.functions import knock_outs, measure, program_of, public_signatures
from prd2pr.core.other.rust.manifest import for_tests, manifest_facts, released
from prd2pr.core.other.rust.mutants import mutants
from prd2pr.core.other.rust.sourcefacts import source_facts
from prd2pr.core.other.rust.testfacts import test_facts

LANGUAGE = Language(
    name="rust",
    endings=ENDINGS,
    is_test_file=is_test_file,
    tests=read_tests,
    test_facts=test_facts,
    source_facts=source_facts,
    signatures=public_signatures,
    knock_outs=knock_outs,
    wrong_expectations=wrong_expectations,
    measure=measure,
    tokens=program_of,
    module=module_of,
    mutants=mutants,
    other_answers=other_answers,
    released=released,
    for_tests=for_tests,
    asserting=asserting,
    manifest_facts=manifest_facts,
)
