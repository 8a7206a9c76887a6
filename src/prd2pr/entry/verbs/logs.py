"""`prd2pr logs`: what the runs did, as the branch recorded it."""

from __future__ import annotations

import argparse
import json
import sys

from prd2pr.core.layout import log_path
from prd2pr.core.log_lines import LogEntry, readable, sentence, subject_of
from prd2pr.entry.under_way import UnderWay, chosen
from prd2pr.entry.wiring import open_repository


def main(options: argparse.Namespace) -> int:
    with open_repository(options.repo) as git:
        lines = [line for each in chosen(git, options.prd, else_in_head=True) for line in lines_of(each, options.story)]
    if options.json:
        sys.stdout.write(json.dumps({"lines": lines}, indent=2) + "\n")
    else:
        sys.stdout.write("".join(map(shown, lines)) or "Nothing is recorded yet.\n")
    return 0


def lines_of(each: UnderWay, story: str | None) -> list[LogEntry]:
    found: list[LogEntry] = []
    for run_id in each.state.run_ids():
        lines = readable(each.state.bytes_at(log_path(run_id)) or b"", log_path(run_id))
        mine = (line for line in lines if story is None or subject_of(line) == story)
        found += ({"run": run_id, "prd": each.prd.id, **line} for line in mine)
    return found


def shown(line: LogEntry) -> str:
    return f"{line['at']}  {line['kind']:<8} {sentence(line)}\n"
