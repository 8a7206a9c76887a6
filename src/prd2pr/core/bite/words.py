"""How much the tests notice, in a few words for people."""

from __future__ import annotations

from prd2pr.core.bite.record import Bite, Bitten


def bite_words(bite: Bite) -> str:
    if bite.problems:
        return "not measured"
    if bite.judged:
        return f"{bite.killed} of {len(bite.judged)} faults noticed"
    noticed = sum(each.outcome == "killed" for each in bite.knock_outs)
    return f"{noticed} of {len(bite.knock_outs)} functions noticed" if bite.knock_outs else "no code to try it on"


def bite_sentence(bite: Bite) -> str:
    """What was tried, for the page that shows the step."""
    if bite.problems:
        return f"Deliberate faults say nothing here: {bite.problems[0]}."
    parts = [
        ("small faults in the code", bite.mutants),
        ("functions that raise at once", bite.knock_outs),
        ("wrong expectations", bite.perturbations),
    ]
    told = [f"{_noticed(faults)} {what}" for what, faults in parts if faults]
    return f"Noticed by the story's tests: {', '.join(told)}." if told else "There was no code to try faults on."


def _noticed(faults: tuple[Bitten, ...]) -> str:
    judged = [fault for fault in faults if fault.outcome in {"killed", "survived"}]
    return f"{sum(fault.outcome == 'killed' for fault in judged)} of {len(judged)}"
