"""How much the tests notice, in a few words for people."""

from __future__ import annotations

from prd2pr.core.bite.record import Bite


def bite_words(bite: Bite) -> str:
    if bite.problems:
        return "not measured"
    if bite.judged:
        return f"{bite.killed} of {len(bite.judged)} faults noticed"
    noticed = sum(each.outcome == "killed" for each in bite.knock_outs)
    return f"{noticed} of {len(bite.knock_outs)} functions noticed" if bite.knock_outs else "no code to try it on"
