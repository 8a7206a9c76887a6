"""`prd2pr logs`: what the runs did, as the branch recorded it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from textwrap import indent

from prd2pr.core.layout import LOGS, log_path
from prd2pr.core.log_lines import LogEntry, readable, sentence, subject_of
from prd2pr.core.token_parts import report_json, report_lines, token_report
from prd2pr.entry.ground import open_repository
from prd2pr.entry.under_way import UnderWay, chosen


def main(options: argparse.Namespace) -> int:
    """Written as it is read: a long life leaves a million lines."""
    with open_repository(options.repo) as git:
        found = chosen(git, options.prd, else_in_head=True)
        lines = (line for each in found for line in lines_of(each, options.story))
        for piece in pieces(lines, tokens=options.tokens, as_json=options.json):
            sys.stdout.write(piece)
    return 0


def pieces(lines: Iterable[LogEntry], *, tokens: bool, as_json: bool) -> Iterator[str]:
    if not tokens:
        return pieces_of_json(lines) if as_json else pieces_of_text(lines)
    report = token_report(lines)
    told = json.dumps(report_json(report), indent=2) if as_json else "\n".join(report_lines(report))
    return iter((told, "\n"))


def lines_of(each: UnderWay, story: str | None) -> Iterator[LogEntry]:
    git, state = each.state.store.git, each.state
    blobs = git.names(state.commit, LOGS)
    for run_id in state.run_ids():
        blob = blobs.get(f"{run_id}.jsonl")
        data = git.read_blobs([blob])[blob] if blob else b""
        for line in readable(data, log_path(run_id)):
            if story is None or subject_of(line) == story:
                yield {"run": run_id, "prd": each.prd.id, **line}


def pieces_of_text(lines: Iterable[LogEntry]) -> Iterator[str]:
    empty = True
    for line in lines:
        empty = False
        yield shown(line)
    if empty:
        yield "Nothing is recorded yet.\n"


def pieces_of_json(lines: Iterable[LogEntry]) -> Iterator[str]:
    """As `json.dumps({"lines": [...]}, indent=2)` writes it, without all of it in memory."""
    before = '{\n  "lines": [\n'
    for line in lines:
        yield before + indent(json.dumps(line, indent=2), "    ")
        before = ",\n"
    yield '{\n  "lines": []\n}\n' if before.startswith("{") else "\n  ]\n}\n"


def shown(line: LogEntry) -> str:
    return f"{line['at']}  {line['kind']:<8} {sentence(line)}\n"
