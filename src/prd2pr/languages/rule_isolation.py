"""Run each rule in isolation: a rule that crashes is reported as a fact, and all other rules still run.

A crash never ends a run, and it never accepts a step: `RUN111` is an error whose severity cannot be changed. Rules that
only warn report `RUN112` instead, which is a warning.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import ParamSpec

from prd2pr import __version__
from prd2pr.domain.evidence import RULE_CRASHED, Fact
from prd2pr.errors import Prd2prError

WARNING_RULE_CRASHED = "RUN112"
CRASH_CODES = frozenset({RULE_CRASHED, WARNING_RULE_CRASHED})
SHOWN_FRAMES = 6

P = ParamSpec("P")


def collect_facts(rule: Callable[P, Iterable[Fact]], /, *args: P.args, **named: P.kwargs) -> tuple[Fact, ...]:
    """Return the facts of a rule, or a fact that describes its crash."""
    try:
        return tuple(rule(*args, **named))
    except Prd2prError:
        raise
    except Exception as error:  # noqa: BLE001 - no rule may end the run
        return (make_crash_fact(rule, error),)


def make_crash_fact(rule: Callable[..., object], error: Exception, path: str = "") -> Fact:
    code = RULE_CRASHED if _can_refuse(rule) else WARNING_RULE_CRASHED
    return Fact(code=code, path=path, message=f"{getattr(rule, '__qualname__', repr(rule))}: {describe_crash(error)}")


def describe_crash(error: Exception) -> str:
    """Describe a crash in one line to paste into an issue, without local paths: the error and its innermost frames."""
    frames = traceback.extract_tb(error.__traceback__)[-SHOWN_FRAMES:]
    places = " < ".join(f"{PurePath(each.filename).name}:{each.lineno} {each.name}" for each in reversed(frames))
    return f"{type(error).__name__}: {str(error)[:200]} ({places}; prd2pr {__version__})"


def _can_refuse(rule: Callable[..., object]) -> bool:
    """Return whether one of the findings of the rule's module is an error."""
    module = sys.modules.get(getattr(rule, "__module__", ""))
    kinds = getattr(module, "FINDINGS", ())
    return not kinds or any(kind.severity == "error" for kind in kinds)
