"""JavaScript and TypeScript."""

from __future__ import annotations

from prd2pr.core.other.javascript.answers import other_answers
from prd2pr.core.other.javascript.declared import read_tests
from prd2pr.core.other.javascript.expectations import wrong_expectations
from prd2pr.core.other.javascript.files import ENDINGS, is_test_file, module_of
from prd2pr.core.other.javascript.functions import knock_outs, public_signatures
from prd2pr.core.other.javascript.manifest import manifest_facts
from prd2pr.core.other.javascript.measures import measure, program_of
from prd2pr.core.other.javascript.mutants import mutants
from prd2pr.core.other.javascript.sourcefacts import source_facts
from prd2pr.core.other.javascript.testfacts import test_facts
from prd2pr.core.other.language import Language

LANGUAGE = Language(
    name="javascript",
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
    manifest_facts=manifest_facts,
)
