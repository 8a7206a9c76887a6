"""Adapters of the port `Model`. Open one by its name with `open_model`; each is imported only when it is asked for."""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from prd2pr.errors import ModelMissing
from prd2pr.models.keys import read_anthropic_key
from prd2pr.models.retry import OnRetry, Retry, RetryRule, ignore_retry
from prd2pr.models.usage import Prices, estimate_of
from prd2pr.ports import Model

__all__ = ["Prices", "Retry", "edits_itself", "estimate_of", "open_model", "recorded"]

EDIT_THEMSELVES = ("human", "command:")
BARE_PREFIX = "claude-"  # a name without a kind: `claude-sonnet-5-5`


@dataclass(frozen=True)
class Surroundings:
    prices: Prices
    env: Mapping[str, str]
    rule: RetryRule
    cwd: Path
    stdin: TextIO
    stdout: TextIO


def open_model(
    spec: str,
    *,
    prices: Prices | None = None,
    env: Mapping[str, str] | None = None,
    on_retry: OnRetry = ignore_retry,
    sleep: Callable[[float], None] = time.sleep,
    cwd: Path | None = None,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
) -> Model:
    """The model that `spec` names; ModelMissing says what is lacking and how to get it.

    `replay:` and `command:` paths are relative to `cwd`. A person (`human`) is asked on `stdin` and `stdout`.
    """
    kind, rest = _split(spec.strip())
    surroundings = Surroundings(
        prices=prices or {},
        env=os.environ if env is None else env,
        rule=RetryRule(on_retry=on_retry, sleep=sleep),
        cwd=cwd or Path.cwd(),
        stdin=stdin or sys.stdin,
        stdout=stdout or sys.stdout,
    )
    return KINDS[kind].open(rest, surroundings)


def edits_itself(spec: str, model: Model) -> bool:
    """Whether it changes the files of its workspace without our tools: a person, a program, a plugin that says so."""
    return spec.strip().startswith(EDIT_THEMSELVES) or bool(getattr(model, "edits_itself", False))


def recorded(model: Model, path: Path, *, title: str = "") -> Model:
    """The same model, with every reply kept in a transcript for `replay:`."""
    from prd2pr.models.record import Recorder

    return Recorder(model, path, title=title)


def _open_anthropic(name: str, around: Surroundings) -> Model:
    # Asked for before the import below, which takes more than a second.
    read_anthropic_key(around.env)
    from prd2pr.models.anthropic_model import AnthropicModel

    return AnthropicModel(name, env=around.env, prices=around.prices, rule=around.rule)


def _open_openai(name: str, around: Surroundings) -> Model:
    from prd2pr.models.openai_compatible import OpenAiCompatibleModel

    return OpenAiCompatibleModel(name, env=around.env, prices=around.prices, rule=around.rule)


def _open_command(command: str, around: Surroundings) -> Model:
    from prd2pr.models.command import CommandModel

    return CommandModel(command, env=around.env, prices=around.prices, cwd=around.cwd)


def _open_human(_: str, around: Surroundings) -> Model:
    from prd2pr.models.human import HumanModel

    return HumanModel(stdin=around.stdin, stdout=around.stdout)


def _open_replay(file: str, around: Surroundings) -> Model:
    from prd2pr.models.replay import ReplayModel

    return ReplayModel(around.cwd / file)


def _open_plugin(name: str, around: Surroundings) -> Model:
    from prd2pr.models.plugins import open_plugin

    return open_plugin(name, env=around.env, cwd=around.cwd)


@dataclass(frozen=True)
class Kind:
    form: str  # how it is written
    open: Callable[[str, Surroundings], Model]
    alone: bool = False  # nothing follows the name


KINDS: dict[str, Kind] = {
    "anthropic": Kind("anthropic:MODEL", _open_anthropic),
    "openai": Kind("openai:MODEL", _open_openai),
    "command": Kind("command:PROGRAM ARGS", _open_command),
    "human": Kind("human", _open_human, alone=True),
    "replay": Kind("replay:FILE", _open_replay),
    "plugin": Kind("plugin:NAME", _open_plugin),
}
FORMS = ", ".join(f"`{kind.form}`" for kind in KINDS.values())


def _split(spec: str) -> tuple[str, str]:
    kind, colon, rest = spec.partition(":")
    rest = rest.strip()
    if kind in KINDS and KINDS[kind].alone != bool(rest):
        return kind, rest
    if kind in KINDS:
        raise ModelMissing(f"`{spec}` is not a whole name of a model", remedy=f"Write `{KINDS[kind].form}`.")
    if not colon and kind.startswith(BARE_PREFIX):
        return "anthropic", kind
    raise ModelMissing(f"There is no model `{spec}`", remedy=f"{_suggestion(kind, rest)}A model is one of {FORMS}.")


def _suggestion(kind: str, rest: str) -> str:
    if kind.startswith("gpt-"):
        return f"Did you mean `openai:{kind}`? "
    if kind.endswith(".jsonl"):
        return f"Did you mean `replay:{kind}`? "
    close = difflib.get_close_matches(kind, [*KINDS, "claude"], n=1)
    if not close:
        return ""
    return f"Did you mean `{close[0]}:{rest}`? " if rest else f"Did you mean `{close[0]}`? "
