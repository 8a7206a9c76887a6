"""Which model works for which role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelSelection:
    """`models:` of the configuration, and the model of `--model`, which replaces all of them."""

    default: str
    strong: str
    roles: Mapping[str, str] = field(default_factory=dict)
    for_all: str = ""

    def select_model(self, role: str, *, strong: bool = False) -> str:
        """Return the model of a role. `strong`: for the last attempt."""
        return self.for_all or self.roles.get(role) or (self.strong if strong else self.default)


def get_public_model_name(spec: str) -> str:
    """Return the name of a model without details that must not be published: program arguments and file paths."""
    kind, _, name = spec.partition(":")
    if name and kind == "plugin":
        return f"{kind}:{name.partition(':')[0].strip()}"  # the rest is an argument of the plugin
    return spec if name and kind in ("anthropic", "openai") else kind
