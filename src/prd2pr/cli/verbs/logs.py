"""`prd2pr logs`: show the log of the runs, as recorded on the branch."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from textwrap import indent

from prd2pr.agents.token_usage import build_token_report, format_token_report, token_report_to_json
from prd2pr.cli.active_prds import ActivePrd, select_prds
from prd2pr.cli.context import open_repository
from prd2pr.state.layout import build_log_path
from prd2pr.state.log_lines import LogEntry, describe_log_entry, get_log_subject, parse_log


def main(options: argparse.Namespace) -> int:
    """Write the log line by line, since it may have grown to a million lines."""
    with open_repository(options.repo) as git:
        found = select_prds(git, options.prd, else_in_head=True)
        lines = (line for each in found for line in read_log(each, options.story))
        for piece in format_log(lines, tokens=options.tokens, as_json=options.json):
            sys.stdout.write(piece)
    return 0


def format_log(lines: Iterable[LogEntry], *, tokens: bool, as_json: bool) -> Iterator[str]:
    if not tokens:
        return format_log_json(lines) if as_json else format_log_text(lines)
    report = build_token_report(lines)
    text = json.dumps(token_report_to_json(report), indent=2) if as_json else "\n".join(format_token_report(report))
    return iter((text, "\n"))


def read_log(each: ActivePrd, story: str | None) -> Iterator[LogEntry]:
    for run_id in each.state.run_ids():
        for line in parse_log(each.state.read_log(run_id), build_log_path(run_id)):
            if story is None or get_log_subject(line) == story:
                yield {"run": run_id, "prd": each.prd.id, **line}


def format_log_text(lines: Iterable[LogEntry]) -> Iterator[str]:
    empty = True
    for line in lines:
        empty = False
        yield format_log_line(line)
    if empty:
        yield "No run is recorded yet.\n"


def format_log_json(lines: Iterable[LogEntry]) -> Iterator[str]:
    """Yield the text of `json.dumps({"lines": [...]}, indent=2)` without holding all of it in memory."""
    separator = '{\n  "lines": [\n'
    for line in lines:
        yield separator + indent(json.dumps(line, indent=2), "    ")
        separator = ",\n"
    yield '{\n  "lines": []\n}\n' if separator.startswith("{") else "\n  ]\n}\n"


def format_log_line(line: LogEntry) -> str:
    return f"{line['at']}  {line['kind']:<8} {describe_log_entry(line)}\n"
