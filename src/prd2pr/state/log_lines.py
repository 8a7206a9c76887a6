"""The log of a run: parse it, marking damaged lines, and describe each entry in one sentence."""

from __future__ import annotations

import json
from typing import Any

from prd2pr.domain.wording import clean_line, count
from prd2pr.errors import StateProblem
from prd2pr.state.codec import decompress

LogEntry = dict[str, Any]


def parse_log(data: bytes, where: str) -> list[LogEntry]:
    """Return the entries of a log, compressed or not."""
    try:
        data = decompress(data, where)
    except StateProblem as problem:
        return [{"at": "", "kind": "damaged", "text": problem.what}]
    lines = []
    for number, text in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict) or not {"at", "kind"} <= line.keys():
            line = {"at": "", "kind": "damaged", "text": f"{where}:{number} cannot be read"}
        lines.append(line)
    return lines


def get_log_subject(line: LogEntry) -> str:
    """Return the story of an entry, or the PRD if it has none."""
    return str(line.get("story") or str(line.get("purpose", "")).partition("/")[0])


def describe_log_entry(line: LogEntry) -> str:
    match line["kind"]:
        case "call" if line.get("error"):
            what = f"{line.get('purpose')}: failed, {line.get('error')}"
        case "call":
            counts = [line.get(name) or 0 for name in ("input_tokens", "cached_tokens", "output_tokens")]
            what = f"{line.get('purpose')}: {count(sum(counts), 'token')} ({counts[1]} cached), {line.get('model')}"
        case "kept":
            what = f"{line.get('purpose')}: reused from an earlier run, {line.get('model')}"
        case "refused":
            what = f"{line.get('story')} {line.get('phase')} refused: {' '.join(line.get('codes') or ())}"
        case "crossed":
            what = f"{line.get('story')} {line.get('phase')} passed at attempt {line.get('attempts')}"
        case _:
            what = f"{line.get('story', '')} {line.get('text', '')}"
    return clean_line(what)
