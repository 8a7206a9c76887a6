"""Canary tests in JavaScript. They are appended to a test file and share its process, imports and mocks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prd2pr.languages.runner_kinds import CanaryTests

_MODULE = re.compile(r"^\s*(import\b(?!\s*\()|export\b)", re.MULTILINE)


def is_es_module(path: str, text: str) -> bool:
    """Return whether the file is loaded with `import` and not with `require`."""
    if path.endswith((".mjs", ".mts")):
        return True
    return not path.endswith((".cjs", ".cts")) and bool(_MODULE.search(text))


def make_node_canary(path: str, text: str, names: Sequence[str]) -> CanaryTests:
    passing, equal, deep, truthy, throwing, *numbers = names
    first, second = (int(each) for each in numbers)
    test, check = f"test_{first}{second}", f"assert_{first}{second}"  # names that the file does not use
    head = (
        f'import {{ test as {test} }} from "node:test";\nimport {check} from "node:assert/strict";\n'
        if is_es_module(path, text)
        else f'const {{ test: {test} }} = require("node:test");\nconst {check} = require("node:assert/strict");\n'
    )
    right = f"{check}.equal({first} + {second}, {first + second}); {check}.deepEqual([{first}], [{first}]);"
    body = "".join(
        (
            f'{test}("{passing}", () => {{ {right} {check}.ok({second}); }});\n',
            f'{test}("{equal}", () => {{ {check}.equal({first} + {second}, {first + second + 1}); }});\n',
            f'{test}("{deep}", () => {{ {check}.deepEqual({{ a: {first} }}, {{ a: {second + first} }}); }});\n',
            f'{test}("{truthy}", () => {{ {check}.ok({first} < {first}); }});\n',
            f'{test}("{throwing}", () => {{ {check}.throws(() => {first} + {second}); }});\n',
        )
    )
    return CanaryTests(path, f"\n{head}{body}", passing, (equal, deep, truthy, throwing))


def make_expect_canary(path: str, text: str, names: Sequence[str], *, module: str) -> CanaryTests:
    """Make canary tests for runners with `expect`. Without a module, the names are globals."""
    passing, equal, deep, truthy, throwing, *numbers = names
    first, second = (int(each) for each in numbers)
    test, check = f"test_{first}{second}", f"expect_{first}{second}"
    if not module:
        head = f"const {{ test: {test}, expect: {check} }} = globalThis;\n"
    elif is_es_module(path, text):
        head = f'import {{ test as {test}, expect as {check} }} from "{module}";\n'
    else:
        head = f'const {{ test: {test}, expect: {check} }} = require("{module}");\n'
    total = first + second
    right = f"{check}({first} + {second}).toBe({total}); {check}([{first}]).toEqual([{first}]);"
    body = "".join(
        (
            f'{test}("{passing}", () => {{ {right} }});\n',
            f'{test}("{equal}", () => {{ {check}({first} + {second}).toBe({total + 1}); }});\n',
            f'{test}("{deep}", () => {{ {check}({{ a: {first} }}).toEqual({{ a: {total} }}); }});\n',
            f'{test}("{truthy}", () => {{ {check}({first} < {first}).toBeTruthy(); }});\n',
            f'{test}("{throwing}", () => {{ {check}(() => {first} + {second}).toThrow(); }});\n',
        )
    )
    return CanaryTests(path, f"\n{head}{body}", passing, (equal, deep, truthy, throwing))
