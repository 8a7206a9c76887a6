"""`verify` trusts nothing: it reports any change in a rewritten commit."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from evidence_on_disk import read_evidence, write_evidence
from prd2pr.state.git import Git
from prd2pr.state.trees import format_tree
from world import World

EVIDENCE = ".orch-state/prds/calc/tdd/evidence/calc-1"
Edit = Callable[[Path], None]


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> World:
    world = World(tmp_path_factory.mktemp("finished")).start()
    assert world.run("--story", "calc-1").status == 0
    return world


@pytest.fixture
def world(finished, tmp_path) -> World:
    shutil.copytree(finished.root, tmp_path / "copy", symlinks=True)
    return World(tmp_path / "copy")


def commits(world: World) -> list[str]:
    return world.git("rev-list", "--reverse", f"main..{world.branch}").split()


def rewrite(world: World, edits: dict[str, Edit], *, messages: dict[str, Callable[[str], str]] | None = None) -> None:
    """Rebuild the branch commit by commit, with edits at the named phases and everything else unchanged."""
    checkout = world.root / "rewriting"
    world.git("worktree", "add", "-q", "--detach", str(checkout), "main")
    inside = World(world.root, cold=True)
    env = {
        **os.environ,
        "GIT_COMMITTER_NAME": "x",
        "GIT_COMMITTER_EMAIL": "x@x",
        "GIT_AUTHOR_NAME": "x",
        "GIT_AUTHOR_EMAIL": "x@x",
    }

    def git(*arguments: str, text: str = "") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=checkout, env=env, input=text, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    changed: list[Edit] = []
    for sha in commits(inside):
        git("read-tree", "-u", "--reset", sha)
        message = git("log", "-1", "--format=%B", sha)
        phase = message.partition("(")[0]
        if phase in edits:
            changed.append(edits[phase])
        for edit in changed:
            edit(checkout)
        git("add", "-A", "-f")
        git("commit", "-q", "--allow-empty", "-F", "-", text=(messages or {}).get(phase, lambda text: text)(message))
    head = git("rev-parse", "HEAD")
    world.git("worktree", "remove", "--force", str(checkout))
    world.git("branch", "-f", world.branch, head)


def replace(name: str, old: str, new: str) -> Edit:
    def edit(root: Path) -> None:
        for path in root.glob(name):
            path.write_text(path.read_text().replace(old, new))

    return edit


def codes(world: World) -> dict[str, set[str]]:
    """Phase → codes of the refuted claims."""
    done = world.verify(world.branch, "--json")
    assert done.status == 1, done.out
    return {
        step["phase"] or "none": {finding["code"] for finding in step["findings"] if finding["severity"] == "error"}
        for step in done.json["steps"]
        if not step["proved"]
    }


def test_untouched_branch_is_proved(world):
    done = World(world.root, cold=True).verify(world.branch)
    assert done.status == 0
    assert "all proved: 5 of 5 steps" in done.out


def test_unchanged_rewritten_branch_is_proved(world):
    rewrite(world, {})
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["red", "green", "integrated"])
def test_one_byte_of_a_test(world, phase):
    rewrite(world, {phase: replace("tests/*/calc-1/*.py", "add(1, 2) == 3", "add(1, 2) >= 3")})
    assert "VER102" in codes(world)[phase]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "name"), [("red", "2-red.json"), ("green", "3-green.json"), ("design", "1-design.json")]
)
def test_one_byte_of_an_evidence_file(world, phase, name):
    rewrite(world, {phase: replace(f"{EVIDENCE}/{name}", '"schema_version":', '"schema_version" :')})
    assert "VER101" in codes(world)[phase]


@pytest.mark.slow
def test_evidence_of_another_step_written_later(world):
    rewrite(world, {"green": lambda root: (root / EVIDENCE / "2-red.json").write_text("{}")})
    assert "VER106" in codes(world)["green"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"), [('"verdict": "accepted"', '"verdict": "proven"'), ('"killed": 2', '"killed": 9')]
)
def test_a_summary_that_says_something_else(world, old, new):
    rewrite(world, {"green": replace(f"{EVIDENCE}/3-green.json", old, new)})
    assert "VER101" in codes(world)["green"]


@pytest.mark.slow
def test_compressed_evidence_that_is_damaged(world):
    rewrite(world, {"green": lambda root: (root / EVIDENCE / "3-green.json.gz").write_bytes(b"\x1f\x8bnothing")})
    assert codes(world)["green"] & {"VER101", "VER106"}


@pytest.mark.slow
def test_a_record_that_names_other_evidence(world):
    rewrite(world, {"green": edit_json(CYCLE, lambda cycle: cycle["steps"][2].update(evidence_blob="0" * 40))})
    assert "VER106" in codes(world)["green"]


@pytest.mark.slow
def test_missing_evidence_file(world):
    rewrite(world, {"green": lambda root: (root / EVIDENCE / "3-green.json").unlink(missing_ok=True)})
    assert "VER101" in codes(world)["green"]


@pytest.mark.slow
def test_source_changed_in_the_green_commit(world):
    rewrite(world, {"green": replace("src/calc/sums.py", "a + b", "a - b")})
    assert "VER102" in codes(world)["green"]


def forged(root: Path) -> None:
    """Evidence and records forged for code that does not work: every digest matches, and every claim is false."""
    (root / "src/calc/sums.py").write_text("def add(a, b):\n    return 3\n")


def test_forged_evidence_with_matching_digests_is_refuted_by_rerunning(world, tmp_path):
    """The forger rewrites code, evidence, record and trailer of GREEN consistently; the tests still fail."""
    env = World(world.root, cold=True)
    rewrite(world, {"green": forged})
    tree_of = {sha: code_tree(env, sha) for sha in commits(env)}
    shas = commits(env)
    green_tree = tree_of[shas[3]]

    def fit(root: Path) -> None:
        path = root / EVIDENCE / "3-green.json"
        if not path.exists():
            return  # a later commit
        proof = read_evidence(path)
        proof["evidence"]["head_tree"] = green_tree
        named = write_evidence(path, proof)
        cycle = root / ".orch-state/prds/calc/tdd/cycles/calc-1.json"
        record = json.loads(cycle.read_text())
        for step in record["steps"]:
            if step["n"] == 3:
                step.update(named, code_tree=green_tree)
        cycle.write_text(json.dumps(record, indent=2) + "\n")
        (tmp_path / "digest").write_text(named["evidence"])

    def trailer(message: str) -> str:
        lines = message.splitlines()
        digest = (tmp_path / "digest").read_text()
        return "\n".join(f"Tdd-Evidence: {digest}" if line.startswith("Tdd-Evidence:") else line for line in lines)

    rewrite(world, {"green": fit}, messages={"green": trailer})
    found = codes(world)["green"]
    assert found >= {"VER105"}, found
    assert not found & {"VER101", "VER102"}, "the forgery itself is sound; only running the tests shows it"


def code_tree(world: World, sha: str) -> str:
    listing = [line for line in world.git("ls-tree", sha).splitlines() if not line.endswith("\t.orch-state")]
    done = subprocess.run(
        ["git", "mktree"], cwd=world.repo, input="\n".join(listing) + "\n", capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def rebuild(world: World, chosen: list[str]) -> None:
    """The branch rebuilt from these commits' trees and messages, in this order."""
    head = world.git("rev-parse", "main")
    identity = ("-c", "user.name=x", "-c", "user.email=x@x")
    for sha in chosen:
        message = world.git("log", "-1", "--format=%B", sha)
        done = subprocess.run(
            ["git", *identity, "commit-tree", f"{sha}^{{tree}}", "-p", head, "-F", "-"],
            cwd=world.repo, input=message, capture_output=True, text=True, check=True,
        )  # fmt: skip
        head = done.stdout.strip()
    world.git("branch", "-f", world.branch, head)


@pytest.mark.slow
def test_a_dropped_red(world):
    plan, design, _, green, integrated = commits(world)
    rebuild(world, [plan, design, green, integrated])
    assert "VER104" in codes(world)["green"]


@pytest.mark.slow
def test_swapped_steps(world):
    plan, design, red, green, integrated = commits(world)
    rebuild(world, [plan, design, green, red, integrated])
    assert {"green", "red"} <= codes(world).keys()


def test_red_squashed_into_green(world):
    plan, design, _, green, integrated = commits(world)
    rebuild(world, [plan, design, green, integrated])
    assert world.verify(world.branch).status == 1


@pytest.mark.slow
def test_commit_without_a_claim_is_named(world):
    world.git("switch", "-q", world.branch)
    world.write({"src/calc/extra.py": "EXTRA = 1\n"})
    stranger = world.commit("Slip something in")
    done = world.verify()
    assert done.status == 1
    assert stranger[:10] in done.out and "VER103" in done.out


@pytest.mark.slow
def test_code_in_a_design_commit(world):
    rewrite(world, {"design": lambda root: (root / "src/calc/extra.py").write_text("EXTRA = 1\n")})
    assert codes(world)["design"] & {"VER102", "VER108"}


@pytest.mark.slow
def test_plan_changed_midway(world):
    rewrite(world, {"green": replace(".orch-state/prds/calc/backlog.json", "1 and 2 give 3", "anything goes")})
    assert "VER106" in codes(world)["green"]


@pytest.mark.slow
def test_nothing_to_verify_is_not_a_success(world):
    world.git("branch", "-D", world.branch)
    done = world.verify()
    assert done.status == 2
    assert world.verify("main..main").status == 2
    assert world.verify("main..nowhere").status == 2


CYCLE = ".orch-state/prds/calc/tdd/cycles/calc-1.json"


def edit_json(name: str, change: Callable[[dict], None]) -> Edit:
    def edit(root: Path) -> None:
        value = json.loads((root / name).read_text())
        change(value)
        (root / name).write_text(json.dumps(value, indent=2) + "\n")

    return edit


def forge_note(world: World, changes: dict[str, object]) -> None:
    """A well-formed NOTE after RED with matching digests that changes something only a gate may change."""
    _, _, red, *_ = commits(world)
    world.git("switch", "-q", "--detach", red)
    tree = code_tree(world, red)
    evidence = {"phase": "note", "prd": "calc", "story": "calc-1", "step": 3, "base_tree": tree, "head_tree": tree}
    proof = {
        "schema_version": 1,
        "evidence": {**evidence, "schema_version": 1},
        "verdict": {"phase": "note", "accepted": True},
    }
    path = world.repo / EVIDENCE / "3-note.json"
    named = write_evidence(path, proof)
    record = json.loads((world.repo / CYCLE).read_text())
    step = {**record["steps"][-1], **named, "n": 3, "phase": "note", "code_tree": tree}
    record.update(steps=[*record["steps"], step], **changes)
    (world.repo / CYCLE).write_text(json.dumps(record))
    world.commit(
        f"note(calc-1): nothing\n\nTdd-Step: calc/calc-1/3\nTdd-Phase: note\nTdd-Evidence: {named['evidence']}"
    )
    world.git("branch", "-f", world.branch, "HEAD")
    world.git("switch", "-q", "main")


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"tests": []}, {"state": "COMMIT"}, {"state": "REFACTOR"}, {"design": None}])
def test_note_cannot_pass_a_gate(world, changes):
    forge_note(world, changes)
    assert codes(world)["note"] == {"VER104"}


@pytest.mark.slow
def test_harmless_note_is_accepted(world):
    forge_note(world, {"blocked": ""})
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
def test_numbers_in_evidence_are_compared_with_the_rerun(world, tmp_path):
    def lie(root: Path) -> None:
        path = root / EVIDENCE / "3-green.json"
        if not path.exists():
            return  # a later commit
        proof = read_evidence(path)
        proof["evidence"]["head_run"].update(passed=9999)
        named = write_evidence(path, proof)
        edit_json(CYCLE, lambda cycle: cycle["steps"][2].update(named))(root)
        (tmp_path / "digest").write_text(named["evidence"])

    def trailer(message: str) -> str:
        digest = (tmp_path / "digest").read_text()
        return "\n".join(
            f"Tdd-Evidence: {digest}" if line.startswith("Tdd-Ev") else line for line in message.splitlines()
        )

    rewrite(world, {"green": lie}, messages={"green": trailer})
    assert codes(world)["green"] == {"VER107"}


@pytest.mark.slow
def test_story_is_not_done_without_steps(world):
    def all_done(backlog: dict) -> None:
        for story in backlog["stories"]:
            story["status"] = "done"

    rewrite(world, {"green": edit_json(".orch-state/prds/calc/backlog.json", all_done)})
    assert "VER106" in codes(world)["green"]


@pytest.mark.slow
def test_plan_may_add_its_prd_and_no_other_file(world):
    def elsewhere(root: Path) -> None:
        (root / "src/calc/signs.py").write_text("def negate(number):\n    return number\n")
        edit_json(".orch-state/prds/calc/prd.json", lambda prd: prd.update(path="src/calc/signs.py"))(root)

    rewrite(world, {"plan": elsewhere})
    assert codes(world)["plan"] & {"VER102", "VER108"}


@pytest.mark.slow
def test_plan_that_omits_requirements_is_refuted(world):
    rewrite(world, {"plan": edit_json(".orch-state/prds/calc/backlog.json", lambda backlog: backlog["stories"].pop())})
    assert "VER106" in codes(world)["plan"]


@pytest.mark.slow
def test_commits_behind_a_second_parent_are_not_hidden(world):
    world.git("switch", "-q", "-c", "side", "main")
    world.write({"secret.txt": "hidden\n"})
    side = world.commit("Hidden behind a merge")
    world.git("switch", "-q", world.branch)
    world.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    done = world.verify()
    assert done.status == 1
    assert side[:10] in done.out


@pytest.mark.slow
def test_base_is_not_taken_from_the_branch(world):
    world.git("switch", "-q", world.branch)
    world.write({"src/calc/extra.py": "EXTRA = 1\n"})
    stranger = world.commit("Unproven")
    edit_json(".orch-state/project.json", lambda project: project.update(base_commit=stranger, base_branch=""))(
        world.repo
    )
    world.commit("Start from here, please")
    world.git("switch", "-q", "main")
    done = world.verify()
    assert done.status == 1
    assert stranger[:10] in done.out


@pytest.mark.slow
def test_advanced_base_and_merged_branch_still_verify(world):
    world.write({"NOTES.md": "main goes on\n"})
    world.commit("On main")
    assert world.verify(f"main..{world.branch}").status == 0
    world.git("merge", "-q", "--no-ff", "-m", "Merge the pull request", world.branch)
    merged = world.verify()
    assert merged.status == 0, merged.out
    assert "5 of 5 steps" in merged.out


@pytest.mark.slow
def test_invalid_step_id_is_one_finding_and_verify_continues(world):
    world.git("switch", "-q", world.branch)
    world.write({"x.txt": "x\n"})
    world.commit(f"odd\n\nTdd-Step: a..b/c/1\nTdd-Phase: green\nTdd-Evidence: sha256:{'0' * 64}")
    done = world.verify("--json")
    assert done.status == 1
    assert [step["proved"] for step in done.json["steps"]] == [True] * 5 + [False]


# --- role logs and memory ---------------------------------------------------------------------------------------------

MEMORY = ".orch-state/memory"
PIPELINE = ".orch-state/prds/calc/pipeline"


def put(path: str, **record: object) -> Edit:
    def edit(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(json.dumps({"schema_version": 1, "at": "2026-11-17T00:00:00Z", **record}))

    return edit


FAILURE = {"prd": "calc", "story": "calc-1", "feature": "f", "approach": "a", "why_failed": "w", "lesson": "l"}


def test_finished_story_adds_memory_and_role_logs(world):
    files = set(world.git("ls-tree", "-r", "--name-only", world.branch).split())
    assert {f"{MEMORY}/estimates/calc-1-4.json", f"{MEMORY}/complexity_snapshots/calc-1-4.json"} <= files
    assert f"{PIPELINE}/calc-1/smell.json" in files
    assert not any("retrospectives" in path for path in files), "calc-2 is not done"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phase", "edit"),
    [
        ("integrated", put(f"{MEMORY}/failures/calc-1.9.json", id="calc-1.9", **{**FAILURE, "prd": "other"})),
        ("integrated", put(f"{MEMORY}/failures/calc-1.9.json", id="calc-1.9", **{**FAILURE, "story": "calc-2"})),
        ("integrated", put(f"{MEMORY}/failures/calc-1.9.json", id="calc-1.8", **FAILURE)),
        ("integrated", put(f"{MEMORY}/failures/calc-1.9.json", id="calc-1.9")),
        ("integrated", put(f"{MEMORY}/gossip/calc-1.9.json", id="calc-1.9", **FAILURE)),
        ("integrated", put(f"{MEMORY}/spikes/calc-1.9.json", id="calc-1.9", **FAILURE)),
        ("red", put(f"{MEMORY}/failures/calc-1.9.json", id="calc-1.9", **FAILURE)),
        ("integrated", put(f"{PIPELINE}/calc-2/smell.json", role="smell", story="calc-2")),
        ("integrated", put(f"{PIPELINE}/calc-1/gossip.json", role="gossip", story="calc-1")),
        ("integrated", put(f"{PIPELINE}/calc-1/review.json", role="smell", story="calc-1")),
        ("green", put(f"{PIPELINE}/why.json", role="why")),
        ("plan", put(f"{PIPELINE}/calc-1/review.json", role="review", story="calc-1")),
        ("integrated", replace(f"{MEMORY}/estimates/*.json", '"calc"', '"other"')),
    ],
)
def test_step_may_only_add_its_own_records(world, phase, edit):
    rewrite(world, {phase: edit})
    assert "VER106" in codes(world)[phase]


@pytest.mark.slow
def test_blocked_story_may_add_memory_and_role_answers(world):
    rewrite(world, {"green": put(f"{PIPELINE}/calc-1/debugger.json", role="debugger", story="calc-1")})
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
def test_existing_memory_is_never_changed(world):
    world.git("switch", "-q", "main")
    known = f"{MEMORY}/failures/old-1.4.json"
    put(known, id="old-1.4", **{**FAILURE, "prd": "old", "story": "old-1"})(world.repo)
    world.commit("learnt before")
    world.git("branch", "-D", world.branch)
    assert world.run("--story", "calc-1").status == 0
    assert world.verify(world.branch).status == 0
    rewrite(world, {"integrated": replace(known, '"l"', '"forget it"')})
    assert "VER106" in codes(world)["integrated"]
    world.git("branch", "-D", world.branch)
    assert world.run("--story", "calc-1").status == 0
    rewrite(world, {"integrated": lambda root: (root / known).unlink()})
    assert "VER106" in codes(world)["integrated"]


def put_log(root: Path, name: str, at: str) -> str:
    path = f".orch-state/logs/{name}.jsonl"
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(json.dumps({"at": at, "kind": "note"}) + "\n")
    return path


@pytest.mark.slow
def test_plan_drops_exactly_the_expired_records(world):
    world.git("switch", "-q", "main")
    old, new = put_log(world.repo, "old", "2020-01-01T00:00:00Z"), put_log(world.repo, "new", "2099-01-01T00:00:00Z")
    note = {"prd": "old", "library": "rich", "version": "13", "content": "c"}
    path = f"{MEMORY}/docs_cache/rich-13.json"
    put(path, id="rich-13", **note, expires_at="2020-01-08T00:00:00Z")(world.repo)
    (world.repo / path).write_text((world.repo / path).read_text().replace("2026-11-17", "2020-01-01"))
    failure = f"{MEMORY}/failures/old-1-4.json"
    put(failure, id="old-1-4", **{**FAILURE, "prd": "old", "story": "old-1"})(world.repo)
    world.commit("learnt long ago")
    world.git("branch", "-D", world.branch)
    assert world.next().status == 0
    dropped = world.git("diff", "--name-only", "--diff-filter=D", "main", world.branch).split()
    assert sorted(dropped) == sorted([old, path])
    assert world.verify(world.branch).status == 0
    for kept in (new, failure):
        rewrite(world, {"plan": lambda root, kept=kept: (root / kept).unlink()})
        assert "VER106" in codes(world)["plan"], kept
        world.git("branch", "-D", world.branch)
        assert world.next().status == 0


@pytest.mark.slow
def test_duplicate_directory_in_a_commit(world: World) -> None:
    """A checkout has the files of both entries, but only one of them was proved."""
    head, message = commits(world)[-1], world.git("log", "-1", "--format=%B", world.branch)
    with Git.open(world.repo) as git:
        (evil,) = git._tree_objects.lines(git.edit_tree(git.empty_tree, {"src/evil.py": b"1\n"})).values()
        lines = git._tree_objects.lines(git.tree(head)).values()
        twice = [each for line in lines for each in ([evil, line] if line.name == "src" else [line])]
        forged = git.commit(git._loose.write("tree", format_tree(twice)), git.commit_info(head).parents, message)
    assert "src/evil.py" in world.git("ls-tree", "-r", "--name-only", forged)
    world.git("branch", "-f", world.branch, forged)
    seen = world.verify(world.branch)
    assert seen.status != 0
    assert "malformed" in seen.out + seen.err
