"""Adapters of model providers: Anthropic, OpenAI-compatible servers, programs, people, recordings and plugins.

`open_model` opens a model by name and imports only its adapter. May import `domain`, `state`, `config`, `languages`,
`sandbox` and `errors`.
"""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from prd2pr.agents.models.base import Model
from prd2pr.agents.models.credentials import read_anthropic_key
from prd2pr.agents.models.retry import MODEL_RETRIES
from prd2pr.agents.models.usage import Prices, estimate_next_call
from prd2pr.config import Permissions
from prd2pr.errors import ModelMissing
from prd2pr.retry import RetryNotice, RetryPolicy, ignore_retry

__all__ = ["Prices", "estimate_next_call", "is_self_editing", "open_model", "record_model"]

SELF_EDITING_PREFIXES = ("human", "command:")
BARE_PREFIX = "claude-"  # a name without a kind, such as `claude-sonnet-5-5`


@dataclass(frozen=True)
class ModelContext:
    prices: Prices
    env: Mapping[str, str]
    policy: RetryPolicy
    cwd: Path
    stdin: TextIO
    stdout: TextIO
    permissions: Permissions | None = None


def open_model(
    spec: str,
    *,
    prices: Prices | None = None,
    env: Mapping[str, str] | None = None,
    on_retry: Callable[[RetryNotice], None] = ignore_retry,
    sleep: Callable[[float], None] = time.sleep,
    cwd: Path | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    permissions: Permissions | None = None,
) -> Model:
    """Open the model named by `spec`; raise ModelMissing, with a remedy, if it is not available.

    Paths in `replay:` and `command:` are relative to `cwd`. `human` uses `stdin` and `stdout`.
    """
    kind, rest = _parse_spec(spec.strip())
    surroundings = ModelContext(
        prices=prices or {},
        env=os.environ if env is None else env,
        policy=replace(MODEL_RETRIES, on_retry=on_retry, sleep=sleep),
        cwd=cwd or Path.cwd(),
        stdin=stdin or sys.stdin,
        stdout=stdout or sys.stdout,
        permissions=permissions,
    )
    return KINDS[kind].open(rest, surroundings)


def is_self_editing(spec: str, model: Model) -> bool:
    """Return whether the model edits files without our tools: a person, a program, or a plugin that declares it."""
    return spec.strip().startswith(SELF_EDITING_PREFIXES) or bool(getattr(model, "edits_itself", False))


def record_model(model: Model, path: Path, *, title: str = "") -> Model:
    """Wrap the model so that every reply is saved in a transcript for `replay:`."""
    from prd2pr.agents.models.recorder import RecordingModel

    return RecordingModel(model, path, title=title)


def _open_anthropic(name: str, around: ModelContext) -> Model:
    # Check the key before the import below, which takes more than a second.
    read_anthropic_key(around.env)
    from prd2pr.agents.models.anthropic import AnthropicModel

    return AnthropicModel(name, env=around.env, prices=around.prices, policy=around.policy)


def _open_openai(name: str, around: ModelContext) -> Model:
    from prd2pr.agents.models.openai import OpenAiCompatibleModel

    return OpenAiCompatibleModel(name, env=around.env, prices=around.prices, policy=around.policy)


def _open_command(command: str, around: ModelContext) -> Model:
    from prd2pr.agents.models.command import CommandModel

    return CommandModel(command, env=around.env, prices=around.prices, cwd=around.cwd, permissions=around.permissions)


def _open_human(_: str, around: ModelContext) -> Model:
    from prd2pr.agents.models.human import HumanModel

    return HumanModel(stdin=around.stdin, stdout=around.stdout, editor=around.env.get("EDITOR", ""))


def _open_replay(file: str, around: ModelContext) -> Model:
    from prd2pr.agents.models.replay import ReplayModel

    return ReplayModel(around.cwd / file)


def _open_plugin(name: str, around: ModelContext) -> Model:
    from prd2pr.agents.models.plugins import open_plugin

    return open_plugin(name, env=around.env, cwd=around.cwd)


@dataclass(frozen=True)
class ModelKind:
    form: str  # how the kind is written
    open: Callable[[str, ModelContext], Model]
    alone: bool = False  # whether the kind takes no argument


KINDS: dict[str, ModelKind] = {
    "anthropic": ModelKind("anthropic:MODEL", _open_anthropic),
    "openai": ModelKind("openai:MODEL", _open_openai),
    "command": ModelKind("command:PROGRAM ARGS", _open_command),
    "human": ModelKind("human", _open_human, alone=True),
    "replay": ModelKind("replay:FILE", _open_replay),
    "plugin": ModelKind("plugin:NAME", _open_plugin),
}
FORMS = ", ".join(f"`{kind.form}`" for kind in KINDS.values())


def _parse_spec(spec: str) -> tuple[str, str]:
    kind, colon, rest = spec.partition(":")
    rest = rest.strip()
    if kind in KINDS and KINDS[kind].alone != bool(rest):
        return kind, rest
    if kind in KINDS:
        raise ModelMissing(f"Incomplete model name `{spec}`", remedy=f"Write `{KINDS[kind].form}`.")
    if not colon and kind.startswith(BARE_PREFIX):
        return "anthropic", kind
    raise ModelMissing(f"Unknown model `{spec}`", remedy=f"{_suggest_spec(kind, rest)}A model is one of {FORMS}.")


def _suggest_spec(kind: str, rest: str) -> str:
    if kind.startswith("gpt-"):
        return f"Did you mean `openai:{kind}`? "
    if kind.endswith(".jsonl"):
        return f"Did you mean `replay:{kind}`? "
    close = difflib.get_close_matches(kind, [*KINDS, "claude"], n=1)
    if not close:
        return ""
    return f"Did you mean `{close[0]}:{rest}`? " if rest else f"Did you mean `{close[0]}`? "
