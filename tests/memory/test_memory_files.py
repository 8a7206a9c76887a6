"""Memory records as files: they round-trip, and invalid files are reported and skipped."""

from __future__ import annotations

import json

import pytest

from memories import AT, estimate, failure, note, pattern, usage
from prd2pr.domain.memory_records import (
    MEMORY_KINDS,
    ComplexitySnapshot,
    DecisionRecord,
    FailureRecord,
    FileMeasure,
    Lesson,
    SpikeRecord,
)
from prd2pr.errors import InputInvalid, StateCorrupted, StateNewer
from prd2pr.memory.files import (
    MAX_RECORD_BYTES,
    encode_memory_file,
    make_record_id,
    read_all_records,
    read_memory_record,
)

WHERE = ".orch-state/memory/failures/f-1.json"


def one_of_each() -> list:
    common = {"prd": "shop", "at": AT}
    return [
        failure(),
        estimate("e-1", 4, 5),
        Lesson(id="r-1", **common, feature="Shop", surprises=("slow",), variance=1.5, spike_accuracy=80),
        SpikeRecord(id="s-1", **common, feature="Chat", question="Can it?", approach="Try", result="Yes", viable=True),
        note("fastapi", "0.115.0", AT, "2026-11-08T12:00:00Z"),
        ComplexitySnapshot(
            id="c-1",
            **common,
            files=(FileMeasure(path="a.py", lines=3, functions=1, dependencies=0, complexity=2.5),),
        ),
        DecisionRecord(id="d-1", **common, title="Redis", text="Redis between processes", why="scaling"),
        pattern(),
        usage("u-1", 87.5),
    ]


def test_every_kind_round_trips():
    records = one_of_each()
    assert {record.kind for record in records} == set(MEMORY_KINDS)
    for record in records:
        path, data = encode_memory_file(record)
        assert path == f".orch-state/memory/{record.kind}/{record.id}.json"
        assert read_memory_record(path, data) == record
        assert encode_memory_file(read_memory_record(path, data)) == (path, data)


def raw(**changes: object) -> bytes:
    return json.dumps({**json.loads(encode_memory_file(failure())[1]), **changes}).encode()


@pytest.mark.parametrize(
    ("path", "data", "kind", "words"),
    [
        (WHERE, b"{", StateCorrupted, "line 1"),
        (WHERE, b'{"id": "\xff"}', StateCorrupted, "UTF-8"),
        (WHERE, b"[]", StateCorrupted, "a JSON object was expected"),
        (WHERE, b"[" * 100_000, StateCorrupted, "cannot be read"),
        (WHERE, raw(schema_version=2), StateNewer, "newer prd2pr"),
        (WHERE, raw(schema_version=99, invented="yes"), StateNewer, "newer prd2pr"),
        (WHERE, raw(id="f-2"), StateCorrupted, "'f-1'"),
        (WHERE, raw(invented="yes"), StateCorrupted, "invented"),
        (WHERE, raw(feature=None), StateCorrupted, "feature"),
        (WHERE, raw(at="yesterday"), StateCorrupted, "at: "),
        (WHERE, raw(at="2026-11-01T12:00:00"), StateCorrupted, "time zone"),
        (WHERE, raw(prd=""), StateCorrupted, "no PRD"),
        (WHERE, raw(prd="../../etc"), StateCorrupted, "../../etc"),
        (WHERE, raw(lesson="x" * MAX_RECORD_BYTES), StateCorrupted, f"({MAX_RECORD_BYTES:,})"),
        (".orch-state/memory/wishes/f-1.json", raw(), StateCorrupted, "'wishes'"),
        (".orch-state/memory/f-1.json", raw(), StateCorrupted, "KIND/ID.json"),
        (".orch-state/memory/failures/old/f-1.json", raw(), StateCorrupted, "KIND/ID.json"),
        (".orch-state/memory/docs_cache/f-1.json", raw(), StateCorrupted, "library"),
    ],
)
def test_invalid_files_are_rejected_with_their_path(path, data, kind, words):
    with pytest.raises(kind) as caught:
        read_memory_record(path, data)
    assert words in caught.value.what
    assert path in caught.value.what
    assert caught.value.where == path


def estimate_with(**numbers: str) -> bytes:
    """As if edited by hand: the numbers are written as given."""
    told = json.loads(encode_memory_file(estimate("e-1", 3, 5))[1])
    for name, number in numbers.items():
        told[name] = f"@{number}@"
    return json.dumps(told).replace('"@', "").replace('@"', "").encode()


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "-1", "1e300"])
@pytest.mark.parametrize("name", ["actual_minutes", "estimated_minutes", "usd"])
def test_infinite_numbers_are_rejected(name, number):
    path = ".orch-state/memory/estimates/e-1.json"
    seen = read_all_records({path: estimate_with(**{name: number}), **dict([encode_memory_file(failure())])})
    assert [(each.path, each.code) for each in seen.problems] == [(path, "ERR401")]
    assert name in seen.problems[0].what
    assert seen.records == (failure(),), "what else was learnt still counts"


def test_infinite_numbers_in_nested_fields_are_rejected():
    for number in ("1e999", "NaN"):
        files = {
            ".orch-state/memory/complexity_snapshots/c-1.json": (
                '{"schema_version": 1, "id": "c-1", "prd": "shop", "at": "2026-11-01T12:00:00Z", "files": [{"path":'
                ' "a.py", "lines": 1, "functions": 1, "dependencies": 0, "complexity": ' + number + "}]}"
            ).encode(),
            ".orch-state/memory/retrospectives/r-1.json": (
                '{"schema_version": 1, "id": "r-1", "prd": "shop", "at": "2026-11-01T12:00:00Z", "feature": "x",'
                f' "variance": {number}}}'
            ).encode(),
        }
        assert len(read_all_records(files).problems) == 2


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_timestamp_out_of_range_is_rejected(at):
    record = note("fastapi", "0.115.0", AT, AT)
    told = {**json.loads(encode_memory_file(record)[1]), "at": at, "expires_at": at}
    with pytest.raises(StateCorrupted, match="out of range"):
        read_memory_record(encode_memory_file(record)[0], json.dumps(told).encode())


def test_a_bad_file_is_reported_and_the_others_are_read():
    files = dict(map(encode_memory_file, one_of_each()))
    files[".orch-state/memory/failures/bad.json"] = b"not json"
    files[".orch-state/memory/failures/newer.json"] = raw(schema_version=7)
    seen = read_all_records(files)
    assert len(seen.records) == len(MEMORY_KINDS)
    assert seen.of_kind(FailureRecord) == (failure(),)
    assert [(problem.path.rpartition("/")[2], problem.code) for problem in seen.problems] == [
        ("bad.json", "ERR401"),
        ("newer.json", "ERR402"),
    ]


@pytest.mark.parametrize(
    "wrong", [{"id": "a/b"}, {"id": ".."}, {"at": "soon"}, {"prd": ""}, {"lesson": "x" * MAX_RECORD_BYTES}]
)
def test_an_unreadable_record_is_not_written(wrong):
    with pytest.raises(InputInvalid):
        encode_memory_file(failure(**wrong))


def test_ids_are_short_and_unique():
    assert make_record_id(["shop-1", 4]) == "shop-1-4"
    long_ones = {make_record_id(["a" * 99 + letter, 1]) for letter in "bcd"}
    odd = {
        make_record_id(["shop/1", 1]),
        make_record_id(["shop 1", 1]),
        make_record_id(["...", 1]),
        make_record_id(["shop", "x.lock"]),
    }
    assert len(long_ones) == 3 and len(odd) == 4
    for name in long_ones | odd:
        assert encode_memory_file(failure(name))[0].endswith(f"/{name}.json")
