"""The demo, run again: the same evidence, the same code and the same commit messages as in the recorded branch.

The wording of findings and the living docs may differ between versions; `test_read_verbs` pins the documents.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from golden_branches import FINISHED, code_tree, git, program, steps

from prd2pr.state.git import Git
from prd2pr.state.store import StateStore
from world import show_state

# What is taken out of evidence before it is compared. Everything else has to be the same, byte for byte.
MEASURED = (
    # How long a test or a whole run took.
    (r'"seconds": [0-9.e-]+', '"seconds": "<time>"'),
    # What of the sandbox this machine's kernel allows.
    (r'"sandbox": "[^"]*"', '"sandbox": "<sandbox>"'),
    # The versions of the interpreter and the test runner on this machine.
    (r'"tools": \{[^}]*\}', '"tools": "<tools>"'),
    # Ids of trees and blobs with the documents below. `compare` looks at each file of these trees instead.
    (r'"(base_tree|head_tree)": "[0-9a-f]{40}"', r'"\1": "<tree>"'),
    # The version, and the wording of its findings.
    (r'"made_by": "[^"]*"', '"made_by": "<version>"'),
    (r'("code": "[A-Z]{3}\d{3}",\s+"line": \d+,\s+"message": )"(?:[^"\\]|\\.)*"', r'\1"<text>"'),
)
# In this step there are more than 40 other expected values to try. The id of a tree with the documents below decides
# which 40 are drawn, so that only their outcomes are compared.
DRAWN = "loyalty-4/4-refactor.json"
LIVING_DOC = re.compile(r"docs/([A-Z_]+\.md|\.gitattributes)")
# The digest of an evidence file, which holds the measured times.
DIGEST = re.compile(r"^Tdd-Evidence: sha256:[0-9a-f]{64}$", re.MULTILINE)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return FINISHED.clone(tmp_path / "recorded")


def evidence(place: Path, commit: str) -> dict[str, str]:
    """The evidence of every step of the stories, by its path, without what was measured."""
    root = f".orch-state/prds/{FINISHED.prd}/tdd"
    with Git.open(place) as repository:
        state = StateStore(repository, FINISHED.prd).load(commit)
        steps = [(story, step) for story in state.cycle_ids for step in getattr(state.cycle(story), "steps", ())]
    paths = [f"{root}/evidence/{story}/{step.n}-{step.phase.value}.json" for story, step in steps]
    found = {path: show_state(place, path, commit) for path in paths}
    for pattern, replacement in MEASURED:
        found = {path: re.sub(pattern, replacement, text) for path, text in found.items()}
    found = {path: without_documents(text) for path, text in found.items()}
    return {path: outcomes_of_drawn(text) if path.endswith(DRAWN) else text for path, text in found.items()}


def without_documents(text: str) -> str:
    whole = json.loads(text)
    changes = whole["evidence"]["changes"]
    whole["evidence"]["changes"] = [each for each in changes if not LIVING_DOC.fullmatch(each["path"])]
    whole["evidence"]["living_docs"] = {}
    if whole["evidence"]["held_out"]:
        whole["evidence"]["held_out"].pop("dropped")  # since 0.3
    return json.dumps(whole, indent=2)


def outcomes_of_drawn(text: str) -> str:
    """The evidence with the outcomes of the drawn values in place of the values."""
    whole = json.loads(text)
    for name in ("bite", "bite_before"):
        tried = whole["evidence"][name]
        tried["perturbations"] = [each["outcome"] for each in tried["perturbations"]]
    return json.dumps(whole, indent=2)


def code(place: Path, commit: str) -> dict[str, str]:
    """Mode and blob of each file except living docs."""
    lines = (line.split("\t") for line in code_tree(place, commit).splitlines())
    return {path: blob for blob, path in lines if not LIVING_DOC.fullmatch(path)}


def message(place: Path, commit: str) -> list[str]:
    """The subject and the trailers; the text between them may be worded differently.

    The recorded commits do not name the model yet.
    """
    whole = DIGEST.sub("Tdd-Evidence: <digest>", git(place, "show", "--no-patch", "--format=%B", commit))
    subject, *lines = whole.splitlines()
    return [subject, *(line for line in lines if re.match(r"(?!Assisted-by)[A-Z][A-Za-z-]+: ", line))]


def compare(recorded: Path, again: Path, count: int) -> None:
    before, now = steps(recorded, FINISHED), steps(again, FINISHED)
    assert list(now)[:count] == list(before)[:count]
    assert list(now)[count:] in ([], ["loyalty/plan/2"]), "a complete PRD's records are packed"
    for step, commit in list(now.items())[:count]:
        assert message(again, commit) == message(recorded, before[step])
        assert code(again, commit) == code(recorded, before[step]), step
    last = list(now)[count - 1]
    made, expected = evidence(again, now[last]), evidence(recorded, before[last])
    assert len(made) == count - 1, "all but the plan's"
    assert list(made) == list(expected)
    for path, text in made.items():
        assert text == expected[path], path


def run_again(place: Path, *options: str) -> tuple[Path, int]:
    again = FINISHED.clone(place)
    git(again, "branch", "--quiet", "--delete", "--force", FINISHED.name)
    done = program(again, "run", FINISHED.path, "--model", FINISHED.model, *options)
    return again, done.status


def test_the_first_story_run_again_has_the_same_evidence(recorded: Path, tmp_path: Path) -> None:
    again, status = run_again(tmp_path / "again", "--max-steps", "5")
    assert status == 1
    compare(recorded, again, 5)


@pytest.mark.slow
def test_the_whole_demo_run_again_has_the_same_evidence(recorded: Path, tmp_path: Path) -> None:
    again, status = run_again(tmp_path / "again")
    assert status == 0
    compare(recorded, again, 26)
