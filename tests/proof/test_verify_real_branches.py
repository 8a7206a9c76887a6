"""`verify` on real branches: rewritten with git, verified twice, attested, and as a check on GitHub."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from prd2pr.cli.verify_cache import find_results_store
from world import Result, World


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


def message(world: World, sha: str) -> str:
    return world.git("log", "-1", "--format=%B", sha)


def codes(done: Result) -> dict[str, set[str]]:
    return {
        step["phase"] or "none": {finding["code"] for finding in step["findings"] if finding["severity"] == "error"}
        for step in done.json["steps"]
        if not step["proved"]
    }


# --- rewritten --------------------------------------------------------------------------------------------------------


def test_amended_code(world):
    world.git("switch", "-q", world.branch)
    world.write({"src/calc/sums.py": "def add(a, b):\n    return b + a\n"})
    world.git("commit", "-q", "-a", "--amend", "--no-edit")
    done = world.verify("--json")
    assert done.status == 1
    assert codes(done) == {"integrated": {"VER102", "VER106"}}


@pytest.mark.slow
def test_amended_message_is_harmless(world):
    world.git("switch", "-q", world.branch)
    *_, last = commits(world)
    world.git("commit", "-q", "--amend", "-m", message(world, last).replace("\n\n", "\n\nRead by Ada.\n\n", 1))
    assert commits(world)[-1] != last
    assert world.verify().status == 0


@pytest.mark.slow
def test_red_and_green_squashed_by_git(world):
    _, design, _, green, integrated = commits(world)
    world.git("switch", "-q", "--detach", green)
    world.git("reset", "-q", "--soft", design)
    world.git("commit", "-q", "-m", message(world, green))
    world.git("cherry-pick", integrated)
    world.git("branch", "-f", world.branch, "HEAD")
    found = codes(world.verify(world.branch, "--json"))
    assert "VER104" in found["green"]


def test_everything_squashed_into_one_commit_is_unproven(world):
    world.git("switch", "-q", world.branch)
    world.git("reset", "-q", "--soft", "main")
    world.git("commit", "-q", "-m", "Add sums")
    done = world.verify("main..HEAD", "--json")
    assert done.status == 1
    assert done.json["total"] == {"commits": 1, "steps": 0, "proved": 0, "unproven": 1}
    assert codes(done) == {"none": {"VER103"}}
    head = world.git("rev-parse", "HEAD").strip()[:10]
    assert f"to do: review it, or let `prd2pr check --base {head}~1 --head {head}`" in world.verify("main..HEAD").out


@pytest.mark.slow
@pytest.mark.parametrize("dropped", ["design", "green"])
def test_a_step_dropped_by_rebase(world, dropped):
    shas = dict(zip(("plan", "design", "red", "green", "integrated"), commits(world), strict=True))
    kept = [sha for phase, sha in shas.items() if phase != dropped]
    world.git("switch", "-q", "--detach", "main")
    for sha in kept:
        world.git("read-tree", "-u", "--reset", sha)
        world.git("commit", "-q", "-m", message(world, sha))
    world.git("branch", "-f", world.branch, "HEAD")
    after = {"design": "red", "green": "integrated"}[dropped]
    assert "VER104" in codes(world.verify(world.branch, "--json"))[after]


@pytest.mark.slow
def test_repeated_step(world):
    world.git("switch", "-q", world.branch)
    *_, last = commits(world)
    world.git("commit", "-q", "--allow-empty", "-m", message(world, last))
    done = world.verify("--json")
    assert done.status == 1
    assert "VER104" in codes(done)["integrated"]


@pytest.mark.slow
def test_trailer_with_the_evidence_of_another_step(world):
    """Green's message on red's content: phase, number and digest each exist somewhere, but not together."""
    _, design, red, green, _ = commits(world)
    world.git("switch", "-q", "--detach", design)
    world.git("read-tree", "-u", "--reset", red)
    words = message(world, red).splitlines()
    lie = [line for line in message(world, green).splitlines() if line.startswith("Tdd-Evidence")]
    world.git("commit", "-q", "-m", "\n".join([line for line in words if not line.startswith("Tdd-Evidence")] + lie))
    world.git("branch", "-f", world.branch, "HEAD")
    assert codes(world.verify(world.branch, "--json"))["red"] == {"VER101"}


# --- repeated verification --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_second_verification_uses_the_cache_and_reports_the_same(world, tmp_path):
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first = world.program("verify", world.branch, "--json", "--workers", "1", env=own)
    second = world.program("verify", world.branch, "--json", "--workers", "3", env=own)
    fresh = world.program("verify", world.branch, "--json", "--workers", "3", "--fresh", env=own)
    assert first.json["runs"]["made"] > 0 == first.json["runs"]["known"]
    assert second.json["runs"]["made"] == 0 < second.json["runs"]["known"]
    assert fresh.json["runs"]["known"] == 0 < fresh.json["runs"]["made"]
    assert first.json["steps"] == second.json["steps"] == fresh.json["steps"]
    assert not list((world.repo / ".git").rglob("*verified*")), "a clone brings no results along"


def test_results_are_cached_only_where_no_other_user_can_write(tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    store = find_results_store(cache)
    assert store is not None and store.is_relative_to(tmp_path / "prd2pr")
    (tmp_path / "prd2pr").chmod(0o777)
    assert find_results_store(cache) is None
    assert find_results_store({}) is None
    assert find_results_store({"XDG_CACHE_HOME": "here"}) is None


def test_the_report_as_markdown(world, tmp_path):
    world.git("switch", "-q", world.branch)
    world.write({"src/calc/extra.py": "EXTRA = 1  # | <b>\n"})
    world.commit("Slip | something <b>in</b>")
    done = world.verify("--markdown", str(tmp_path / "report.md"))
    text = (tmp_path / "report.md").read_text()
    assert done.status == 1
    assert text.startswith("### NOT all proved: 5 of 5 steps; 1 commit claims no step: unproven\n")
    assert text.count("| proved |") == 5
    assert "<b>" not in text and "`VER103`" in text


# --- attested ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_statements_are_written_and_found_next_to_the_state(world):
    place = world.repo / "prd2pr-statements"
    done = world.verify(world.branch, "--attest", str(place))
    assert done.status == 0 and "3 statements written" in done.out
    names = sorted(path.name for path in place.iterdir())
    assert names == [*(f"calc-calc-1-{n}.intoto.json" for n in ("2-red", "3-green", "4-integrated")), "predicate.json"]
    green = json.loads((place / names[1]).read_text())
    _, _, _, sha, _ = commits(world)
    assert green["subject"][0] == {"name": "calc/calc-1/3", "digest": {"gitCommit": sha}}
    tree = green["subject"][1]["digest"]["gitTree"]
    assert tree == world.git("rev-parse", f"{sha}^{{tree}}") or world.git("cat-file", "-t", tree) == "tree"
    assert green["predicate"]["result"] == "PASSED"
    again = world.verify(world.branch, "--json")
    assert again.status == 0
    assert again.json["statements"] == {"files": 3, "signed": 0, "signatures": "not checked", "findings": []}


def attest(world: World, place: Path) -> list[Path]:
    assert world.verify(world.branch, "--attest", str(place)).status == 0
    return sorted(place.glob("*.intoto.json"))


def looked_at(world: World, place: Path) -> tuple[int, Any]:
    done = world.verify(world.branch, "--json", "--statements", str(place))
    return done.status, done.json["statements"]


@pytest.mark.slow
def test_edited_statement_fails(world, tmp_path):
    _, green, _ = attest(world, tmp_path / "st")
    green.write_text(green.read_text().replace("test_adds_two_numbers", "test_adds_everything"))
    status, told = looked_at(world, tmp_path / "st")
    assert status == 1
    assert {(finding["code"], finding["path"]) for finding in told["findings"]} == {("VER202", green.name)}


@pytest.mark.slow
def test_branch_amended_after_attestation_fails(world, tmp_path):
    attest(world, tmp_path / "st")
    world.git("switch", "-q", world.branch)
    *_, last = commits(world)
    world.git("commit", "-q", "--amend", "-m", message(world, last).replace("\n\n", "\n\nAmended.\n\n", 1))
    status, told = looked_at(world, tmp_path / "st")
    assert status == 1
    assert [finding["code"] for finding in told["findings"]] == ["VER201"]


@pytest.mark.slow
def test_bundle_must_match_its_files_and_its_signature_is_not_checked(world, tmp_path):
    files = attest(world, tmp_path / "st")
    subjects = [
        {"name": path.name, "digest": {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}} for path in files
    ]
    statement = {"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicate": {}}
    payload = base64.b64encode(json.dumps(statement).encode()).decode()
    bundle = {"mediaType": "x", "dsseEnvelope": {"payload": payload, "signatures": [{"sig": "AA=="}]}}
    (tmp_path / "st" / "bundle.jsonl").write_text(json.dumps(bundle) + "\n")
    status, told = looked_at(world, tmp_path / "st")
    assert (status, told["signed"], told["signatures"], told["findings"]) == (0, 1, "not checked", [])
    said = world.verify(world.branch, "--statements", str(tmp_path / "st"))
    assert "1 signature not checked" in said.out
    assert "0 new test runs" in said.out and "--fresh" in said.out
    files[0].write_text(files[0].read_text() + "\n")
    status, told = looked_at(world, tmp_path / "st")
    assert status == 1
    assert [finding["code"] for finding in told["findings"]] == ["VER201"]


# --- as a check on GitHub ---------------------------------------------------------------------------------------------


def as_job(world: World, tmp_path: Path, *, head: str, branch: str = "prd2pr/calc") -> tuple[Result, str, str]:
    """The environment of a job for a pull request from a fork: an event, output files and no token."""
    base = world.git("rev-parse", "main")
    sides = {"base": {"sha": base, "ref": "main"}, "head": {"sha": head, "ref": branch, "repo": {"fork": True}}}
    return run_job(world, tmp_path, "pull_request", {"action": "opened", "number": 7, "pull_request": sides})


def in_merge_queue(world: World, tmp_path: Path, *, head: str) -> tuple[Result, str, str]:
    """The same for an entry of a merge queue, whose payload has no pull request."""
    base = world.git("rev-parse", "main")
    queue = f"refs/heads/gh-readonly-queue/main/pr-7-{base}"
    group = {"base_sha": base, "head_sha": head, "base_ref": "refs/heads/main", "head_ref": queue}
    return run_job(world, tmp_path, "merge_group", {"action": "checks_requested", "merge_group": group})


def run_job(world: World, tmp_path: Path, name: str, payload: dict[str, object]) -> tuple[Result, str, str]:
    (tmp_path / "event.json").write_text(json.dumps(payload))
    env = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_REPOSITORY": "octo/calc",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
    }
    done = world.program("verify", "--job", "--attest", str(tmp_path / "st"), env=env)
    told = [(tmp_path / name).read_text() if (tmp_path / name).exists() else "" for name in ("output", "summary")]
    return done, *told


def test_proved_pull_request(world, tmp_path):
    world.git("switch", "-q", "--detach", "main")  # a job checks out the merge commit, not the branch
    head = commits(world)[-1]
    world.git("merge", "-q", "--no-ff", "-m", "Merge", head)
    world.git("branch", "-D", world.branch)
    done, output, summary = as_job(world, tmp_path, head=head)
    assert done.status == 0, done.err
    assert "\ntrue\n" in output
    assert "### All proved: 5 of 5 steps" in summary and f"https://github.com/octo/calc/commit/{head}" in summary
    assert "::notice title=prd2pr::all proved: 5 of 5 steps" in done.out
    assert len(list((tmp_path / "st").glob("*.intoto.json"))) == 3


def test_merge_queue_entry_is_proved(world, tmp_path):
    head = commits(world)[-1]
    world.git("switch", "-q", "--detach", "main")
    world.git("merge", "-q", "--no-ff", "-m", "Merge pull request #7", head)
    done, output, summary = in_merge_queue(world, tmp_path, head=world.git("rev-parse", "HEAD"))
    assert done.status == 0, done.out + done.err
    assert "\ntrue\n" in output and "5 of 5 steps" in summary


def test_squashed_merge_queue_entry_is_proved(world, tmp_path):
    world.git("update-ref", "refs/prd2pr/archive/calc/7", commits(world)[-1])
    world.git("switch", "-q", "--detach", "main")
    world.git("merge", "-q", "--squash", world.branch)
    head = world.commit(f"A small calculator (#7)\n\nTdd-Archive: calc/7 {commits(world)[-1]}")
    done, output, summary = in_merge_queue(world, tmp_path, head=head)
    assert done.status == 0, done.out + done.err
    assert "\ntrue\n" in output, output + summary


@pytest.mark.slow
def test_pull_request_with_a_refuted_step(world, tmp_path):
    world.git("switch", "-q", world.branch)
    world.write({"src/calc/sums.py": "def add(a, b):\n    return b + a\n"})
    world.git("commit", "-q", "-a", "--amend", "--no-edit")
    done, output, summary = as_job(world, tmp_path, head=commits(world)[-1])
    assert done.status == 1
    assert "\nfalse\n" in output and "REFUTED" in summary
    assert "::error title=prd2pr::REFUTED: " in done.out and "VER102" in done.out


def test_unrelated_pull_request_has_nothing_to_prove(world, tmp_path):
    world.git("switch", "-q", "-c", "docs", "main")
    world.write({"NOTES.md": "words\n"})
    head = world.commit("Write words")
    done, output, summary = as_job(world, tmp_path, head=head, branch="docs")
    assert done.status == 0
    assert "nothing-claimed" in output and "Nothing to verify" in summary


@pytest.mark.slow
@pytest.mark.parametrize("how", ["trailers dropped", "state touched"])
def test_stripped_claims_are_detected(world, tmp_path, how):
    world.git("switch", "-q", "-c", "mine", world.branch if how == "trailers dropped" else "main")
    if how == "trailers dropped":
        world.git("reset", "-q", "--soft", "main")
        world.git("commit", "-q", "-m", "Add sums")
    else:
        world.write({".orch-state/project.json": "{}\n"})
        world.commit("Only a record")
    head = world.git("rev-parse", "HEAD")
    done, output, _ = as_job(world, tmp_path, head=head, branch="prd2pr/calc" if how == "trailers dropped" else "mine")
    assert done.status == 1
    assert "\nfalse\n" in output


def test_shallow_checkout_gives_no_verdict(world, tmp_path):
    done, _, _ = as_job(world, tmp_path, head="1" * 40)
    assert done.status == 2
    assert "fetch-depth: 0" in done.err
