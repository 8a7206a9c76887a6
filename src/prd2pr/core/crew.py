"""Who does which role's work, as models are named in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Crew:
    """`models:` of the configuration, and the model that was named for one call: it does all of the work."""

    default: str
    strong: str
    roles: Mapping[str, str] = field(default_factory=dict)
    for_all: str = ""

    def model(self, role: str, *, strong: bool = False) -> str:
        """`strong`: for the last attempt."""
        return self.for_all or self.roles.get(role) or (self.strong if strong else self.default)


def worker_name(spec: str) -> str:
    """A model as people may read of it: a program with its arguments, or a file's path, is nobody's business."""
    kind, _, name = spec.partition(":")
    if name and kind == "plugin":
        return f"{kind}:{name.partition(':')[0].strip()}"  # what follows its name is its own
    return spec if name and kind in ("anthropic", "openai") else kind
