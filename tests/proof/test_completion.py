"""The step that completes a PRD leaves exactly its summary. Each forgery changes one thing of the honest commit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from branch_stage import Stage, stage_of
from prd2pr.domain.decision import BOT, Decision
from prd2pr.domain.evidence import Evidence, Proof, Verdict
from prd2pr.domain.records import Phase
from prd2pr.errors import StateCorrupted
from prd2pr.planning.decisions.completion import COMPLETED
from prd2pr.planning.decisions.records import Objection
from prd2pr.state.codec import MAX_UNPACKED_BYTES, compress, encode_document
from prd2pr.state.commit_message import JoinRef, compute_evidence_digest
from prd2pr.state.finished_records import complete_tree, pack_memory, unpack_memory
from prd2pr.state.layout import PrdLayout
from prd2pr.workflow.commits.decisions import apply_decision, complete_finished_prd
from prd2pr.workflow.merges import Join, NotJoinable, build_join_tree, plan_join
from world import World

LAYOUT = PrdLayout("calc")
ROOT = LAYOUT.root
Files = dict[str, bytes | None]


@contextmanager
def finished_stage(root: Path) -> Iterator[Stage]:
    """A PRD whose stories are given up, since that needs no test run."""
    with stage_of(World(root).start()) as made:
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
        made.keep("reviewed")
        made.give('/feedback "improve: lint failed too late"')  # which memory keeps
        made.keep("finished")
        made.session.log.branch_writes.pending = None
        yield made


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with finished_stage(tmp_path_factory.mktemp("complete")) as made:
        complete_finished_prd(made.session, made.head)
        made.keep("complete")
        made.give("/epic Halve a number")
        made.keep("reopened")
        assert made.heads["reopened"] != made.heads["complete"]
        yield made


def read_file(stage: Stage, path: str, name: str = "complete") -> bytes:
    data = stage.session.git.read(stage.heads[name], path)
    assert data is not None, path
    return data


def with_files(**files: bytes | None) -> Callable[[Stage], Files]:
    return lambda stage: {f"{ROOT}/{name}": data for name, data in files.items()}


def with_summary(**fields: object) -> Callable[[Stage], Files]:
    def files(stage: Stage) -> Files:
        summary = json.loads(read_file(stage, LAYOUT.summary))
        return {LAYOUT.summary: json.dumps({**summary, **fields}).encode()}

    return files


def with_tree(make: Callable[[Stage], str], field: str = "records") -> Callable[[Stage], Files]:
    """A summary that names another tree."""
    return lambda stage: with_summary(**{field: make(stage)})(stage)


def earlier_records(stage: Stage) -> str:
    return stage.session.git.subtree(stage.heads["designed"], ROOT)


def changed_records(stage: Stage) -> str:
    git = stage.session.git
    backlog = read_file(stage, LAYOUT.backlog, "finished")
    changed = git.edit_tree(git.tree(stage.heads["finished"]), {LAYOUT.backlog: backlog.replace(b"skipped", b"done")})
    return git.subtree(changed, ROOT)


def with_memory(change: Callable[[bytes], bytes | None]) -> Callable[[Stage], Files]:
    return lambda stage: {LAYOUT.memory: change(read_file(stage, LAYOUT.memory))}


def with_memory_text(old: bytes, new: bytes) -> Callable[[Stage], Files]:
    def change(data: bytes) -> bytes:
        text = gzip.decompress(data)
        assert old in text
        return compress(text.replace(old, new))

    return with_memory(change)


FORGERIES: dict[str, Callable[[Stage], Files]] = {
    "records of an earlier step": with_tree(earlier_records),
    "changed records": with_tree(changed_records),
    "an empty tree": with_tree(lambda stage: stage.session.git.empty_tree),
    "a tree that does not exist": with_tree(lambda stage: 40 * "1"),
    "a commit": with_tree(lambda stage: stage.heads["finished"]),
    "the whole tree": with_tree(lambda stage: stage.session.git.tree(stage.heads["finished"])),
    "a blob": with_tree(lambda stage: stage.session.git.find_blob(stage.heads["finished"], LAYOUT.prd)),
    "the name of a branch": with_tree(lambda stage: "main"),
    "a name with a line break": with_tree(lambda stage: f"{40 * '1'}\ninfo main"),
    "no logs": with_tree(lambda stage: stage.session.git.empty_tree, "logs"),
    "other logs": with_tree(earlier_records, "logs"),
    "another title": with_summary(title="Multiply"),
    "another PRD": with_summary(prd="other"),
    "more tests": with_summary(tests=7),
    "more requirements": with_summary(requirements=7),
    "a story that is called done": lambda stage: {
        LAYOUT.summary: read_file(stage, LAYOUT.summary).replace(b'"skipped"', b'"done"')
    },
    "an unknown field": with_summary(notes="x"),
    "a summary in another form": with_summary(),
    "an empty summary": with_files(**{"summary.json": b""}),
    "no summary": with_files(**{"summary.json": None}),
    "no status": with_files(**{"status.json": None}),
    "another status": lambda stage: {
        LAYOUT.status: read_file(stage, LAYOUT.status).replace(b'"halted":false', b'"halted":true')
    },
    "no evidence": lambda stage: dict.fromkeys(
        entry.path for entry in stage.session.git.entries(stage.heads["complete"], LAYOUT.evidence_root)
    ),
    "a record that stays": lambda stage: {LAYOUT.prd: read_file(stage, LAYOUT.prd, "finished")},
    "a changed record that stays": with_files(**{"prd.json": b"{}"}),
    "a further file": with_files(**{"x.json": b"{}"}),
    "hidden examples": with_files(**{"tdd/held_out/calc-1/x.py": b"x = 1"}),
    "a log that stays": lambda stage: {
        entry.path: read_file(stage, entry.path, "finished")
        for entry in stage.session.git.entries(stage.heads["finished"], ".orch-state/logs")
    },
    "another log": lambda stage: {".orch-state/logs/x.jsonl": b"{}\n"},
    "a changed project": lambda stage: {".orch-state/project.json": b'{"schema_version":1}\n'},
    "another memory": with_memory_text(b"lint failed", b"lint passed"),
    "a further memory record": with_memory(
        lambda data: compress(gzip.decompress(data) + b'{"patterns/x":{"prd":"calc"}}\n')
    ),
    "a memory record that is a path": with_memory_text(b'"retrospectives/', b'"../'),
    "no memory": with_memory(lambda data: None),
    "damaged memory": with_memory(lambda data: data[:-9]),
    "memory in another compression": with_memory(lambda data: gzip.compress(gzip.decompress(data), 1, mtime=0)),
    "memory that is no JSON": with_memory(lambda data: compress(b"x\n")),
    "a memory bomb": with_memory(lambda data: compress(b" " * (MAX_UNPACKED_BYTES + 1))),
    "a memory record that stays": lambda stage: {
        entry.path: read_file(stage, entry.path, "finished")
        for entry in stage.session.git.entries(stage.heads["finished"], ".orch-state/memory")
    },
    "code": lambda stage: {"src/calc/extra.py": b"x = 1"},
    "the summary of another PRD": lambda stage: {
        ".orch-state/prds/other/summary.json": read_file(stage, LAYOUT.summary)
    },
}
QUICK = (
    "records of an earlier step", "changed records", "a tree that does not exist", "a name with a line break",
    "no logs",
    "another title", "a story that is called done", "no summary", "another status", "a record that stays",
    "a log that stays", "another memory", "no memory", "a memory bomb", "code",
)  # fmt: skip
CASES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FORGERIES]


def forge(stage: Stage, name: str, files: Files, message_of: str = "complete") -> str:
    git = stage.session.git
    tree = git.edit_tree(git.tree(stage.heads[name]), files)
    message = stage.world.git("log", "-1", "--format=%B", stage.heads[message_of])
    return stage.world.git("commit-tree", tree, "-p", f"{stage.heads[name]}^", "-m", message)


def list_findings(stage: Stage, since: str, head: str) -> list[str]:
    """Verify the only commit of the range with the program, which must refuse it and not fail itself."""
    verified = stage.world.verify(f"{stage.heads[since]}..{head}", "--json")
    assert verified.status == 1, verified.out + verified.err
    (commit,) = verified.json["steps"]
    return [f"{each['code']} {each['message']}" for each in commit["findings"]]


def complete_by_hand(stage: Stage, tree: str) -> str:
    """Remove the records of a tree as the completing step does."""
    summary = read_file(stage, LAYOUT.summary)
    return stage.session.git.edit_tree(complete_tree(stage.session.git, tree, LAYOUT), {LAYOUT.summary: summary})


def test_honest_completion_is_proved(stage: Stage) -> None:
    assert stage.world.verify(f"main..{stage.heads['complete']}", "--json").json["all_proved"]


@pytest.mark.parametrize("name", CASES)
def test_forged_completion_is_refused(stage: Stage, name: str) -> None:
    forged = forge(stage, "complete", FORGERIES[name](stage))
    assert stage.session.git.tree(forged) != stage.session.git.tree(stage.heads["complete"])
    assert list_findings(stage, "finished", forged)


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
    records = git.subtree(head, ROOT).encode()
    summary = read_file(stage, LAYOUT.summary)
    summary = summary.replace(json.loads(summary)["records"].encode(), records)
    left = {LAYOUT.evidence("plan", n, Phase.NOTE): data, LAYOUT.summary: summary}
    digest = compute_evidence_digest(data)
    message = f"note(plan): forged\n\nTdd-Step: calc/plan/{n}\nTdd-Phase: note\nTdd-Evidence: {digest}"
    forged = git.edit_tree(complete_tree(git, git.tree(head), LAYOUT), left)
    assert list_findings(stage, "unfinished", stage.world.git("commit-tree", forged, "-p", head, "-m", message)) == [
        "VER104 the decision was not allowed at that time: not all stories are finished"
    ]


@pytest.mark.parametrize("name", ["designed", "finished", "reopened"])
def test_ordinary_step_may_not_remove_records(stage: Stage, name: str) -> None:
    """A design, a decision, and a decision after the completion."""
    git, head = stage.session.git, stage.heads[name]
    message = stage.world.git("log", "-1", "--format=%B", head)
    tree = complete_by_hand(stage, git.tree(head))
    forged = stage.world.git("commit-tree", tree, "-p", f"{head}^", "-m", message)
    before = {"designed": "approved", "finished": "reviewed", "reopened": "complete"}[name]
    assert list_findings(stage, before, forged)


@pytest.mark.parametrize("path", [LAYOUT.summary, LAYOUT.memory])
def test_ordinary_step_may_not_add_a_summary_or_packed_memory(stage: Stage, path: str) -> None:
    forged = forge(stage, "reopened", {path: read_file(stage, path)}, "reopened")
    assert list_findings(stage, "complete", forged)


def test_prd_cannot_be_completed_twice_in_a_row(stage: Stage) -> None:
    stage.back_to("complete")
    assert complete_finished_prd(stage.session, stage.head) == stage.heads["complete"]
    decision = Decision(command=COMPLETED, by=BOT, at=stage.session.clock.now())
    applied = apply_decision(stage.session, stage.head, decision)
    assert not isinstance(applied, Objection)
    assert "VER104 the PRD was already complete" in list_findings(stage, "complete", stage.head)


def test_person_cannot_remove_records(stage: Stage) -> None:
    git, head = stage.session.git, stage.heads["finished"]
    tree = complete_by_hand(stage, git.tree(head))
    forged = stage.world.git("commit-tree", tree, "-p", head, "-m", "Tidy up")
    assert list_findings(stage, "finished", forged)[0].startswith("VER103")


@pytest.mark.parametrize("name", ["complete", "reopened"])
def test_branch_of_a_story_is_not_joined_after_the_completion(stage: Stage, name: str) -> None:
    """A worker that was still busy with a story that a person skipped."""
    git, own = stage.session.git, stage.heads["designed"]
    late = git.commit(git.tree(own), [stage.heads["approved"]], stage.world.git("log", "-1", "--format=%B", own))
    join = plan_join(git, JoinRef("calc", "calc-1"), stage.heads[name], late)
    assert isinstance(join, Join)
    assert isinstance(build_join_tree(git, join), NotJoinable)


def test_work_after_completion_puts_the_records_back(stage: Stage) -> None:
    git = stage.session.git
    before, after = (
        {entry.path: entry.blob for entry in git.entries(stage.heads[name], ".orch-state")}
        for name in ("finished", "reopened")
    )
    assert set(before) <= set(after)
    changed = {path for path in before if before[path] != after[path]}
    assert not {path for path in changed if "/memory/" in path or path.startswith(LAYOUT.evidence_root)}
    assert LAYOUT.prd not in changed
    assert stage.world.verify(f"main..{stage.heads['reopened']}", "--json").json["all_proved"]


def test_completed_tree_has_only_the_summary(stage: Stage) -> None:
    listed = stage.world.git("ls-tree", "-r", "--name-only", stage.heads["complete"], ".orch-state").splitlines()
    n = stage.session.store.load(stage.heads["complete"]).plan_steps
    assert listed == [
        ".orch-state/.gitattributes",
        LAYOUT.memory,
        LAYOUT.status,
        LAYOUT.summary,
        LAYOUT.evidence("plan", n, Phase.NOTE),
        ".orch-state/project.json",
    ]


def test_memory_keeps_its_bytes() -> None:
    records = {
        ".orch-state/memory/decisions/a-1.json": b'{"id":"a-1","prd":"calc","text":"\\":{}"}\n',
        ".orch-state/memory/estimates/a-1.json": '{"id":"a-1","prd":"calc","text":"ä }}"}\n'.encode(),
    }
    assert unpack_memory(pack_memory(records), LAYOUT) == records


@pytest.mark.parametrize(
    "line", [b"{}", b'{"a":{}}', b'{"a/b":{}', b'{"a/../b":{}}', b'{"A/b":{}}', b"\xff", b'{"a/b": {}}x']
)
def test_line_that_is_no_memory_record_is_an_error_that_names_the_file(line: bytes) -> None:
    with pytest.raises(StateCorrupted) as raised:
        unpack_memory(compress(line + b"\n"), LAYOUT)
    assert raised.value.where == LAYOUT.memory
