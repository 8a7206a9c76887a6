"""A step's evidence: its readable summary, the blob that its record names, and when it may leave the tree."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from prd2pr.state.codec import compress
from prd2pr.state.git import Git
from prd2pr.state.layout import PrdLayout
from world import World

LAYOUT = PrdLayout("calc")
EVIDENCE = f"{LAYOUT.evidence_root}/calc-1"
CYCLE = LAYOUT.cycle("calc-1")
Files = dict[str, bytes | None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    """One story up to GREEN."""
    made = World(tmp_path_factory.mktemp("built")).start()
    for _ in range(4):
        assert made.next().status == 0
    return made


def forge(world: World, make: Callable[[Git, str], Files], rev: str = "") -> str:
    """The commit with other files and the same message."""
    head = world.git("rev-parse", rev or world.branch)
    with Git.open(world.repo) as git:
        tree = git.edit_tree(git.tree(head), make(git, head))
    return world.git("commit-tree", tree, "-p", f"{head}^", "-m", world.git("log", "-1", "--format=%B", head))


def with_cycle(change: Callable[[dict], object]) -> Callable[[Git, str], Files]:
    def files(git: Git, head: str) -> Files:
        cycle = json.loads(git.read(head, CYCLE) or b"")
        change(cycle)
        return {CYCLE: json.dumps(cycle).encode()}

    return files


def with_blob(blob: str | None) -> Callable[[Git, str], Files]:
    return with_cycle(lambda cycle: cycle["steps"][-1].update(evidence_blob=blob))


def name_blob_of_red(git: Git, head: str) -> Files:
    return with_cycle(lambda cycle: cycle["steps"][-1].update(evidence_blob=cycle["steps"][1]["evidence_blob"]))(
        git, head
    )


def rewrite_summary(old: bytes, new: bytes) -> Callable[[Git, str], Files]:
    def files(git: Git, head: str) -> Files:
        path = f"{EVIDENCE}/3-green.json"
        data = git.read(head, path) or b""
        assert old in data
        return {path: data.replace(old, new)}

    return files


def rewrite_data(change: Callable[[bytes], bytes | None]) -> Callable[[Git, str], Files]:
    def files(git: Git, head: str) -> Files:
        path = f"{EVIDENCE}/3-green.json.gz"
        data = change(git.read(head, path) or b"")
        named = {
            CYCLE: (git.read(head, CYCLE) or b"").replace(
                git.find_blob(head, path).encode(), git.write_blob(data or b"").encode()
            )
        }
        return {path: data, **(named if data is not None else {})}

    return files


def reword(data: bytes) -> bytes:
    return compress(gzip.decompress(data).replace(b'"accepted":true', b'"accepted": true'))


FORGERIES = {
    "the evidence of another step": name_blob_of_red,
    "a blob that does not exist": with_blob("1" * 40),
    "no blob": with_blob(""),
    "a blob and a line break": with_blob("1" * 40 + "\n"),
    "a line break": with_blob("\n"),
    "an option of git": with_blob("--all"),
    "no text": with_blob(None),
    "a summary with another verdict": rewrite_summary(b'"accepted"', b'"refused"'),
    "a summary with other counts": rewrite_summary(b'"passed": 3', b'"passed": 9'),
    "a summary with another digest": rewrite_summary(b'"data": "sha256:', b'"data": "sha256:0'),
    "a summary with spaces": rewrite_summary(b"{", b"{ "),
    "no summary": lambda git, head: {f"{EVIDENCE}/3-green.json": None},
    "an empty summary": lambda git, head: {f"{EVIDENCE}/3-green.json": b""},
    "no data": lambda git, head: {f"{EVIDENCE}/3-green.json.gz": None},
    "other data": rewrite_data(reword),
    "truncated data": rewrite_data(lambda data: data[:-1]),
    "damaged data": rewrite_data(lambda data: data[:30] + b"\0" * 30 + data[60:]),
    "two files in one": rewrite_data(lambda data: data + data),
    "garbage": rewrite_data(lambda data: b"\x1f\x8b garbage"),
    "a bomb": rewrite_data(lambda data: compress(b" " * (64 * 1024 * 1024 + 1))),
    "evidence of the future": lambda git, head: {f"{EVIDENCE}/4-integrated.json": b"{}"},
    "a summary of the PRD": lambda git, head: {LAYOUT.summary: b"{}"},
    "coverage that nobody saw": with_cycle(lambda cycle: cycle.update(coverage={"calc-1.c9": ["tests/x.py::test_x"]})),
    "no coverage": with_cycle(lambda cycle: cycle.pop("coverage")),
    "mutants that nobody killed": with_cycle(lambda cycle: cycle["steps"][-1].update(mutants=[99, 99])),
    "billions of mutants": with_cycle(lambda cycle: cycle["steps"][-1].update(mutants=[10**9, 10**9])),
    "no mutants": with_cycle(lambda cycle: cycle["steps"][-1].pop("mutants")),
    "a warning that no gate gave": with_cycle(
        lambda cycle: cycle["steps"][-1].update(warnings=[{"code": "GRN401", "message": "Go away"}])
    ),
    "the evidence of the plan": lambda git, head: {f"{LAYOUT.evidence_root}/plan/1-plan.json": None},
    "earlier records changed": with_cycle(lambda cycle: cycle["steps"][0].update(evidence_blob="1" * 40)),
}
QUICK = (
    "the evidence of another step",
    "a blob and a line break",
    "a summary with other counts",
    "other data",
    "no coverage",
    "mutants that nobody killed",
)
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FORGERIES]


def test_honest_evidence_is_proved(built: World) -> None:
    assert built.verify(f"main..{built.branch}", "--json").json["all_proved"]


@pytest.mark.parametrize("name", CASES)
def test_forged_evidence_is_refused(built: World, name: str) -> None:
    forged = forge(built, FORGERIES[name])
    refused = built.verify(f"{built.branch}^..{forged}", "--json")
    assert refused.status == 1, refused.out + refused.err
    (step,) = refused.json["steps"]
    assert any(finding["severity"] == "error" for finding in step["findings"])


def test_evidence_of_others_may_not_be_removed_early(built: World) -> None:
    """A design removes no evidence of the plan, and RED none but its own story's."""
    red = f"{built.branch}^"
    for path in (f"{LAYOUT.evidence_root}/plan/1-plan.json", f"{EVIDENCE}/2-red.json.gz", f"{EVIDENCE}/2-red.json"):
        forged = forge(built, lambda git, head, path=path: {path: None}, red)
        refused = built.verify(f"{red}^..{forged}", "--json")
        assert refused.status == 1, path


def test_compression_does_not_matter(built: World) -> None:
    """The digest is that of the data, so another compressor proves the same."""
    forged = forge(built, rewrite_data(lambda data: gzip.compress(gzip.decompress(data), 1, mtime=7)))
    assert built.verify(f"{built.branch}^..{forged}", "--json").json["all_proved"]


def test_tree_has_only_the_evidence_of_the_last_step(built: World) -> None:
    names = [Path(name).name for name in built.git("ls-tree", "--name-only", built.branch, f"{EVIDENCE}/").splitlines()]
    assert names == ["3-green.json", "3-green.json.gz"]
