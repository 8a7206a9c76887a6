"""Select the model for each role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelSelection:
    """The models configured under `models:`, and the model given with `--model`, which replaces all of them."""

    default: str
    strong: str
    roles: Mapping[str, str] = field(default_factory=dict)
    for_all: str = ""

    def select_model(self, role: str, *, strong: bool = False) -> str:
        """Return the model of a role. `strong` selects the model for last attempts.

        The role `fused`, which writes a story's tests and code in one call, uses the programmer's model unless one is
        configured for it.
        """
        named = self.roles.get(role) or (self.roles.get("programmer") if role == "fused" else None)
        return self.for_all or named or (self.strong if strong else self.default)


def get_public_model_name(spec: str) -> str:
    """Return the name of a model without program arguments and file paths, which must not be published."""
    kind, _, name = spec.partition(":")
    if name and kind == "plugin":
        return f"{kind}:{name.partition(':')[0].strip()}"  # the rest is passed to the plugin
    return spec if name and kind in ("anthropic", "openai") else kind
