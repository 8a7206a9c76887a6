"""Hidden tests in Rust, added at the end of a test file: they are part of the same program."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prd2pr.core.other.runner import Canary
from prd2pr.core.other.rust.files import root_of
from prd2pr.core.other.syntax import first_error


def rust_canary(path: str, text: str, names: Sequence[str]) -> Canary | None:
    if first_error(root_of(text)):
        return None
    passing, equal, unequal, holds = (_function(name) for name in names[:4])
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
    return Canary(path, added, passing, (equal, unequal, holds))


def _function(title: str) -> str:
    return "_".join(re.findall(r"[a-z]+", title.lower()))
