"""Canary tests in Rust. They are appended to a test file and are part of the same program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prd2pr.languages.runner_kinds import CanaryTests
from prd2pr.languages.rust.files import parse_source
from prd2pr.languages.syntax.nodes import find_first_error


def make_rust_canary(path: str, text: str, names: Sequence[str]) -> CanaryTests | None:
    if find_first_error(parse_source(text)):
        return None
    passing, equal, unequal, holds = (_make_name(name) for name in names[:4])
    first, second = (int(each) for each in names[-2:])

    def test(name: str, statement: str) -> str:
        return f"\n#[test]\nfn {name}() {{\n    {statement}\n}}\n"

    added = "".join(
        [
            test(passing, f"assert_eq!({first} + {second}, {first + second});"),
            test(equal, f"assert_eq!({first} + {second}, {first + second + 1});"),
            test(unequal, f"assert_ne!({first} * {second}, {first * second});"),
            test(holds, f"assert!({first} > {first + second});"),
        ]
    )
    return CanaryTests(path, added, passing, (equal, unequal, holds))


def _make_name(title: str) -> str:
    return "_".join(re.findall(r"[a-z]+", title.lower()))
