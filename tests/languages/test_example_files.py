from __future__ import annotations

import pytest

from prd2pr.domain.stack import Stack
from prd2pr.languages.example_files import HiddenExample, write_example_file

SUBJECT = "import { earn } from '../../../src/points.js'"
TEST, ASSERT = 'import { test } from "node:test";', 'import assert from "node:assert/strict";'


@pytest.mark.parametrize(
    ("runner", "given", "added"),
    [
        ("node:test", SUBJECT, [TEST, ASSERT]),
        ("node:test", f"import {{ test }} from 'node:test'\n{SUBJECT}", [ASSERT]),
        ("node:test", f"{TEST}\n{ASSERT}\n{SUBJECT}", []),
        ("vitest", SUBJECT, ['import { expect, test } from "vitest";']),
        ("jest", SUBJECT, []),
    ],
)
def test_imports_of_the_runner_are_added(runner: str, given: str, added: list[str]) -> None:
    """Each example becomes a call of `test`, whatever its author imports."""
    stack = Stack(language="javascript", runner=runner)
    text = write_example_file(stack, given, [HiddenExample(1, "shop-1.c1", "assert.equal(earn(61), 6)")])
    assert text.partition("\n\n")[0].splitlines() == [*added, *given.splitlines()]
