"""State and code in one commit, read back from it."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.records import Backlog, Cycle, CycleState, Phase, Prd, Project, ProjectState, Status, Story
from prd2pr.errors import InputInvalid, StateCorrupted, StateNewer
from prd2pr.state import layout
from prd2pr.state.codec import encode_document
from prd2pr.state.commit_message import StepRef, build_step_trailers, compute_evidence_digest, read_step
from prd2pr.state.git import Git
from prd2pr.state.layout import PrdLayout, check_id
from prd2pr.state.store import StateChange, StateStore

Shell = Callable[..., str]
AT = "2026-05-04T10:20:30Z"
PATHS = PrdLayout("auth")
BACKLOG = Backlog(stories=(Story(id="auth-1", epic="auth", title="Sign in"),))
PLANNED = (
    StateChange()
    .with_doc(layout.PROJECT, Project(base_branch="main"))
    .with_doc(PATHS.prd, Prd(id="auth", title="Auth", path="prds/auth.md"))
    .with_doc(PATHS.status, Status(state=ProjectState.BACKLOG_READY))
    .with_doc(PATHS.backlog, BACKLOG)
)


@pytest.fixture
def store(git: Git) -> StateStore:
    return StateStore(git, "auth")


@pytest.fixture
def planned(store: StateStore, first: str) -> str:
    return store.commit_step(first, store.git.tree(first), PLANNED, "plan(auth): one story", at=AT)


def red_step(store: StateStore, base: str) -> str:
    proof = Proof(evidence=Evidence(phase=Phase.RED, story="auth-1"), verdict=Verdict(phase=Phase.RED, accepted=True))
    change = (
        StateChange()
        .with_doc(PATHS.cycle("auth-1"), Cycle(story="auth-1", state=CycleState.CODE_GREEN))
        .with_doc(PATHS.evidence("auth-1", 2, Phase.RED), proof)
    )
    code = store.git.edit_tree(store.git.code_tree(base), {"tests/tdd/auth-1/test_it.py": b"def test(): assert 0\n"})
    step = StepRef("auth", "auth-1", 2, Phase.RED, compute_evidence_digest(encode_document(proof)))
    return store.commit_step(
        base, code, change, "red(auth-1): sign in\n\nWhy.", trailers=build_step_trailers(step), at=AT
    )


def test_a_repository_without_state_is_not_planned(store: StateStore, first: str) -> None:
    state = store.load("HEAD")
    assert (state.commit, state.planned, state.prd) == (first, False, None)
    assert (state.status, state.backlog, state.project) == (Status(), Backlog(), Project())
    assert (state.cycle("auth-1"), state.cycle_ids) == (None, ())


def test_one_commit_holds_code_state_and_evidence(store: StateStore, planned: str, first: str) -> None:
    red = red_step(store, planned)
    state = store.load(red)
    assert state.status.state is ProjectState.BACKLOG_READY
    assert state.backlog == BACKLOG
    assert state.project.base_branch == "main"
    assert state.cycle_ids == ("auth-1",)
    cycle = state.cycle("auth-1")
    assert cycle is not None
    assert cycle.state is CycleState.CODE_GREEN
    proof = state.proof("auth-1", 2, Phase.RED)
    assert proof is not None
    assert proof.verdict.accepted
    info = store.git.log(f"{first}..{red}")
    assert [commit.subject for commit in info] == ["plan(auth): one story", "red(auth-1): sign in"]
    step = read_step(info[1].trailers)
    assert step is not None
    assert step.evidence == compute_evidence_digest(state.read_bytes(PATHS.evidence("auth-1", 2, Phase.RED)) or b"")
    assert store.git.code_tree(planned) == store.git.tree(first)
    changed = {change.path for change in store.git.diff(store.git.code_tree(planned), store.git.code_tree(red))}
    assert changed == {"tests/tdd/auth-1/test_it.py"}


def test_the_same_step_is_the_same_commit(store: StateStore, planned: str) -> None:
    assert red_step(store, planned) == red_step(store, planned)


def test_the_state_is_marked_as_generated(store: StateStore, planned: str) -> None:
    assert b"* linguist-generated=true\n" in layout.ATTRIBUTES_TEXT
    assert store.git.read(planned, ".orch-state/.gitattributes") == layout.ATTRIBUTES_TEXT
    spoilt = StateChange().with_bytes(layout.ATTRIBUTES, b"* -diff\n")
    after = store.commit_step(planned, store.git.code_tree(planned), spoilt, "note: x")
    assert store.load(after).read_bytes(layout.ATTRIBUTES) == layout.ATTRIBUTES_TEXT
    by_hand = damaged(store, planned, layout.ATTRIBUTES, None)
    mended = store.commit_step(by_hand, store.git.code_tree(by_hand), StateChange(), "note: y")
    assert store.load(mended).read_bytes(layout.ATTRIBUTES) == layout.ATTRIBUTES_TEXT


def test_state_files_in_the_code_tree_are_not_copied(store: StateStore, planned: str) -> None:
    forged = store.git.edit_tree(planned, {PATHS.status: encode_document(Status(state=ProjectState.SPRINT_REVIEW))})
    after = store.commit_step(planned, forged, StateChange(), "note: x")
    assert store.load(after).status.state is ProjectState.BACKLOG_READY


def test_change_is_immutable(first: str) -> None:
    one = StateChange().with_bytes(f"{layout.STATE}/a", b"1")
    two = one.without(f"{layout.STATE}/a")
    assert dict(one.updates) == {f"{layout.STATE}/a": b"1"}
    assert dict(two.updates) == {f"{layout.STATE}/a": None}
    for path in ("src/shop.py", ".orch-state", ".orch-state-2/x"):
        with pytest.raises(InputInvalid):
            one.with_bytes(path, b"")


def test_documents_can_be_removed(store: StateStore, planned: str) -> None:
    red = red_step(store, planned)
    change = StateChange().without(PATHS.cycle("auth-1"))
    after = store.commit_step(red, store.git.code_tree(red), change, "note(auth-1): gone")
    assert store.load(after).cycle_ids == ()


# --- damage -----------------------------------------------------------------------------------------------------------


def damaged(store: StateStore, base: str, path: str, content: bytes | None) -> str:
    tree = store.git.edit_tree(base, {path: content})
    return store.git.commit(tree, [base], "By hand\n", AT)


def test_damage_names_the_file_and_the_last_valid_commit(store: StateStore, planned: str) -> None:
    bad = damaged(store, planned, PATHS.status, b'{"schema_version": 1, "state": "HOVERING"}')
    worse = damaged(store, bad, PATHS.status, b"<<<<<<< ours\n")
    with pytest.raises(StateCorrupted, match=r"prds/auth/status\.json cannot be read: line 1") as caught:
        _ = store.load(worse).status
    assert caught.value.where == f"{PATHS.status} in {worse[:10]}; last valid in {planned[:10]}"
    assert f"git restore --source={planned[:10]}" in caught.value.remedy
    assert store.load(worse).backlog == BACKLOG


def test_the_remedy_works(store: StateStore, planned: str, shell: Shell, where: Path) -> None:
    bad = damaged(store, planned, PATHS.backlog, b"{")
    store.git.update_branch("prd2pr/auth", bad, None)
    with pytest.raises(StateCorrupted) as caught:
        _ = store.load("prd2pr/auth").backlog
    for command in caught.value.remedy.split(" && "):
        shell(*shlex.split(command)[1:])
    assert store.load("prd2pr/auth").backlog == BACKLOG


def test_deleted_file_is_damage_too(store: StateStore, planned: str) -> None:
    bad = damaged(store, planned, PATHS.backlog, None)
    with pytest.raises(StateCorrupted, match=r"backlog\.json is missing") as caught:
        _ = store.load(bad).backlog
    assert planned[:10] in caught.value.where


def test_state_without_a_valid_commit_is_reported(store: StateStore, first: str) -> None:
    bad = damaged(store, first, PATHS.prd, b"[]")
    with pytest.raises(StateCorrupted) as caught:
        _ = store.load(bad).prd
    assert "no valid version" in caught.value.remedy


def test_a_newer_state_is_not_touched(store: StateStore, planned: str) -> None:
    newer = damaged(store, planned, PATHS.status, b'{"schema_version": 99}')
    with pytest.raises(StateNewer):
        _ = store.load(newer).status


# --- paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad", ["", "..", "a/b", "../x", "a..b", ".hidden", "-x", "a b", "x.lock", "a\n", "ü", "a" * 101]
)
def test_ids_that_cannot_be_file_names_are_refused(git: Git, bad: str) -> None:
    with pytest.raises(InputInvalid):
        check_id(bad)
    with pytest.raises(InputInvalid):
        StateStore(git, bad)
    with pytest.raises(InputInvalid):
        PATHS.cycle(bad)


def test_evidence_is_stored_under_its_story() -> None:
    assert PATHS.evidence("auth-1", 4, Phase.GREEN) == ".orch-state/prds/auth/tdd/evidence/auth-1/4-green.json"


def test_a_step_needs_few_processes(
    store: StateStore, planned: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process costs milliseconds. They are counted by a wrapper around git."""
    real, calls = shutil.which("git"), tmp_path / "calls"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexec {real} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    with Git.open(store.git.common_dir.parent) as counted:
        again = StateStore(counted, "auth")
        _ = again.load(planned).status, again.load(planned).backlog, again.load(planned).cycle("auth-1")
        counted.export(planned, tmp_path / "work")
        counted.snapshot(tmp_path / "work", planned)
        counted.update_branch("prd2pr/auth", red_step(again, planned), None)
    assert len(calls.read_text().splitlines()) <= 22
