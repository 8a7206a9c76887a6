"""The step that completes a PRD packs exactly its records. Each forgery changes one thing of the honest commit."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator

import pytest

from branch_stage import Stage, stage_of
from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.records import Phase
from prd2pr.errors import StateCorrupted
from prd2pr.planning.decisions.completion import COMPLETED
from prd2pr.planning.decisions.records import Objection
from prd2pr.state import packed_records
from prd2pr.state.codec import MAX_UNPACKED_BYTES, compress, encode_document
from prd2pr.state.commit_message import JoinRef, compute_evidence_digest
from prd2pr.state.layout import PrdLayout
from prd2pr.state.packed_records import Packing, pack_records, parse_pack
from prd2pr.workflow.commits.decisions import apply_decision, complete_finished_prd
from prd2pr.workflow.merges import Join, NotJoinable, build_join_tree, plan_join
from world import World

LAYOUT = PrdLayout("calc")
ROOT = LAYOUT.root
Files = dict[str, bytes | None]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A PRD whose stories are given up, since that needs no test run."""
    with stage_of(World(tmp_path_factory.mktemp("packed")).start()) as made:
        made.step()
        made.give("/approve")
        made.keep("approved")
        made.step()
        made.keep("designed")
        for story in ("calc-1", "calc-2"):
            made.give(f"/tdd abort {story}")
            made.event("CI failed three times", "lint failed")
            made.keep("unfinished")
            made.give(f"/skip_task {story}")
        made.keep("finished")
        made.session.log.branch_writes.pending = None
        complete_finished_prd(made.session, made.head)
        made.keep("complete")
        made.give('/request_changes "Also subtract"')
        made.keep("reopened")
        yield made


def read_pack(stage: Stage) -> dict[str, str]:
    packed = json.loads(gzip.decompress(stage.session.git.read(stage.heads["complete"], LAYOUT.records) or b""))
    assert isinstance(packed, dict)
    return packed


def with_pack(change: Callable[[dict[str, str]], object]) -> Callable[[Stage], Files]:
    def files(stage: Stage) -> Files:
        texts = read_pack(stage)
        change(texts)
        return {LAYOUT.records: compress(json.dumps(texts).encode())}

    return files


def with_files(**files: bytes | None) -> Callable[[Stage], Files]:
    return lambda stage: {f"{ROOT}/{name}": data for name, data in files.items()}


def with_raw(make: Callable[[bytes], bytes | None]) -> Callable[[Stage], Files]:
    return lambda stage: {LAYOUT.records: make(stage.session.git.read(stage.heads["complete"], LAYOUT.records) or b"")}


def replace_in(path: str, old: str, new: str) -> Callable[[Stage], Files]:
    def change(texts: dict[str, str]) -> None:
        assert old in texts[f"{ROOT}/{path}"]
        texts[f"{ROOT}/{path}"] = texts[f"{ROOT}/{path}"].replace(old, new)

    return with_pack(change)


def add_path(path: str, text: str = "{}\n") -> Callable[[Stage], Files]:
    return with_pack(lambda texts: texts.update({path: text}))


def name_another_evidence(texts: dict[str, str]) -> None:
    path = f"{ROOT}/tdd/cycles/calc-1.json"
    before = texts[path]
    texts[path] = re.sub(r'"evidence_blob":"[0-9a-f]{40}"', f'"evidence_blob":"{40 * "1"}"', before)
    assert texts[path] != before


def replace_in_summary(old: bytes, new: bytes) -> Callable[[Stage], Files]:
    def files(stage: Stage) -> Files:
        data = stage.session.git.read(stage.heads["complete"], LAYOUT.summary) or b""
        assert old in data
        return {LAYOUT.summary: data.replace(old, new)}

    return files


def hide_evidence(stage: Stage) -> Files:
    """The readable evidence lies, and the pack contains the one that the trailer names."""
    git, head = stage.session.git, stage.heads["complete"]
    path = next(entry.path for entry in git.entries(head, LAYOUT.evidence_root))
    texts = {**read_pack(stage), path: (git.read(head, path) or b"").decode()}
    return {path: b"{}\n", LAYOUT.records: compress(json.dumps(texts).encode())}


FORGERIES: dict[str, Callable[[Stage], Files]] = {
    "a changed record": replace_in("backlog.json", "Add two numbers", "Add three numbers"),
    "a skipped story that is called done": replace_in("backlog.json", '"skipped"', '"done"'),
    "a record that names another evidence": with_pack(name_another_evidence),
    "a missing cycle": with_pack(lambda texts: texts.pop(f"{ROOT}/tdd/cycles/calc-1.json")),
    "a missing plan": with_pack(lambda texts: texts.pop(f"{ROOT}/prd.json")),
    "nothing in the pack": with_pack(lambda texts: texts.clear()),
    "a further cycle": add_path(f"{ROOT}/tdd/cycles/calc-9.json"),
    "a further file": add_path(f"{ROOT}/notes.txt"),
    "code": add_path("src/calc/extra.py"),
    "a memory record": add_path(".orch-state/memory/lessons/x.json"),
    "a record of another PRD": add_path(".orch-state/prds/other/prd.json"),
    "the status again": add_path(LAYOUT.status),
    "a path upwards": add_path(f"{ROOT}/../../project.json"),
    "an absolute path": add_path("/etc/passwd"),
    "an empty part of a path": add_path(f"{ROOT}//x.json"),
    "a dot": add_path(f"{ROOT}/./prd.json"),
    "a directory": add_path(f"{ROOT}/"),
    "a file below a file": add_path(f"{ROOT}/prd.json/x.json"),
    "a file in the place of a directory": add_path(f"{ROOT}/tdd"),
    "a path with NUL": add_path(f"{ROOT}/a\0b"),
    "a path with a line break": add_path(f"{ROOT}/a\nb"),
    "a path in .git": add_path(f"{ROOT}/.git/config"),
    "a path that is no text": add_path(f"{ROOT}/\ud800.json"),
    "a record that is no text": add_path(f"{ROOT}/runs/x.json", "\ud800"),
    "a log in a directory": add_path(".orch-state/logs/x/../../y.jsonl"),
    "evidence that is only in the pack": hide_evidence,
    "a number instead of a text": with_pack(lambda texts: texts.update({f"{ROOT}/prd.json": 3})),  # type: ignore[dict-item]
    "a list": with_raw(lambda data: compress(b"[]")),
    "no JSON": with_raw(lambda data: compress(b"{")),
    "nested JSON": with_raw(lambda data: compress(b"[" * 1_000_000)),
    "a long number": with_raw(lambda data: compress(b"1" * 100_000)),
    "no text": with_raw(lambda data: compress(b"\xff")),
    "a truncated pack": with_raw(lambda data: data[:-9]),
    "a damaged pack": with_raw(lambda data: data[:40] + b"\0" * 20 + data[60:]),
    "a pack with more behind it": with_raw(lambda data: data + data),
    "a bomb": with_raw(lambda data: compress(b" " * (MAX_UNPACKED_BYTES + 1))),
    "an empty file": with_raw(lambda data: b""),
    "no pack": with_raw(lambda data: None),
    "a summary with another title": lambda stage: {
        LAYOUT.summary: (stage.session.git.read(stage.heads["complete"], LAYOUT.summary) or b"").replace(
            b"Add two", b"Add six"
        )
    },
    "a summary with more tests": lambda stage: {
        LAYOUT.summary: (stage.session.git.read(stage.heads["complete"], LAYOUT.summary) or b"").replace(
            b'"tests": 0', b'"tests": 7'
        )
    },
    "no summary": with_files(**{"summary.json": None}),
    "no status": with_files(**{"status.json": None}),
    "a record beside the pack": with_files(**{"prd.json": b"{}"}),
    "a file beside the pack": with_files(**{"x.json": b"{}"}),
    "hidden examples beside the pack": with_files(**{"tdd/held_out/calc-1/x.py": b"x = 1"}),
    "code beside the pack": lambda stage: {"src/calc/extra.py": b"x = 1"},
    "a record of another PRD beside the pack": lambda stage: {
        ".orch-state/prds/other/records.json.gz": compress(b"{}")
    },
}
QUICK = (
    "a changed record", "a record that names another evidence", "a missing cycle", "a missing plan", "a further cycle",
    "code", "a path upwards", "a file below a file", "a record that is no text", "evidence that is only in the pack",
    "a bomb", "a summary with more tests", "a record beside the pack",
)  # fmt: skip
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FORGERIES]


def forge(stage: Stage, name: str, files: Files, message_of: str = "complete") -> str:
    git = stage.session.git
    tree = git.edit_tree(git.tree(stage.heads[name]), files)
    message = stage.world.git("log", "-1", "--format=%B", stage.heads[message_of])
    return stage.world.git("commit-tree", tree, "-p", f"{stage.heads[name]}^", "-m", message)


def test_honest_completion_is_proved(stage: Stage) -> None:
    assert stage.world.verify(f"main..{stage.heads['complete']}", "--json").json["all_proved"]


@pytest.mark.parametrize("name", CASES)
def test_forged_completion_is_refused(stage: Stage, name: str) -> None:
    forged = forge(stage, "complete", FORGERIES[name](stage))
    assert forged != stage.heads["complete"]
    assert list_findings(stage, "finished", forged)


def list_findings(stage: Stage, since: str, head: str) -> list[str]:
    """Verify the only commit of the range with the program, which must refuse it and not fail itself."""
    verified = stage.world.verify(f"{stage.heads[since]}..{head}", "--json")
    assert verified.status == 1, verified.out + verified.err
    (commit,) = verified.json["steps"]
    return [f"{each['code']} {each['message']}" for each in commit["findings"]]


def pack_by_hand(stage: Stage, tree: str) -> str:
    """Pack the records of a tree as the completing step does."""
    git = stage.session.git
    summary = git.read(stage.heads["complete"], LAYOUT.summary) or b""
    return pack_records(git, tree, LAYOUT, Packing("", summary, frozenset()))


def test_incomplete_prd_cannot_be_completed(stage: Stage) -> None:
    stage.back_to("unfinished")
    decision = Decision(command=COMPLETED, by=BOT, at=stage.session.clock.now())
    assert isinstance(apply_decision(stage.session, stage.head, decision), Objection)
    git, head = stage.session.git, stage.heads["unfinished"]
    tree = git.code_tree(head)
    n = stage.state.plan_steps + 1
    evidence = Evidence(
        phase=Phase.NOTE, prd="calc", story="plan", step=n, base_tree=tree, head_tree=tree, decision=decision,
        note=f"{COMPLETED} by {BOT}",
    )  # fmt: skip
    data = encode_document(Proof(evidence=evidence, verdict=Verdict(phase=Phase.NOTE, accepted=True)))
    path = LAYOUT.evidence("plan", n, Phase.NOTE)
    packed = pack_records(git, git.edit_tree(git.tree(head), {path: data}), LAYOUT, Packing(path, b"{}", frozenset()))
    digest = compute_evidence_digest(data)
    message = f"note(plan): forged\n\nTdd-Step: calc/plan/{n}\nTdd-Phase: note\nTdd-Evidence: {digest}"
    forged = stage.world.git("commit-tree", packed, "-p", head, "-m", message)
    assert list_findings(stage, "unfinished", forged) == [
        "VER104 the decision was not allowed at that time: not all stories are finished"
    ]


@pytest.mark.parametrize("name", ["designed", "finished", "reopened"])
def test_ordinary_step_may_not_pack(stage: Stage, name: str) -> None:
    """A design, a decision, and a decision after the completion."""
    git, head = stage.session.git, stage.heads[name]
    message = stage.world.git("log", "-1", "--format=%B", head)
    forged = stage.world.git("commit-tree", pack_by_hand(stage, git.tree(head)), "-p", f"{head}^", "-m", message)
    before = {"designed": "approved", "finished": "unfinished", "reopened": "complete"}[name]
    assert list_findings(stage, before, forged)


def test_pack_or_summary_alone_is_refused_in_an_ordinary_step(stage: Stage) -> None:
    git = stage.session.git
    for path in (LAYOUT.records, LAYOUT.summary):
        data = git.read(stage.heads["complete"], path)
        assert list_findings(stage, "complete", forge(stage, "reopened", {path: data}, "reopened")), path


def test_person_cannot_pack(stage: Stage) -> None:
    git, head = stage.session.git, stage.heads["finished"]
    forged = stage.world.git("commit-tree", pack_by_hand(stage, git.tree(head)), "-p", head, "-m", "Tidy up")
    assert list_findings(stage, "finished", forged)[0].startswith("VER103")


@pytest.mark.parametrize("name", ["complete", "reopened"])
def test_branch_of_a_story_is_not_joined_after_the_completion(stage: Stage, name: str) -> None:
    """A worker that was still busy with a story that a person skipped."""
    git, own = stage.session.git, stage.heads["designed"]
    late = git.commit(git.tree(own), [stage.heads["approved"]], stage.world.git("log", "-1", "--format=%B", own))
    join = plan_join(git, JoinRef("calc", "calc-1"), stage.heads[name], late)
    assert isinstance(join, Join)
    assert isinstance(build_join_tree(git, join), NotJoinable)


def test_completing_twice_changes_nothing(stage: Stage) -> None:
    stage.back_to("complete")
    assert complete_finished_prd(stage.session, stage.head) == stage.heads["complete"]


def test_more_records_than_a_pack_may_contain_stay_unpacked(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.back_to("finished")
    monkeypatch.setattr(packed_records, "ADDED_BYTES", MAX_UNPACKED_BYTES - 1000)
    assert complete_finished_prd(stage.session, stage.head) == stage.heads["finished"]


def test_work_after_completion_puts_the_records_back(stage: Stage) -> None:
    git = stage.session.git
    before, after = (
        {entry.path: entry.blob for entry in git.entries(stage.heads[name], ".orch-state")}
        for name in ("finished", "reopened")
    )
    lost = {path.removeprefix(f"{LAYOUT.evidence_root}/") for path in set(before) - set(after)}
    assert lost == {"calc-1/3-note.json", "calc-2/2-note.json"}, "the cycles name their blobs"
    kept = (LAYOUT.prd, f"{LAYOUT.cycles}/", f"{LAYOUT.evidence_root}/plan/")
    assert all(after[path] == before[path] for path in before if path.startswith(kept))
    assert stage.world.verify(f"main..{stage.heads['reopened']}", "--json").json["all_proved"]


def test_damaged_pack_is_an_error_that_names_the_file(stage: Stage) -> None:
    with pytest.raises(StateCorrupted) as raised:
        parse_pack(compress(b'{"src/x.py": ""}'), LAYOUT)
    assert raised.value.where == LAYOUT.records
    assert "'src/x.py'" in raised.value.what
