"""Complete PRDs of an earlier form, whose records are packed. Each forgery changes one thing of the honest commit."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_completion import LAYOUT, ROOT, Files, finished_stage, forge, list_findings, with_files

from branch_stage import Stage
from prd2pr.domain.records import Phase
from prd2pr.errors import StateCorrupted
from prd2pr.proof.claims.packed_prds import summarize_packed_prd
from prd2pr.state.codec import MAX_UNPACKED_BYTES, compress
from prd2pr.state.evidence_files import iter_finished_files
from prd2pr.state.finished_records import collect_records, parse_pack
from prd2pr.state.layout import COMPRESSED, build_log_path
from prd2pr.workflow.commits import phase_commit
from prd2pr.workflow.commits.decisions import complete_finished_prd


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with pytest.MonkeyPatch.context() as patch:
        # Versions that wrote packs did not compress logs.
        patch.setattr(phase_commit, "build_log_path", lambda run: build_log_path(run).removesuffix(COMPRESSED))
        patch.setattr(phase_commit, "compress", lambda data: data)
        yield from make_stage(tmp_path_factory.mktemp("packed"))


def make_stage(root: Path) -> Iterator[Stage]:
    with finished_stage(root) as made:
        complete_finished_prd(made.session, made.head)
        made.heads["complete"] = pack_records(made, made.head)
        made.back_to("complete")
        made.give("/epic Halve a number")
        made.keep("reopened")
        yield made


def pack_records(stage: Stage, completed: str) -> str:
    """The same step as `completed`, as an earlier version made it."""
    git, before = stage.session.git, stage.session.store.load(stage.heads["finished"])
    evidence = LAYOUT.evidence("plan", before.plan_steps + 1, Phase.NOTE)
    records = collect_records(git, before.tree, LAYOUT, {*iter_finished_files(before)})
    removed = {*records, *(entry.path for entry in git.entries(before.tree, ROOT))} - {LAYOUT.status}
    left = {
        evidence: git.read(completed, evidence),
        LAYOUT.records: compress(json.dumps({path: data.decode() for path, data in records.items()}).encode()),
        LAYOUT.summary: json.dumps(summarize_packed_prd(before)).encode(),
    }
    message = stage.world.git("log", "-1", "--format=%B", completed)
    tree = git.edit_tree(before.tree, {**dict.fromkeys(removed), **left})
    return stage.world.git("commit-tree", tree, "-p", before.commit, "-m", message)


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


def test_honest_completion_is_proved(stage: Stage) -> None:
    assert stage.world.verify(f"main..{stage.heads['complete']}", "--json").json["all_proved"]


@pytest.mark.parametrize("name", CASES)
def test_forged_completion_is_refused(stage: Stage, name: str) -> None:
    forged = forge(stage, "complete", FORGERIES[name](stage))
    assert forged != stage.heads["complete"]
    assert list_findings(stage, "finished", forged)


def test_ordinary_step_may_not_pack(stage: Stage) -> None:
    git = stage.session.git
    for path in (LAYOUT.records, LAYOUT.summary):
        data = git.read(stage.heads["complete"], path)
        assert list_findings(stage, "complete", forge(stage, "reopened", {path: data}, "reopened")), path


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
