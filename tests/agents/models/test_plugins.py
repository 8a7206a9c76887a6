"""`plugin:NAME`: what a package may provide, and how its faults are attributed to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from model_requests import a_request

from prd2pr.agents.models import estimate_next_call, is_self_editing, open_model
from prd2pr.agents.models.plugins import select_entry_point
from prd2pr.domain.costs.model_selection import get_public_model_name
from prd2pr.errors import ModelMissing, ModelProblem

GOOD = """
from prd2pr.workers import CallEstimate, ModelRefused, Opening, Reply, Spend, Text

class Worker:
    name = "sound"
    def __init__(self, opening):
        self.opening = opening
    def reply(self, request):
        if self.opening.argument == "breaks":
            raise KeyError("no such tool")
        if self.opening.argument == "refuses":
            raise ModelRefused("not this one")
        if self.opening.argument == "mumbles":
            return "done"
        return Reply((Text(self.opening.argument + self.opening.env["WORD"]),), Spend(calls=1))
    def estimate(self, request):
        return CallEstimate("sound", tokens=7, usd=0.5)

class Agent(Worker):
    edits_itself = True

def fails(opening):
    raise RuntimeError("no licence")

def nobody(opening):
    return object()

def nameless(opening):
    worker = Worker(opening)
    worker.name = None
    return worker

text = "not a function"
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two packages, laid out as pip installs them."""
    (tmp_path / "sound_worker.py").write_text(GOOD)
    (tmp_path / "torn_worker.py").write_text("import a_library_that_is_not_there\n")
    entries = {
        "sound": ["sound", "agent = sound_worker:Agent", "fails = sound_worker:fails", "nobody = sound_worker:nobody"],
        "second": ["twice = sound_worker:Worker", "torn = torn_worker:open"],
        "third": ["twice = sound_worker:Agent"],
    }
    entries["sound"][0] = "sound = sound_worker:Worker"
    entries["sound"] += ["nameless = sound_worker:nameless", "text = sound_worker:text", "gone = sound_worker:absent"]
    for name, lines in entries.items():
        place = tmp_path / f"{name}-2.0.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (place / "entry_points.txt").write_text("[prd2pr.workers]\n" + "\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for module in ("sound_worker", "torn_worker"):
        sys.modules.pop(module, None)


@pytest.mark.usefixtures("packages")
def test_package_provides_a_worker_and_gets_the_argument_after_its_name() -> None:
    model = open_model("plugin:sound: quick ", env={"WORD": "!"})
    assert model.name == "sound"
    assert model.reply(a_request()).text == "quick!"
    assert estimate_next_call(model, a_request()).usd == 0.5
    assert not is_self_editing("plugin:sound", model)
    assert is_self_editing("plugin:agent", open_model("plugin:agent", env={}))


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("name", "what", "where", "remedy"),
    [
        ("sonud", "no worker plugin `sonud`", "plugin:sonud", "Did you mean `plugin:sound`?"),
        ("twice", "`twice`", "second 2.0 and third 2.0", "Uninstall all but one"),
        ("torn", "cannot be imported: ModuleNotFoundError", "second 2.0", "Install its dependencies"),
        ("gone", "cannot be imported: AttributeError", "sound_worker:absent", "Install its dependencies"),
        ("text", "is str, not a function that opens a worker", "sound 2.0", "docs/workers/plugins.md"),
        ("nobody", "object, which has no method `reply`", "sound 2.0", "docs/workers/plugins.md"),
        ("nameless", "no string `name`", "sound 2.0", "docs/workers/plugins.md"),
        ("fails", "cannot be opened: RuntimeError: no licence", "sound 2.0", "Fix the reported cause"),
    ],
)
def test_plugin_problems_are_reported(name: str, what: str, where: str, remedy: str) -> None:
    with pytest.raises(ModelMissing) as caught:
        open_model(f"plugin:{name}", env={})
    problem = caught.value
    assert what in problem.what and where in problem.where and remedy in problem.remedy


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize(
    ("argument", "words"),
    [("breaks", "KeyError: 'no such tool'"), ("mumbles", "returned str"), ("refuses", "not this one")],
)
def test_failing_worker_is_a_model_problem_and_not_a_bug(argument: str, words: str) -> None:
    with pytest.raises(ModelProblem) as caught:
        open_model(f"plugin:sound:{argument}", env={}).reply(a_request())
    assert words in caught.value.what


def test_package_found_twice_counts_once() -> None:
    """As with a search path that lists a directory twice."""
    same = [EntryPoint("a", "m:f", "prd2pr.workers")] * 2
    assert select_entry_point("a", same).value == "m:f"
    with pytest.raises(ModelMissing, match="no worker plugin") as caught:
        select_entry_point("b", [])
    assert "No worker plugin is installed" in caught.value.remedy


def test_plugin_argument_is_not_shown_to_people() -> None:
    assert get_public_model_name("plugin:shelf:/home/ada/shelf") == "plugin:shelf"
