"""`plugin:NAME`: a worker from another package, found through an entry point of the group `prd2pr.workers`.

The entry point names a function that takes an `Opening` and returns a `Model`. Errors of a plugin are reported with its
name and package, so that they are not mistaken for errors of prd2pr or of the PRD.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from prd2pr.agents.models.base import Model, Reply, Request
from prd2pr.agents.models.usage import estimate_next_call
from prd2pr.domain.costs.budget import CallEstimate
from prd2pr.errors import ModelMissing, ModelProblem, Prd2prError

GROUP = "prd2pr.workers"


@dataclass(frozen=True)
class Opening:
    """Arguments for opening a plugin. `argument` follows its name, as in `plugin:NAME:ARGUMENT`."""

    name: str
    argument: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path = field(default_factory=Path.cwd)


Opener = Callable[[Opening], Model]


class PluginModel:
    """Wraps a plugin's model, attributing its errors to the plugin and checking its answers."""

    def __init__(self, plugin: str, inner: Model) -> None:
        self.name = inner.name
        self.edits_itself = bool(getattr(inner, "edits_itself", False))
        self._plugin = plugin
        self._inner = inner

    def reply(self, request: Request) -> Reply:
        try:
            answer: object = self._inner.reply(request)
        except Prd2prError:
            raise
        except Exception as error:
            raise ModelProblem(
                f"the worker failed: {_format_error(error)}",
                where=self._plugin,
                remedy="See the plugin's log, or choose another model.",
            ) from error
        if not isinstance(answer, Reply):
            raise ModelProblem(
                f"the worker returned {type(answer).__name__} instead of prd2pr.workers.Reply",
                where=self._plugin,
                remedy="Fix the plugin: docs/workers/plugins.md describes the interface.",
            )
        return answer

    def estimate(self, request: Request | None) -> CallEstimate:
        try:
            return estimate_next_call(self._inner, request)
        except Prd2prError:
            raise
        except Exception as error:
            raise ModelProblem(
                f"the worker failed to estimate the cost of a call: {_format_error(error)}", where=self._plugin
            ) from error


def open_plugin(spec: str, *, env: Mapping[str, str], cwd: Path) -> Model:
    """Open the plugin named by `spec`, which is NAME or NAME:ARGUMENT."""
    name, _, argument = spec.partition(":")
    found = select_entry_point(name.strip(), entry_points(group=GROUP))
    plugin = f"plugin:{found.name} ({_package_label(found)})"
    opener = _load_opener(found, plugin)
    try:
        model: object = opener(Opening(found.name, argument.strip(), env, cwd))
    except Prd2prError:
        raise
    except Exception as error:
        raise ModelMissing(
            f"the worker cannot be opened: {_format_error(error)}",
            where=plugin,
            remedy="Fix the reported cause or the plugin's settings.",
        ) from error
    return PluginModel(plugin, _check_model(model, plugin))


def select_entry_point(name: str, found: Iterable[EntryPoint]) -> EntryPoint:
    """Return the only entry point with this name; raise ModelMissing if there is none or more than one."""
    every = list(found)
    named = {(each.value, _package_label(each)): each for each in every if each.name == name}
    if len(named) == 1:
        return next(iter(named.values()))
    if named:
        packages = " and ".join(sorted(origin for _, origin in named))
        raise ModelMissing(
            f"{len(named)} packages provide a worker `{name}`",
            where=packages,
            remedy=f"Uninstall all but one of {packages}.",
        )
    names = sorted({each.name for each in every})
    near = difflib.get_close_matches(name, names, n=1)
    suggestion = f"Did you mean `plugin:{near[0]}`? " if near else ""
    installed = f"Installed: {', '.join(names)}." if names else "No worker plugin is installed in this environment."
    raise ModelMissing(
        f"there is no worker plugin `{name}`",
        where=f"plugin:{name}",
        remedy=f"{suggestion}{installed} Install its package into the environment of prd2pr.",
    )


def _load_opener(found: EntryPoint, plugin: str) -> Opener:
    try:
        opener: object = found.load()
    except Exception as error:
        raise ModelMissing(
            f"the worker's package cannot be imported: {_format_error(error)}",
            where=f"{plugin}, {found.value}",
            remedy="Install its dependencies, or another version of it.",
        ) from error
    if not callable(opener):
        raise _invalid_plugin(f"{found.value} is {type(opener).__name__}, not a function that opens a worker", plugin)
    return opener


def _check_model(model: object, plugin: str) -> Model:
    if not callable(getattr(model, "reply", None)):
        raise _invalid_plugin(f"it opens {type(model).__name__}, which has no method `reply`", plugin)
    if not isinstance(getattr(model, "name", None), str):
        raise _invalid_plugin(f"it opens {type(model).__name__}, which has no string `name`", plugin)
    return model  # type: ignore[return-value]  # checked above


def _invalid_plugin(what: str, plugin: str) -> ModelMissing:
    return ModelMissing(
        f"not a valid worker: {what}",
        where=plugin,
        remedy="Fix the plugin: docs/workers/plugins.md describes the interface.",
    )


def _package_label(found: EntryPoint) -> str:
    return f"{found.dist.name} {found.dist.version}" if found.dist is not None else found.value


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
