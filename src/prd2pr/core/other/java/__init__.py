"""Java, as far as it is read without its grammar: which tests a file declares, and what javac says of it."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.core.other.java.declared import is_test_file, module, read_tests
from prd2pr.core.other.unread import LANGUAGE as UNREAD

LANGUAGE = replace(UNREAD, name="java", endings=(".java",), is_test_file=is_test_file, tests=read_tests, module=module)
