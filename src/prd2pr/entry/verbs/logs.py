"""`prd2pr logs`: what the runs did, as the branch recorded it."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from prd2pr.core.layout import log_path
from prd2pr.core.wording import plain
from prd2pr.entry.under_way import UnderWay, chosen
from prd2pr.entry.wiring import open_repository


def main(options: argparse.Namespace) -> int:
    with open_repository(options.repo) as git:
        lines = [line for each in chosen(git, options.prd) for line in lines_of(each, options.story)]
    if options.json:
        sys.stdout.write(json.dumps({"lines": lines}, indent=2) + "\n")
    else:
        sys.stdout.write("".join(map(shown, lines)) or "Nothing is recorded yet.\n")
    return 0


def lines_of(each: UnderWay, story: str | None) -> list[dict[str, Any]]:
    found = []
    for run_id in each.state.run_ids():
        data = each.state.bytes_at(log_path(run_id)) or b""
        for line in readable(data, log_path(run_id)):
            subject = line.get("story") or str(line.get("purpose", "")).partition("/")[0]
            if story is None or subject == story:
                found.append({"run": run_id, "prd": each.prd.id, **line})
    return found


def readable(data: bytes, where: str) -> list[dict[str, Any]]:
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


def shown(line: dict[str, Any]) -> str:
    match line["kind"]:
        case "call":
            counts = [line.get(name) or 0 for name in ("input_tokens", "cached_tokens", "output_tokens")]
            what = f"{line.get('purpose')}: {sum(counts)} tokens ({counts[1]} cached), {line.get('model')}"
        case "refused":
            what = f"{line.get('story')} {line.get('phase')} refused: {' '.join(line.get('codes') or ())}"
        case "crossed":
            what = f"{line.get('story')} {line.get('phase')} crossed at attempt {line.get('attempts')}"
        case _:
            what = f"{line.get('story', '')} {line.get('text', '')}"
    return f"{line['at']}  {line['kind']:<8} {plain(what)}\n"
