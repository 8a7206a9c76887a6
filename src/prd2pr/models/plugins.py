"""`plugin:NAME`: a worker that another package brings, by an entry point of the group `prd2pr.workers`.

The entry point names a function that takes an `Opening` and gives a `ports.Model`. What a plugin does wrong is told as
the plugin's, by its name and its package: nobody should take it for a fault of prd2pr, or of their PRD.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from prd2pr.core.budget import CallEstimate
from prd2pr.errors import ModelMissing, ModelProblem, Prd2prError
from prd2pr.models.usage import estimate_of
from prd2pr.ports import Model, Reply, Request

GROUP = "prd2pr.workers"


@dataclass(frozen=True)
class Opening:
    """What a plugin is opened with. `argument` is what follows its name: `plugin:NAME:ARGUMENT`."""

    name: str
    argument: str = ""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path = field(default_factory=Path.cwd)


Opener = Callable[[Opening], Model]


class PluginModel:
    """The plugin's model behind one door: its own faults get words, its answers are looked at before they are used."""

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
                f"the worker failed: {_words(error)}",
                where=self._plugin,
                remedy="Look at the plugin's own log, or choose another model.",
            ) from error
        if not isinstance(answer, Reply):
            raise ModelProblem(
                f"the worker answered with {type(answer).__name__} and not with a prd2pr.workers.Reply",
                where=self._plugin,
                remedy="The plugin has to be corrected: docs/workers.md says what it owes.",
            )
        return answer

    def estimate(self, request: Request | None) -> CallEstimate:
        try:
            return estimate_of(self._inner, request)
        except Prd2prError:
            raise
        except Exception as error:
            raise ModelProblem(
                f"the worker cannot say what a call costs: {_words(error)}", where=self._plugin
            ) from error


def open_plugin(spec: str, *, env: Mapping[str, str], cwd: Path) -> Model:
    """`spec`: NAME or NAME:ARGUMENT."""
    name, _, argument = spec.partition(":")
    found = chosen(name.strip(), entry_points(group=GROUP))
    plugin = f"plugin:{found.name} ({_origin(found)})"
    opener = _loaded(found, plugin)
    try:
        model: object = opener(Opening(found.name, argument.strip(), env, cwd))
    except Prd2prError:
        raise
    except Exception as error:
        raise ModelMissing(
            f"the worker cannot be opened: {_words(error)}", where=plugin, remedy="Mend what it names, or its settings."
        ) from error
    return PluginModel(plugin, _shaped(model, plugin))


def chosen(name: str, found: Iterable[EntryPoint]) -> EntryPoint:
    """Exactly one of this name: of two nobody could say which one would work."""
    every = list(found)
    named = {(each.value, _origin(each)): each for each in every if each.name == name}
    if len(named) == 1:
        return next(iter(named.values()))
    if named:
        packages = " and ".join(sorted(origin for _, origin in named))
        raise ModelMissing(
            f"there are {len(named)} workers `{name}`, and only one can be meant",
            where=packages,
            remedy=f"Uninstall all but one of {packages}.",
        )
    names = sorted({each.name for each in every})
    near = difflib.get_close_matches(name, names, n=1)
    meant = f"Did you mean `plugin:{near[0]}`? " if near else ""
    there = f"There are: {', '.join(names)}." if names else "None is installed beside this prd2pr."
    raise ModelMissing(
        f"there is no worker plugin `{name}`",
        where=f"plugin:{name}",
        remedy=f"{meant}{there} Install its package into the environment that prd2pr runs in.",
    )


def _loaded(found: EntryPoint, plugin: str) -> Opener:
    try:
        opener: object = found.load()
    except Exception as error:
        raise ModelMissing(
            f"the worker's package cannot be imported: {_words(error)}",
            where=f"{plugin}, {found.value}",
            remedy="Install what it needs, or another version of it.",
        ) from error
    if not callable(opener):
        raise _misshapen(f"{found.value} is {type(opener).__name__}, and no function that opens a worker", plugin)
    return opener


def _shaped(model: object, plugin: str) -> Model:
    if not callable(getattr(model, "reply", None)):
        raise _misshapen(f"what it opens is {type(model).__name__}, which has no method `reply`", plugin)
    if not isinstance(getattr(model, "name", None), str):
        raise _misshapen(f"what it opens is {type(model).__name__}, which has no `name` that is a text", plugin)
    return model  # type: ignore[return-value]  # just looked at


def _misshapen(what: str, plugin: str) -> ModelMissing:
    return ModelMissing(
        f"this is no worker: {what}",
        where=plugin,
        remedy="The plugin has to be corrected: docs/workers.md says what it owes.",
    )


def _origin(found: EntryPoint) -> str:
    return f"{found.dist.name} {found.dist.version}" if found.dist is not None else found.value


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
