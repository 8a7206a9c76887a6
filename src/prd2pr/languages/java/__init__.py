"""Java, without a grammar: declared tests, javac errors, and the `surefire` runner.

Provides `LANGUAGE` and `runner.SUREFIRE`. Builds on `prd2pr.languages.generic`.
"""

from __future__ import annotations

from dataclasses import replace

from prd2pr.languages.generic.language import LANGUAGE as GENERIC
from prd2pr.languages.java.declared_tests import is_test_file, name_module, read_tests

LANGUAGE = replace(
    GENERIC,
    name="java",
    file_endings=(".java",),
    is_test_file=is_test_file,
    read_tests=read_tests,
    name_module=name_module,
)
