"""Report changes of `package.json` other than dependencies, which a story may not make."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from prd2pr.domain.evidence import Fact

_ALLOWED = frozenset(
    {
        *("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"),
        *("version", "description", "keywords", "author", "license", "files", "bin"),
    }
)


def check_manifest(path: str, before: str, after: str) -> Iterator[Fact]:
    if path.rpartition("/")[2] != "package.json":
        return
    old, new = _read(before), _read(after)
    for key in sorted(old.keys() | new.keys()):
        if key not in _ALLOWED and old.get(key) != new.get(key):
            yield Fact(code="GRN101", path=path, message=f"changes `{key}`, which decides how tests run")


def _read(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError:
        return {"": text}
    return found if isinstance(found, dict) else {"": text}
